package vault

import "strconv"

// Typed is what a value that markdown found by its form means for the trait: true and false, a
// number, a reference, or the text. A bare annotation, nil, is true for a boolean; otherwise it has
// the default of the trait, and fromDefault says so, or none. What the trait does not take stays as
// it is; Read says what is wrong with it.
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

// typedOne is the meaning of a value for a type that is no list.
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

// IsTime reports whether values of the field are days or times, or lists of them.
func (f *Field) IsTime() bool { return element(f.Type) == "date" || element(f.Type) == "datetime" }

// IsRef reports whether values of the field are references, or lists of them.
func (f *Field) IsRef() bool { return element(f.Type) == "ref" }

// DayOf is the day that a date or a time is written with: its first ten characters.
func DayOf(v any) (Date, bool) {
	s, ok := v.(string)
	if !ok || len(s) < len(isoDate) {
		return "", false
	}
	return ParseDate(s[:len(isoDate)])
}
