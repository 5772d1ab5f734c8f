package vault

import (
	"regexp"
	"slices"
	"strings"
)

// A SchemaDraft is a schema derived from the notes of a vault.
type SchemaDraft struct {
	Types  []TypeDraft  `json:"types"`
	Traits []FieldDraft `json:"traits"`
}

// A TypeDraft is a type of a SchemaDraft.
type TypeDraft struct {
	Name string `json:"name"`
	// how many notes it is derived from
	Notes int `json:"notes"`
	// the folder of most of them
	DefaultPath string       `json:"default_path,omitempty"`
	Fields      []FieldDraft `json:"fields"`
}

// A FieldDraft is a field or a trait of a SchemaDraft.
type FieldDraft struct {
	Name string `json:"name"`
	// one of the value types of a schema
	Type string `json:"type"`
	// of an enum
	Values []string `json:"values,omitempty"`
	// how many notes have it; of a trait, how often it is there
	Count int `json:"count"`
}

// Text returns the draft as a schema.yaml, which ParseSchema accepts if the names and value types
// of the draft are valid.
func (d SchemaDraft) Text() []byte {
	var b strings.Builder
	b.WriteString("version: 1\n")
	if len(d.Types) > 0 {
		b.WriteString("types:\n")
	}
	for _, t := range d.Types {
		b.WriteString("  " + yamlName(t.Name) + ":\n")
		if t.DefaultPath != "" {
			b.WriteString("    default_path: " + yamlName(t.DefaultPath) + "\n")
		}
		if len(t.Fields) == 0 {
			b.WriteString("    fields: {}\n")
			continue
		}
		b.WriteString("    fields:\n")
		for _, f := range t.Fields {
			b.WriteString("      " + f.line())
		}
	}
	if len(d.Traits) > 0 {
		b.WriteString("traits:\n")
	}
	for _, f := range d.Traits {
		b.WriteString("  " + f.line())
	}
	return []byte(b.String())
}

// line returns the definition of a field or a trait as one line of YAML, such as `status: { type:
// enum, values: [open, done] }` with a line break.
func (f FieldDraft) line() string {
	text := yamlName(f.Name) + ": { type: " + yamlName(f.Type)
	if len(f.Values) > 0 {
		quoted := make([]string, len(f.Values))
		for i, v := range f.Values {
			quoted[i] = yamlName(v)
		}
		text += ", values: [" + strings.Join(quoted, ", ") + "]"
	}
	return text + " }\n"
}

// Patterns of YAML scalars.
var (
	plainName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_/-]*$`)

	// yamlWords are words that YAML may read as another type than a text.
	yamlWords = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
)

// yamlName returns a YAML scalar that reads as the text s.
func yamlName(s string) string {
	if plainName.MatchString(s) && !slices.Contains(yamlWords, strings.ToLower(s)) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}
