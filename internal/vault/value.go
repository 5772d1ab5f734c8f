package vault

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// Read validates a value for the field and returns it in the form to be written: a reference as
// markdown.Ref, a word such as today as its date, a Text converted to the field's type. Null is
// valid for every field, also a required one. A value of the wrong type, an unknown enum value or
// an invalid date is INVALID_VALUE; a number out of bounds is INVALID_FIELD. The clock is used only
// for words such as today.
func (f *Field) Read(v any, c Clock) (any, error) {
	if t, ok := v.(Text); ok {
		if v, ok = t.value(f.Type); !ok {
			return nil, f.wrong()
		}
	}
	switch {
	case v == nil:
		return nil, nil
	case isList(f.Type):
		return f.readList(v, c)
	}
	return f.readOne(v, c)
}

// readList validates a list, element by element, and returns a new one. A single value is not a
// list. The fault of an element describes the whole field, except for a number out of bounds.
func (f *Field) readList(v any, c Clock) (any, error) {
	list, ok := asList(v)
	if !ok {
		return nil, f.wrong()
	}
	one := *f
	one.Type = element(f.Type)
	out := make([]any, len(list))
	for i, v := range list {
		if one.Type == "ref" && v == nil {
			return nil, f.wrong()
		}
		read, err := one.Read(v, c)
		if problem := fault.Of(err); err != nil && problem.Code == fault.InvalidField {
			return nil, err
		}
		if err != nil {
			return nil, f.wrong()
		}
		out[i] = read
	}
	return out, nil
}

// asList returns v as []any if it is a []any or a []string.
func asList(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return list, true
	}
	return nil, false
}

// readOne validates a non-null value for a type that is not a list.
func (f *Field) readOne(v any, c Clock) (any, error) {
	switch f.Type {
	case "number":
		return f.readNumber(v)
	case "bool":
		if _, ok := v.(bool); ok {
			return v, nil
		}
	case "enum":
		return f.readEnum(v)
	case "ref":
		return f.readRef(v, c)
	case "string":
		switch v.(type) {
		case string, markdown.Ref:
			return v, nil
		}
	default:
		if s, ok := v.(string); ok {
			return f.readText(s, c)
		}
	}
	return nil, f.wrong()
}

// readText validates a date, a datetime or a URL. A datetime is returned as it was written, with or
// without an offset, because the zone of a time without one is that of the vault; a day alone is a
// valid datetime.
func (f *Field) readText(s string, c Clock) (any, error) {
	switch f.Type {
	case "date":
		if d, ok := c.Day(s); ok {
			return string(d), nil
		}
	case "datetime":
		_, isDay := ParseDate(s)
		if _, ok := parseDateTime(s, time.UTC); ok || isDay {
			return s, nil
		}
	case "url":
		if u, err := url.Parse(s); err == nil && u.Scheme != "" && u.Host+u.Opaque+u.Path != "" {
			return s, nil
		}
	}
	return nil, f.wrong()
}

// readNumber validates a number and its bounds.
func (f *Field) readNumber(v any) (any, error) {
	n, ok := number(v)
	if !ok {
		return nil, f.wrong()
	}
	if digits, ok := v.(json.Number); ok && !markdown.IsExact(digits) {
		return nil, fault.New(fault.InvalidValue,
			"Field %s must be a number that can be stored exactly: a whole number is at most 2^53; "+
				"a string field keeps longer ids", quote(f.Name)).With("field", f.Name)
	}
	if f.Min != nil && n < *f.Min || f.Max != nil && n > *f.Max {
		return nil, f.outOfBounds(n)
	}
	return v, nil
}

// number returns v as a float64 if it is a number.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	}
	return 0, false
}

// readEnum compares the text form of a value with the values of the enum, which the schema has as
// texts: YAML reads true and 5 in a frontmatter as other types. It returns the value unchanged.
func (f *Field) readEnum(v any) (any, error) {
	written := ""
	switch v := v.(type) {
	case string:
		written = v
	case bool:
		written = strconv.FormatBool(v)
	default:
		n, ok := number(v)
		if !ok {
			return nil, f.wrong()
		}
		written = strconv.FormatFloat(n, 'f', -1, 64)
	}
	if !slices.Contains(f.Values, written) {
		return nil, f.wrong()
	}
	return v, nil
}

// readRef validates a reference. Without quotes, YAML reads `[[people/freya]]` as a list in a list.
// It does not check that the target exists. A date is a reference to the daily note if the target
// of the field is Daily, and only then.
func (f *Field) readRef(v any, c Clock) (any, error) {
	if outer, ok := v.([]any); ok && len(outer) == 1 {
		if inner, ok := outer[0].([]any); ok && len(inner) == 1 {
			v = inner[0]
		}
	}
	switch v := v.(type) {
	case markdown.Ref:
		return v, nil
	case string:
		if d, ok := c.Day(v); ok && f.Target == Daily {
			return markdown.Ref(d), nil
		}
		if ref, ok := ParseRef(v); ok {
			return ref, nil
		}
	}
	return nil, f.wrong()
}

