package raven

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A fieldFilter is a value that a field must have. It keeps the value in every form in which it can
// be compared; the field's type determines which one counts.
//
// The forms are computed once for a call and compared with many objects. They depend on the clock
// and on the state of the vault, so a filter is valid for one view only.
type fieldFilter struct {
	name  string
	text  string          // without brackets of a reference; empty: the field must be empty
	id    string          // of the target, if the text is read as a reference; else the text
	isRef bool            // the value was written as a reference, in brackets
	time  *vault.Interval // the time that the text means; nil: none
	// zone is the time zone in which days are compared.
	zone *time.Location
}

// newFieldFilters returns the filters for one field. A list means that the field must have all its
// values.
func newFieldFilters(v view, name string, value any) ([]fieldFilter, error) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var all []fieldFilter
	for _, value := range list {
		switch value.(type) {
		case []any, map[string]any:
			return nil, fault.New(fault.InvalidValue, "field %q can only be compared with a plain value", name).
				With("field", name)
		}
		all = append(all, newFieldFilter(v, name, plain(value)))
	}
	return all, nil
}

// newFieldFilter returns the filter that a field must have the value text.
//
// A text can be a reference and a time at the same time: today is a day, and the id of a daily
// note. The field's type decides.
func newFieldFilter(v view, name, text string) fieldFilter {
	w := fieldFilter{name: name, text: text, zone: state.Local(v.Clock).Location()}
	if ref, ok := vault.ParseRef(text); ok && strings.HasPrefix(text, "[[") {
		w.text, w.isRef = string(ref), true
	}
	w.id = w.text
	if to := v.Index.ResolveArg(w.text, v.Clock); to.ID != "" {
		w.id = to.ID
	}
	if i, err := vault.ParseTime(w.text, v.Clock); err == nil {
		w.time = &i
	}
	return w
}

// plain returns a value as text, without spaces around it; "" for nil.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case tool.Text:
		return strings.TrimSpace(string(v))
	case string:
		return strings.TrimSpace(v)
	}
	return fmt.Sprint(v)
}

// checkFilters returns a fault if no object of the type can have one of the values: the type does
// not have the field, or the field cannot have the value.
//
// Such a filter would match nothing, and an empty answer would hide a misspelled name. Objects of
// the page type can have any field, so their fields are not checked.
func checkFilters(t *vault.Type, values []fieldFilter) error {
	for _, w := range values {
		f, ok := t.Field(w.name)
		switch {
		case !ok && t.Name != vault.Page:
			return fault.New(fault.InvalidField, "type %s has no field %q", t.Name, w.name).
				With("field", w.name).With("allowed", vault.Offered(fieldsOf(t))).Suggest(w.name, fieldsOf(t))
		case !ok || w.text == "":
			continue
		case len(f.Values) > 0 && !slices.ContainsFunc(f.Values, w.isText):
			return fault.New(fault.InvalidValue, "field %q must be one of %s", w.name,
				strings.Join(vault.Offered(f.Values), ", ")).
				With("field", w.name).With("allowed", vault.Offered(f.Values))
		case f.IsTime() && w.time == nil:
			return fault.New(fault.InvalidValue, "field %q can only be compared with one of %s", w.name,
				strings.Join(vault.TimeForms(), ", ")).
				With("field", w.name).With("allowed", vault.TimeForms())
		}
		if err := w.checkType(f); err != nil {
			return err
		}
	}
	return nil
}

// checkType returns a fault if the field is a number or a bool and the value is not.
func (w fieldFilter) checkType(f *vault.Field) error {
	switch strings.TrimSuffix(f.Type, "[]") {
	case "number":
		if _, err := strconv.ParseFloat(w.text, 64); err != nil {
			return fault.New(fault.InvalidValue, "field %q can only be compared with a number", w.name).
				With("field", w.name)
		}
	case "bool":
		if !strings.EqualFold(w.text, "true") && !strings.EqualFold(w.text, "false") {
			return fault.New(fault.InvalidValue, "field %q can only be compared with true or false", w.name).
				With("field", w.name).With("allowed", []bool{true, false})
		}
	}
	return nil
}

// matches reports whether a field with the value `has` passes the filter: `has`, or an element of
// it if it is a list, is the wanted value. t is the type of the object; nil if the schema does not
// contain it.
//
// An empty text matches a field that is absent, null, empty or an empty list.
func (w fieldFilter) matches(t *vault.Type, has any) bool {
	var def *vault.Field
	if t != nil {
		def, _ = t.Field(w.name)
	}
	list, ok := has.([]any)
	if !ok {
		return w.matchesOne(def, has)
	}
	return len(list) == 0 && w.text == "" ||
		slices.ContainsFunc(list, func(e any) bool { return w.matchesOne(def, e) })
}

// matchesOne reports whether one value is the wanted one: a reference to the same target, a day in
// the wanted time, an equal number, or equal text without regard to case. def is the declaration of
// the field; nil if there is none.
//
// The comparisons are tried in that order. A time covers the day if it is the day itself or a
// period, such as this-week, that contains it.
func (w fieldFilter) matchesOne(def *vault.Field, has any) bool {
	text := plain(has)
	if w.text == "" || text == "" {
		return w.text == text
	}
	if w.isRef || def != nil && def.IsRef() {
		return strings.EqualFold(text, w.id)
	}
	if def != nil && def.IsTime() && w.time != nil {
		day, ok := vault.DayOf(has)
		return ok && w.time.Covers(day, w.zone)
	}
	if n, ok := has.(float64); ok {
		number, err := strconv.ParseFloat(w.text, 64)
		return err == nil && n == number
	}
	return w.isText(text)
}

// isText reports whether a text equals the wanted one without regard to case.
func (w fieldFilter) isText(text string) bool { return strings.EqualFold(text, w.text) }
