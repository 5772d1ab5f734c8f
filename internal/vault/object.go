package vault

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// ReservedFields returns the frontmatter keys that have the same meaning in every type.
func ReservedFields() []string { return []string{"type", "tags", "alias", "id"} }

// A CheckResult is the result of Type.Check.
type CheckResult struct {
	Fields   map[string]any // the valid values, in the form to be written
	Unknown  []string       // names of fields that the type does not declare, sorted
	Problems []*fault.Fault // one for each invalid field, sorted by name
}

// Check validates the given fields of an object of the type and converts them to the form to be
// written. It does not report missing fields; see Missing. Undeclared fields are read as YAML and
// listed in Unknown, except for a page, where any field is allowed.
func (t *Type) Check(fields map[string]any, c Clock) CheckResult {
	out := CheckResult{Fields: map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		v, err := t.read(name, fields[name], c)
		if err != nil {
			out.Problems = append(out.Problems, fault.Of(err))
			continue
		}
		out.Fields[name] = v
		if !t.knows(name) {
			out.Unknown = append(out.Unknown, name)
		}
	}
	return out
}

// knows reports whether a field of this name needs no warning: it is declared or reserved, or the
// type is Page.
func (t *Type) knows(name string) bool {
	_, declared := t.Field(name)
	return declared || t.Name == Page || slices.Contains(ReservedFields(), name)
}

// read converts the value of one field: by its declaration, as tags, or as an undeclared field.
func (t *Type) read(name string, v any, c Clock) (any, error) {
	if f, ok := t.Field(name); ok {
		return f.Read(v, c)
	}
	if name == "tags" {
		return readTags(v, c)
	}
	return readUndeclared(name, v)
}

// readTags converts tags, which may be a list, or a text of words separated by spaces or commas
// (reference/raven.md §1.8).
func readTags(v any, c Clock) (any, error) {
	tags := &Field{Name: "tags", Type: "string[]"}
	if t, ok := v.(Text); ok && !strings.HasPrefix(string(t), "[") {
		v = string(t)
	}
	if s, ok := v.(string); ok {
		var list []any
		for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' }) {
			list = append(list, strings.TrimPrefix(word, "#"))
		}
		if list == nil {
			return nil, nil
		}
		return list, nil
	}
	return tags.Read(v, c)
}

// readUndeclared converts a field that the schema does not declare. A Text is read as YAML would
// read it in a frontmatter, so that `5` is a number. Mappings are refused with INVALID_VALUE.
func readUndeclared(name string, v any) (any, error) {
	switch given := v.(type) {
	case Text:
		v = given.yaml()
	case []any:
		v = readTexts(given)
	}
	if _, ok := v.(map[string]any); ok {
		return nil, fault.New(fault.InvalidValue,
			"Field %s must be a text, a number, true or false, null, or a list of these", quote(name)).
			With("field", name)
	}
	return v, nil
}

// readTexts returns a copy of a list in which each Text is read as YAML.
func readTexts(list []any) []any {
	read := make([]any, len(list))
	for i, v := range list {
		if t, ok := v.(Text); ok {
			v = t.yaml()
		}
		read[i] = v
	}
	return read
}

// Missing returns a MISSING_REQUIRED fault for each required field that is not in fields, in the
// order of the schema. A field with a default is never missing, and a null value counts as present.
func (t *Type) Missing(fields map[string]any) []*fault.Fault {
	var problems []*fault.Fault
	for _, f := range t.all() {
		if _, ok := fields[f.Name]; !ok && f.Required && !f.HasDefault {
			problems = append(problems, f.missing(t))
		}
	}
	return problems
}

// missing returns the fault of a required field that is missing.
func (f *Field) missing(t *Type) *fault.Fault {
	return fault.New(fault.MissingRequired, "Field %s is required for type %s",
		quote(f.Name), quote(t.Name)).With("field", f.Name).With("type", t.Name)
}

// Defaults returns a copy of fields in which missing fields have the type's defaults, and the names
// of the added fields in the order of the schema. It does not change fields. A null value counts as
// present and is not replaced. The copy may be nil if fields is nil and nothing is added.
func (t *Type) Defaults(fields map[string]any) (filled map[string]any, names []string) {
	filled = maps.Clone(fields)
	for _, f := range t.all() {
		if _, ok := fields[f.Name]; ok || !f.HasDefault {
			continue
		}
		if filled == nil {
			filled = map[string]any{}
		}
		filled[f.Name] = f.Default
		names = append(names, f.Name)
	}
	return filled, names
}

// WithObsidian returns the configuration with the folders of daily notes and templates from
// Obsidian's settings, where raven.yaml does not set them. Either text may be nil; invalid settings
// are ignored. The name format of daily notes is not taken over: it is always YYYY-MM-DD.
func (c Config) WithObsidian(daily, templates []byte) Config {
	if folder, ok := obsidianFolder(daily); ok && !c.dailyIsSet {
		if c.DailyDirectory = strings.TrimSuffix(folder, "/"); folder == "" {
			c.DailyDirectory = Root
		}
	}
	if folder, ok := obsidianFolder(templates); ok && c.Directories.Template == "" {
		c.Directories.Template = folder
	}
	return c
}

// obsidianFolder returns the folder in an Obsidian settings file, with a trailing slash, or "" for
// the root of the vault. ok is false if the file has none or is invalid.
func obsidianFolder(text []byte) (folder string, ok bool) {
	var settings struct {
		Folder *string `json:"folder"`
	}
	if len(text) == 0 || json.Unmarshal(text, &settings) != nil || settings.Folder == nil {
		return "", false
	}
	folder = CleanPath(strings.Trim(strings.TrimSpace(*settings.Folder), "/"))
	if folder == "" || folder == Root {
		return "", true
	}
	if _, err := ParsePath(folder + "/x.md"); err != nil {
		return "", false
	}
	return folder + "/", true
}

// IsTemplate reports whether a note is in the configured folder of templates. Case is ignored. It
// is false for every note if no folder is configured.
func (c Config) IsTemplate(p Path) bool {
	folder := c.Directories.Template
	return folder != "" && len(p) > len(folder) && strings.EqualFold(string(p[:len(folder)]), folder)
}
