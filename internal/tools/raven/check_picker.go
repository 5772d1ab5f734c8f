package raven

import (
	"iter"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
)

// A picker is a parsed checkFilter.
//
// The zero value selects everything. It is not modified after it was built, and can be shared.
type picker struct {
	path        string // of the selected note; empty: any
	folder      string // of the selected notes, with a slash at its end; empty: any
	from, until int    // the selected lines; until 0: to the end of the note
	typ, trait  string
	issues      map[string]bool // codes; nil: all
	// exclude are codes that are never selected; nil: none.
	exclude map[string]bool
}

// file reports whether the filter selects findings in a file.
func (p picker) file(path string) bool {
	return (p.path == "" || path == p.path) && (p.folder == "" || strings.HasPrefix(path, p.folder))
}

// notes yields the notes in which the filter selects findings, by path. For a folder it starts at
// the folder's first note and ends after the last, without a walk over the rest of the vault.
func (p picker) notes(idx *index.Index) iter.Seq[*index.Note] {
	return func(yield func(*index.Note) bool) {
		if p.path != "" {
			if n, ok := idx.Note(p.path); ok {
				yield(n)
			}
			return
		}
		for n := range idx.Notes(p.folder) {
			if !p.file(n.Path) || !yield(n) { // the notes of a folder are consecutive
				return
			}
		}
	}
}

// wants reports whether the filter selects a finding.
func (p picker) wants(f finding) bool {
	at := locationOf(f.fault)
	return p.wantsAt(f, f.fault.Code, at.File, at.Line)
}

// wantsAt is wants for a finding whose fault may be missing; code, file and line stand for the
// fault.
//
// A code matches by Raven's name or by the fault code of Rookery. exclude takes precedence over
// issues.
func (p picker) wantsAt(f finding, code fault.Code, file string, line int) bool {
	switch {
	case !p.file(file), p.from > 0 && line < p.from, p.until > 0 && line > p.until:
		return false
	case p.typ != "" && f.typ != p.typ, p.trait != "" && f.trait != p.trait:
		return false
	case p.issues != nil && !p.issues[f.code] && !p.issues[string(code)]:
		return false
	}
	return !p.exclude[f.code] && !p.exclude[string(code)]
}

// checkCodes are Raven's names for the issues of a check, and Rookery's own additions.
var checkCodes = []string{
	"unknown_type", "parse_error", "missing_required_field", "missing_required_trait", "invalid_field_value",
	"invalid_enum_value", "invalid_date_format", "invalid_trait_value", "wrong_target_type", "unknown_frontmatter_key",
	"missing_reference", "ambiguous_reference", "local_fragment_ref", "stale_fragment", "markdown_link_to_vault_note",
	"broken_file_link", "short_ref_could_be_full_path", "non_canonical_ref", "non_canonical_path",
	"directory_type_mismatch", "duplicate_object_id", "duplicate_trait_id", "duplicate_alias", "alias_collision",
	"id_collision", "undefined_trait", "unused_type", "unused_trait", "self_referential_required",
	"unknown_field_type", "missing_target_type", "stale_index", "check_incomplete", "invalid_default", "config_error",
	"invalid_saved_query", "missing_template", "conflict_copy", "left_file", "undefined_trait_of_type",
}

// ourCodes are the fault codes that an issue can have in Rookery.
//
// A filter accepts them beside checkCodes, so that a caller can copy the code of an answer.
var ourCodes = []fault.Code{
	fault.InvalidType, fault.FileError, fault.MissingRequired, fault.InvalidValue, fault.InvalidField, fault.InvalidRef,
	fault.DuplicateID, fault.InvalidTrait, fault.SchemaError, fault.IndexError, fault.InvalidQuery, fault.NotFound,
}

// codesIn returns the set of the given issue codes, which may be in any case. It returns nil for an
// empty list, and an error for an unknown code. argument is the argument's name in that error.
func codesIn(argument string, names []string) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	all := map[string]bool{}
	for _, given := range splitValues(names) {
		name := strings.TrimSpace(given)
		switch lower, upper := strings.ToLower(name), strings.ToUpper(name); {
		case slices.Contains(checkCodes, lower):
			all[lower] = true
		case slices.Contains(ourCodes, fault.Code(upper)):
			all[upper] = true
		default:
			allowed := slices.Clone(checkCodes)
			for _, code := range ourCodes {
				allowed = append(allowed, string(code))
			}
			return nil, fault.New(fault.InvalidValue, "%s names an unknown kind of issue", argument).
				With("argument", argument).
				With("allowed", allowed).Suggest(name, allowed)
		}
	}
	return all, nil
}
