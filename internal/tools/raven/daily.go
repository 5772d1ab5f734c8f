package raven

import (
	"context"
	"strings"
	"time"

	"rookery/internal/markdown"
	"rookery/internal/repo"
	"rookery/internal/vault"
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
	c := clock(tx.Index(), tx.Now())
	now := local(c)
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
