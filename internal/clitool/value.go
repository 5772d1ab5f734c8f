package clitool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"rookery/internal/tool"
)

// A value is JSON as it was received: an object keeps the order of its members, and a number its
// digits.
type value struct {
	kind    kind
	text    string // of a text, number or boolean
	items   []value
	members []member
	whole   bool // a table does not cut it
}

type member struct {
	name  string
	label string // what people are shown in its place; empty: the name
	value
}

// title returns what people are shown as the name.
func (m member) title() string { return cmp.Or(m.label, m.name) }

type kind int

const (
	nullKind kind = iota
	boolKind
	numberKind
	textKind
	listKind
	objectKind
)

// decode reads one JSON value.
func decode(data []byte) (value, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return next(dec)
}

// next reads the value that begins at the next token.
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

// MarshalJSON writes the value as it was read.
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

// get is the member of that name; null if there is none.
func (v value) get(name string) value {
	m, _ := v.member(name)
	return m.value
}

// member returns the member of that name, and whether there is one.
func (v value) member(name string) (member, bool) {
	for _, m := range v.members {
		if m.name == name {
			return m, true
		}
	}
	return member{}, false
}

// set replaces the member of that name, or adds it.
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

// remove takes the member of that name away.
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

// isRows reports whether the value is a list of objects, not empty.
func (v value) isRows() bool {
	for _, item := range v.items {
		if item.kind != objectKind {
			return false
		}
	}
	return v.kind == listKind && len(v.items) > 0
}

// isThing reports whether the value says by itself what it is: a list, or an object that holds more
// than named objects, whose names would not say what they name.
func (v value) isThing() bool {
	return v.kind == listKind || slices.ContainsFunc(v.members, func(m member) bool {
		return m.isScalar()
	})
}

// counts reports whether the value holds a number, or a list that is not empty.
func (v value) counts() bool {
	return slices.ContainsFunc(v.members, func(m member) bool {
		return m.kind == numberKind || len(m.items) > 0
	})
}

// isEmpty reports whether there is nothing in the value to show.
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

func textValue(s string) value { return value{kind: textKind, text: s} }

func numberValue(n int) value { return value{kind: numberKind, text: fmt.Sprint(n)} }
