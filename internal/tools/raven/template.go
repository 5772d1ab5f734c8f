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

// template is the body that a template gives a new note. Its variables are filled in
// (raven.md §1.20): title, slug, type, date, datetime, year, month, day, weekday, field.NAME.
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

// fill puts the values of a new note in the place of a template's variables.
func fill(body string, t *vault.Type, n newNote) string {
	return strings.NewReplacer(variables(n, t)...).Replace(body)
}

// templateFile is the file of the template that is meant: the one that the call names, else the
// type's own.
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

// variables are the pairs of a template's variables and their values.
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
			value = fmt.Sprint(shown(v))
		}
		pairs = append(pairs, "{{field."+name+"}}", value)
	}
	return pairs
}
