package markdown

import (
	"bytes"

	"go.yaml.in/yaml/v4"
)

// A change is the replacement of the value of one field. It contains the positions of the old
// value; the methods of writer compute the patch for a new one.
//
// A value can be written in three notations: after its key, on lines below it, and as a list with
// one item per line. The new value is written in the notation of the old one if it can be, so that
// an edit changes as few bytes as possible.
type change struct {
	text  []byte
	inner Span // the frontmatter
	entry Entry
	key   int // the end of the line of the key
	rest  int // the end of the last line of the value
}

// newChange returns the change of an entry of the frontmatter of a text.
func newChange(text []byte, fm *Frontmatter, entry Entry) change {
	return change{
		text, fm.Inner, entry, lineEnd(text, entry.colon), lineEnd(text, entry.Text.End),
	}
}

// replace returns the patch that sets the field to its new value. A list that is not empty is
// written one item per line, unless the old value is in brackets; any other value is written after
// its key.
func (w writer) replace(c change, value any) patch {
	old := c.entry.node
	list, ok := value.([]any)
	if !ok || len(list) == 0 || old.Style&yaml.FlowStyle != 0 {
		return w.replaceInline(c, value)
	}
	if old.Kind == yaml.SequenceNode {
		if lines, ok := c.lines(); ok {
			return w.replaceItems(lines, list)
		}
	}
	return w.replaceByList(c, list)
}

// below reports whether the old value begins on a later line than its key.
func (c change) below() bool { return c.entry.Text.Start > c.key }

// replaceInline returns the patch that writes a value after the key. It keeps a comment there.
func (w writer) replaceInline(c change, value any) patch {
	at, s := c.entry.Text, style{Style: c.entry.node.Style}
	if c.entry.node.Kind == yaml.SequenceNode {
		s.Style = 0
	}
	if c.below() {
		s.oneLine = c.entry.colon < c.key || at.End < c.rest
		spelled := w.afterKey(value, s)
		comment := c.text[c.entry.colon:c.key]
		return patch{Span{c.entry.colon, at.End}, append(spelled, comment...)}
	}
	if len(bytes.Trim(c.text[at.End:c.rest], " \t")) == 0 && at.Start == at.End {
		at.End = c.rest // blanks behind the colon of an empty field
	}
	s.oneLine = at.End < c.rest
	if at.Start == c.entry.colon || value == nil {
		return patch{Span{c.entry.colon, at.End}, w.afterKey(value, s)}
	}
	return patch{at, []byte(w.inline(value, s))}
}

// afterKey returns a value with the blank before it, or nothing for nil.
func (w writer) afterKey(value any, s style) []byte {
	if value == nil {
		return nil
	}
	return []byte(" " + w.inline(value, s))
}

// replaceByList returns the patch that writes a list below the key, in place of another kind of
// value. A comment after the old value stays in the line of the key.
func (w writer) replaceByList(c change, list []any) patch {
	margin := string(bytes.Repeat([]byte{' '}, w.indent+2))
	lines := []byte(w.eol + w.items(list, margin))
	lines = lines[:len(lines)-len(w.eol)]
	if c.below() {
		return patch{Span{c.key, c.entry.Text.End}, lines}
	}
	comment := bytes.TrimRight(c.text[c.entry.Text.End:c.rest], " \t")
	return patch{Span{c.entry.colon, c.rest}, append(bytes.Clone(comment), lines...)}
}
