package fault

// A Code identifies a kind of failure. Callers match on codes, so a code is never renamed.
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

// A Status is the class of a code. It tells a caller how to react to a fault. Each code has one
// status.
type Status string

// The eight statuses of CONTRACT §2.
const (
	StatusInvalidArgument Status = "invalid_argument" // change the call
	StatusUnauthenticated Status = "unauthenticated"  // authenticate
	StatusForbidden       Status = "forbidden"        // ask for a higher role
	StatusNotFound        Status = "not_found"        // use another name or id
	StatusConflict        Status = "conflict"         // read the current state, then decide
	StatusRateLimited     Status = "rate_limited"     // wait
	StatusInternal        Status = "internal"         // report it
	StatusUnavailable     Status = "unavailable"      // try again
)

// A row is one status in the table of CONTRACT §2, with its HTTP status, exit code and codes.
type row struct {
	status Status
	http   int
	exit   int
	codes  []Code
}

// table is the table of CONTRACT §2.
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

// exits contains the exit codes that differ from those of the code's status.
var exits = map[Code]int{IndexNotFound: 4, IndexIncompatible: 7}

// statusOf and rowOf are the table by code and by status.
var statusOf, rowOf = lookups()

// lookups returns the table indexed by code and by status.
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

// Codes returns every code, in the order of CONTRACT §2.
func Codes() []Code {
	var all []Code
	for _, r := range table {
		all = append(all, r.codes...)
	}
	return all
}

// Status returns the class of the code. An unknown code is StatusInternal.
func (c Code) Status() Status {
	if s, ok := statusOf[c]; ok {
		return s
	}
	return StatusInternal
}

// HTTP returns the HTTP status code of an answer with this fault.
func (f *Fault) HTTP() int {
	if f.BodyTooLarge {
		return 413
	}
	return rowOf[f.Status()].http
}

// Exit returns the exit code of a command that fails with this code (CONTRACT §2). It is at least
// 2; 1 means that the command line could not be parsed.
func (c Code) Exit() int {
	if n, ok := exits[c]; ok {
		return n
	}
	return rowOf[c.Status()].exit
}
