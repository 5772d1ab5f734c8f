package raven

import (
	"context"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// dailyText returns the text of a new daily note: from the daily template of the vault, or else the
// default of raven.md §6.5. The template is one of the schema, or that of raven.yaml, which is the
// path of a note or the text itself (raven.md §1.12).
//
// A text in raven.yaml and a file are rendered in the same way. The frontmatter of the result has
// only the type date; that of a template file is not used.
func dailyText(ctx context.Context, tx *repo.Tx, day vault.Date) ([]byte, error) {
	t, ok := tx.Index().Schema().Type(vault.Daily)
	written := tx.Index().Config().DailyTemplate
	if !ok || t.DefaultTemplate == "" && t.Template == "" && written == "" {
		return []byte(vault.DailyText(day)), nil
	}
	n := newNote{title: vault.DailyTitle(day), at: timeOnDay(tx, day)}
	body := fill(written, t, n)
	if written == "" || isNote(tx, written) {
		typ := *t
		if written != "" {
			typ.Template, typ.DefaultTemplate = written, ""
		}
		var err error
		if body, err = (newIn{}).template(ctx, tx, &typ, n); err != nil {
			return nil, err
		}
	}
	fields := []markdown.Field{{Key: "type", Value: "date"}}
	return markdown.Compose(fields, "\n"+strings.TrimLeft(body, "\r\n"))
}

// timeOnDay returns the time of day of the commit on the given day, which is the current time for
// the day's template.
//
// So a template with the time of day shows when the note was created, even if it is the note of
// another day.
func timeOnDay(tx *repo.Tx, day vault.Date) time.Time {
	c := state.Clock(tx.Index(), tx.Now())
	now := state.Local(c)
	return day.Start(now.Location()).Add(now.Sub(c.Today().Start(now.Location())))
}

// isNote reports whether a text is the path of an existing note.
func isNote(tx *repo.Tx, text string) bool {
	if strings.ContainsAny(text, "\n{") {
		return false
	}
	_, ok := tx.Index().Note(strings.TrimSuffix(text, ".md") + ".md")
	return ok
}

// setDailyTime sets the template's time of a new daily note from the date in its name. It removes
// the field date, which a daily note does not store, and returns a fault if the field has another
// date. It does nothing for a note whose name is not a date.
//
// A name that is a date determines the date; a field would be a second source that can contradict
// it.
func (n *newNote) setDailyTime(tx *repo.Tx, t *vault.Type) *fault.Fault {
	day, ok := tx.Index().Config().IsDaily(n.path)
	if !ok || t.Name != vault.Daily {
		return nil
	}
	n.at = timeOnDay(tx, day)
	f := checkDate(day, n.fields)
	delete(n.fields, "date")
	return f
}

// checkDailyDate returns a fault if fields would give a daily note another date than the one in its
// name.
func checkDailyDate(idx *index.Index, o index.Object, fields map[string]any) *fault.Fault {
	day, ok := idx.Config().IsDaily(vault.Path(o.Note.Path))
	if !ok || o.Section != nil || o.Type() != vault.Daily {
		return nil
	}
	return checkDate(day, fields)
}

// checkDate returns INVALID_FIELD if the field date has another value than day.
func checkDate(day vault.Date, fields map[string]any) *fault.Fault {
	if given := fields["date"]; given == nil || given == string(day) {
		return nil
	}
	return fault.New(fault.InvalidField, "the date of a daily note is in its name, %s", day).
		With("field", "date")
}
