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

// unknownFields warns of written fields that the type does not declare. The fields are written all
// the same: Raven accepts undeclared fields, and only a check reports them.
func unknownFields(a *tool.Aside, t *vault.Type, names []string) {
	known := fieldsOf(t)
	for i, name := range names {
		message := fmt.Sprintf("type %s declares no field %q", t.Name, name)
		facts := map[string]any{"field": name, "allowed": vault.Offered(known)}
		if i >= fault.MaxProblems { // further warnings have no details
			delete(facts, "allowed")
		} else if near := fault.Nearest(name, known); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
			facts["nearest"] = []string{near}
		}
		a.Warn("UNKNOWN_FIELD", message, facts)
	}
}

// fieldsOf returns the names of the fields and traits that a type declares.
func fieldsOf(t *vault.Type) []string { return slices.Concat(t.FieldNames(), t.TraitNames()) }

// noType returns INVALID_FIELD if fields contains `type`, which is not a field.
func noType(fields map[string]any) *fault.Fault {
	if _, ok := fields["type"]; !ok {
		return nil
	}
	return fault.New(fault.InvalidField, "the type of an object is not one of its fields").
		With("field", "type")
}

// A writer tries to write one field, and returns an error if its key or value cannot be written.
//
// It writes into a throw-away text, so that the fields of a call can be checked before the note
// exists, and all problems reported together.
type writer func(markdown.Field) error

// inFrontmatter is the writer for the frontmatter of a note.
func inFrontmatter(f markdown.Field) error {
	_, err := markdown.Compose([]markdown.Field{f}, "")
	return err
}

// inDeclaration is the writer for the declaration of an embedded object.
func inDeclaration(f markdown.Field) error {
	_, err := markdown.SetArguments([]byte("## A\n::x\n"), "a", []markdown.Field{f})
	return err
}

// unwritable returns the problems of the fields that cannot be written.
func unwritable(fields map[string]any, write writer) []*fault.Fault {
	var problems []*fault.Fault
	for _, f := range mutation.SortedFields(fields) {
		if err := write(f); err != nil {
			problems = append(problems, fault.Of(err))
		}
	}
	return problems
}
