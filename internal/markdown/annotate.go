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
	for _, f := range slices.Backward(all) {
		annotation, err := annotate(f, line)
		if err != nil {
			return "", 0, err
		}
		line = strings.TrimRight(annotation+" "+line, " ")
	}
	return "- " + line, len(all), nil
}

// annotate writes an annotation that the rest of its line follows.
func annotate(f Field, rest string) (string, error) {
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
		if strings.HasPrefix(strings.TrimLeft(rest, " \t"), "(") {
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
	i, err := findTrait(text, t)
	if err != nil {
		return nil, err
	}
	last := i // behind which a new one goes
	for _, f := range fields {
		d := Parse(text)
		k := slices.IndexFunc(d.Traits, func(other Trait) bool {
			return other.Line == t.Line && other.Name == f.Key
		})
		if f.Key == t.Name {
			k = i
		}
		if k >= 0 {
			text, err = rewrite(text, d, k, f)
		} else {
			text, err = addSibling(text, d, last, f)
			last++
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// findTrait is the index of a trait in the note.
func findTrait(text []byte, t Trait) (int, error) {
	i := slices.IndexFunc(Parse(text).Traits, func(other Trait) bool {
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

// rewrite writes the k-th trait anew, unless it reads as the value already.
func rewrite(text []byte, d *Doc, k int, f Field) ([]byte, error) {
	at := d.Traits[k].Span
	annotation, err := annotate(f, string(text[at.End:lineEnd(text, at.End)]))
	if err != nil {
		return nil, err
	}
	raw := rawOf(annotation)
	if value, _ := traitValue(raw); equal(value, d.Traits[k].Value) && !strings.Contains(raw, "|") {
		return text, nil
	}
	out := splice(text, at, []byte(annotation))
	after := Parse(out)
	if len(after.Traits) <= k || after.Traits[k].Raw != raw {
		return nil, cannotAnnotate(f.Key)
	}
	d.Traits[k].Raw = raw
	if !sameOutline(d, after, d.headingIn(d.Traits[k].Line)) {
		return nil, cannotAnnotate(f.Key)
	}
	return out, nil
}

// rawOf is what stands in the parentheses of an annotation.
func rawOf(annotation string) string {
	_, raw, _ := strings.Cut(annotation, "(")
	return strings.TrimSpace(strings.TrimSuffix(raw, ")"))
}

// addSibling writes a trait directly behind the i-th.
func addSibling(text []byte, d *Doc, i int, f Field) ([]byte, error) {
	at := d.Traits[i].Span.End
	annotation, err := annotate(f, string(text[at:lineEnd(text, at)]))
	if err != nil {
		return nil, err
	}
	out := splice(text, Span{at, at}, []byte(" "+annotation))
	after := Parse(out)
	if len(after.Traits) <= i+1 || after.Traits[i+1].Name != f.Key ||
		after.Traits[i+1].Raw != rawOf(annotation) {
		return nil, cannotAnnotate(f.Key)
	}
	after.Traits = slices.Delete(after.Traits, i+1, i+2)
	if !sameOutline(d, after, d.headingIn(d.Traits[i].Line)) {
		return nil, cannotAnnotate(f.Key)
	}
	return out, nil
}

// RemoveTrait removes the annotation of a trait that Parse found in this text, with the blank that
// parted it from the rest of its line, and the `@id(…)` of the line if the trait is its first. A line
// on which nothing else is left, a check box aside, goes too, unless a list item needs it for what
// follows. Where a parenthesis would become the value of the bare annotation before, that one is given
// an empty value. A trait that the text does not have is NOT_FOUND, one that cannot be removed without a
// change of something else FILE_ERROR.
func RemoveTrait(text []byte, t Trait) ([]byte, error) {
	i, err := findTrait(text, t)
	if err != nil {
		return nil, err
	}
	d := Parse(text)
	if out, ok := d.remove(text, i); ok {
		return out, nil
	}
	if i > 0 && d.Traits[i-1].Kind == KindNone {
		// A parenthesis that follows must not become the value of the trait before.
		end := d.Traits[i-1].Span.End
		text = splice(text, Span{end, end}, []byte("()"))
		if out, ok := Parse(text).remove(text, i); ok {
			return out, nil
		}
	}
	return nil, fault.New(fault.FileError, "the annotation @%s cannot be removed without a change "+
		"of the text around it; edit the line", t.Name).With("line", t.Line)
}

// remove is the note without the i-th trait. It is not ok if that changes another one or a heading.
func (d *Doc) remove(text []byte, i int) ([]byte, bool) {
	if len(d.Traits) <= i {
		return nil, false
	}
	out := withoutTrait(text, d, i)
	rest := *d
	rest.Traits = slices.Delete(slices.Clone(d.Traits), i, i+1)
	return out, sameOutline(&rest, Parse(out), d.headingIn(d.Traits[i].Line))
}

// boxOnly is a line on which nothing but a check box is left, or nothing at all.
var boxOnly = regexp.MustCompile(`^(\[[ xX]\])?$`)

// withoutTrait is the note without the i-th trait.
func withoutTrait(text []byte, d *Doc, i int) []byte {
	t := d.Traits[i]
	cuts := []Span{t.Span}
	if first := i == 0 || d.Traits[i-1].Line != t.Line; first && t.Pin != "" {
		cuts = append(cuts, t.pin)
	}
	slices.SortFunc(cuts, func(a, b Span) int { return b.Start - a.Start })
	content, out := t.Content, text
	for _, cut := range cuts {
		content = strings.Replace(content, valid(text[cut.Start:cut.End]), "", 1)
		out = splice(out, withBlanks(out, cut), nil)
	}
	if t.lone && boxOnly.MatchString(strings.TrimSpace(content)) {
		return splice(text, Span{lineStart(text, t.Span.Start), lineNext(text, t.Span.Start)}, nil)
	}
	return out
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
