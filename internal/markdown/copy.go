package markdown

import "bytes"

// WithoutIDs returns the subtree as it must be in a copy: without the ids in declarations and the ids of
// blocks, because they would be in the vault twice. A declaration whose only field was the id keeps
// its type. The errors are those of NewSubtree, and malformed_markdown if the headings would
// change.
func (s Subtree) WithoutIDs() (Subtree, error) {
	d := Parse(s.Text)
	patches := d.blockIDs(s.Text)
	for i, h := range d.Headings {
		if _, pinned := h.Declaration.Get("id"); pinned {
			e := &declarationEditor{d, s.Text, i, h, lineBreak(s.Text)}
			patches = append(patches, e.removePatches(map[string]any{"id": nil})...)
		}
	}
	fresh, err := NewSubtree(apply(s.Text, patches))
	if err != nil {
		return s, err
	}
	if len(fresh.headings) != len(d.Headings) {
		return s, malformed("the ids in the section cannot be omitted from a copy")
	}
	fresh.outside = s.outside
	return fresh, nil
}

// blockIDs returns the patches that remove the ids of blocks. If an id is alone in its line, the
// line is removed too.
//
// Blocks are in text order, so one pass over the lines finds them all.
func (d *Doc) blockIDs(text []byte) (cuts []patch) {
	line, start := 1, 0
	for _, b := range d.Blocks {
		for ; line < b.Line; line++ {
			start = lineNext(text, start)
		}
		end := lineEnd(text, start)
		at := start + bytes.LastIndexByte(text[start:end], '^')
		kept := start + len(bytes.TrimRight(text[start:at], " \t"))
		if kept == start {
			end = lineNext(text, start)
		}
		cuts = append(cuts, patch{at: Span{kept, end}})
	}
	return cuts
}
