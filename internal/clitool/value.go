package clitool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

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
