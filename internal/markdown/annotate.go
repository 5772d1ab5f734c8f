package markdown

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A NewTrait is a list item that AppendTrait writes: the trait, other traits of its line, and the
// text. The values nil and true are written as a bare annotation.
type NewTrait struct {
	Name    string
	Value   any     // a value as in a Field
	Others  []Field // traits of the same line, written in alphabetical order
	Content string  // one line
}

// AppendTrait adds the list item `- @name(value) text` at the end of the own text of a section, as
// AppendToSection does, and returns the new note and the line of the item. It returns INVALID_TRAIT
// for a name that no annotation can have, and INVALID_VALUE for a value that cannot be written in
// one, or a text with a line break. Other errors are those of AppendToSection.
func AppendTrait(text []byte, slug string, t NewTrait) (out []byte, line int, err error) {
	item, n, err := t.line()
	if err != nil {
		return nil, 0, err
	}
	if out, line, err = AppendToSection(text, slug, item); err != nil {
		return nil, 0, err
	}
	on := func(other Trait) bool { return other.Line == line }
	traits := Parse(out).Traits
	i := slices.IndexFunc(traits, on)
	if i < 0 || traits[i].Name != t.Name || len(slices.DeleteFunc(traits[i:], func(t Trait) bool {
		return !on(t)
	})) < n {
		return nil, 0, cannotAnnotate(t.Name)
	}
	return out, line, nil
}

// line returns the list item of the trait, without a line break, and the number of annotations
// before its text. The trait itself is first, and the others follow in alphabetical order.
//
// An annotation is written with the text that follows it in mind: a bare annotation before a
// parenthesis would take it as its value.
func (t NewTrait) line() (string, int, error) {
	if strings.ContainsAny(t.Content, "\r\n") {
		return "", 0, fault.New(fault.InvalidValue, "the content of a trait must be one line of text")
	}
	others := slices.Clone(t.Others)
	slices.SortStableFunc(others, func(a, b Field) int { return strings.Compare(a.Key, b.Key) })
	line := strings.TrimSpace(t.Content)
	all := append([]Field{{t.Name, t.Value}}, others...)
	parts := []string{"-"}
	for i, f := range all {
		rest := "@"
		if i == len(all)-1 {
			rest = line
		}
		annotation, err := annotate(f, strings.HasPrefix(rest, "("))
		if err != nil {
			return "", 0, err
		}
		parts = append(parts, annotation)
	}
	if line != "" {
		parts = append(parts, line)
	}
	return strings.Join(parts, " "), len(all), nil
}

// opensParen reports whether the first byte of a line that is not a blank is an opening parenthesis.
// rest is the part of the line after an annotation. The parenthesis would be parsed as the value of
// a bare annotation.
func opensParen(rest []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte("(")) }

// annotate returns an annotation as text. opened reports that an opening parenthesis follows it in
// its line: then a bare annotation is written with empty parentheses.
//
// The value is written without regard to commas, because nothing else is between the parentheses.
// It cannot contain a closing parenthesis, even in quotes: the first one on the line ends an
// annotation.
func annotate(f Field, opened bool) (string, error) {
	if f.Key == "" || f.Key == pinName || strings.ContainsFunc(f.Key, func(r rune) bool {
		return r > 0x7f || !isWord(byte(r))
	}) {
		return "", fault.New(fault.InvalidTrait, "%q cannot be the name of a trait; a name has "+
			"letters a to z, digits, - and _, and not `id`", f.Key).With("trait", f.Key)
	}
	value, err := normal(f)
	if err != nil {
		return "", err
	}
	spelled, why := spelling{alone: true}.spell(value)
	switch {
	case why == "" && strings.Contains(spelled, ")"):
		why = "has a closing parenthesis, which would end the annotation"
	case value == nil || value == true:
		if opened {
			return "@" + f.Key + "()", nil // else the rest would be its value
		}
		return "@" + f.Key, nil
	}
	if why != "" {
		return "", invalid(f.Key, why)
	}
	return "@" + f.Key + "(" + spelled + ")", nil
}

