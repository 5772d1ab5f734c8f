package query_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A naive evaluator answers a query by trying every test on every thing of the vault: it has no plans, no
// sets and no lookups but the one that says what a reference leads to.
type naive struct {
	idx   *index.Index
	notes []*index.Note
	texts map[string][]byte
}

func newNaive(v *testVault) *naive {
	e := &naive{idx: v.state.Index, texts: v.files}
	for n := range e.idx.Notes("") {
		e.notes = append(e.notes, n)
	}
	return e
}

// things are all things of a kind, in order.
func (e *naive) things(b query.Branch) []query.Item {
	var all []query.Item
	for _, n := range e.notes {
		for s := -1; s < len(n.Sections); s++ {
			o := n.Object(s)
			plain := s >= 0 && o.Type() == vault.Section
			switch {
			case b.Kind == query.Sections && plain:
				all = append(all, query.Item{Kind: query.Sections, Object: o})
			case b.Kind == query.Objects && !plain && (b.Name == query.Any || o.Type() == b.Name):
				all = append(all, query.Item{Kind: query.Objects, Object: o})
			}
		}
		for _, t := range n.EachAnnotation {
			if b.Kind == query.Traits && t.Defined && t.Type == b.Name {
				all = append(all, query.Item{Kind: query.Traits, Trait: t})
			}
		}
		for i := range n.Links {
			if l := &n.Links[i]; b.Kind == query.Links {
				all = append(all, query.Item{Kind: query.Links, Object: n.Object(l.Scope), Link: l})
			}
		}
	}
	return all
}

