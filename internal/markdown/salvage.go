package markdown

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v4"
)

// salvaged are the fields that are read from a frontmatter that is not valid YAML. They contain
// names and tags of the note.
var salvaged = []string{"alias", "aliases", "tags"}

// salvage returns those fields of an invalid frontmatter that can be parsed separately, or nil if
// there are none. A note with one invalid field thus keeps its names, so that references to it
// still resolve. The fields have no positions, so they cannot be edited. Of a repeated field, the
// first counts.
func (x *extent) salvage() *Frontmatter {
	fm := &Frontmatter{Inner: x.inner, flow: true}
	for at := x.inner.Start; at < x.inner.End; {
		end := x.fieldEnd(at)
		key, _, isField := bytes.Cut(x.text[at:end], []byte{':'})
		if name := string(key); isField && slices.Contains(salvaged, name) {
			if _, twice := fm.Get(name); !twice {
				fm.Entries = append(fm.Entries, x.salvageField(Span{at, end})...)
			}
		}
		at = end
	}
	if len(fm.Entries) == 0 {
		return nil
	}
	return fm
}

// fieldEnd returns the end of the lines that may belong to the field that begins at at: those that
// are indented, blank, or list items.
func (x *extent) fieldEnd(at int) int {
	end := x.lineNext(at)
	for end < x.inner.End && bytes.IndexByte([]byte(" \t-\r\n"), x.text[end]) >= 0 {
		end = x.lineNext(end)
	}
	return end
}

// salvageField returns the field in some lines as a list of one Entry, or nil if they are not valid
// YAML.
func (x *extent) salvageField(lines Span) []Entry {
	part := newExtent(x.text, lines)
	root, problem := loadYAML(part)
	if problem != nil || root == nil || root.Kind != yaml.MappingNode || checkHead(part, root) != nil {
		return nil
	}
	all := part.entries(root, true)
	for i := range all {
		all[i].Line += bytes.Count(x.text[:lines.Start], []byte{'\n'})
	}
	return all
}
