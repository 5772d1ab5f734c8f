package raven

import (
	"fmt"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// codeKey is the detail of a fault with Raven's name for the error.
const codeKey = "raven_code"

// ofFile is the detail of a codeRow that stands for the file in the fault's location.
const ofFile = "(file)"

// A codeRow maps a fault code in a context to Raven's name for the error.
//
// The detail narrows a row to the errors that Raven distinguishes and Rookery does not: the fault
// code NOT_FOUND, for example, is QUERY_NOT_FOUND if the details contain a query.
type codeRow struct {
	code   fault.Code
	tool   string // name of the called tool, or a prefix of it that ends in _; empty: any
	detail string // a detail that the fault must have, as key or key=value; empty: any
	name   string // empty: Raven has no name for it
}

// codes maps faults to Raven's names (reference/raven.md §1.17). The first matching row applies.
// Raven has no name for a fault that matches no row.
//
// The order matters: rows with a detail or a tool come before the general row of the same code.
// Adding a fault code to the product needs a row here if Raven has a name for it.
var codes = []codeRow{
	{fault.NotFound, "", "query", "QUERY_NOT_FOUND"},
	{fault.NotFound, "", ofFile, "FILE_NOT_FOUND"},
	{fault.NotFound, "raven_check", "", "FILE_NOT_FOUND"},
	{fault.NotFound, "raven_undo", "", ""},
	{fault.NotFound, "", "", "REF_NOT_FOUND"},

	{fault.InvalidQuery, "", "reason=cost", "QUERY_FAILED"},
	{fault.InvalidQuery, "", "", "QUERY_INVALID"},
	{fault.InvalidRef, "", "", "REF_NOT_FOUND"},
	{fault.AmbiguousRef, "", "", "REF_AMBIGUOUS"},
	{fault.InvalidType, "", "column", "QUERY_INVALID"},
	{fault.InvalidType, "", "pointer", "QUERY_INVALID"},
	{fault.InvalidTrait, "", "column", "QUERY_INVALID"},
	{fault.InvalidTrait, "", "pointer", "QUERY_INVALID"},
	{fault.InvalidField, "", "column", "QUERY_INVALID"},
	{fault.InvalidField, "", "pointer", "QUERY_INVALID"},
	{fault.InvalidValue, "", "column", "QUERY_INVALID"},
	{fault.InvalidValue, "", "pointer", "QUERY_INVALID"},

	{fault.InvalidType, "", "available_types", "TYPE_NOT_FOUND"},
	{fault.InvalidType, "", "", "INVALID_INPUT"},
	{fault.InvalidTrait, "", "available_traits", "TRAIT_NOT_FOUND"},
	{fault.InvalidTrait, "", "", "INVALID_INPUT"},
	{fault.InvalidField, "raven_schema_", "argument=name", "FIELD_NOT_FOUND"},
	{fault.InvalidField, "raven_schema_", "argument", "INVALID_INPUT"},
	{fault.InvalidField, "", "constraint", "VALIDATION_FAILED"},
	{fault.InvalidField, "", "target", "VALIDATION_FAILED"},
	{fault.InvalidField, "", "allowed", "UNKNOWN_FIELD"},
	{fault.InvalidField, "", "", "VALIDATION_FAILED"},

	{fault.InvalidValue, "", "matches=0", "STRING_NOT_FOUND"},
	{fault.InvalidValue, "", "matches", "MULTIPLE_MATCHES"},
	{fault.InvalidValue, "", "field", "VALIDATION_FAILED"},
	{fault.InvalidValue, "", "available", "INVALID_ARGS"},
	{fault.InvalidValue, "", "", "INVALID_INPUT"},
	{fault.InvalidPath, "", "", "INVALID_INPUT"},

	{fault.MissingRequired, "", "argument=plan_token", "CONFIRMATION_REQUIRED"},
	{fault.MissingRequired, "", "missing", "INVALID_INPUT"},
	{fault.MissingRequired, "", "argument", "MISSING_ARGUMENT"},
	{fault.MissingRequired, "", "", "REQUIRED_FIELD_MISSING"},

	{fault.DuplicateID, "raven_schema_", "", "OBJECT_EXISTS"},
	{fault.DuplicateID, "", "", "FILE_EXISTS"},
	{fault.ValidationFailed, "raven_schema_remove", "total", "CONFIRMATION_REQUIRED"},
	{fault.ValidationFailed, "raven_schema_", "total", "DATA_INTEGRITY_BLOCK"},
	{fault.ValidationFailed, "", "", "VALIDATION_FAILED"},

	{fault.SchemaError, "", ofFile + "=raven.yaml", "CONFIG_INVALID"},
	{fault.SchemaError, "", "", "SCHEMA_INVALID"},
	{fault.FileError, "raven_schema_", "", "FILE_WRITE_ERROR"},
	{fault.FileError, "raven_query_", "", "FILE_WRITE_ERROR"},
	{fault.FileError, "", "", "FILE_READ_ERROR"},
	{fault.IndexError, "", "", "DATABASE_ERROR"},
	{fault.InvalidParameter, "", "argument=vault", "VAULT_AMBIGUOUS"},
	{fault.Internal, "", "", "INTERNAL_ERROR"},
}

// fits reports whether the row matches a fault of a tool.
func (r codeRow) fits(tool string, f *fault.Fault) bool {
	ofTool := r.tool == "" || r.tool == tool || strings.HasSuffix(r.tool, "_") && strings.HasPrefix(tool, r.tool)
	if r.code != f.Code || !ofTool {
		return false
	}
	key, value, one := strings.Cut(r.detail, "=")
	if key == "" {
		return true
	}
	has, ok := f.Details[key]
	if key == ofFile && f.Location != nil {
		has, ok = f.Location.File, true
	}
	return ok && (!one || fmt.Sprint(has) == value)
}

// ravenCode returns Raven's name for a fault of a tool, or "" if it has none.
func ravenCode(tool string, f *fault.Fault) string {
	if f.Code == fault.NotFound && fault.LacksVault(f) {
		return "VAULT_NOT_FOUND"
	}
	for _, r := range codes {
		if r.fits(tool, f) {
			return r.name
		}
	}
	return ""
}

// withCodes returns a fault with Raven's name, in its details, for the fault itself and for each of
// its problems. It does not replace existing names, and does not modify f.
//
// It is the Told function of Family, so every fault of the family passes through it before a
// projection encodes it.
func withCodes(tool string, f *fault.Fault) *fault.Fault {
	if name := ravenCode(tool, f); name != "" && f.Details[codeKey] == nil {
		f = f.With(codeKey, name)
	}
	if len(f.Errors) == 0 {
		return f
	}
	coded := *f
	coded.Errors = make([]*fault.Fault, len(f.Errors))
	for i, one := range f.Errors {
		coded.Errors[i] = withCodes(tool, one)
	}
	return &coded
}
