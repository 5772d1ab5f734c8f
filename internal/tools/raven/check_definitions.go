package raven

import (
	"iter"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/vault"
	"github.com/rookeryhq/rookery/internal/yamltext"
)

// definitions checks the schema: the problems of loading it, types and traits that it refers to and
// does not declare, invalid defaults, types and traits without a single object or use, required
// references that no first object could have, and missing templates. It reports them at their lines
// in schema.yaml, or at line 1 if the text is unknown.
func (c *vaultCheck) definitions() {
	line := func(path ...string) int { return max(1, yamltext.Line(c.schema, path)) }
	for _, f := range problemsOf(c.idx.SchemaErr()) {
		at := 1
		if f.Location != nil {
			at = f.Location.Line
		}
		code := "config_error"
		if _, ok := f.Details["value_types"]; ok {
			code = "unknown_field_type"
		}
		c.report(finding{fault: f, code: code}, vault.SchemaFile, at)
	}
	s := c.idx.Schema()
	for _, f := range undefinedNames(s) {
		one := finding{fault: f, code: "missing_target_type"}
		if f.Code == fault.InvalidTrait {
			one.code, one.warning = "undefined_trait_of_type", true
		}
		where, _ := f.Details["where"].(string)
		c.report(one, vault.SchemaFile, line(strings.Split(where, ".")...))
	}
	for _, f := range invalidDefaults(s, c.clock) {
		where, _ := f.Details["where"].(string)
		c.report(finding{fault: f, code: "invalid_default"}, vault.SchemaFile, line(strings.Split(where, ".")...))
	}
	for _, t := range s.Types {
		if t.Builtin {
			continue
		}
		if c.idx.Count(t.Name) == 0 {
			c.report(finding{fault: fault.New(fault.SchemaError, "no object has the type %s", t.Name).
				With("type", t.Name),
				code: "unused_type", warning: true, typ: t.Name}, vault.SchemaFile, line("types", t.Name))
		}
		for _, f := range t.Fields {
			if f.Required && !f.HasDefault && f.Type == "ref" && f.Target == t.Name {
				c.report(finding{fault: fault.New(fault.SchemaError, "the field %s of %s is required and "+
					"refers to another %s: the first object cannot have a target", f.Name, t.Name, t.Name).
					With("field", f.Name), code: "self_referential_required", warning: true, typ: t.Name},
					vault.SchemaFile, line("types", t.Name, "fields", f.Name))
			}
		}
	}
	for _, t := range s.Traits {
		if c.idx.TraitCount(t.Name) == 0 {
			c.report(finding{fault: fault.New(fault.SchemaError, "the trait %s is not used", t.Name).
				With("trait", t.Name),
				code: "unused_trait", warning: true, trait: t.Name}, vault.SchemaFile, line("traits", t.Name))
		}
	}
	c.templates(s, line)
}

// templates reports templates of the schema that do not exist. line returns the line in schema.yaml
// of a key with the given path.
//
// A type can name a template by its id in the schema or by the path of a file; an id that the
// schema does not have is tried as a path.
func (c *vaultCheck) templates(s *vault.Schema, line func(...string) int) {
	missing := func(file, typ string, at int) {
		if file == "" {
			return
		}
		path := strings.TrimSuffix(file, ".md") + ".md"
		if _, ok := c.idx.File(path); !ok {
			c.report(finding{fault: fault.New(fault.NotFound, "the template %q does not exist", firstRunes(file)).
				With("file", firstRunes(file)), code: "missing_template", warning: true, typ: typ},
				vault.SchemaFile, at)
		}
	}
	for _, t := range s.Templates {
		missing(t.File, "", line("templates", t.ID))
	}
	for _, t := range s.Types {
		missing(t.Template, t.Name, line("types", t.Name))
		if _, ok := s.Template(t.DefaultTemplate); t.DefaultTemplate != "" && !ok {
			missing(t.DefaultTemplate, t.Name, line("types", t.Name))
		}
	}
}

