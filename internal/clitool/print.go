package clitool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A printer prints answers in one form on Out and Err. Results are printed on Out, and everything
// about them on Err: warnings, counts and faults, so that Out can be piped. Its fields below now
// are those of one answer, and are set by run.
type printer struct {
	out, err io.Writer
	form     form
	terminal bool // Out is a terminal: use tables, and escape control characters
	person   bool // Err is a terminal
	colour   bool
	width    int
	wide     bool      // tables may be wider than the terminal
	now      time.Time // in the user's time zone

	schema  *jsonschema.Schema // of the data; nil: unknown
	list    string             // name of the list; empty: items
	columns []string           // members of list items to show; empty: all
	only    []string           // members of list items that the line selects
	nothing string             // message for an empty list
	marks   map[string]string  // for a text member of list items, the member with its ranges to emphasize
	diff    string             // member of list items that is a diff; empty: none
}

// printer returns a printer for a form. It uses colours only on a terminal that supports them, and
// not if NO_COLOR is set (no-color.org) or TERM is dumb.
func (a *App) printer(f form) *printer {
	colour := a.Terminal && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"
	return &printer{
		out: a.Out, err: a.Err, form: f, terminal: a.Terminal, colour: colour, width: a.width(),
		now: a.now(), person: a.Progress,
	}
}

// Control sequences for colours (ECMA-48, SGR). They are defined here because a package that reads
// the process's environment would ignore App.Env.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// paint returns text in a colour, if colours are used. The text must be escaped already: escaping
// the result would make the colour visible as text.
func (p *printer) paint(colour, s string) string {
	if !p.colour {
		return s
	}
	return colour + s + plain
}

// success prints an answer. more is the flag that requests the next page of a list, or "" if there
// is none. The error is that of encoding the answer; for people there is none. The warning about an
// empty list is left out if the message for it was printed.
func (p *printer) success(ans *answer, more string) error {
	switch p.form {
	case asEnvelope:
		raw, err := ans.json()
		return p.json(raw, err)
	case asBare:
		p.warnings(ans)
		raw, err := ans.data.MarshalJSON()
		return p.json(raw, err)
	}
	data := ans.data
	if p.terminal {
		data = p.humanize(data, p.schema)
	}
	p.data(data)
	if p.sayNothing() {
		ans.warnings = slices.DeleteFunc(ans.warnings, func(w tool.Warning) bool {
			return w.Code == noResults
		})
	}
	p.warnings(ans)
	p.counts(ans.meta, more)
	return nil
}

// noResults is the code of the warning about an empty list (CONTRACT §1).
const noResults = "NO_RESULTS"

// sayNothing prints the message for an empty list: on Out, or on Err if only Err is a terminal. It
// reports whether it did. A program that reads Out gets an empty list, and no message.
func (p *printer) sayNothing() bool {
	switch {
	case p.nothing == "":
		return false
	case p.terminal:
		p.printf("%s\n", p.nothing)
		return true
	case p.person:
		fmt.Fprintln(p.err, escapeControls(p.nothing))
		return true
	}
	return false
}

// json prints JSON: on one line or, on a terminal, indented and with control characters escaped.
// err is the error of encoding it, which is returned, so that the two can be combined in one call.
// The escapes are those of JSON, so the text on a terminal is still the same JSON.
func (p *printer) json(raw json.RawMessage, err error) error {
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	var b bytes.Buffer
	if p.terminal {
		if err := json.Indent(&b, raw, "", "  "); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		raw = control.EscapeJSON(b.Bytes())
	}
	fmt.Fprintf(p.out, "%s\n", raw)
	return nil
}

// fail prints a failure: JSON on Out, or text on Err for people. People also see its data on Out if
// it contains counts or lists, such as the results of single steps. For a missing positional
// argument, the usage line follows.
func (a *App) fail(f *failure) {
	p := a.printer(f.form)
	var raw json.RawMessage
	var err error
	switch f.form {
	case asEnvelope:
		raw, err = f.answer.json()
	case asBare:
		raw, err = tool.Marshal(f.family.BareFault(f.fault))
		if f.family != nil && f.family.Terse {
			p.terse(raw, err)
			return
		}
		p.warnings(f.answer)
	default:
		switch {
		case f.summed:
			p.summary(f.answer.ofFiles(f.family))
		case f.answer.data.counts():
			p.data(f.answer.data)
		}
		p.warnings(f.answer)
		p.fault(f.terms.fault(f.fault), "")
		if f.terms.lacksPlace(f.fault) {
			p.line("usage: ", cyan, f.terms.usage)
		}
		return
	}
	if err = p.json(raw, err); err != nil {
		p.fault(newFailure(nil, err).fault, "")
	}
}

// terse prints a failure as one line of JSON on Err, as the families do whose answers have a fixed
// form.
func (p *printer) terse(raw json.RawMessage, err error) {
	if err != nil {
		p.fault(newFailure(nil, err).fault, "")
		return
	}
	if p.terminal {
		raw = control.EscapeJSON(raw)
	}
	fmt.Fprintf(p.err, "%s\n", raw)
}

// refuse prints a usage error. If the line requests JSON, it also prints an envelope or, for a
// terse family, only the one line of a failure. The line could not be parsed, so args are searched
// for the flags.
func (a *App) refuse(e *usageError, root *cobra.Command, args []string) {
	p, wantsJSON := a.printer(forPeople), asksJSON(args)
	if c := a.commandOf(root, args); c != nil && c.tool.Family.Terse && wantsJSON && !asksEnvelope(args) {
		f := e.fault()
		f.Code = c.tool.Family.Malformed
		raw, err := tool.Marshal(c.tool.Family.BareFault(f))
		p.terse(raw, err)
		return
	}
	p.line("error: ", red, e.message)
	p.fixes(e.fixes)
	if wantsJSON {
		raw, err := (&answer{fault: e.fault()}).json()
		if err = p.json(raw, err); err != nil {
			p.fault(newFailure(nil, err).fault, "")
		}
	}
}

