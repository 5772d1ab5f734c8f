package tool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// maxItems is how many bytes of JSON the items of an answer have at most. The rest of MaxBody is for what is
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

// Left returns how many bytes of JSON more items of the answer may have.
func (a *Aside) Left() int { return maxItems - a.taken }

// WarnCut warns that an answer shows only the first of some things.
func (a *Aside) WarnCut(what string, shown, total int) {
	a.Warn("ANSWER_CUT", fmt.Sprintf("the answer shows only the first %d of %d %s", shown, total, what),
		map[string]any{"shown": shown, "total": total})
}

// SizeOf returns how many bytes the JSON of a value has, or some more. It allocates nothing for what
// answers are made of.
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
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			return v.Len()
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
		return len(time.RFC3339Nano) + 2
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
		n += len(tag) + 4 + sizeOf(v.Field(i), depth+1)
	}
	return n
}

// textSize is how many bytes a text has as a JSON string.
func textSize(s string) int {
	n := len(s) + 2
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			n++
		case c < ' ', c == 0x7f:
			n += 5
		case c >= utf8.RuneSelf:
			n += wideSize(s[i:])
		}
	}
	return n
}

// wideSize is how many bytes JSON adds for a character that is not ASCII: U+2028 and U+2029, and what is not
// UTF-8, are escaped.
func wideSize(s string) int {
	switch r, size := utf8.DecodeRuneInString(s); {
	case r == utf8.RuneError && size == 1:
		return 5
	case r == '\u2028', r == '\u2029':
		return 3
	}
	return 0
}
