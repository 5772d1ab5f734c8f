package tool

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"rookery/internal/fault"
)

// How long the texts of a call may be, in characters, by the kind of argument. The tag `size` of a field
// names the kind, and `max` gives a length of its own; see New.
const (
	MaxName  = 512       // names of types, fields, vaults and the like; every text without a kind
	MaxID    = 4 << 10   // ids, paths and references: a note's path and the name of a section in it
	MaxQuery = 16 << 10  // what is looked for, and values of traits and fields as text
	MaxToken = 64 << 10  // page tokens: they have what the last item of a page is sorted by
	MaxPart  = 64 << 10  // texts in a memory
	MaxSaid  = 256 << 10 // what a program said, in a memory
	MaxTag   = 128       // a tag of a memory
	MaxText  = 1 << 20   // text of notes: as long as a note may be
)

// How many entries the arguments of a call may have.
const (
	MaxEntries = 1000    // of a list, or of an object with names of the caller's choice
	maxArgs    = 100     // arguments of a call
	maxNested  = 32      // lists and objects in each other
	maxValues  = 100_000 // values in all, those in lists and objects included
)

// lengths are the kinds that the tag `size` may name.
var lengths = map[string]int{
	"name": MaxName, "id": MaxID, "query": MaxQuery, "token": MaxToken, "text": MaxText,
	"passage": MaxPart, "output": MaxSaid, "tag": MaxTag,
}

// completedIDs are the kinds of values that complete an argument whose values are ids, and not names.
var completedIDs = map[string]bool{"id": true, "path": true}

// lengthOf is how long the text of an argument may be, by the tags of its field.
func lengthOf(tag reflect.StructTag) int {
	if n := bound(tag, "max"); n != nil {
		return int(*n)
	}
	if kind := tag.Get("size"); kind != "" {
		n, ok := lengths[kind]
		if !ok {
			panic(fmt.Sprintf("tool: there is no size %q", kind))
		}
		return n
	}
	switch {
	case tag.Get("text") == "true":
		return MaxText
	case completedIDs[tag.Get("complete")], tag.Get("what") == "path":
		return MaxID
	}
	return MaxName
}

// limit gives a schema of an argument, and everything in it, the bounds that it does not have yet. tag is
// that of the field whose type it describes.
func limit(s *jsonschema.Schema, t reflect.Type, tag reflect.StructTag) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[Fields]() {
		limitFields(s)
		return
	}
	switch t.Kind() {
	case reflect.String:
		if len(s.Enum) == 0 && s.MaxLength == nil {
			s.MaxLength = new(lengthOf(tag))
		}
	case reflect.Slice:
		if s.MaxItems == nil {
			s.MaxItems = new(MaxEntries)
		}
		if s.Items != nil {
			limit(s.Items, t.Elem(), tag)
		}
	case reflect.Map:
		limitNames(s)
		if s.AdditionalProperties != nil {
			limit(s.AdditionalProperties, t.Elem(), tag)
		}
	case reflect.Struct:
		for _, field := range fieldsOf(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if inner := s.Properties[name]; inner != nil {
				limit(inner, field.Type, field.Tag)
			}
		}
	}
}

// limitFields is limit for Fields, in each of its forms.
func limitFields(s *jsonschema.Schema) {
	limitNames(s)
	s.MaxItems, s.MaxLength = new(MaxEntries), new(MaxText)
	s.Items.MaxLength = new(MaxText)
}

// limitNames bounds the names of an object whose names the caller chooses.
func limitNames(s *jsonschema.Schema) {
	s.MaxProperties = new(MaxEntries)
	s.PropertyNames = &jsonschema.Schema{MaxLength: new(MaxName)}
}

// checkSize is nil if the arguments of a call are few and flat enough to be read: what they take in
// memory is known before.
func checkSize(f *Family, args []byte) error {
	var s sizing
	s.read(args)
	switch {
	case s.nested > maxNested:
		return fault.New(f.Malformed, "the arguments are nested deeper than %d lists and objects", maxNested)
	case s.args > maxArgs:
		return fault.New(f.Malformed, "a call has at most %d arguments", maxArgs)
	case s.values > maxValues:
		return fault.New(fault.BatchTooLarge, "the arguments of a call have at most %d values", maxValues).
			Fix("split them over several calls")
	}
	return nil
}

// A sizing counts what is in the JSON of arguments, without reading any of it. What is not JSON it counts
// somehow.
type sizing struct {
	values, args, nested int
	depth                int
}

func (s *sizing) read(data []byte) {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			s.depth++
			s.values++
			s.nested = max(s.nested, s.depth)
		case '}', ']':
			s.depth--
		case ',':
			s.values++
		case ':':
			if s.depth == 1 {
				s.args++
			}
		}
	}
}

// tooLong is the fault of a value that is larger than its argument may be, nil if it is not. The value is
// of the right type.
func (t *Tool) tooLong(a Arg, v any) *fault.Fault {
	var f *fault.Fault
	switch v := v.(type) {
	case string:
		f = t.longText(a, a.Schema(), v)
	case []any:
		f = t.tooMany(a, len(v), a.Schema().MaxItems)
		for i := 0; i < len(v) && f == nil && a.Schema().Items != nil; i++ {
			if text, ok := v[i].(string); ok {
				f = t.longText(a, a.Schema().Items, text)
			}
		}
	case map[string]any:
		f = t.tooMany(a, len(v), a.Schema().MaxProperties)
		for name := range v {
			if f == nil && runes(name) > MaxName {
				f = fault.New(t.Family.Malformed, "a name in argument %q must be a text of at most %d characters",
					a.Name, MaxName)
			}
		}
	}
	if f != nil {
		f = f.With("argument", a.Name)
	}
	return f
}

// longText is the fault of a text that is longer than a schema allows.
func (t *Tool) longText(a Arg, s *jsonschema.Schema, text string) *fault.Fault {
	if s.MaxLength == nil || runes(text) <= *s.MaxLength {
		return nil
	}
	if *s.MaxLength == MaxText {
		return fault.New(fault.NoteTooLarge, "argument %q has a text of %d bytes; a note has at most %d",
			a.Name, len(text), MaxText).With("limit", MaxText)
	}
	return fault.New(t.malformed(a), "argument %q must be %s", a.Name,
		nouns["string"]+length(s.MinLength, s.MaxLength)).With("limit", *s.MaxLength)
}

// tooMany is the fault of more entries than an argument may have.
func (t *Tool) tooMany(a Arg, n int, most *int) *fault.Fault {
	if most == nil || n <= *most {
		return nil
	}
	return fault.New(cmp.Or(t.Family.Crowded, fault.BatchTooLarge),
		"argument %q has %d entries; a call has at most %d of them", a.Name, n, *most).
		With("limit", *most).Fix("split them over several calls")
}

// runes is how many characters a text has, as a schema counts them.
func runes(text string) int { return utf8.RuneCountInString(text) }