// SetTrait changes annotations on the line of t, a trait that Parse returned for this text, and
// returns the new note. A field with the name of t sets the value of t. Any other field is another
// trait of the line: an existing one is changed in place, a new one is written directly after the
// annotation of t. The values nil and true are written as a bare annotation. Nothing else changes.
//
// It returns NOT_FOUND if the text does not contain t. Invalid names and values are errors as for
// AppendTrait.
func SetTrait(text []byte, t Trait, fields []Field) ([]byte, error) {
	d := Parse(text)
	i, err := d.findTrait(t)
	if err != nil {
		return nil, err
	}
	on := map[string]int{}
	for k, other := range d.Traits {
		if _, twice := on[other.Name]; other.Line == t.Line && !twice {
			on[other.Name] = k
		}
	}
	on[t.Name] = i
	e := traitEditor{d: d, text: text, i: i, want: slices.Clone(d.Traits)}
	for _, f := range lastOfKeys(fields) {
		k, there := on[f.Key]
		if !there {
			k = -1
		}
		if err := e.set(k, f); err != nil {
			return nil, err
		}
	}
	return e.result()
}

// lastOfKeys returns the fields in order, without those whose key occurs again later. Later fields
// take precedence, as in SetFields.
func lastOfKeys(fields []Field) []Field {
	last := make(map[string]int, len(fields))
	for i, f := range fields {
		last[f.Key] = i
	}
	var kept []Field
	for i, f := range fields {
		if last[f.Key] == i {
			kept = append(kept, f)
		}
	}
	return kept
}

// A traitEditor changes annotations of a line in one pass, and parses the new note once. It
// collects patches together with the traits that the new note must have; result compares these with
// the parsed result.
type traitEditor struct {
	d       *Doc
	text    []byte
	i       int     // index of the trait after which new ones are written
	want    []Trait // the traits that the new note must have, without the added ones
	added   []Trait // new ones, after the i-th
	patches []patch
	first   string // the name of the first change, for an error
}

// set sets the value of the k-th trait of the note, or adds a new trait if k is negative. It only
// records the patch and the expected trait. A trait that has the value already keeps its bytes,
// except if the new value contains the separator of a display text (|): two references with the
// same target and different display texts are equal values.
func (e *traitEditor) set(k int, f Field) error {
	at := e.d.Traits[max(k, 0)].Span
	if k < 0 {
		end := e.d.Traits[e.i].Span.End
		at = Span{end, end}
	}
	annotation, err := annotate(f, opensParen(e.text[at.End:lineEnd(e.text, at.End)]))
	if err != nil {
		return err
	}
	raw := rawOf(annotation)
	if k < 0 {
		e.added = append(e.added, Trait{Name: f.Key, Raw: raw})
		annotation = " " + annotation
	} else {
		old := e.d.Traits[k]
		if value, _ := traitValue(raw); equal(value, old.Value) && !strings.Contains(raw, "|") {
			return nil
		}
		e.want[k].Raw = raw
	}
	if len(e.patches) == 0 {
		e.first = f.Key
	}
	e.patches = append(e.patches, patch{at, []byte(annotation)})
	return nil
}

// result returns the new note. It returns INVALID_VALUE if the new note does not parse as expected:
// the added traits directly after the i-th, and otherwise the same headings and traits, with the
// new values.
func (e *traitEditor) result() ([]byte, error) {
	if len(e.patches) == 0 {
		return e.text, nil
	}
	out := apply(e.text, e.patches)
	after := Parse(out)
	from, to := e.i+1, e.i+1+len(e.added)
	if len(after.Traits) < to {
		return nil, cannotAnnotate(e.first)
	}
	for n, added := range e.added {
		if got := after.Traits[from+n]; got.Name != added.Name || got.Raw != added.Raw {
			return nil, cannotAnnotate(added.Name)
		}
	}
	after.Traits = slices.Delete(after.Traits, from, to)
	want := *e.d
	want.Traits = e.want
	if !sameOutline(&want, after, e.d.headingIn(e.d.Traits[e.i].Line)) {
		return nil, cannotAnnotate(e.first)
	}
	return out, nil
}