// warnings prints each warning on a line of Err.
func (p *printer) warnings(ans *answer) {
	for _, w := range ans.warnings {
		p.line("warning: ", yellow, w.Code+" "+w.Message)
		p.fixes(fixesOf(w))
	}
}

// fixesOf returns the fixes of a warning: the call that creates something, or the command for it
// without a vault, then the others. A warning has them in its fields, because it has no fixes of
// its own.
func fixesOf(w tool.Warning) []string {
	create, ok := w.Fields["create_call"].(string)
	if !ok {
		create, ok = w.Fields["create_command"].(string)
	}
	var fixes []string
	if ok {
		fixes = append(fixes, create)
	}
	list, _ := w.Fields["fixes"].([]any)
	for _, fix := range list {
		fixes = append(fixes, fmt.Sprint(fix))
	}
	return fixes
}

// line prints a line with a label on Err. Only the label is coloured. The message is escaped.
func (p *printer) line(label, colour, message string) {
	fmt.Fprintf(p.err, "%s%s\n", p.paint(colour, label), escapeControls(message))
}

// counts prints on Err how much of a list was shown, if there is more: "50 of 312 shown; the next
// page: --page-token …".
func (p *printer) counts(meta value, more string) {
	if more == "" {
		return
	}
	shown := "there is more"
	if count, total := meta.get("count"), meta.get("total"); count.text != "" && total.text != "" {
		shown = count.text + " of " + total.text + " shown"
	}
	fmt.Fprintf(p.err, "%s; the next page: %s\n", shown, escapeControls(more))
}

// escapeControls escapes characters that would control the terminal or reorder the text. Line feeds
// and tabs are kept.
func escapeControls(s string) string { return control.Escape(s) }

// humanize returns data in the form for a person at a terminal: labels from the schema instead of
// names, and times relative to now. Names that are not in the schema, such as those of fields, are
// kept. It does not change v, whose JSON may still be printed. A schema of nil returns v unchanged.
func (p *printer) humanize(v value, s *jsonschema.Schema) value {
	switch s = tool.Deref(p.schema, s); {
	case s == nil:
	case v.kind == textKind && s.Format == dateTime:
		v.text, v.whole = p.ago(v.text), true
	case v.kind == numberKind && s.Format == unixMS:
		if ms, err := strconv.ParseInt(v.text, 10, 64); err == nil {
			v.text, v.whole = p.agoOf(time.UnixMilli(ms)), true
		}
	case v.kind == listKind:
		items := make([]value, len(v.items))
		for i, item := range v.items {
			items[i] = p.humanize(item, s.Items)
		}
		v.items = items
	case v.kind == objectKind:
		members := make([]member, len(v.members))
		for i, m := range v.members {
			if property := s.Properties[m.name]; property != nil {
				m.label, m.value = labelOf(m.name, property), p.humanize(m.value, property)
			}
			members[i] = m
		}
		v.members = members
	}
	return v
}

// dateTime and unixMS are schema formats: a time as text, and milliseconds since 1970.
const (
	dateTime = "date-time"
	unixMS   = "unix-ms"
)

// labelOf returns the label of a member: the title in its schema, or its name in words, without the
// ending _at of a time: created_at is shown as created.
func labelOf(name string, s *jsonschema.Schema) string {
	if s.Title != "" {
		return s.Title
	}
	if s.Format == dateTime || s.Format == unixMS {
		name = strings.TrimSuffix(name, "_at")
	}
	return words(name)
}

// ago formats a time for a person in the zone of the clock: relative if it is less than twelve
// hours away, by the day within a week, otherwise as a date:
//
//	3 minutes ago, in 2 hours
//	yesterday 16:20, Monday 09:00
//	2026-03-02
//
// A text that is not a time is returned unchanged.
func (p *printer) ago(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return p.agoOf(t)
}

// agoOf is ago for a time. A time after tomorrow is a date, because the name of a day would be
// taken for one in the past.
func (p *printer) agoOf(t time.Time) string {
	t = t.In(p.now.Location())
	passed := p.now.Sub(t)
	if distance := passed.Abs(); distance < 12*time.Hour {
		return relative(distance, passed < 0)
	}
	const week = 7
	switch days := daysBetween(t, p.now); {
	case days == 0:
		return "today " + t.Format("15:04")
	case days == 1:
		return "yesterday " + t.Format("15:04")
	case days == -1:
		return "tomorrow " + t.Format("15:04")
	case 0 < days && days < week:
		return t.Format("Monday 15:04")
	}
	return t.Format(time.DateOnly)
}

// relative formats a time difference of less than a day. distance is not negative; future says
// whether the time is after now. Whole units are counted, rounded down.
func relative(distance time.Duration, future bool) string {
	count, unit := int(distance.Hours()), "hour"
	switch {
	case distance < time.Minute && future:
		return "in a moment"
	case distance < time.Minute:
		return "just now"
	case distance < time.Hour:
		count, unit = int(distance.Minutes()), "minute"
	}
	if count != 1 {
		unit += "s"
	}
	if future {
		return fmt.Sprintf("in %d %s", count, unit)
	}
	return fmt.Sprintf("%d %s ago", count, unit)
}

// daysBetween returns the number of midnights from one time to another of the same zone; it is
// negative if to is earlier. It counts days of the calendar, so a day with a clock change counts as
// one.
func daysBetween(from, to time.Time) int {
	day := func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	}
	return int(day(to).Sub(day(from)) / (24 * time.Hour))
}
