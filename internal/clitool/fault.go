package clitool

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// fault prints a fault for people, on Err: the message, useful details, and the fixes. The
// individual problems of a call are indented below it:
//
//	error: two notes are invalid (VALIDATION_FAILED)
//	- people/freya.md:3: Field 'met' must be a date (INVALID_VALUE)
//	try: rookery schema type person
//
// The id of the request is printed only for errors of the server, where a person needs it to find
// the log line.
func (p *printer) fault(f *fault.Fault, indent string) {
	label := indent + "error: "
	if indent != "" {
		label = indent + "- "
	}
	p.line(label, red, fmt.Sprintf("%s%s (%s)", place(f.Location, f.Message), f.Message, f.Code))
	for _, key := range slices.Sorted(maps.Keys(f.Details)) {
		detail := detailOf(f.Details[key])
		if detail != "" && !repeats(f.Message, detail) {
			fmt.Fprintf(p.err, "%s  %s: %s\n", indent, escapeControls(key), escapeControls(detail))
		}
	}
	for _, one := range f.Errors {
		p.fault(one, indent+"  ")
	}
	if f.RetryAfter > 0 {
		fmt.Fprintf(p.err, "%s  again in: %s\n", indent, f.RetryAfter)
	}
	if f.Status() == fault.StatusInternal && f.RequestID != "" {
		fmt.Fprintf(p.err, "%s  request id: %s\n", indent, escapeControls(f.RequestID))
	}
	p.fixes(f.Fixes)
}

// repeats reports whether a message already contains a list, so that the detail with the same list
// can be omitted. A single value is not a list.
func repeats(message, list string) bool {
	return strings.Contains(list, ", ") && strings.Contains(message, list)
}

// fixes prints each fix on a line, after the label try. Most fixes are command lines that can be
// copied; the rest of the line contains nothing else.
func (p *printer) fixes(fixes []string) {
	for _, fix := range fixes {
		p.line("try: ", cyan, fix)
	}
}

// place returns the location of a fault as a prefix of its message: FILE:LINE or FILE. It is "" if
// the message already begins with the file; then only a line is added.
func place(at *fault.Location, message string) string {
	switch {
	case at == nil:
		return ""
	case strings.HasPrefix(message, at.File+": ") && at.Line == 0:
		return ""
	case strings.HasPrefix(message, at.File+": "):
		return fmt.Sprintf("line %d of ", at.Line)
	case at.Line == 0:
		return at.File + ": "
	}
	return fmt.Sprintf("%s:%d: ", at.File, at.Line)
}

// detailOf formats a detail on one line, as values in tables are. It returns "" for an empty
// detail, and for one that cannot be encoded.
func detailOf(detail any) string {
	raw, err := json.Marshal(detail)
	if err != nil {
		return ""
	}
	v, err := decode(raw)
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(v.inline(), "\n", " ")
}
