package vault

import "strconv"

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
