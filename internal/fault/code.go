package fault

// A Code says what happened. Callers match on it, so a code is never renamed.
type Code string

// The codes of CONTRACT §2.
const (
	InvalidType      Code = "INVALID_TYPE"
	InvalidTrait     Code = "INVALID_TRAIT"
	InvalidField     Code = "INVALID_FIELD"
	InvalidValue     Code = "INVALID_VALUE"
	InvalidRef       Code = "INVALID_REF"
	AmbiguousRef     Code = "AMBIGUOUS_REF"
	MissingRequired  Code = "MISSING_REQUIRED"
	ValidationFailed Code = "VALIDATION_FAILED"
	InvalidQuery     Code = "INVALID_QUERY"
	InvalidParameter Code = "INVALID_PARAMETER"
	InvalidLimit     Code = "INVALID_LIMIT"
	InvalidPath      Code = "INVALID_PATH"
	BatchFailed      Code = "BATCH_FAILED"
	BatchTooLarge    Code = "BATCH_TOO_LARGE"
	NoteTooLarge     Code = "NOTE_TOO_LARGE"
	KeyReused        Code = "IDEMPOTENCY_KEY_REUSED"

	Unauthenticated Code = "UNAUTHENTICATED"
	TokenExpired    Code = "TOKEN_EXPIRED"

	PermissionDenied Code = "PERMISSION_DENIED"
	ReadOnly         Code = "READ_ONLY"

	NotFound Code = "NOT_FOUND"

	Conflict          Code = "CONFLICT"
	DuplicateID       Code = "DUPLICATE_ID"
	IndexBusy         Code = "INDEX_BUSY"
	InProgress        Code = "IN_PROGRESS"
	IndexNotFound     Code = "INDEX_NOT_FOUND"
	IndexIncompatible Code = "INDEX_INCOMPATIBLE"

	RateLimited   Code = "RATE_LIMITED"
	QuotaExceeded Code = "QUOTA_EXCEEDED"

	Internal    Code = "INTERNAL"
	SchemaError Code = "SCHEMA_ERROR"
	IndexError  Code = "INDEX_ERROR"
	FileError   Code = "FILE_ERROR"

	Unavailable          Code = "UNAVAILABLE"
	StorageError         Code = "STORAGE_ERROR"
	EmbeddingUnavailable Code = "EMBEDDING_UNAVAILABLE"
)

// A Status says what a caller can do about a fault. Each code has one.
type Status string

// The eight statuses of CONTRACT §2.
const (
	StatusInvalidArgument Status = "invalid_argument" // change the call
	StatusUnauthenticated Status = "unauthenticated"  // say who you are
	StatusForbidden       Status = "forbidden"        // ask for a higher role
	StatusNotFound        Status = "not_found"        // name another thing
	StatusConflict        Status = "conflict"         // read again, then decide
	StatusRateLimited     Status = "rate_limited"     // wait
	StatusInternal        Status = "internal"         // report it
	StatusUnavailable     Status = "unavailable"      // try again
)

// row is one status of the table in CONTRACT §2.
type row struct {
	status Status
	http   int
	exit   int
	codes  []Code
}

// table is CONTRACT §2, row by row.
var table = []row{
	{StatusInvalidArgument, 400, 2, []Code{
		InvalidType, InvalidTrait, InvalidField, InvalidValue, InvalidRef, AmbiguousRef,
		MissingRequired, ValidationFailed, InvalidQuery, InvalidParameter, InvalidLimit,
		InvalidPath, BatchFailed, BatchTooLarge, NoteTooLarge, KeyReused,
	}},
	{StatusUnauthenticated, 401, 3, []Code{Unauthenticated, TokenExpired}},
	{StatusForbidden, 403, 3, []Code{PermissionDenied, ReadOnly}},
	{StatusNotFound, 404, 4, []Code{NotFound}},
	{StatusConflict, 409, 5, []Code{
		Conflict, DuplicateID, IndexBusy, InProgress, IndexNotFound, IndexIncompatible,
	}},
	{StatusRateLimited, 429, 8, []Code{RateLimited, QuotaExceeded}},
	{StatusInternal, 500, 2, []Code{Internal, SchemaError, IndexError, FileError}},
	{StatusUnavailable, 503, 6, []Code{Unavailable, StorageError, EmbeddingUnavailable}},
}

// exits are the codes whose exit code is not that of their status.
var exits = map[Code]int{IndexNotFound: 4, IndexIncompatible: 7}

var statusOf, rowOf = lookups()

func lookups() (map[Code]Status, map[Status]row) {
	codes, rows := map[Code]Status{}, map[Status]row{}
	for _, r := range table {
		rows[r.status] = r
		for _, c := range r.codes {
			codes[c] = r.status
		}
	}
	return codes, rows
}

// Codes lists every code, in the order of CONTRACT §2.
func Codes() []Code {
	var all []Code
	for _, r := range table {
		all = append(all, r.codes...)
	}
	return all
}

// Status is what a caller can do about the code; an unknown code is internal.
func (c Code) Status() Status {
	if s, ok := statusOf[c]; ok {
		return s
	}
	return StatusInternal
}

// HTTP is the status code of an answer that holds the fault.
func (f *Fault) HTTP() int {
	if f.BodyTooLarge {
		return 413
	}
	return rowOf[f.Status()].http
}

// Exit is the exit code of a command that ends with the code (CONTRACT §2). It is 2 or more; 1 is
// kept for a command line that cannot be read.
func (c Code) Exit() int {
	if n, ok := exits[c]; ok {
		return n
	}
	return rowOf[c.Status()].exit
}
