package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// An object is an object of JSON with its members in the order of the text.
type object struct {
	raw   json.RawMessage
	names []string
	of    map[string]json.RawMessage
}

// readObject reads an object; it is not ok if the JSON is something else. Of a name that comes twice the last value
// counts.
func readObject(raw json.RawMessage) (object, bool) {
	o := object{raw: raw, of: map[string]json.RawMessage{}}
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
		if _, there := o.of[key]; !there {
			o.names = append(o.names, key)
		}
		o.of[key] = value
	}
	return o, true
}

// value is a member, as encoding/json has it; nil if there is none.
func (o object) value(name string) any {
	var v any
	if json.Unmarshal(o.of[name], &v) != nil {
		return nil
	}
	return v
}

// text is the first of some members that is a text or a number, as a text.
func (o object) text(names ...string) string {
	for _, name := range names {
		if s := scalar(o.of[name]); s != "" {
			return s
		}
	}
	return ""
}

// object is a member that is an object; empty if it is none.
func (o object) object(name string) object {
	inner, _ := readObject(o.of[name])
	return inner
}

// list is the elements of a member that is a list, or the values of one that is an object.
func (o object) list(name string) (all []json.RawMessage, ok bool) { return elements(o.of[name]) }

// elements are those of a list, or the values of an object in the order of the text.
func elements(raw json.RawMessage) (all []json.RawMessage, ok bool) {
	if json.Unmarshal(raw, &all) == nil && all != nil {
		return all, true
	}
	if inner, ok := readObject(raw); ok {
		for _, name := range inner.names {
			all = append(all, inner.of[name])
		}
		return all, true
	}
	return nil, false
}

// scalar is a text, or a number with its digits; empty for anything else.
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

// compact is a value on one line, as it is written.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// fenced is a value as a block of code.
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

// parse is the one value of a JSON file. Anything else is a fault at its line.
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
		return nil, r.wrong(0, "the file is empty; it must be JSON")
	case errors.As(err, &syntax):
		return nil, r.wrong(lineAt(data, int(syntax.Offset)), "the file is not valid JSON: is it cut off, or edited by hand?")
	case err != nil:
		return nil, r.wrong(lineAt(data, len(data)), "the file is not whole JSON: it ends too early")
	}
	at := int(d.InputOffset())
	if rest := bytes.TrimSpace(data[at:]); len(rest) > 0 {
		return nil, r.wrong(lineAt(data, at), "the file has more behind its JSON value; it must be one value")
	}
	return raw, nil
}

// lineAt is the line of an offset, from 1.
func lineAt(data []byte, at int) int {
	return 1 + bytes.Count(data[:min(max(at, 0), len(data))], []byte("\n"))
}

// number is a whole number as frontmatter has it.
func number(n int) float64 { return float64(n) }

// ordinal names an element of a file to a person: from 1, counted over all its pieces.
func (r reader) ordinal(i int) string { return strconv.Itoa(r.Offset + i + 1) }
