package raven

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// The values of the argument `as`: how a text is added.
const (
	asItems = "items"
	asText  = "text"
)

// An addIn is the input of raven_add. An empty To means the capture destination in the settings, or
// else today's daily note.
//
// The tool is a quick capture: a caller gives a line of text and no place, and the settings of the
// vault (capture.destination, capture.heading and capture.timestamp in raven.yaml) decide where the
// text goes and whether it begins with the time.
//
// Text is the text as the caller gives it. With As "items" its line breaks are normalized; with
// "text" it is appended byte for byte.
type addIn struct {
	tool.Vault
	// one line, or several
	Text string `json:"text" text:"true"`
	// projects/website.md, people/freya#notes, or tomorrow; default: today's daily note
	To string `json:"to,omitempty" absent:"Today's daily note" what:"path" examples:"projects/website.md,inbox.md,people/alice.md" complete:"id"`
	// put the time before each item
	Timestamp bool `json:"timestamp,omitempty"`
	// items: each line becomes a list item, with the indented lines below it; text: Markdown that
	// is appended unchanged, with headings
	As string `json:"as,omitempty" enum:"items,text" default:"items"`
	tool.Brief
	tool.Mutation
}

// add returns the tool raven_add, which adds list items or text to a note.
func (f tools) add() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_add", Family: Family, Title: "Add to a note",
		Role: auth.Editor, Kind: tool.Write,
		Route:    tool.Route{Method: "POST", Path: "/files/add"},
		Commands: []tool.Command{{Words: "add", Args: []string{"text"}}},
		Stdin:    "text",
	}, func(ctx context.Context, c auth.Caller, in addIn) (objectOut, error) {
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, in.Slim, in.targets}, in.run)
	})
}

// An insertPoint is the place where lines are added: a note, which may not exist yet, and a section
// of it.
//
// For a daily note that does not exist, text is the rendered template, and the commit creates the
// note and adds the lines in one step.
type insertPoint struct {
	path vault.Path
	slug string // of the section; empty: the end of the note
	// text is the text of the note. If it has to get a new heading, the heading is already in it.
	text []byte
	// made reports that the note does not exist yet.
	created bool
	object  index.Object // the object that the call names; zero if created
}

// run drafts the addition. If both the destination and the text are invalid, it reports both
// problems.
//
// The steps are: find the spot, build the block, append the block to the text of the spot, and
// stage the note. Both of the first two steps always run, so that one answer lists everything that
// the caller has to correct. A note that is created has no state before the change; the answer then
// reports it as created, with the side effect that the daily note was made.
func (in addIn) run(ctx context.Context, tx *repo.Tx, out *objectOut) error {
	s, err := in.insertPoint(ctx, tx)
	block, blockErr := in.block(tx)
	if err != nil && blockErr != nil {
		return fault.Join(Family.Several, []*fault.Fault{fault.Of(blockErr), fault.Of(err)})
	}
	if blockErr != nil {
		return blockErr
	}
	if err != nil {
		return err
	}
	var was priorObject
	if !s.created {
		was = priorOf(tx.Index(), s.object)
	}
	text, line, err := s.append(block, in.As)
	if err != nil {
		return withFileAndLine(err, string(s.path))
	}
	if err := tx.Put(ctx, s.path, text); err != nil {
		return err
	}
	warnRefs(tx, &out.Aside, string(s.path))
	out.Line, out.Content = line, block
	if s.created {
		out.SideEffects = []string{"the daily note " + string(s.path) + " is made"}
		return out.created(tx, s.path)
	}
	return out.updated(tx, was)
}

// append returns the text of the note with the block added, and the line of the block's first line.
// The line is counted from 1 in the new text. A text is appended as it is; list items join a list
// that the note or section ends with. It returns the errors of the package markdown, such as that
// of a section whose heading is missing.
func (s insertPoint) append(block, as string) ([]byte, int, error) {
	switch {
	case as == asText:
		return markdown.AppendText(s.text, s.slug, block)
	case s.slug == "":
		return markdown.Append(s.text, block)
	}
	return markdown.AppendToSection(s.text, s.slug, block)
}

// insertPoint returns the place that the argument `to` selects. A missing daily note is created;
// any other missing note is an error.
//
// The argument is tried as a day first, then as the id or name of an object. Only a day can name a
// note that does not exist: the template and the path of a daily note are known, those of any other
// note are not. A path that no note can have is INVALID_PATH rather than NOT_FOUND; see noPath.
func (in addIn) insertPoint(ctx context.Context, tx *repo.Tx) (insertPoint, error) {
	idx := tx.Index()
	in.To = in.destination(tx)
	day, isDay := in.day(tx)
	if !isDay {
		p, err := locate(idx, in.To, state.Clock(idx, tx.Now()))
		if err != nil {
			return insertPoint{}, noPath(err, in.To, "to")
		}
		return in.existingPoint(ctx, tx, p)
	}
	path := idx.Config().DailyPath(day)
	if n, ok := idx.Note(string(path)); ok {
		return in.existingPoint(ctx, tx, index.Object{Note: n})
	}
	text, err := dailyText(ctx, tx, day)
	if err != nil {
		return insertPoint{}, err
	}
	s := insertPoint{path: path, text: text, created: true}
	if heading := idx.Config().Capture.Heading; heading != "" {
		return s.underHeading(heading)
	}
	return s, nil
}