// findTrait returns the index of a trait of the note, or NOT_FOUND. It compares the position and
// the name, so a trait of another version of the note is not found if it has moved.
func (d *Doc) findTrait(t Trait) (int, error) {
	i := slices.IndexFunc(d.Traits, func(other Trait) bool {
		return other.Span == t.Span && other.Name == t.Name
	})
	if i < 0 {
		return 0, fault.New(fault.NotFound, "the note has no trait %q there", t.Name)
	}
	return i, nil
}

// headingIn returns the index of the heading that begins in a line, or -1. A list item can contain
// a heading with traits; its text changes with them, so sameOutline must ignore it.
func (d *Doc) headingIn(line int) int {
	return slices.IndexFunc(d.Headings, func(h Heading) bool { return h.Line == line })
}

// rawOf returns the text between the parentheses of an annotation, or "".
func rawOf(annotation string) string {
	_, raw, _ := strings.Cut(annotation, "(")
	return strings.TrimSpace(strings.TrimSuffix(raw, ")"))
}

// RemoveTrait removes the annotation of t, a trait that Parse returned for this text, with the
// blanks that separate it from the rest of its line. It also removes the `@id(…)` of the line if t
// is the first trait there, and the whole line if at most a checkbox is left on it, unless the line
// is a list item that contains more text. If a parenthesis would become the value of the bare
// annotation before it, that annotation gets an empty value.
//
// It returns NOT_FOUND if the text does not contain t, and INVALID_VALUE if t cannot be removed
// without another change.
func RemoveTrait(text []byte, t Trait) ([]byte, error) {
	d := Parse(text)
	i, err := d.findTrait(t)
	if err != nil {
		return nil, err
	}
	return d.remove(text, []int{i})
}

// RemoveTraits removes all traits with these names on a line in one pass, as RemoveTrait does. It
// ignores names that the line does not have.
func RemoveTraits(text []byte, line int, names []string) ([]byte, error) {
	d, goes := Parse(text), map[string]bool{}
	for _, name := range names {
		goes[name] = true
	}
	var gone []int
	for i, t := range d.Traits {
		if t.Line == line && goes[t.Name] {
			gone = append(gone, i)
		}
	}
	if len(gone) == 0 {
		return text, nil
	}
	return d.remove(text, gone)
}

// remove returns the note without the traits with these indices. They are on one line and ascend.
// It tries the removal without and then with empty parentheses for the annotation before a removed
// one, and returns the first result that has exactly the other traits. It returns INVALID_VALUE if
// neither has.
func (d *Doc) remove(text []byte, gone []int) ([]byte, error) {
	r := removal{d: d, text: text, gone: gone}
	want := *d
	want.Traits = make([]Trait, 0, len(d.Traits)-len(gone))
	for i, t := range d.Traits {
		if _, goes := slices.BinarySearch(gone, i); !goes {
			want.Traits = append(want.Traits, t)
		}
	}
	first := d.Traits[gone[0]]
	for _, apart := range []bool{false, true} {
		if apart && len(r.bare()) == 0 {
			break
		}
		out := r.result(apart)
		if sameOutline(&want, Parse(out), d.headingIn(first.Line)) {
			return out, nil
		}
	}
	return nil, fault.New(fault.InvalidValue, "the annotation @%s cannot be removed without changing "+
		"the text around it; edit the line", first.Name).With("line", first.Line)
}

// A removal removes some annotations of a line: those of the traits with the indices gone. result
// computes a text; the caller checks that it parses as expected.
type removal struct {
	d    *Doc
	text []byte
	gone []int
}

