package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// An object is a JSON object with its members in text order. The zero object has no members. Values
// are decoded when they are needed.
type object struct {
	raw     json.RawMessage
	names   []string
	members map[string]json.RawMessage
}

// readObject parses an object. ok is false for any other value, and for JSON that is not valid; the
// object then has the members that were read. If a name occurs twice, the last value counts, at the
// place of the first.
func readObject(raw json.RawMessage) (object, bool) {
	o := object{raw: raw, members: map[string]json.RawMessage{}}
	if !hasPrefix(bytes.TrimLeft(raw, " \t\r\n"), "{") {
		return o, false
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return o, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return o, false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return o, false
		}
		key, _ := name.(string)
		if _, there := o.members[key]; !there {
			o.names = append(o.names, key)
		}
		o.members[key] = value
	}
	return o, true
}

// value returns a member as encoding/json decodes it; nil if there is none or it is null.
func (o object) value(name string) any {
	var v any
	if json.Unmarshal(o.members[name], &v) != nil {
		return nil
	}
	return v
}

// text returns the first of some members that is a text or a number and not empty, as trimmed text;
// "" if there is none.
func (o object) text(names ...string) string {
	for _, name := range names {
		if s := scalar(o.members[name]); s != "" {
			return s
		}
	}
	return ""
}

// object returns a member that is an object; an empty object if it is not one, so that calls can be
// chained.
func (o object) object(name string) object {
	inner, _ := readObject(o.members[name])
	return inner
}

// list returns the elements of a member that is a list, or the values of one that is an object. ok
// is false for any other value and if there is none.
func (o object) list(name string) (all []json.RawMessage, ok bool) { return elements(o.members[name]) }

// elements returns the elements of a list, or the values of an object in text order. ok is false
// for any other value, including null.
func elements(raw json.RawMessage) (all []json.RawMessage, ok bool) {
	if json.Unmarshal(raw, &all) == nil && all != nil {
		return all, true
	}
	if inner, ok := readObject(raw); ok {
		for _, name := range inner.names {
			all = append(all, inner.members[name])
		}
		return all, true
	}
	return nil, false
}

// scalar returns a trimmed string, or a number with all of its digits as it is written; "" for any
// other value.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return strings.TrimSpace(s)
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// compact returns a value on one line; text that is not JSON is returned unchanged.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// fenced returns a value as a code block, indented. The fence is longer than every run of backticks
// in the value, so that the value cannot end it.
func fenced(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	fence := "```"
	for strings.Contains(b.String(), fence) {
		fence += "`"
	}
	return fence + "json\n" + strings.TrimSpace(b.String()) + "\n" + fence
}

// parse returns the value of a JSON file. An invalid file is a fault with its line, and so is a
// file with more than one value.
func (r reader) parse() (json.RawMessage, error) {
	data, err := r.text()
	if err != nil {
		return nil, err
	}
	var raw json.RawMessage
	d := json.NewDecoder(bytes.NewReader(data))
	err = d.Decode(&raw)
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return nil, r.fault(0, "the file is empty; it must be JSON")
	case errors.As(err, &syntax):
		return nil, r.fault(lineAt(data, int(syntax.Offset)),
			"the file is not valid JSON: is it cut off, or edited by hand?")
	case err != nil:
		return nil, r.fault(lineAt(data, len(data)), "the file is not whole JSON: it ends too early")
	}
	// A decoder stops after the first value. A file with one value per line is another format, and
	// reading only its first line would lose the rest.
	at := int(d.InputOffset())
	if rest := bytes.TrimSpace(data[at:]); len(rest) > 0 {
		return nil, r.fault(lineAt(data, at), "the file has more behind its JSON value; it must be one value")
	}
	return raw, nil
}

// lineAt returns the line of an offset, counted from 1. An offset outside of the data counts as its
// nearest end.
func lineAt(data []byte, at int) int {
	return 1 + bytes.Count(data[:min(max(at, 0), len(data))], []byte("\n"))
}

// number returns a whole number as a value of frontmatter, where all numbers are float64.
func number(n int) float64 { return float64(n) }

// ordinal returns the number of an element for messages: from 1, counted over all pieces of the
// file, so that a user finds the element in the whole file.
func (r reader) ordinal(i int) string { return strconv.Itoa(r.Offset + i + 1) }