// destination returns the argument `to` or, if it is empty, the capture destination of the
// settings, without the brackets of a reference. In a text such as tomorrow#tasks it replaces the
// word for a day by the id of the daily note. The default destination of the settings stands for
// today's daily note and is therefore treated like an absent one.
func (in addIn) destination(tx *repo.Tx) string {
	if dest := tx.Index().Config().Capture.Destination; in.To == "" && dest != vault.DefaultDaily {
		in.To = dest
	}
	to := strings.TrimSpace(in.To)
	if ref, ok := vault.ParseRef(to); ok && strings.HasPrefix(to, "[[") {
		to = string(ref)
	}
	word, section, inside := strings.Cut(to, "#")
	if day, ok := state.Clock(tx.Index(), tx.Now()).Day(word); ok && inside {
		return tx.Index().Config().DailyPath(day).ID() + "#" + section
	}
	return to
}

// day returns the day whose daily note the argument `to` selects, which is today for an empty
// argument. It returns false if `to` does not select a daily note.
//
// A daily note can be given in three forms: as its id with or without the extension, in the folder
// of daily notes or as a bare date, and as a word such as tomorrow. Words are read in the time zone
// of the vault, not in that of the server or the caller.
func (in addIn) day(tx *repo.Tx) (vault.Date, bool) {
	now := state.Clock(tx.Index(), tx.Now())
	if in.To == "" {
		return now.Today(), true
	}
	id := strings.TrimSuffix(in.To, ".md")
	if path, ok := tx.Index().Config().DailyID(id); ok {
		date, isDaily := tx.Index().Config().IsDaily(vault.Path(path + ".md"))
		return date, isDaily
	}
	if date, ok := tx.Index().Config().IsDaily(vault.Path(id + ".md")); ok {
		return date, true
	}
	return now.Day(id)
}

// existingPoint returns the insert point for an existing note or section. If the settings have a
// capture heading, the spot in a daily note is below that heading.
//
// An explicit section takes precedence over the capture heading. The heading applies only to daily
// notes, because other notes have their own structure.
func (in addIn) existingPoint(ctx context.Context, tx *repo.Tx, p index.Object) (insertPoint, error) {
	text, _, err := tx.Text(ctx, vault.Path(p.Note.Path))
	if err != nil {
		return insertPoint{}, err
	}
	s := insertPoint{path: vault.Path(p.Note.Path), text: text, object: p}
	if p.Section != nil {
		s.slug = p.Section.Slug
		return s, nil
	}
	heading := tx.Index().Config().Capture.Heading
	if heading != "" && p.Note.Type == vault.Daily {
		return s.underHeading(heading)
	}
	return s, nil
}

// underHeading returns the insert point below a heading of the note. It adds the heading at the end
// of the text if the note does not have it. A heading without marks gets level 2.
//
// The heading is compared without its marks and without letter case. The title of the note is not a
// candidate, even if it has the same text: everything in the note is below it.
func (s insertPoint) underHeading(heading string) (insertPoint, error) {
	title := strings.TrimSpace(strings.TrimLeft(heading, "# "))
	for _, h := range markdown.Parse(s.text).Headings {
		if strings.EqualFold(strings.TrimSpace(h.Text), title) && !h.Title {
			s.slug = h.Slug
			return s, nil
		}
	}
	marks := "## "
	if strings.HasPrefix(heading, "#") {
		marks = heading[:len(heading)-len(strings.TrimLeft(heading, "#"))] + " "
	}
	text, _, err := markdown.Append(s.text, marks+title)
	if err != nil {
		return s, err
	}
	s.text, s.slug = text, lastSlug(text)
	return s, nil
}

// lastSlug returns the slug of the last heading of a text, or "" if it has none.
func lastSlug(text []byte) string {
	headings := markdown.Parse(text).Headings
	if len(headings) == 0 {
		return ""
	}
	return headings[len(headings)-1].Slug
}

// maxAdded is the maximum number of lines that one call adds as list items.
//
// Text that is appended unchanged has no such limit, only that of a note's size: the cost of list
// items is in their analysis, line by line.
const maxAdded = 10_000

// block returns the text as it is written into the note: unchanged, or as list items.
//
// Items with a heading among them are refused, because a heading in a list item would be read as a
// heading of the note and would move the text after it into another section.
func (in addIn) block(tx *repo.Tx) (string, error) {
	if strings.TrimSpace(in.Text) == "" {
		return "", fault.New(fault.MissingRequired, "the text must not be empty").
			With("argument", "text")
	}
	if in.As == asText {
		if in.Timestamp {
			return "", fault.New(fault.InvalidValue, "timestamp adds the time before each item; "+
				"a text has no items").With("argument", "timestamp").Fix("omit as or timestamp")
		}
		return in.Text, nil
	}
	now := ""
	if in.Timestamp || tx.Index().Config().Capture.Timestamp {
		now = state.Local(state.Clock(tx.Index(), tx.Now())).Format("15:04")
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(in.Text)
	if n := strings.Count(text, "\n"); n >= maxAdded {
		return "", fault.New(fault.BatchTooLarge, "the text has %d lines; a call adds at most %d list items",
			n+1, maxAdded).With("argument", "text").
			Fix("split it over several calls, or add it as text: as=text, or on the command line --as text")
	}
	var lines []string
	for _, item := range items(text) {
		lines = append(lines, asItem(item, now))
	}
	block := strings.Join(lines, "\n")
	if hasHeading(text) || hasHeading(block) {
		return "", fault.New(fault.InvalidValue,
			"a heading cannot be a list item").With("argument", "text").
			Fix("add it as text: as=text, or on the command line --as text")
	}
	return block, nil
}

// hasHeading reports whether a text contains a Markdown heading.
func hasHeading(text string) bool { return len(markdown.Parse([]byte(text)).Headings) > 0 }