// bare returns the indices of the bare traits that stay directly before a removed one. Once that
// one is removed, a parenthesis after it would become the value of the bare trait.
func (r removal) bare() []int {
	var bare []int
	for n, i := range r.gone {
		if i > 0 && (n == 0 || r.gone[n-1] != i-1) && r.d.Traits[i-1].Kind == KindNone {
			bare = append(bare, i-1)
		}
	}
	return bare
}

// boxOnly matches a line with only a checkbox, or an empty line.
var boxOnly = regexp.MustCompile(`^(\[.\])?$`)

// result returns the note without the traits. If apart is set, the bare traits before them get an
// empty value, so that a parenthesis that follows does not become their value. The whole line is
// removed if at most a checkbox is left on it and no other line depends on it.
func (r removal) result(apart bool) []byte {
	cuts, first := r.cuts(), r.d.Traits[r.gone[0]]
	if first.removable && boxOnly.MatchString(r.remaining(cuts)) {
		at := first.Span.Start
		return splice(r.text, Span{lineStart(r.text, at), lineNext(r.text, at)}, nil)
	}
	for i := range cuts {
		cuts[i].at = withBlanks(r.text, cuts[i].at)
	}
	if apart {
		for _, i := range r.bare() {
			end := r.d.Traits[i].Span.End
			cuts = append([]patch{{Span{end, end}, []byte("()")}}, cuts...)
		}
	}
	return apply(r.text, cuts)
}

// cuts returns the spans of the annotations, in text order and without a replacement. Spans with
// only blanks between them are joined, so that no blanks are left between removed annotations. The
// `@id(…)` of the line is included if the first trait of the line is removed, because the id
// belongs to that trait.
func (r removal) cuts() []patch {
	var spans []Span
	for _, i := range r.gone {
		t := r.d.Traits[i]
		spans = append(spans, t.Span)
		if first := i == 0 || r.d.Traits[i-1].Line != t.Line; first && t.Pin != "" {
			spans = append(spans, t.pin)
		}
	}
	slices.SortFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	var cuts []patch
	for _, s := range spans {
		if n := len(cuts) - 1; n >= 0 &&
			len(bytes.Trim(r.text[cuts[n].at.End:s.Start], " \t")) == 0 {
			cuts[n].at.End = s.End
			continue
		}
		cuts = append(cuts, patch{at: s})
	}
	return cuts
}

// remaining returns the content of the line without the cuts and the blanks around it. It is what
// remains of the line for the decision whether the line itself is removed.
func (r removal) remaining(cuts []patch) string {
	t := r.d.Traits[r.gone[0]]
	start := lineStart(r.text, t.Span.Start)
	line := r.text[start:lineEnd(r.text, start)]
	at := bytes.Index(line, []byte(t.Content))
	if at < 0 {
		return t.Content
	}
	start += at
	inside := make([]patch, 0, len(cuts))
	for _, c := range cuts {
		from, to := max(c.at.Start-start, 0), max(c.at.End-start, 0)
		inside = append(inside, patch{at: Span{min(from, len(t.Content)), min(to, len(t.Content))}})
	}
	return strings.TrimSpace(string(apply([]byte(t.Content), inside)))
}

// withBlanks returns the span of an annotation with the blanks that are removed with it: those
// after it if text follows them, and otherwise those before it.
func withBlanks(text []byte, at Span) Span {
	rest := text[at.End:lineEnd(text, at.End)]
	before := text[lineStart(text, at.Start):at.Start]
	blanks := len(rest) - len(bytes.TrimLeft(rest, " \t"))
	switch {
	case blanks == len(rest):
		at.Start -= len(before) - len(bytes.TrimRight(before, " \t"))
	case len(before) == 0 || isBlank(before[len(before)-1]):
		at.End += blanks
	}
	return at
}

// cannotAnnotate returns the error for an annotation that would be parsed as something else.
func cannotAnnotate(name string) error {
	return fault.New(fault.InvalidValue, "the annotation @%s would be parsed differently in its line; "+
		"choose a value without markup", name).With("field", name)
}
