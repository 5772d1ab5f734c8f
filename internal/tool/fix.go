package tool

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Keys of a warning that contain fixes: a list of them, and the call that creates the target of a
// reference.
const (
	fixesKey      = "fixes"
	createCallKey = "create_call"
)

// Respell returns the answer with every fix that is a call rewritten by spell, in the notation of a
// projection.
func (a *Answer) Respell(spell func(fault.Call) string) *Answer {
	if a.Fault == nil && !mayHaveFixes(a.JSON()) {
		return a
	}
	b := *a
	b.changeFixes(respelled(spell))
	return &b
}

// Respell does for an answer in JSON, with its error, what Answer.Respell does. All other bytes of
// the answer are unchanged.
func Respell(
	answer json.RawMessage, failed error, spell func(fault.Call) string,
) (json.RawMessage, error) {
	answer = ChangeFixes(answer, respelled(spell))
	if failed == nil {
		return answer, nil
	}
	return answer, mapFixes(fault.Of(failed), always(respelled(spell)))
}

// respelled returns a function that rewrites a fix by spell if it is a call.
func respelled(spell func(fault.Call) string) func(fix string) string {
	return func(fix string) string {
		if c, ok := fault.ParseCall(fix); ok {
			return spell(c)
		}
		return fix
	}
}

// always returns a function for mapFixes that drops no fix.
func always(change func(fix string) string) func(fix string) (string, bool) {
	return func(fix string) (string, bool) { return change(fix), true }
}

// changeFixes replaces each fix in the answer by the result of change: those of its fault, of its
// warnings and of the results in its data.
func (a *Answer) changeFixes(change func(fix string) string) {
	a.text = nil
	if a.Fault != nil {
		a.Fault = mapFixes(a.Fault, always(change))
	}
	a.Warnings = slices.Clone(a.Warnings)
	for i, w := range a.Warnings {
		a.Warnings[i].Fields = changeIn(w.Fields, change)
	}
	if a.bare {
		a.Data = ChangeFixes(a.Data, change)
	} else {
		a.Data = changeAt(atData, a.Data, change)
	}
}

// changeIn returns the fields of a warning in which each fix is replaced by the result of change. A
// list of fixes is a []string or, in an answer that was read from a log, a []any.
func changeIn(fields map[string]any, change func(fix string) string) map[string]any {
	if fields[fixesKey] == nil && fields[createCallKey] == nil {
		return fields
	}
	fields = maps.Clone(fields)
	if create, ok := fields[createCallKey].(string); ok {
		fields[createCallKey] = change(create)
	}
	switch fixes := fields[fixesKey].(type) {
	case []string:
		changed := make([]string, len(fixes))
		for i, fix := range fixes {
			changed[i] = change(fix)
		}
		fields[fixesKey] = changed
	case []any:
		changed := slices.Clone(fixes)
		for i, fix := range fixes {
			if text, ok := fix.(string); ok {
				changed[i] = change(text)
			}
		}
		fields[fixesKey] = changed
	}
	return fields
}

// mayHaveFixes reports whether JSON contains a key of fixes.
func mayHaveFixes(data json.RawMessage) bool {
	return bytes.Contains(data, []byte(fixesKey)) || bytes.Contains(data, []byte(createCallKey))
}

// ChangeFixes returns an answer, an envelope or a bare failure, in which each fix is replaced by
// the result of change. All other bytes are unchanged. An input that is not a JSON answer is
// returned unchanged.
func ChangeFixes(answer json.RawMessage, change func(fix string) string) json.RawMessage {
	if !mayHaveFixes(answer) {
		return answer
	}
	var head struct {
		OK           *bool
		Code, Status string
	}
	switch err := json.Unmarshal(answer, &head); {
	case err != nil, head.OK == nil && (head.Code == "" || head.Status == ""):
		return answer
	case head.OK == nil:
		return changeAt(atFault, answer, change)
	}
	return changeAt(atEnvelope, answer, change)
}

// changeAt returns the JSON of a part of an answer in which each fix is replaced by the result of
// change. All other bytes are unchanged.
func changeAt(at place, data json.RawMessage, change func(fix string) string) json.RawMessage {
	if !mayHaveFixes(data) {
		return data
	}
	w := &fixWalk{dec: json.NewDecoder(bytes.NewReader(data)), from: data, change: change}
	if w.value(at) != nil {
		return data
	}
	return append(w.out, data[w.copied:]...)
}

// mapFixes returns a copy of a fault, and of the faults in it, in which each fix is replaced by the
// result of change. Fixes for which change returns false are dropped.
func mapFixes(f *fault.Fault, change func(fix string) (string, bool)) *fault.Fault {
	g := *f
	g.Fixes = nil
	for _, fix := range f.Fixes {
		if changed, ok := change(fix); ok {
			g.Fixes = append(g.Fixes, changed)
		}
	}
	g.Errors = nil
	for _, one := range f.Errors {
		g.Errors = append(g.Errors, mapFixes(one, change))
	}
	return &g
}

