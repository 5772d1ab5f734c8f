package clitool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A value is decoded JSON in which objects keep the order of their members, and numbers their
// digits. The order of an answer is part of its design, and a large number must not lose digits.
// The zero value is null. A value is copied on assignment, but its items and members are shared.
type value struct {
	kind    kind
	text    string // of a text, a number or a boolean
	items   []value
	members []member
	whole   bool // tables must not cut it
}

// A member is a named value of an object.
type member struct {
	name  string
	label string // shown to people instead of the name; empty: the name
	value
}

// title returns the name that people see.
func (m member) title() string { return cmp.Or(m.label, m.name) }

// A kind is the type of a JSON value. The zero kind is that of null and of a missing member, which
// are the same for everything that is shown.
type kind int

// The types of JSON values.
const (
	nullKind kind = iota
	boolKind
	numberKind
	textKind
	listKind
	objectKind
)

// decode decodes one JSON value. Text after it is ignored. Strings are decoded, so text of a string
// value has no escapes.
func decode(data []byte) (value, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return next(dec)
}

// next decodes the value that begins at the next token. An error is that of JSON that ends early or
// is malformed.
func next(dec *json.Decoder) (value, error) {
	token, err := dec.Token()
	if err != nil {
		return value{}, fmt.Errorf("read an answer: %w", err)
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return nextList(dec)
		}
		return nextObject(dec)
	case string:
		return value{kind: textKind, text: t}, nil
	case json.Number:
		return value{kind: numberKind, text: t.String()}, nil
	case bool:
		return value{kind: boolKind, text: fmt.Sprint(t)}, nil
	}
	return value{}, nil
}

// nextList decodes a list after its opening bracket.
func nextList(dec *json.Decoder) (value, error) {
	v := value{kind: listKind}
	for dec.More() {
		item, err := next(dec)
		if err != nil {
			return v, err
		}
		v.items = append(v.items, item)
	}
	_, err := dec.Token()
	return v, err
}

// nextObject decodes an object after its opening brace.
func nextObject(dec *json.Decoder) (value, error) {
	v := value{kind: objectKind}
	for dec.More() {
		name, err := next(dec)
		if err != nil {
			return v, err
		}
		item, err := next(dec)
		if err != nil {
			return v, err
		}
		v.members = append(v.members, member{name: name.text, value: item})
	}
	_, err := dec.Token()
	return v, err
}

// MarshalJSON encodes the value with its original order and digits, and without escaping characters
// of HTML. null is encoded as null, and an empty list as [].
func (v value) MarshalJSON() ([]byte, error) {
	switch v.kind {
	case nullKind:
		return []byte("null"), nil
	case textKind:
		return tool.Marshal(v.text)
	case listKind:
		return tool.Marshal(append([]value{}, v.items...))
	case objectKind:
		return v.marshalObject()
	}
	return []byte(v.text), nil
}

// marshalObject encodes an object with its members in order.
func (v value) marshalObject() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range v.members {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := tool.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		data, err := tool.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), data...)
	}
	return append(b, '}'), nil
}

// get returns the member with a name, or null if there is none.
func (v value) get(name string) value {
	m, _ := v.member(name)
	return m.value
}

// member returns the member with a name, and reports whether there is one.
func (v value) member(name string) (member, bool) {
	for _, m := range v.members {
		if m.name == name {
			return m, true
		}
	}
	return member{}, false
}

// set replaces the member with a name, or adds it at the end. v becomes an object. A member that is
// replaced keeps its label. Copies of v share the array of members, so a replacement changes them
// too; clone the members first if that matters.
func (v *value) set(name string, to value) {
	for i, m := range v.members {
		if m.name == name {
			v.members[i].value = to
			return
		}
	}
	v.kind = objectKind
	v.members = append(v.members, member{name: name, value: to})
}

// remove removes the member with a name. It does not change the members of copies of v.
func (v *value) remove(name string) {
	var rest []member
	for _, m := range v.members {
		if m.name != name {
			rest = append(rest, m)
		}
	}
	v.members = rest
}

// isScalar reports whether the value is neither a list nor an object.
func (v value) isScalar() bool { return v.kind != listKind && v.kind != objectKind }

// isRows reports whether the value is a non-empty list of objects, which is shown as a table. A
// list with one item of another kind is not.
func (v value) isRows() bool {
	for _, item := range v.items {
		if item.kind != objectKind {
			return false
		}
	}
	return v.kind == listKind && len(v.items) > 0
}

// isThing reports whether the value can be shown without its name: a list, or an object with a
// scalar member. An object that contains only other values would be unclear without it.
func (v value) isThing() bool {
	return v.kind == listKind || slices.ContainsFunc(v.members, func(m member) bool {
		return m.isScalar()
	})
}

// counts reports whether the value contains a number or a non-empty list: then the data of a failed
// call is worth showing, because it shows the steps that were done before the failure.
func (v value) counts() bool {
	return slices.ContainsFunc(v.members, func(m member) bool {
		return m.kind == numberKind || len(m.items) > 0
	})
}

