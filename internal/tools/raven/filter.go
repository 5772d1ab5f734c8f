package raven

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A timeFilters is embedded in the input of every tool that lists objects or traits. It filters
// them by the times at which they were first seen and last modified (raven.md §6.10).
//
// All filters that are given must pass. A text can be a time, a day, a period or an expression such
// as "2 days ago", and is read in the time zone of the vault.
type timeFilters struct {
	// first seen today
	CreatedToday bool `json:"created_today,omitempty" rare:"true"`
	// first seen this week
	CreatedThisWeek bool `json:"created_this_week,omitempty" rare:"true"`
	// first seen after this time or day
	CreatedAfter string `json:"created_after,omitempty" rare:"true"`
	// first seen before then
	CreatedBefore string `json:"created_before,omitempty" rare:"true"`
	// first seen since then: 2 days ago
	CreatedSince string `json:"created_since,omitempty"`
	// modified today
	ModifiedToday bool `json:"modified_today,omitempty" rare:"true"`
	// modified this week
	ModifiedThisWeek bool `json:"modified_this_week,omitempty" rare:"true"`
	// modified after this time or day
	ModifiedAfter string `json:"modified_after,omitempty" rare:"true"`
	// modified before then
	ModifiedBefore string `json:"modified_before,omitempty" rare:"true"`
	// modified since then: 24 hours ago
	ModifiedSince string `json:"modified_since,omitempty"`
}

// timed implements timed: the filters contain words such as today.
func (timeFilters) timed() {}

// A window is a parsed timeFilters. An object or trait passes if both its times pass all tests.
//
// The times are those of the commits in which the object or trait first appeared and last changed,
// not fields of the note.
type window struct {
	// created and modified are the tests of the two times; none: every time passes.
	created, modified []func(time.Time) bool

	// since is a lower bound of the last modification of everything that passes; zero if there is
	// none.
	since time.Time
}

// window returns the parsed filters. If some are invalid, it returns one fault with all problems.
func (t timeFilters) window(c vault.Clock) (window, error) {
	r := windowReader{clock: c}
	created, modified := &r.window.created, &r.window.modified
	r.within("today", t.CreatedToday, created)
	r.within("this-week", t.CreatedThisWeek, created)
	r.bound("created_after", t.CreatedAfter, created)
	r.bound("created_before", t.CreatedBefore, created)
	r.bound("created_since", t.CreatedSince, created)
	r.within("today", t.ModifiedToday, modified)
	r.within("this-week", t.ModifiedThisWeek, modified)
	r.bound("modified_after", t.ModifiedAfter, modified)
	r.bound("modified_before", t.ModifiedBefore, modified)
	r.bound("modified_since", t.ModifiedSince, modified)
	if f := fault.Join(Family.Several, r.problems); f != nil {
		return window{}, f
	}
	return r.window, nil
}

// A windowReader builds a window from filters.
type windowReader struct {
	clock    vault.Clock
	window   window
	problems []*fault.Fault
}

// within adds the test that a time is in the period that word names. It does nothing if wanted is
// false.
func (r *windowReader) within(word string, wanted bool, tests *[]func(time.Time) bool) {
	if !wanted {
		return
	}
	i, err := vault.ParseTime(word, r.clock)
	if err != nil {
		r.problems = append(r.problems, fault.Of(err))
		return
	}
	*tests = append(*tests, i.Contains)
	r.notBefore(i.From)
}

// bound adds the test of an argument. The end of its name, after, before or since, selects the
// test.
//
// After a period means after its end, before it means before its beginning, and since it means from
// its beginning on.
func (r *windowReader) bound(name, text string, tests *[]func(time.Time) bool) {
	if text == "" {
		return
	}
	i, err := vault.ParseTime(text, r.clock)
	if err != nil {
		r.problems = append(r.problems, fault.Of(err).With("argument", name))
		return
	}
	_, side, _ := strings.Cut(name, "_")
	switch side {
	case "after":
		*tests = append(*tests, i.After)
		r.notBefore(i.To)
	case "before":
		*tests = append(*tests, i.Before)
	case "since":
		*tests = append(*tests, i.Since)
		r.notBefore(i.From)
	}
}

// notBefore raises since to t. That holds for created times too, because nothing is modified before
// it is first seen.
func (r *windowReader) notBefore(t time.Time) {
	if t.After(r.window.since) {
		r.window.since = t
	}
}

// open reports whether the window has no tests.
func (w window) open() bool { return len(w.created)+len(w.modified) == 0 }

// contains reports whether an object or trait with these times passes.
func (w window) contains(created, modified time.Time) bool {
	for _, test := range w.created {
		if !test(created) {
			return false
		}
	}
	return !slices.ContainsFunc(w.modified, func(test func(time.Time) bool) bool {
		return !test(modified)
	})
}

// mayContain reports whether something in a note can pass. No part of a note is modified later than
// the note. It lets a walk skip whole notes without looking at their parts.
func (w window) mayContain(n *index.Note) bool {
	return w.since.IsZero() || !n.Modified.Before(w.since)
}

// condition returns the window as a test of objects and traits.
func (w window) condition(idx *index.Index) query.Condition {
	c := query.Condition{Near: w.mayContain, Holds: func(i query.Item) bool {
		switch {
		case i.Trait != nil:
			return w.contains(i.Trait.Created, i.Trait.Modified)
		case i.Object.Section != nil:
			return w.contains(i.Object.Section.Created, i.Object.Section.Modified)
		}
		return w.contains(i.Object.Note.Created, i.Object.Note.Modified)
	}}
	few, ok := w.notes(idx)
	if ok {
		c.Most = len(few)
		c.Notes = func(from string) iter.Seq[*index.Note] {
			first := sort.Search(len(few), func(i int) bool { return few[i].Path >= from })
			return slices.Values(few[first:])
		}
	}
	return c
}

// manyNotes is the share of a vault's notes above which a walk over all notes by path is faster
// than sorting the modified ones.
//
// The modified notes are found through an index by time, and must be sorted by path afterwards.
const manyNotes = 1. / 32

// notes returns the notes in which something can pass, by path. It returns false if these are too
// many, or if the window has no lower bound.
func (w window) notes(idx *index.Index) ([]*index.Note, bool) {
	if w.since.IsZero() {
		return nil, false
	}
	var few []*index.Note
	limit := int(manyNotes * float64(idx.Totals().Notes))
	for n := range idx.Modified(w.since, time.Time{}) {
		if len(few) > limit {
			return nil, false
		}
		few = append(few, n)
	}
	slices.SortFunc(few, func(a, b *index.Note) int { return strings.Compare(a.Path, b.Path) })
	return few, true
}

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