// A place is the role of a JSON value within an answer, as far as it can contain fixes.
type place int

// The places. elsewhere is that of values without fixes.
const (
	elsewhere place = iota
	atEnvelope
	atFault
	atFaults
	atWarnings
	atWarning
	atFixes
	atFix
	atData
	atResults
	atResult
)

// inside maps a place to the places of the values within it: by key for an object, by "" for the
// elements of a list. A place that is missing contains no fixes, or is one.
var inside = map[place]map[string]place{
	atEnvelope: {"error": atFault, "warnings": atWarnings, "data": atData},
	atData:     {"results": atResults, "errors": atFaults, "warnings": atFaults},
	atResults:  {"": atResult},
	atResult:   {"error": atFault, "warnings": atWarnings},
	atFault:    {fixesKey: atFixes, "errors": atFaults},
	atFaults:   {"": atFault},
	atWarnings: {"": atWarning},
	atWarning:  {fixesKey: atFixes, createCallKey: atFix},
	atFixes:    {"": atFix},
}

// A fixWalk is one pass over the tokens of an answer that copies it to out with its fixes changed.
type fixWalk struct {
	dec    *json.Decoder
	from   []byte
	copied int // number of bytes of from already copied to out, or replaced there
	out    []byte
	change func(string) string
}

// value reads one value at a place and changes the fixes in it. It reads tokens and not a tree, and
// stops at a value that cannot contain a fix, so the bytes of the answer stay as they are
// elsewhere.
func (w *fixWalk) value(at place) error {
	if inside[at] == nil {
		return w.leaf(at)
	}
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	opening, _ := token.(json.Delim)
	if opening != '{' && opening != '[' {
		return nil
	}
	for w.dec.More() {
		name := ""
		if opening == '{' {
			token, err := w.dec.Token()
			if err != nil {
				return err
			}
			name, _ = token.(string)
		}
		if err := w.value(inside[at][name]); err != nil {
			return err
		}
	}
	_, err = w.dec.Token()
	return err
}

// leaf reads one value as a whole. If it is a fix, leaf changes it.
func (w *fixWalk) leaf(at place) error {
	var raw json.RawMessage
	if err := w.dec.Decode(&raw); err != nil {
		return err
	}
	var fix string
	if at != atFix || json.Unmarshal(raw, &fix) != nil {
		return nil
	}
	if changed := w.change(fix); changed != fix {
		end := int(w.dec.InputOffset())
		w.out = append(append(w.out, w.from[w.copied:end-len(raw)]...), mustMarshal(changed)...)
		w.copied = end
	}
	return nil
}

// arrange returns a fix in a form that the caller of the request can use: the arguments of its call
// are sorted in the order of the tool's, and the vault and as_of of the request are added. It
// returns false for a call that the caller is not allowed to make or that lacks a required
// argument. A fix that is not a call of a known tool is returned unchanged.
func (c *Catalogue) arrange(run *running, fix string) (string, bool) {
	call, ok := fault.ParseCall(fix)
	if !ok {
		return fix, true
	}
	t, ok := c.byName[call.Tool]
	if !ok {
		return fix, true
	}
	if run.call != nil && !t.Usable(run.call.Caller) {
		return "", false
	}
	given := run.inherited(t)
	for _, a := range call.Args {
		given[a.Name] = a.Value
	}
	arranged := fault.Call{Tool: t.Name}
	for _, a := range t.Args {
		value, ok := given[a.Name]
		switch {
		case ok:
			arranged.Args = append(arranged.Args, fault.Arg{Name: a.Name, Value: value})
		case !a.Shared && t.needs(a, given):
			return "", false
		}
	}
	return arranged.String(), true
}

// inherited returns the arguments of the request that also apply to a call of t: the vault, and
// as_of if the caller gave it.
func (run *running) inherited(t *Tool) map[string]json.RawMessage {
	given := map[string]json.RawMessage{}
	if run.call == nil {
		return given
	}
	if vault, ok := run.call.Args["vault"]; ok && t.Subject != "" {
		given[t.Subject] = vault // the vault may be the implied one
	}
	for name, value := range run.named {
		if a, ok := t.Arg(name); ok && a.Name == name {
			given[name] = value
		}
	}
	return given
}

// ShellWord returns a text as one word of a command line for a POSIX shell. It is quoted only if
// necessary.
func ShellWord(s string) string {
	plain := strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("_-=./:", r) && (r < '0' || r > '9' && r < 'A' ||
			r > 'Z' && r < 'a' || r > 'z')
	}) < 0
	if s != "" && plain && s[0] != '-' {
		return s
	}
	return ShellQuote(s)
}

// ShellQuote returns a text in quotes that a POSIX shell reads as that text: double quotes, or
// single ones if double quotes would need more escapes.
func ShellQuote(s string) string {
	inSingle := strings.ContainsAny(s, "$`!") ||
		strings.ContainsAny(s, `\"`) && !strings.Contains(s, `'`)
	if inSingle {
		return `'` + strings.ReplaceAll(s, `'`, `'\''`) + `'`
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