// isEmpty reports whether there is nothing in the value to show: null, an empty list or an empty
// object. An empty text, zero and false are shown.
func (v value) isEmpty() bool {
	switch v.kind {
	case nullKind:
		return true
	case listKind:
		return len(v.items) == 0
	case objectKind:
		return len(v.members) == 0
	}
	return false
}

// textValue returns a text.
func textValue(s string) value { return value{kind: textKind, text: s} }

// numberValue returns a number.
func numberValue(n int) value { return value{kind: numberKind, text: fmt.Sprint(n)} }

// An answer is the decoded envelope of a call. All forms of output are printed from it. An answer
// of one call keeps the JSON that it was decoded from, so that programs get exactly the text that
// the server sent; an answer that was put together from several calls, or changed, has none and is
// encoded again.
type answer struct {
	ok       bool
	data     value
	fault    *fault.Fault // nil on success
	warnings []tool.Warning
	meta     value

	raw json.RawMessage // the JSON as received; empty for an answer built here
}

// An envelope is the JSON form of an answer (CONTRACT §1). Members keep their order and numbers
// their digits, because data is a value.
type envelope struct {
	OK       bool           `json:"ok"`
	Data     *value         `json:"data,omitempty"`
	Error    *fault.Fault   `json:"error,omitempty"`
	Warnings []tool.Warning `json:"warnings"`
	Meta     *value         `json:"meta,omitempty"`
}

// UnmarshalJSON decodes a value and keeps the order of its members.
func (v *value) UnmarshalJSON(data []byte) (err error) {
	*v, err = decode(data)
	return err
}

// open decodes an envelope. It returns an error for JSON that is not an envelope: one that is not
// ok and has no error. A failed call may have data too, such as the results of the steps before the
// failure. The answer keeps raw, which the caller must not change.
func open(raw json.RawMessage) (*answer, error) {
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	ans := &answer{ok: e.OK, fault: e.Error, warnings: e.Warnings, raw: raw}
	if e.Data != nil {
		ans.data = *e.Data
	}
	if e.Meta != nil {
		ans.meta = *e.Meta
	}
	if !ans.ok && ans.fault == nil {
		return nil, errors.New("read an answer: it is not an envelope")
	}
	return ans, nil
}

// json returns the answer in its envelope: the JSON as received, or a new encoding if the answer
// was built here. A caller that changes an answer must clear raw.
func (ans *answer) json() (json.RawMessage, error) {
	if len(ans.raw) > 0 {
		return ans.raw, nil
	}
	e := envelope{OK: ans.ok, Error: ans.fault, Warnings: ans.warnings}
	if ans.data.kind != nullKind {
		e.Data = &ans.data
	}
	if ans.meta.kind != nullKind {
		e.Meta = &ans.meta
	}
	if e.Warnings == nil {
		e.Warnings = []tool.Warning{}
	}
	return tool.Marshal(e)
}

// A failure is the error of a call that ended in a fault. Run prints it and derives the exit code
// from it, so a failure passes through all functions between the call and Run unchanged, except for
// its form, its family and its terms, which the command sets on the way.
type failure struct {
	fault  *fault.Fault
	answer *answer // never nil
	form   form
	terms  *terms       // of the line; nil: the fault is printed unchanged
	family *tool.Family // of the tool; nil: no tool was called
	summed bool         // the answer is about imported files; people see a one-line summary of it
}

// Error returns the text of the fault.
func (f *failure) Error() string { return f.fault.Error() }

// newFailure returns the failure of a call. ans is the call's answer, whose data and warnings are
// printed too; it may be nil. An error that is not a fault becomes INTERNAL. An answer without a
// fault, such as that of a job which failed later, is replaced: its data would look like a result.
func newFailure(ans *answer, err error) *failure {
	f := fault.Of(err)
	if ans == nil || ans.fault == nil {
		ans = &answer{fault: f}
	}
	return &failure{fault: f, answer: ans}
}

// invoke calls a tool. A non-nil error is a *failure. There are four kinds of failures: the call
// returned no envelope; it returned an envelope with a fault; its answer is not an envelope; and
// the envelope is not ok although the call returned no error.
func invoke(
	ctx context.Context, inv tool.Invoker, name string, args map[string]json.RawMessage,
) (*answer, error) {
	in, err := tool.Marshal(args)
	if err != nil {
		return nil, newFailure(nil, fmt.Errorf("write the arguments: %w", err))
	}
	raw, err := inv.Invoke(ctx, name, in)
	if err != nil && len(raw) == 0 {
		return nil, newFailure(nil, err)
	}
	ans, unreadable := open(raw)
	switch {
	case err != nil && unreadable != nil:
		return nil, newFailure(nil, err)
	case err != nil:
		return nil, newFailure(ans, err)
	case unreadable != nil:
		return nil, newFailure(nil, unreadable)
	case !ans.ok:
		return nil, newFailure(ans, ans.fault)
	}
	return ans, nil
}

