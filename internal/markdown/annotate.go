package markdown

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"rookery/internal/fault"
)

// A NewTrait is a line that AppendTrait writes: the trait, other traits of its line, and the text.
// Null and true are written as a bare annotation.
type NewTrait struct {
	Name    string
	Value   any     // as of a Field
	Others  []Field // traits of the same line, written in alphabetical order
	Content string  // one line
}

// AppendTrait adds `- @name(value) text` at the end of the own text of a section, as AppendToSection
// does, and says in which line it stands. A name that no annotation can have is INVALID_TRAIT; a value
// that cannot stand in one, or a text with a line break, is INVALID_VALUE.
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

// line is the list item of the trait, and how many annotations it has before its text.
func (t NewTrait) line() (string, int, error) {
	if strings.ContainsAny(t.Content, "\r\n") {
		return "", 0, fault.New(fault.InvalidValue, "the content of a trait is one line of text")
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

// opens reports whether the rest of a line begins with a parenthesis, blanks aside.
func opens(rest []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte("(")) }

// annotate writes an annotation. opened says that a parenthesis follows it in its line.
func annotate(f Field, opened bool) (string, error) {
	if f.Key == "" || f.Key == pinName || strings.ContainsFunc(f.Key, func(r rune) bool {
		return r > 0x7f || !isWord(byte(r))
	}) {
		return "", fault.New(fault.InvalidTrait, "%q cannot be the name of a trait; a name is "+
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

// SetTrait changes annotations on the line of a trait that Parse found in this text. A field with the
// trait's own name is its value. Any other is a trait of its line: one that is there is changed where
// it stands, a new one is written directly behind the trait's annotation. Null and true are written
// as a bare annotation. Nothing else changes.
//
// A trait that the text does not have is NOT_FOUND; names and values are refused as in AppendTrait.
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

// lastOfKeys are fields without those whose key comes again.
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

// A traitEditor changes annotations of a line in one pass. It reads the new note once.
type traitEditor struct {
	d       *Doc
	text    []byte
	i       int     // the trait behind which new ones go
	want    []Trait // those of the note, as they are to be
	added   []Trait // behind the i-th
	patches []patch
	first   string // the first name that changes
}

// set gives the k-th trait a value, or writes a new one if k is negative.
func (e *traitEditor) set(k int, f Field) error {
	at := e.d.Traits[max(k, 0)].Span
	if k < 0 {
		end := e.d.Traits[e.i].Span.End
		at = Span{end, end}
	}
	annotation, err := annotate(f, opens(e.text[at.End:lineEnd(e.text, at.End)]))
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

// result is the new note.
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

// findTrait is the index of a trait in the note.
func (d *Doc) findTrait(t Trait) (int, error) {
	i := slices.IndexFunc(d.Traits, func(other Trait) bool {
		return other.Span == t.Span && other.Name == t.Name
	})
	if i < 0 {
		return 0, fault.New(fault.NotFound, "the note has no trait %q there", t.Name)
	}
	return i, nil
}

// headingIn is the index of the heading that begins in a line, -1 if none does: a list item can hold a
// heading with traits.
func (d *Doc) headingIn(line int) int {
	return slices.IndexFunc(d.Headings, func(h Heading) bool { return h.Line == line })
}

// rawOf is what stands in the parentheses of an annotation.
func rawOf(annotation string) string {
	_, raw, _ := strings.Cut(annotation, "(")
	return strings.TrimSpace(strings.TrimSuffix(raw, ")"))
}

// RemoveTrait removes the annotation of a trait that Parse found in this text, with the blank that
// parted it from the rest of its line, and the `@id(…)` of the line if the trait is its first. A line
// on which nothing else is left, a check box aside, goes too, unless a list item needs it for what
// follows. Where a parenthesis would become the value of the bare annotation before, that one is given
// an empty value. A trait that the text does not have is NOT_FOUND, one that cannot be removed without a
// change of something else INVALID_VALUE.
func RemoveTrait(text []byte, t Trait) ([]byte, error) {
	d := Parse(text)
	i, err := d.findTrait(t)
	if err != nil {
		return nil, err
	}
	return d.remove(text, []int{i})
}

// RemoveTraits is RemoveTrait for all traits of some names on a line, in one pass. Names that are not there
// are no error.
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

// remove is the note without some traits of a line, whose numbers ascend.
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
	return nil, fault.New(fault.InvalidValue, "the annotation @%s cannot be removed without a change "+
		"of the text around it; edit the line", first.Name).With("line", first.Line)
}

// A removal takes some annotations of a line away.
type removal struct {
	d    *Doc
	text []byte
	gone []int
}

// bare are the numbers of the bare traits that stay directly before one that goes.
func (r removal) bare() []int {
	var bare []int
	for n, i := range r.gone {
		if i > 0 && (n == 0 || r.gone[n-1] != i-1) && r.d.Traits[i-1].Kind == KindNone {
			bare = append(bare, i-1)
		}
	}
	return bare
}

// boxOnly is a line on which nothing but a check box is left, or nothing at all.
var boxOnly = regexp.MustCompile(`^(\[.\])?$`)

// result is the note without the traits. apart gives the bare traits before them an empty value, so that a
// parenthesis which follows does not become theirs.
func (r removal) result(apart bool) []byte {
	cuts, first := r.cuts(), r.d.Traits[r.gone[0]]
	if first.lone && boxOnly.MatchString(r.left(cuts)) {
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

// cuts are the spans of the annotations, those with nothing but blanks between them as one.
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

// left is what the content of the line is without the cuts and the blanks around it.
func (r removal) left(cuts []patch) string {
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

// withBlanks is the span of an annotation with the blanks that go with it: those behind it if text
// follows them, else those before it.
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

// cannotAnnotate is the refusal of an annotation that would not read as it is meant.
func cannotAnnotate(name string) error {
	return fault.New(fault.InvalidValue, "the annotation @%s would not read as it is meant in its line; "+
		"choose a value without markup", name).With("field", name)
}