// wants describes the values that the field accepts, as the end of the sentence "Field 'x' must be
// …".
func (f *Field) wants() string {
	what := map[string]string{
		"string": "a text", "number": "a number", "bool": "true or false",
		"date":     "a date, YYYY-MM-DD or one of " + strings.Join(DayWords(), ", "),
		"datetime": "a time, YYYY-MM-DDTHH:MM or as in RFC 3339",
		"url":      "a URL with its scheme, such as https://example.test/",
		"ref":      "a reference, such as people/freya",
		"enum":     "one of " + offered(f.Values),
	}[element(f.Type)]
	if isList(f.Type) {
		return "a list; each of its elements is " + what
	}
	return what
}

// wrong returns the INVALID_VALUE fault of a value that the field does not accept.
func (f *Field) wrong() error {
	problem := fault.New(fault.InvalidValue, "Field %s must be %s", quote(f.Name), f.wants()).
		With("field", f.Name)
	switch element(f.Type) {
	case "enum":
		problem = problem.With("allowed", Offered(f.Values))
	case "bool":
		problem = problem.With("allowed", []bool{true, false})
	case "date":
		problem = problem.With("allowed", append([]string{"YYYY-MM-DD"}, DayWords()...))
	}
	return problem
}

// outOfBounds returns the INVALID_FIELD fault of a number below min or above max.
func (f *Field) outOfBounds(n float64) error {
	constraint, bounds := map[string]any{}, ""
	if f.Min != nil {
		constraint["min"], bounds = *f.Min, fmt.Sprintf("at least %v", *f.Min)
	}
	if f.Max != nil {
		constraint["max"], bounds = *f.Max, fmt.Sprintf("at most %v", *f.Max)
	}
	if len(constraint) == 2 {
		bounds = fmt.Sprintf("between %v and %v", *f.Min, *f.Max)
	}
	return fault.New(fault.InvalidField, "Field %s must be %s", quote(f.Name), bounds).
		With("field", f.Name).With("value", n).With("constraint", constraint)
}

// Typed converts a value that markdown detected by its syntax to the type of the trait. A bare
// annotation (nil) is true for a boolean; for other types it has the trait's default, and
// fromDefault is true, or nil if there is no default. A value that does not fit the type is
// returned unchanged; Field.Read reports the problem.
func (t *Trait) Typed(v any) (value any, fromDefault bool) {
	switch {
	case v == nil && t.Type == "bool":
		return true, false
	case v == nil:
		return t.Default, t.HasDefault
	case !isList(t.Type):
		return typedOne(t.Type, v), false
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	typed := make([]any, len(list))
	for i, v := range list {
		typed[i] = typedOne(element(t.Type), v)
	}
	return typed, false
}

// typedOne converts a value to a type that is not a list. Only strings are converted: other values
// already have the type that their syntax shows. A string that does not fit stays a string.
func typedOne(valueType string, v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	switch valueType {
	case "ref":
		if ref, ok := ParseRef(s); ok {
			return ref
		}
	case "number":
		if n, err := strconv.ParseFloat(s, 64); err == nil {
			return n
		}
	case "bool":
		if b, ok := Text(s).value("bool"); ok && s != "" {
			return b
		}
	}
	return s
}

// IsTime reports whether the field's type is date or datetime, or a list of one of them.
func (f *Field) IsTime() bool { return element(f.Type) == "date" || element(f.Type) == "datetime" }

// IsRef reports whether the field's type is ref, or a list of it.
func (f *Field) IsRef() bool { return element(f.Type) == "ref" }

// DayOf returns the day of a date or datetime value: its first ten characters, whatever the offset
// of the time. It returns false if v is neither.
func DayOf(v any) (Date, bool) {
	s, ok := v.(string)
	if !ok || len(s) < len(isoDate) {
		return "", false
	}
	return ParseDate(s[:len(isoDate)])
}

// traitText is the number of leading characters of a trait's text that determine its id.
const traitText = 50

// TraitText returns the part of a trait's text that determines its identity: the first 50
// characters. A correction after them does not change the id.
func TraitText(text string) string {
	n := 0
	for i := range text {
		if n == traitText {
			return text[:i]
		}
		n++
	}
	return text
}

// TraitID returns the id of a trait, before duplicates are numbered: its type, a dash, and the
// first eight hex digits of the SHA-256 of its parent's id, its type and its TraitText
// (reference/raven.md §6.4). parent is the id of the note or the section that contains it. Edits of
// the text keep the id of the trait as far as package index finds it again, so an id may differ
// from what TraitID returns for the present text.
func TraitID(parent, trait, text string) string {
	sum := sha256.Sum256([]byte(parent + ":" + trait + ":" + TraitText(text)))
	return trait + "-" + hex.EncodeToString(sum[:4])
}
