package clitool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"rookery/internal/control"
	"rookery/internal/tool"
)

// A printer shows answers, on Out and Err, in one form.
type printer struct {
	out, err io.Writer
	form     form
	terminal bool // of out: tables, and control characters are escaped
	person   bool // reads err
	colour   bool
	width    int
	wide     bool      // tables are wider than the terminal rather than cut
	now      time.Time // in the zone of the person

	schema  *jsonschema.Schema // of the data; nil: it is not known
	list    string             // the name of the list; empty: items
	columns []string           // of a list, the members worth showing; empty: all
	only    []string           // of a list, the members that the line names
	nothing string             // what an empty list has none of
	marks   map[string]string  // of a list, the members that have the ranges to emphasize in a text
	diff    string             // of a list, the member that is a diff; empty: there is none
}

// printer is the printer for a form. Without a terminal, or where colours are unwanted
// (no-color.org), there are none.
func (a *App) printer(f form) *printer {
	colour := a.Terminal && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"
	return &printer{
		out: a.Out, err: a.Err, form: f, terminal: a.Terminal, colour: colour, width: a.width(),
		now: a.now(), person: a.Progress,
	}
}

// The colours of a terminal (ECMA-48, SGR). The environment that counts is the App's, so no package
// that reads another one decides on them.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// paint is text in a colour, where there are colours.
func (p *printer) paint(colour, s string) string {
	if !p.colour {
		return s
	}
	return colour + s + plain
}

// success prints an answer. More is the flag that continues a list, empty at its end.
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
		data = p.dress(data, p.schema)
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

// noResults is the code of the warning that a list is empty (CONTRACT §1).
const noResults = "NO_RESULTS"

// sayNothing tells a person that a list is empty, where there is one: on Out, or on Err if a program
// reads Out. It reports whether it has.
func (p *printer) sayNothing() bool {
	switch {
	case p.nothing == "":
		return false
	case p.terminal:
		p.printf("%s\n", p.nothing)
		return true
	case p.person:
		fmt.Fprintln(p.err, harmless(p.nothing))
		return true
	}
	return false
}

// json prints JSON: on one line, or on a terminal indented, with what would steer it escaped.
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

// fail prints a failure: JSON on Out, or text on Err for people, who see on Out what there is to
// count of its data: the results of single steps, or how far it came.
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

// terse prints a failure as one line of JSON on Err.
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

// refuse prints what is wrong with a command line. A line that asks for JSON gets an envelope too, or of a
// terse family the one line of its failures.
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

// warnings prints the warnings on Err, a line each.
func (p *printer) warnings(ans *answer) {
	for _, w := range ans.warnings {
		p.line("warning: ", yellow, w.Code+" "+w.Message)
		p.fixes(fixesOf(w))
	}
}

// fixesOf are what a warning says to do. The call that creates something is also there as the command
// that its document gives, which names no vault.
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

// line prints a line on Err that begins with a label.
func (p *printer) line(label, colour, message string) {
	fmt.Fprintf(p.err, "%s%s\n", p.paint(colour, label), harmless(message))
}

// counts says on Err how much of a list was shown, if that was not all of it.
func (p *printer) counts(meta value, more string) {
	if more == "" {
		return
	}
	shown := "there is more"
	if count, total := meta.get("count"), meta.get("total"); count.text != "" && total.text != "" {
		shown = count.text + " of " + total.text + " shown"
	}
	fmt.Fprintf(p.err, "%s; the next page: %s\n", shown, harmless(more))
}

// harmless is text for a terminal: what would steer it, or reorder the text, is escaped. Line feeds and tabs
// stay.
func harmless(s string) string { return control.Escape(s) }
