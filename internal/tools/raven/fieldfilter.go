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

// A fieldFilter is a value that a field must have, in each way in which it can be meant. What it means is
// up to the field.
type fieldFilter struct {
	name  string
	text  string          // without the brackets of a reference; empty: the field must say nothing
	id    string          // of what the text leads to as a reference
	isRef bool            // it was written as one
	time  *vault.Interval // that the text names; nil if it names none
	zone  *time.Location
}

// wants are the values that one field must have. Several are all wanted of it.
func wants(v view, name string, value any) ([]fieldFilter, error) {
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
		all = append(all, newWanted(v, name, plain(value)))
	}
	return all, nil
}

func newWanted(v view, name, text string) fieldFilter {
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

// plain is a value as people write it.
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

// askable is a fault if no object of the type can have one of the values.
func askable(t *vault.Type, values []fieldFilter) error {
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
				strings.Join(vault.Offered(f.Values), ", ")).With("field", w.name).With("allowed", vault.Offered(f.Values))
		case f.IsTime() && w.time == nil:
			return fault.New(fault.InvalidValue, "field %q can only be compared with one of %s", w.name,
				strings.Join(vault.TimeForms(), ", ")).
				With("field", w.name).With("allowed", vault.TimeForms())
		}
		if err := w.fits(f); err != nil {
			return err
		}
	}
	return nil
}

// fits is a fault if the value is none that a number, or a yes or no, can be.
func (w fieldFilter) fits(f *vault.Field) error {
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

// in reports whether the field of an object of a type, nil for one that the schema does not know, has
// the value: it is the value, or a list with it.
func (w fieldFilter) in(t *vault.Type, has any) bool {
	var def *vault.Field
	if t != nil {
		def, _ = t.Field(w.name)
	}
	list, ok := has.([]any)
	if !ok {
		return w.is(def, has)
	}
	return len(list) == 0 && w.text == "" ||
		slices.ContainsFunc(list, func(e any) bool { return w.is(def, e) })
}

// is reports whether one value is the wanted one, by what the schema says of the field, if anything:
// a reference that leads to the same, a day in the time, the same number, or the same text but for
// case.
func (w fieldFilter) is(def *vault.Field, has any) bool {
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

// isText reports whether a text is the wanted one but for case.
func (w fieldFilter) isText(text string) bool { return strings.EqualFold(text, w.text) }
