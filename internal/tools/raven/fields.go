package raven

import (
	"fmt"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// unknownFields warns of the fields that a type does not declare: they are written all the same.
func unknownFields(a *tool.Aside, t *vault.Type, names []string) {
	known := fieldsOf(t)
	for i, name := range names {
		message := fmt.Sprintf("type %s declares no field %q", t.Name, name)
		facts := map[string]any{"field": name, "allowed": vault.Offered(known)}
		if i >= fault.MaxProblems { // these are listed without help
			delete(facts, "allowed")
		} else if near := fault.Nearest(name, known); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
			facts["nearest"] = []string{near}
		}
		a.Warn("UNKNOWN_FIELD", message, facts)
	}
}

// fieldsOf are the names that a field of a type may have: those of the fields that it declares, and
// those of its traits.
func fieldsOf(t *vault.Type) []string { return slices.Concat(t.FieldNames(), t.TraitNames()) }

// noType refuses a change of the field `type`, which is no field.
func noType(fields map[string]any) *fault.Fault {
	if _, ok := fields["type"]; !ok {
		return nil
	}
	return fault.New(fault.InvalidField, "the type of an object is not one of its fields").
		With("field", "type")
}

// A writer writes one field into a text where fields of its kind can stand.
type writer func(markdown.Field) error

// inFrontmatter tries a field in the frontmatter of a note.
func inFrontmatter(f markdown.Field) error {
	_, err := markdown.Compose([]markdown.Field{f}, "")
	return err
}

// inDeclaration tries a field in the declaration of an object that is embedded in a note.
func inDeclaration(f markdown.Field) error {
	_, err := markdown.SetArguments([]byte("## A\n::x\n"), "a", []markdown.Field{f})
	return err
}

// unwritable are the problems of keys and values that cannot be written where they are to stand.
func unwritable(fields map[string]any, write writer) []*fault.Fault {
	var problems []*fault.Fault
	for _, f := range mutation.Sorted(fields) {
		if err := write(f); err != nil {
			problems = append(problems, fault.Of(err))
		}
	}
	return problems
}