// settings checks raven.yaml and rookery.yaml: the problems of loading them, settings of Raven that
// Rookery accepts and does not follow, and saved queries that can never run. Saved queries are not
// checked while the schema is invalid, because all their types would be unknown.
func (c *vaultCheck) settings() {
	for _, f := range problemsOf(c.idx.ConfigErr()) {
		file, at := vault.ConfigRaven, 1
		if f.Location != nil {
			file, at = f.Location.File, f.Location.Line
		}
		c.report(finding{fault: f, code: "config_error"}, file, at)
	}
	config := c.idx.Config()
	odd := func(message string) {
		c.report(finding{fault: fault.New(fault.SchemaError, "%s", message), code: "config_error", warning: true},
			vault.ConfigRaven, 1)
	}
	if config.Deletion.Behavior == "permanent" {
		odd("deletion.behavior permanent is not supported: deleted notes are moved to the trash")
	}
	if dir := strings.TrimSuffix(config.Deletion.TrashDir, "/"); dir != strings.TrimSuffix(vault.Trash, "/") {
		odd("deletion.trash_dir is not supported: deleted notes are moved to .trash")
	}
	world := query.State{Index: c.idx, Clock: c.clock}.Env()
	world.Resolve = nil // missing targets of references are not reported here
	for _, q := range config.Queries {
		if err := checkSaved(q, world); err != nil && c.idx.SchemaErr() == nil {
			name, cause := firstRunes(q.Name), fault.Of(err)
			f := fault.New(fault.InvalidQuery, "the saved query %q is invalid: %s", name, cause.Message).
				With("name", name).With("cause", string(cause.Code))
			c.report(finding{fault: f, code: "invalid_saved_query", warning: true}, vault.ConfigRaven, 1)
		}
	}
}

// checkSaved returns an error if a saved query is invalid for all values of its inputs.
//
// A saved query has either a text in the query language or the older form of lists of types,
// traits, filters and tags, which is converted first.
func checkSaved(s vault.Query, w query.Env) error {
	if s.Query == "" {
		for name := range s.Filters {
			if !slices.Contains(s.Traits, name) {
				return fault.New(fault.InvalidValue, "the filter of %q has no effect: traits does not list it", name)
			}
		}
		return query.Check(query.FromList(s.Types, s.Traits, s.Filters, s.Tags), w)
	}
	q, err := query.Parse(s.Query)
	if err != nil {
		return err
	}
	return query.Check(q, w)
}

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

// wantsSome reports whether the filter can select an issue with one of these names. A filter by a
// fault code can select all.
func (p picker) wantsSome(names []string) bool {
	if p.issues == nil {
		return true
	}
	for code := range p.issues {
		if slices.Contains(names, code) || !slices.Contains(checkCodes, code) {
			return true
		}
	}
	return false
}

// unwanted returns the parts of the check of a note of which the filter selects no finding.
func (p picker) unwanted() noteParts {
	return noteParts{
		objects: !p.wantsSome(objectCodes), traits: !p.wantsSome(traitCodes), references: !p.wantsSome(refCodes),
	}
}

// Raven's names for the issues that each part of a check can find. A part that finds another kind of
// issue needs its name here, or a filter by that name does not find it.
var (
	objectCodes = []string{
		"unknown_type", "missing_required_field", "missing_required_trait", "invalid_field_value",
		"invalid_enum_value", "invalid_date_format", "unknown_frontmatter_key", "duplicate_object_id",
	}
	traitCodes = []string{"undefined_trait", "invalid_trait_value", "invalid_enum_value"}
	refCodes   = []string{
		"ambiguous_reference", "local_fragment_ref", "missing_reference", "stale_fragment",
		"markdown_link_to_vault_note", "short_ref_could_be_full_path", "wrong_target_type",
	}
	nameCodes = []string{"duplicate_alias", "alias_collision", "id_collision"}
)

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
