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

// maxItems is how many bytes the items of an answer have at most. The rest of MaxBody is for what is
// beside them.
const maxItems = MaxBody - 512<<10

// Fits reports whether an item fits into the answer, beside those that were asked about before, and takes the
// room for it if it does. A tool asks before it adds an item: what an answer takes in memory is known
// before it is made.
func (a *Aside) Fits(item any) bool {
	n := sizeOf(reflect.ValueOf(item), 0) + 1
	if a.taken+n > maxItems {
		return false
	}
	a.taken += n
	return true
}

// Fitting returns how many bytes of a text still fit into the answer: all, or its first whole characters.
// It takes no room.
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

// CutMark stands in a text of an answer for what is left out of it.
const CutMark = "…"

// Beginning returns a text, or its first bytes with a mark behind them where it has more of them.
func Beginning(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + CutMark
}

// WarnCut warns that an answer shows only the first of some things.
func (a *Aside) WarnCut(what string, shown, total int) {
	a.Warn("ANSWER_CUT", fmt.Sprintf("the answer shows only the first %d of %d %s", shown, total, what),
		map[string]any{"shown": shown, "total": total})
}

// SizeOf returns how many bytes the JSON of a value takes in an answer, or some more. Over MCP the answer is a
// text in JSON itself, which escapes each quote and backslash of it once more; so a control character takes
// seven bytes. It allocates nothing for what answers are made of.
func SizeOf(v any) int { return sizeOf(reflect.ValueOf(v), 0) }

// maxWalk is how deep SizeOf looks into a value; nothing that is answered is deeper.
const maxWalk = 64

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
	return 24 // a number, or true or false
}

// structSize is the size of the members of a struct.
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

// widest is how many bytes of an answer a byte of a text takes at most: `\\\\u0001`.
const widest = 7

// widths are how many bytes each byte takes in a string of an answer beyond its own, where it is a character.
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

// textSize is how many bytes a text takes as a string of an answer; see SizeOf.
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

// widthAt returns how many bytes the character at an offset takes in a string of an answer beyond its own, and
// how many it has.
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

// QuotedSize returns how many bytes JSON takes as a text in JSON.
func QuotedSize(data []byte) int {
	return len(data) + bytes.Count(data, []byte{'"'}) + bytes.Count(data, []byte{'\\'}) + 2
}