// find answers a query without clauses.
func (e *naive) find(branches []query.Branch) []query.Item {
	var found []query.Item
	for _, b := range branches {
		for _, i := range e.things(b) {
			known := slices.ContainsFunc(found, func(j query.Item) bool { return same(i, j) })
			if !known && e.holds(b, b.Where, i) {
				found = append(found, i)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b query.Item) int {
		s, t := a.Location(), b.Location()
		switch {
		case s.Path != t.Path:
			return strings.Compare(s.Path, t.Path)
		case s.Line != t.Line:
			return s.Line - t.Line
		case s.Position != t.Position:
			return s.Position - t.Position
		}
		order := []query.Kind{query.Objects, query.Sections, query.Traits, query.Links}
		return slices.Index(order, a.Kind) - slices.Index(order, b.Kind)
	})
	return found
}

// same reports whether two things are one.
func same(a, b query.Item) bool {
	return a.Kind == b.Kind && a.Trait == b.Trait && a.Link == b.Link && a.Object == b.Object
}

func noteOf(i query.Item) *index.Note {
	if i.Trait != nil {
		return i.Trait.Note
	}
	return i.Object.Note
}

// around are the objects that a thing is in, from the nearest on.
func around(i query.Item) []index.Object {
	var all []index.Object
	if i.Kind == query.Traits {
		all = append(all, i.Trait.Parent())
	} else if i.Kind == query.Links {
		all = append(all, i.Object)
	} else if above, ok := i.Object.Parent(); ok {
		all = append(all, above)
	}
	for len(all) > 0 {
		above, ok := all[len(all)-1].Parent()
		if !ok {
			break
		}
		all = append(all, above)
	}
	return all
}

// isIn reports whether something under a scope of a note is in a thing.
func isIn(n *index.Note, scope int, i query.Item) bool {
	for o, ok := n.Object(scope), true; ok; o, ok = o.Parent() {
		if o == i.Object {
			return true
		}
	}
	return false
}

// refs are the references of a thing.
func refs(i query.Item) []*index.Ref {
	n := noteOf(i)
	var all []*index.Ref
	for j := range n.Refs {
		r := &n.Refs[j]
		switch {
		case i.Kind == query.Traits && i.Trait.Field:
			if r.InField && r.Field() == i.Trait.Type {
				all = append(all, r)
			}
		case i.Kind == query.Traits:
			if !r.InField && r.Line() == i.Trait.Line() {
				all = append(all, r)
			}
		case isIn(n, r.Scope(), i):
			all = append(all, r)
		}
	}
	return all
}

// refersTo reports whether one thing refers to another, or to what is in that.
func (e *naive) refersTo(i, to query.Item) bool {
	return slices.ContainsFunc(refs(i), func(r *index.Ref) bool {
		o := e.idx.From(noteOf(i), r.Target).Object
		return o.Note != nil && o.Note == to.Object.Note && isIn(o.Note, o.Number(), to)
	})
}

func (e *naive) holds(b query.Branch, t *query.Test, i query.Item) bool {
	if t == nil {
		return true
	}
	switch t.Op {
	case query.And:
		for _, part := range t.Parts {
			if !e.holds(b, part, i) {
				return false
			}
		}
		return true
	case query.Or:
		return e.holds(b, t.Parts[0], i) ||
			len(t.Parts) > 1 && e.holds(b, &query.Test{Op: query.Or, Parts: t.Parts[1:]}, i)
	case query.Not:
		return !e.holds(b, t.Parts[0], i)
	case query.LinksTo:
		return slices.ContainsFunc(e.things(query.Branch{Kind: query.Links}), func(l query.Item) bool {
			own := l.Object.Note == noteOf(i)
			if i.Kind == query.Traits {
				own = own && !i.Trait.Field && l.Link.Line == i.Trait.Line()
			} else {
				own = own && isIn(l.Object.Note, l.Object.Number(), i)
			}
			return own && (len(t.Parts) == 0 || e.holds(query.Branch{Kind: query.Links}, t.Parts[0], l))
		})
	case query.Content:
		return e.content(t.Text, i)
	}
	if t.Field != "" {
		v, def := e.value(b, i, t.Field)
		return e.passes(t, v, def, noteOf(i), b.Kind == query.Traits && t.Field == "value")
	}
	return e.nested(t, i)
}

// nested tries everything that a nested query finds.
func (e *naive) nested(t *query.Test, i query.Item) bool {
	others := e.find(t.Query)
	if t.Target != "" {
		o := e.idx.ResolveArg(t.Target, clock).Object
		others = []query.Item{{Kind: query.Objects, Object: o}}
		if o.Note == nil {
			others = nil
		}
		if t.Op == query.Refs {
			id := e.idx.ResolveArg(t.Target, clock).ID
			return slices.ContainsFunc(refs(i), func(r *index.Ref) bool {
				to := e.idx.From(noteOf(i), r.Target)
				return to.ID == id || len(others) > 0 && e.refersTo(i, others[0])
			})
		}
	}
	return slices.ContainsFunc(others, func(j query.Item) bool {
		switch t.Op {
		case query.Has:
			up := around(j)
			return len(up) > 0 && up[0] == i.Object
		case query.Contains:
			return slices.Contains(around(j), i.Object)
		case query.In:
			up := around(i)
			return len(up) > 0 && up[0] == j.Object
		case query.Within:
			return slices.Contains(around(i), j.Object)
		case query.At:
			t, u := i.Trait, j.Trait
			return t != u && t.Note == u.Note && t.Field == u.Field && (t.Field || t.Line() == u.Line())
		case query.Refs:
			return e.refersTo(i, j)
		}
		return e.refersTo(j, i)
	})
}

// content looks for plain words in the text of a note, or of a section with all under it.
func (e *naive) content(text string, i query.Item) bool {
	if i.Kind == query.Traits {
		return strings.Contains(strings.ToLower(i.Trait.Content), strings.ToLower(text))
	}
	lines := strings.Split(string(e.texts[noteOf(i).Path]), "\n")
	if s := i.Object.Section; s != nil {
		end := s.SubtreeEnd()
		if end == 0 {
			end = len(lines)
		}
		lines = lines[s.Line()-1 : end]
	}
	words := regexp.MustCompile(`[\p{L}\p{N}]+`).FindAllString(strings.ToLower(strings.Join(lines, "\n")), -1)
	for _, word := range strings.Fields(text) {
		if !slices.Contains(words, word) {
			return false
		}
	}
	return true
}

// value is the value of a field of a thing, and what the schema says of it.
func (e *naive) value(b query.Branch, i query.Item, name string) (any, *vault.Field) {
	n := noteOf(i)
	times := index.Times{Created: n.Created, Modified: n.Modified}
	if i.Kind == query.Traits {
		times = *i.Trait.Times
	} else if i.Object.Section != nil {
		times = *i.Object.Section.Times
	}
	switch name {
	case "id", "source_id":
		return i.ID(), nil
	case "file_path":
		return n.Path, nil
	case "created", "first_seen_at":
		return times.Created, &vault.Field{Type: "datetime"}
	case "modified", "last_modified_at":
		return times.Modified, &vault.Field{Type: "datetime"}
	case "line_number":
		return float64(i.Trait.Line()), &vault.Field{Type: "number"}
	case "content_text":
		return i.Trait.ContentText(), nil
	case "level":
		return float64(i.Object.Section.Level()), &vault.Field{Type: "number"}
	case "slug":
		return i.Object.Section.Slug, nil
	case "scheme":
		return i.Link.Scheme, nil
	case "ext":
		if i.Link.Ext == "" {
			return nil, nil
		}
		return i.Link.Ext, nil
	case "is_image":
		return i.Link.Image, nil
	case "type":
		return i.Object.Type(), nil
	case "tags":
		return tagsOf(n), &vault.Field{Type: "string[]"}
	}
	s := e.idx.Schema()
	if i.Kind == query.Traits {
		def, _ := s.Trait(b.Name)
		v, _ := def.Typed(i.Trait.Value())
		return v, &def.Field
	}
	typ, _ := s.Type(i.Object.Type())
	def, _ := typ.Field(name)
	var v any
	for _, f := range i.Object.Fields() {
		if f.Name == name {
			v = f.Value
		}
	}
	if v == nil && def != nil && def.HasDefault {
		v = def.Default
	}
	return v, def
}

func tagsOf(n *index.Note) any {
	var all []any
	for _, t := range n.Tags {
		parts := strings.Split(t.Name, "/")
		for i := range parts {
			all = append(all, strings.Join(parts[:i+1], "/"))
		}
	}
	if all == nil {
		return nil
	}
	return all
}

// passes reports whether a value passes a test.
func (e *naive) passes(t *query.Test, v any, def *vault.Field, n *index.Note, anywhere bool) bool {
	list, isList := v.([]any)
	each := list
	if !isList && v != nil {
		each = []any{v}
	}
	one := func(t *query.Test) func(any) bool {
		return func(v any) bool { return v != nil && e.single(t, v, def, n, anywhere) }
	}
	switch t.Op {
	case query.Exists:
		return v != nil
	case query.Differs:
		return len(each) > 0 && !slices.ContainsFunc(each, one(&query.Test{Op: query.Equal, Values: t.Values}))
	case query.AnyOf, query.AllOf, query.NoneOf:
		if !isList && (v == nil || def == nil || !strings.HasSuffix(def.Type, "[]")) {
			return false
		}
		passing := 0
		for _, v := range each {
			if e.element(t.Parts[0], v, def, n) {
				passing++
			}
		}
		return map[query.Op]bool{query.AnyOf: passing > 0, query.AllOf: passing == len(each), query.NoneOf: passing == 0}[t.Op]
	}
	return slices.ContainsFunc(each, one(t))
}

func (e *naive) element(t *query.Test, v any, def *vault.Field, n *index.Note) bool {
	switch t.Op {
	case query.And:
		return !slices.ContainsFunc(t.Parts, func(p *query.Test) bool { return !e.element(p, v, def, n) })
	case query.Or:
		return slices.ContainsFunc(t.Parts, func(p *query.Test) bool { return e.element(p, v, def, n) })
	case query.Not:
		return !e.element(t.Parts[0], v, def, n)
	case query.Differs:
		return v != nil && !e.single(&query.Test{Op: query.Equal, Values: t.Values}, v, def, n, false)
	}
	return v != nil && e.single(t, v, def, n, false)
}

// single tests one value.
func (e *naive) single(t *query.Test, v any, def *vault.Field, n *index.Note, anywhere bool) bool {
	kind := ""
	if def != nil {
		kind = strings.TrimSuffix(def.Type, "[]")
	}
	lead := func(text string) string {
		to := e.idx.From(n, text)
		if anywhere {
			to = e.idx.Resolve(text)
		}
		if to.ID != "" {
			return to.ID
		}
		return text
	}
	text := ""
	switch v := v.(type) {
	case string:
		if text = v; kind == "ref" {
			ref, _ := vault.ParseRef(v)
			text = lead(string(ref))
		}
	case markdown.Ref:
		text = lead(string(v))
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		text = strconv.FormatBool(v)
	}
	switch t.Op {
	case query.OneOf:
		return slices.ContainsFunc(t.Values, func(w query.Value) bool {
			return e.single(&query.Test{Op: query.Equal, Values: []query.Value{w}}, v, def, n, anywhere)
		})
	case query.Includes, query.StartsWith, query.EndsWith, query.Matches:
		return inText(t, text)
	}
	want := t.Values[0]
	if want.Ref || kind == "ref" {
		return text == e.idx.ResolveArg(want.Text, clock).ID
	}
	switch kind {
	case "number":
		a, err := strconv.ParseFloat(text, 64)
		b, _ := strconv.ParseFloat(want.Text, 64)
		return err == nil && ordered(t.Op, a < b, a == b)
	case "enum":
		if t.Op != query.Equal {
			a := slices.Index(def.Values, text)
			b := slices.IndexFunc(def.Values, func(s string) bool { return strings.EqualFold(s, want.Text) })
			return a >= 0 && ordered(t.Op, a < b, a == b)
		}
	case "date", "datetime":
		return inTime(t.Op, v, want.Text)
	}
	if t.Op == query.Equal {
		return strings.EqualFold(text, want.Text)
	}
	return ordered(t.Op, text < want.Text, text == want.Text)
}

func inText(t *query.Test, text string) bool {
	part := t.Text
	if t.Op == query.Matches {
		if !t.Case {
			part = "(?i)" + part
		}
		return regexp.MustCompile(part).MatchString(text)
	}
	if !t.Case {
		text, part = strings.ToLower(text), strings.ToLower(part)
	}
	switch t.Op {
	case query.Includes:
		return strings.Contains(text, part)
	case query.StartsWith:
		return strings.HasPrefix(text, part)
	}
	return strings.HasSuffix(text, part)
}

func ordered(op query.Op, less, equal bool) bool {
	switch op {
	case query.Equal:
		return equal
	case query.Less:
		return less
	case query.AtMost:
		return less || equal
	case query.More:
		return !less && !equal
	}
	return !less
}

// inTime compares a day or an instant with a time, by the table of reference/raven-rest.md §1.
func inTime(op query.Op, v any, word string) bool {
	x, _ := vault.ParseTime(word, clock)
	var at time.Time
	hasClock := true
	switch v := v.(type) {
	case time.Time:
		at = v
	case string:
		hasClock = strings.Contains(v, "T")
		form := map[bool]string{true: "2006-01-02T15:04", false: "2006-01-02"}[hasClock]
		var err error
		if at, err = time.Parse(form, v); err != nil {
			return false
		}
	}
	day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	instant := x.From.Equal(x.To) && !x.From.IsZero()
	if op == query.Equal {
		if hasClock {
			return !at.Before(x.From) && (x.To.IsZero() || at.Before(x.To) || instant && at.Equal(x.To))
		}
		if instant {
			return day.Equal(time.Date(x.From.Year(), x.From.Month(), x.From.Day(), 0, 0, 0, 0, time.UTC))
		}
		return !day.Before(x.From) && (x.To.IsZero() || day.Before(x.To))
	}
	if !hasClock || !instant {
		at = day
	}
	switch op {
	case query.Less:
		return at.Before(x.From)
	case query.AtMost:
		return x.To.IsZero() || at.Before(x.To) || instant && at.Equal(x.To)
	case query.More:
		if instant {
			return at.After(x.To)
		}
		return !x.To.IsZero() && !at.Before(x.To)
	}
	return !at.Before(x.From)
}
