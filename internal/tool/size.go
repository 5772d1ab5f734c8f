package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// maxItems is the maximum size in bytes of all items of an answer. The rest of MaxBody is reserved
// for everything else in it.
const maxItems = MaxBody - 512<<10

// Fits reports whether an item fits into the answer in addition to those accepted before. If it
// fits, its size is reserved. A tool calls Fits before it adds an item, so that the memory of an
// answer is bounded before it is built.
func (a *Aside) Fits(item any) bool {
	n := sizeOf(reflect.ValueOf(item), 0) + 1
	if a.taken+n > maxItems {
		return false
	}
	a.taken += n
	return true
}

// Fitting returns how many bytes of a text still fit into the answer: its whole length, or the
// length of its longest prefix of whole characters that fits. It reserves nothing.
func (a *Aside) Fitting(text string) int {
	left := maxItems - a.taken - textSize("") - 1
	if len(text) <= left/widest {
		return len(text)
	}
	for i := 0; i < len(text); {
		added, size := widthAt(text, i)
		if left -= size + added; left < 0 {
			return i
		}
		i += size
	}
	return len(text)
}

// CutMark marks the place in a text where the rest is omitted.
const CutMark = "…"

// Beginning returns s if it has at most `most` bytes. Otherwise it returns a prefix of at most that
// many bytes, cut between characters, followed by CutMark.
func Beginning(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + CutMark
}

// WarnCut adds a warning that the answer contains only the first `shown` of `total` items. what is
// the plural noun for them.
func (a *Aside) WarnCut(what string, shown, total int) {
	a.Warn("ANSWER_CUT", fmt.Sprintf("the answer shows only the first %d of %d %s", shown, total, what),
		map[string]any{"shown": shown, "total": total})
}

// SizeOf returns an upper bound of the bytes that the JSON of a value takes in an answer. Over MCP
// an answer is itself a JSON string, which escapes each quote and backslash once more, so that a
// control character takes seven bytes. SizeOf does not allocate for the types that answers contain.
func SizeOf(v any) int { return sizeOf(reflect.ValueOf(v), 0) }

// maxWalk is the maximum depth to which SizeOf descends; answers are never deeper.
const maxWalk = 64

// sizeOf is SizeOf for a value at a depth. Beyond maxWalk it returns 0, so that a value that
// contains itself has a size. Numbers and booleans count as a fixed number of bytes.
//
// The result can be greater than the size of the encoded value, but not smaller, except for values
// deeper than maxWalk.
func sizeOf(v reflect.Value, depth int) int {
	if depth > maxWalk {
		return 0
	}
	switch v.Kind() {
	case reflect.String:
		return textSize(v.String())
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return len("null")
		}
		return sizeOf(v.Elem(), depth+1)
	case reflect.Struct:
		return structSize(v, depth)
	case reflect.Slice, reflect.Array:
		if t := v.Type(); t == reflect.TypeFor[json.RawMessage]() || t == reflect.TypeFor[Object]() {
			return QuotedSize(v.Bytes())
		}
		n := 2
		for i := range v.Len() {
			n += sizeOf(v.Index(i), depth+1) + 1
		}
		return n
	case reflect.Map:
		n := 2
		for it := v.MapRange(); it.Next(); {
			n += sizeOf(it.Key(), depth+1) + sizeOf(it.Value(), depth+1) + 2
		}
		return n
	}
	return 24 // a number or a boolean
}

// structSize returns the size of a struct as JSON.
func structSize(v reflect.Value, depth int) int {
	t := v.Type()
	if t == reflect.TypeFor[time.Time]() {
		return len(time.RFC3339Nano) + 4
	}
	n := 2
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() && !field.Anonymous {
			continue
		}
		tag := field.Tag.Get("json")
		if tag == "-" || strings.Contains(tag, ",omit") && v.Field(i).IsZero() {
			continue
		}
		n += len(tag) + 6 + sizeOf(v.Field(i), depth+1)
	}
	return n
}

// widest is the maximum number of bytes that one byte of a text takes in an answer: `\\\\u0001`.
const widest = 7

// widths contains, for each ASCII character, the number of bytes that escaping adds to it in an
// answer.
var widths = func() (w [utf8.RuneSelf]byte) {
	for c := range w {
		switch {
		case c == '"', c == '\\':
			w[c] = byte(len(`\\\"`) - 1)
		case c == '\n', c == '\r', c == '\t':
			w[c] = byte(len(`\\n`) - 1)
		case c < ' ', c == 0x7f:
			w[c] = widest - 1
		}
	}
	return w
}()

// textSize returns the size of a text as a string in an answer; see SizeOf.
func textSize(s string) int {
	n := len(s) + len(`\"\"`)
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			n += int(widths[c])
			i++
			continue
		}
		added, size := widthAt(s, i)
		n += added
		i += size
	}
	return n
}

// widthAt returns the number of bytes that escaping adds to the character at offset i of s, and the
// length of the character in bytes.
func widthAt(s string, i int) (added, size int) {
	if c := s[i]; c < utf8.RuneSelf {
		return int(widths[c]), 1
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' { // JSON escapes them
		return len(`\\u2028`) - size, size
	}
	return 0, size
}

// QuotedSize returns the size in bytes of JSON after quoting as a JSON string.
func QuotedSize(data []byte) int {
	return len(data) + bytes.Count(data, []byte{'"'}) + bytes.Count(data, []byte{'\\'}) + 2
}
