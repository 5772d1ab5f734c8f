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

// dailyText is the text of a new daily note: from the vault's daily template if it has one, else as
// raven.md §6.5 says. The template is one of the schema's, or what raven.yaml names: the path of a
// note, or the text itself (raven.md §1.12).
func dailyText(ctx context.Context, tx *repo.Tx, day vault.Date) ([]byte, error) {
	t, ok := tx.Index().Schema().Type(vault.Daily)
	written := tx.Index().Config().DailyTemplate
	if !ok || t.DefaultTemplate == "" && t.Template == "" && written == "" {
		return []byte(vault.DailyText(day)), nil
	}
	n := newNote{title: vault.DailyTitle(day), at: onDay(tx, day)}
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

// onDay is the time of the commit, moved to a day: what a template of that day takes for now.
func onDay(tx *repo.Tx, day vault.Date) time.Time {
	c := state.Clock(tx.Index(), tx.Now())
	now := state.Local(c)
	return day.Start(now.Location()).Add(now.Sub(c.Today().Start(now.Location())))
}

// isNote reports whether a text is the path of a note that is there.
func isNote(tx *repo.Tx, text string) bool {
	if strings.ContainsAny(text, "\n{") {
		return false
	}
	_, ok := tx.Index().Note(strings.TrimSuffix(text, ".md") + ".md")
	return ok
}

// onItsDay takes what the name of a daily note says of it: its date, which is none of its fields in the
// file, and what a template takes for now. A note of the type that is not named by a date keeps the one
// that the call gives it.
func (n *newNote) onItsDay(tx *repo.Tx, t *vault.Type) *fault.Fault {
	day, ok := tx.Index().Config().IsDaily(n.path)
	if !ok || t.Name != vault.Daily {
		return nil
	}
	n.at = onDay(tx, day)
	f := otherDate(day, n.fields)
	delete(n.fields, "date")
	return f
}

// misdated refuses to give a daily note that is named by its date another one.
func misdated(idx *index.Index, o index.Object, fields map[string]any) *fault.Fault {
	day, ok := idx.Config().IsDaily(vault.Path(o.Note.Path))
	if !ok || o.Section != nil || o.Type() != vault.Daily {
		return nil
	}
	return otherDate(day, fields)
}

// otherDate is INVALID_FIELD for fields that say another date than the name of a daily note.
func otherDate(day vault.Date, fields map[string]any) *fault.Fault {
	if given := fields["date"]; given == nil || given == string(day) {
		return nil
	}
	return fault.New(fault.InvalidField, "the date of a daily note is in its name, %s", day).
		With("field", "date")
}
