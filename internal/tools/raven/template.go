package raven

import (
	"context"
	"fmt"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// template returns the body of a new note from a template, with the variables replaced (raven.md
// §1.20): title, slug, type, date, datetime, year, month, day, weekday, field.NAME.
//
// The template is a file of the vault in the state of the draft. Only its body is used; the
// frontmatter of the new note follows from the call and the type. A variable that is unknown stays
// as it is.
func (in newIn) template(
	ctx context.Context, tx *repo.Tx, t *vault.Type, n newNote,
) (string, error) {
	file, err := in.templateFile(tx, t)
	if err != nil {
		return "", err
	}
	text, ok, err := tx.Text(ctx, file)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", fault.New(fault.NotFound, "the template %s does not exist", file).
			At(string(file), 0)
	}
	body := string(text[markdown.Parse(text).Body:])
	if n.at.IsZero() {
		n.at = state.Local(state.Clock(tx.Index(), tx.Now()))
	}
	return fill(body, t, n), nil
}

// fill returns the body with the variables of a template replaced by the values of a new note.
func fill(body string, t *vault.Type, n newNote) string {
	return strings.NewReplacer(variables(n, t)...).Replace(body)
}

// templateFile returns the path of the template: the one of the call, else the type's own. The id
// is looked up among the templates of the schema. A template in the definition of the type is a
// path.
func (in newIn) templateFile(tx *repo.Tx, t *vault.Type) (vault.Path, error) {
	s := tx.Index().Schema()
	id := in.Template
	if id == "" {
		id = t.DefaultTemplate
	}
	if id == "" {
		return vault.ParsePath(strings.TrimSuffix(t.Template, ".md") + ".md")
	}
	if known, ok := s.Template(id); ok {
		return vault.ParsePath(known.File)
	}
	ids := []string{}
	for _, known := range s.Templates {
		ids = append(ids, known.ID)
	}
	return "", fault.New(fault.InvalidValue, "there is no template with that id").
		With("argument", "template").With("allowed", ids)
}

// variables returns the variables of a template, each followed by its value. Values of fields are
// as the call gave them; a field without a value is empty.
func variables(n newNote, t *vault.Type) []string {
	at := n.at
	pairs := []string{
		"{{title}}", n.title, "{{slug}}", vault.FileName(n.title), "{{type}}", t.Name,
		"{{date}}", at.Format("2006-01-02"), "{{datetime}}", at.Format("2006-01-02T15:04"),
		"{{year}}", at.Format("2006"), "{{month}}", at.Format("01"), "{{day}}", at.Format("02"),
		"{{weekday}}", at.Format("Monday"),
	}
	for name, v := range n.fields {
		value := ""
		if v != nil {
			value = fmt.Sprint(unresolvedValue(v))
		}
		pairs = append(pairs, "{{field."+name+"}}", value)
	}
	return pairs
}