// add adds the answer of another call: numbers are summed, lists are joined, and for everything
// else the last value counts. The sum of an import is the answer that one large call would have
// had.
func (ans *answer) add(more *answer) {
	ans.data = sum(ans.data, more.data)
	ans.meta = sum(ans.meta, more.meta)
	ans.warn(more.warnings)
}

// warn adds warnings, up to the maximum of an answer (CONTRACT §1). A warning in place of the last
// one says that there are more.
func (ans *answer) warn(more []tool.Warning) {
	const most = 100
	ans.warnings = slices.Concat(ans.warnings, more)
	if len(ans.warnings) > most {
		ans.warnings = append(ans.warnings[:most-1], tool.Warning{
			Code:    "WARNINGS_TRUNCATED",
			Message: fmt.Sprintf("only the first %d warnings are listed", most-1),
		})
	}
}

// sum returns b added to a. Members missing in b are kept, and values of another type in b replace
// those in a. Neither is changed.
func sum(a, b value) value {
	switch {
	case b.kind == nullKind:
		return a
	case a.kind != b.kind:
		return b
	case b.kind == numberKind:
		return sumNumbers(a, b)
	case b.kind == listKind:
		return value{kind: listKind, items: slices.Concat(a.items, b.items)}
	case b.kind == objectKind:
		all := value{kind: objectKind, members: slices.Clone(a.members)}
		for _, m := range b.members {
			all.set(m.name, sum(a.get(m.name), m.value))
		}
		return all
	}
	return b
}

// joined adds a page of an answer to the pages before: lists are joined, and for everything else
// the last page counts. A page that is not an object replaces those before.
func joined(before, page value) value {
	if page.kind != objectKind {
		return page
	}
	all := value{kind: objectKind, members: slices.Clone(page.members)}
	for i, m := range all.members {
		if was := before.get(m.name); m.kind == listKind && was.kind == listKind {
			all.members[i].value = value{kind: listKind, items: slices.Concat(was.items, m.items)}
		}
	}
	return all
}

// sumNumbers adds two numbers. It is exact for 64-bit integers without overflow; other numbers are
// added as floating-point numbers. If one cannot be parsed, b counts.
func sumNumbers(a, b value) value {
	x, errX := strconv.ParseInt(a.text, 10, 64)
	y, errY := strconv.ParseInt(b.text, 10, 64)
	if errX == nil && errY == nil {
		return value{kind: numberKind, text: strconv.FormatInt(x+y, 10)}
	}
	f, errF := strconv.ParseFloat(a.text, 64)
	g, errG := strconv.ParseFloat(b.text, 64)
	if errF != nil || errG != nil {
		return b
	}
	return value{kind: numberKind, text: strconv.FormatFloat(f+g, 'g', -1, 64)}
}

// ofFiles returns the data of an answer about files for people. For families whose data has a fixed
// form it omits the count, because the list itself is shown, and adds skipped and left_out from the
// meta. It does not change the answer, which a program may still get.
func (ans *answer) ofFiles(family *tool.Family) value {
	data := ans.data
	if family == nil || !family.Terse {
		return data
	}
	data = value{kind: objectKind, members: slices.Clone(data.members)}
	data.remove("count") // the list itself is shown
	for _, name := range []string{"skipped", "left_out"} {
		if v, ok := ans.meta.member(name); ok {
			data.set(name, v.value)
		}
	}
	return data
}

// summary prints the result of an import or an export on one line, and on Err the skipped files:
//
//	12 created, 3 replaced, 15 files
//	skipped (not a note): image.png, notes.txt
func (p *printer) summary(data value) {
	left := data.get("left_out")
	data.remove("left_out")
	var parts []string
	for _, m := range data.members {
		switch {
		case m.kind == listKind:
			parts = append(parts, fmt.Sprintf("%d %s", len(m.items), words(m.name)))
		case m.kind == numberKind:
			parts = append(parts, m.text+" "+words(m.name))
		case m.kind == boolKind && m.text == "true":
			parts = append(parts, words(m.name))
		case m.kind == textKind:
			parts = append(parts, words(m.name)+" "+m.text)
		}
	}
	if len(parts) > 0 {
		p.printf("%s\n", strings.Join(parts, ", "))
	}
	p.leftOut(left.items)
}

// words returns the name of a member in words: left_out becomes "left out".
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// leftOut prints the skipped files on Err by reason, at most 20 names for each, and how many more
// there are.
func (p *printer) leftOut(items []value) {
	const most = 20
	byReason := map[string][]string{}
	for _, item := range items {
		reason := item.get("reason").text
		byReason[reason] = append(byReason[reason], item.get("path").text)
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		names := byReason[reason]
		line := strings.Join(names[:min(most, len(names))], ", ")
		if n := len(names) - most; n > 0 {
			line += fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(p.err, "skipped (%s): %s\n", reason, control.EscapeLine(line))
	}
}
