package markdown

import "github.com/yuin/goldmark/text"

// Enter waits until a note of a length may be parsed.
var Enter = acquire

// OutlineWithin is Outline with other bounds: headings, and UTF-16 units of a body.
func OutlineWithin(body []byte, headings, units int) (all []OutlineHeading, truncated bool, err error) {
	return outlineBounds{headings, units}.outline(body)
}

// OutlineSteps counts the steps that an outline takes through a body: the calls that look at a line, and the
// bytes that the reader goes on.
func OutlineSteps(body []byte) int {
	r := &stepReader{Reader: text.NewReader(body)}
	parseOutline(r)
	return r.steps
}

// A stepReader counts the steps that a parser takes.
type stepReader struct {
	text.Reader
	steps int
}

func (r *stepReader) PeekLine() ([]byte, text.Segment) {
	r.steps++
	return r.Reader.PeekLine()
}

func (r *stepReader) Advance(n int) {
	r.steps += n
	r.Reader.Advance(n)
}

func (r *stepReader) AdvanceAndSetPadding(n, padding int) {
	r.steps += n
	r.Reader.AdvanceAndSetPadding(n, padding)
}

func (r *stepReader) AdvanceLine() {
	r.steps++
	r.Reader.AdvanceLine()
}

// UnsetArguments removes fields from a section's declaration, and returns the new note. The
// errors are those of SetArguments.
func UnsetArguments(text []byte, slug string, keys []string) ([]byte, error) {
	at, err := Parse(text).headingOf(slug)
	if err != nil {
		return nil, err
	}
	return UnsetArgumentsAt(text, at, keys)
}
