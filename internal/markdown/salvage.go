package markdown

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v4"
)

// salvaged are the fields that are read of a frontmatter that is no YAML: they name the note.
var salvaged = []string{"alias", "aliases", "tags"}

// salvage returns the fields of a frontmatter that can be read by themselves though the whole cannot; nil
// if there are none. None of them can be edited.
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

// fieldEnd is where the lines end that may belong to the field of a line: those that are indented, blank, or
// items of a list.
func (x *extent) fieldEnd(at int) int {
	end := x.lineNext(at)
	for end < x.inner.End && bytes.IndexByte([]byte(" \t-\r\n"), x.text[end]) >= 0 {
		end = x.lineNext(end)
	}
	return end
}

// salvageField is the field in some lines, if they are YAML.
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
