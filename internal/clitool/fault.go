package clitool

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rookery/internal/fault"
)

// fault prints a fault for people: what was wrong, the details that help, and what to do. The
// single problems of a call that had several are indented below it.
func (p *printer) fault(f *fault.Fault, indent string) {
	label := indent + "error: "
	if indent != "" {
		label = indent + "- "
	}
	p.line(label, red, fmt.Sprintf("%s%s (%s)", place(f.Location, f.Message), f.Message, f.Code))
	for _, key := range slices.Sorted(maps.Keys(f.Details)) {
		detail := detailOf(f.Details[key])
		if detail != "" && !repeats(f.Message, detail) {
			fmt.Fprintf(p.err, "%s  %s: %s\n", indent, harmless(key), harmless(detail))
		}
	}
	for _, one := range f.Errors {
		p.fault(one, indent+"  ")
	}
	if f.RetryAfter > 0 {
		fmt.Fprintf(p.err, "%s  again in: %s\n", indent, f.RetryAfter)
	}
	if f.Status() == fault.StatusInternal && f.RequestID != "" {
		fmt.Fprintf(p.err, "%s  request id: %s\n", indent, harmless(f.RequestID))
	}
	p.fixes(f.Fixes)
}

// repeats reports whether a message has a list already.
func repeats(message, list string) bool {
	return strings.Contains(list, ", ") && strings.Contains(message, list)
}

// fixes prints what to do, a line each.
func (p *printer) fixes(fixes []string) {
	for _, fix := range fixes {
		p.line("try: ", cyan, fix)
	}
}

// place is where in the vault a fault is, in front of its message. A file that the message begins with
// is not named twice.
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

// detailOf shows a detail on one line.
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
