package tool

import (
	"bytes"
	"encoding/json"

	"rookery/internal/fault"
)

// The members of a warning that are fixes: a list of them, and the call that creates what a
// reference leads to.
const (
	fixesKey      = "fixes"
	createCallKey = "create_call"
)

// Respell returns what a call came to, with the fixes of its fault and its warnings in the words of
// a projection: spell writes each fix that is a call. All other bytes of the answer stay as they are.
func Respell(
	answer json.RawMessage, failed error, spell func(fault.Call) string,
) (json.RawMessage, error) {
	each := func(fix string) string {
		if c, ok := fault.ParseCall(fix); ok {
			return spell(c)
		}
		return fix
	}
	if failed == nil {
		return ChangeFixes(answer, each), nil
	}
	f := mapFixes(fault.Of(failed), func(fix string) (string, bool) { return each(fix), true })
	return ChangeFixes(answer, each), f
}

// ChangeFixes returns an answer, enveloped or a bare failure, in which change has changed every fix.
// Bytes that belong to no fix stay as they are; what is not JSON stays whole.
func ChangeFixes(answer json.RawMessage, change func(fix string) string) json.RawMessage {
	if !bytes.Contains(answer, []byte(fixesKey)) && !bytes.Contains(answer, []byte(createCallKey)) {
		return answer
	}
	var head struct {
		OK           *bool
		Code, Status string
	}
	w := &fixWalk{dec: json.NewDecoder(bytes.NewReader(answer)), from: answer, change: change}
	top := atEnvelope
	switch err := json.Unmarshal(answer, &head); {
	case err != nil, head.OK == nil && (head.Code == "" || head.Status == ""):
		return answer
	case head.OK == nil:
		top = atFault
	}
	if w.value(top) != nil {
		return answer
	}
	return append(w.out, answer[w.copied:]...)
}

// mapFixes returns a copy of a fault whose fixes are those that change returns, without those for
// which it returns false.
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

// A place is where in an answer a JSON value is, as far as it leads to fixes.
type place int

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

// inside is the place of what is in a value: of a member by its name, of an element by "".
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

// A fixWalk is one pass over an answer, up to the next token of dec.
type fixWalk struct {
	dec    *json.Decoder
	from   []byte
	copied int // bytes of from that are in out, or replaced there
	out    []byte
	change func(string) string
}

// value passes one value.
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

// leaf passes a value in which no fix is, or which is itself one.
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

// arrange returns a fix as the caller of a request can follow it: the arguments of a call in the
// order of its tool's, about the vault and the state that the request is about. It returns false for
// a call that the caller cannot make.
func (c *Catalogue) arrange(ask *request, fix string) (string, bool) {
	call, ok := fault.ParseCall(fix)
	if !ok {
		return fix, true
	}
	t, ok := c.byName[call.Tool]
	if !ok {
		return fix, true
	}
	if ask.made != nil && !t.Usable(ask.made.Caller) {
		return "", false
	}
	given := ask.inherited(t)
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

// inherited are the arguments of a request that a call of the tool about the same thing has too.
func (ask *request) inherited(t *Tool) map[string]json.RawMessage {
	given := map[string]json.RawMessage{}
	if ask.made == nil {
		return given
	}
	if vault, ok := ask.made.Args["vault"]; ok && t.Subject != "" {
		given[t.Subject] = vault // also the one that was implied
	}
	for name, value := range ask.named {
		if a, ok := t.Arg(name); ok && a.Name == name {
			given[name] = value
		}
	}
	return given
}
