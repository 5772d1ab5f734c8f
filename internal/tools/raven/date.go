package raven

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A dateIn is the input of raven_date.
type dateIn struct {
	tool.Vault
	// the day: 2026-03-02, today, tomorrow or yesterday; default today
	Date string `json:"date,omitempty" absent:"Today"`
	detail
	tool.AsOf
	tool.Page
}

// A dateOut is the output of raven_date. Items is paged; Backlinks is not.
//
// The answer describes a day even if it has no daily note: fields and traits elsewhere can have the
// date, and references can name the day.
type dateOut struct {
	tool.Aside  `json:"-"`
	Date        string `json:"date"`
	DayOfWeek   string `json:"day_of_week"`
	DailyNoteID string `json:"daily_note_id"`
	DailyPath   string `json:"daily_path"`
	DailyExists bool   `json:"daily_exists"`
	// null if there is none
	DailyNote *object `json:"daily_note"`
	// fields and traits with this date
	Items []datedItem `json:"items"`
	// the references to the day, at most 200
	Backlinks []quotedBacklink `json:"backlinks"`
	// how many there are
	Total int `json:"backlinks_total"`
}

// A datedItem is a field or trait with a date, as the answer shows it.
type datedItem struct {
	Date string `json:"date"`
	// object or trait
	SourceType string `json:"source_type"`
	SourceID   string `json:"source_id"`
	// the field, or the type of the trait
	FieldName string  `json:"field_name"`
	Object    *object `json:"object,omitempty"`
	Trait     *trait  `json:"trait,omitempty"`
}

// date returns the tool raven_date, which shows a day: its daily note, dates and backlinks.
func (f tools) date() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "raven_date", Family: Family, Title: "Show a day",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/dates"},
		Commands: []tool.Command{{Words: "date", Args: []string{"date?"}}, {Words: "daily", Args: []string{"date?"}}},
	}, showDate)
}

// showDate runs raven_date.
//
// Only the list of dated fields and traits has pages. The backlinks are repeated on each page, at
// most tool.MaxPage of them; raven_backlinks lists all.
func showDate(
	ctx context.Context, v view, in dateIn, out *dateOut,
) (listing[datedItem], error) {
	day, err := dayOf(in.Date, v.Clock)
	if err != nil {
		return nil, err
	}
	d := v.renderer()
	*out = d.day(day)
	out.Backlinks, out.Total, err = v.someBacklinks(ctx, d, out.DailyNoteID)
	return located(d.dated(day), d.datedItem), err
}

// timed implements timed: a date can be today.
func (dateIn) timed() {}

// page implements listOut.
func (o *dateOut) page() (*tool.Aside, *[]datedItem) { return &o.Aside, &o.Items }

// dayOf returns the day that an argument names: today if it is empty.
func dayOf(text string, c vault.Clock) (vault.Date, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return c.Today(), nil
	}
	day, ok := c.Day(text)
	if !ok {
		words := append([]string{"YYYY-MM-DD"}, vault.DayWords()...)
		return "", fault.New(fault.InvalidValue, "date must be one of %s",
			strings.Join(words, ", ")).With("argument", "date").With("allowed", words)
	}
	return day, nil
}

// day returns the part of the answer about the day itself and its daily note.
func (d renderer) day(day vault.Date) dateOut {
	path := d.idx.Config().DailyPath(day)
	out := dateOut{
		Date: string(day), DayOfWeek: day.Weekday().String(),
		DailyNoteID: path.ID(), DailyPath: string(path),
	}
	if n, ok := d.idx.Note(string(path)); ok {
		out.DailyExists, out.DailyNote = true, new(d.object(n.Object(-1)))
	}
	return out
}

// A numberedDate is an index.Dated with its number on its line. The number makes its location
// unique.
//
// A line can have several dates, such as two traits; index.Dated has no position within the line.
type numberedDate struct {
	index.DateMention
	// number counts the dates on one line, from 0.
	number int
}

// location returns the location for page tokens.
func (p numberedDate) location() index.Location {
	return index.Location{Path: p.Object.Note.Path, Line: p.Line, Position: p.number}
}

// dated returns the list of the fields and traits with a date.
//
// Numbers are counted from the first date of a line, also where a page begins within the line, so
// the walk starts at the beginning of the note and skips what the page before has shown.
func (d renderer) dated(day vault.Date) state.Listing[numberedDate] {
	behind := func(after index.Location) iter.Seq[numberedDate] {
		return func(yield func(numberedDate) bool) {
			last := numberedDate{}
			for at := range d.idx.DatesOn(day, after.Path) {
				here := numberedDate{at, 0}
				if last.Object.Note == at.Object.Note && last.Line == at.Line {
					here.number = last.number + 1
				}
				last = here
				if here.location().After(after) && !yield(here) {
					return
				}
			}
		}
	}
	count := func() int { return d.idx.DateCount(day) }
	return state.Listing[numberedDate]{After: behind, Location: numberedDate.location, Count: count}
}

// datedItem returns a field or trait as the answer shows it.
func (d renderer) datedItem(p numberedDate) datedItem {
	item := datedItem{Date: string(p.Day), FieldName: p.Field}
	if p.Trait != nil {
		t := d.trait(p.Trait)
		item.SourceType, item.SourceID, item.Trait = "trait", t.ID, &t
		return item
	}
	o := d.object(p.Object)
	item.SourceType, item.SourceID, item.Object = "object", o.ID, &o
	return item
}

// someBacklinks returns the first backlinks of an object or day, each with its line of text, and
// the number of all.
func (v view) someBacklinks(
	ctx context.Context, d renderer, id string,
) ([]quotedBacklink, int, error) {
	links, total := firstLinks(ctx, d.backlinks(id))
	v.Prefetch(ctx, func(yield func(string) bool) {
		for _, l := range links {
			if !yield(l.Source.Note.Path) {
				return
			}
		}
	})
	all, q := []quotedBacklink{}, quoter{view: v}
	for _, l := range links {
		all = append(all, quotedBacklink{backlinkOf(l), q.line(ctx, l)})
	}
	return all, total, q.err
}

// firstLinks returns the first tool.MaxPage links of a list, and the number of all links.
func firstLinks(ctx context.Context, l state.Listing[index.Link]) ([]index.Link, int) {
	links := []index.Link{}
	for link := range l.After(index.Location{}) {
		if len(links) == tool.MaxPage {
			return links, l.Total(state.KeepGoing(ctx))
		}
		links = append(links, link)
	}
	return links, len(links)
}

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
