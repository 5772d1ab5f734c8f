package index

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// Facets are what the head of a note says that is counted over the vault: each thing once, in text order. They
// are from the head as YAML says it, so a note in quarantine has some too.
type Facets struct {
	Fields   []string // names, also of fields without a value
	Tags     []string // of the field tags, as written, without one leading #; a text is one tag
	Types    []string // values of the field type: texts, numbers as JSON writes them, dates as written
	Statuses []string // values of the field status, likewise
}

// The fields whose values are facets.
const (
	tagsField   = "tags"
	typeField   = "type"
	statusField = "status"
)

// facetsOf are the facets of a head; nil if there are none.
func facetsOf(head *markdown.Map) *Facets {
	if head == nil || len(head.Keys) == 0 {
		return nil
	}
	f := &Facets{Fields: head.Keys}
	for i, name := range head.Keys {
		switch name {
		case tagsField:
			f.Tags = plainValues(head.Values[i], tagOf)
		case typeField:
			f.Types = plainValues(head.Values[i], asWritten)
		case statusField:
			f.Statuses = plainValues(head.Values[i], asWritten)
		}
	}
	return f
}

func asWritten(s string) string { return s }

// tagOf is a tag as it is counted.
func tagOf(s string) string {
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "#"))
}

// plainValues are the values of a field as texts, each once; those of a list, which is not nested. Mappings,
// null and empty texts are left out.
func plainValues(v any, shown func(string) string) []string {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var all []string
	for _, v := range list {
		if s := shown(plainValue(v)); s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// plainValue is one value as a text; empty for a list, a mapping and null.
func plainValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		if v {
			return "true"
		}
		return "false"
	case markdown.Number:
		return string(v)
	case markdown.Date:
		return v.Text
	}
	return ""
}

// tallyFacets counts what orientation shows of a note: the folders that it is in, and its facets. Of an excluded
// note that is nothing.
func tallyFacets(sums map[term]int, n *Note, by int) {
	if n.Excluded {
		return
	}
	folder := n.Path[:max(0, strings.LastIndexByte(n.Path, '/'))]
	sums[term{atFolder, folder}] += by
	sums[term{inFolder, ""}] += by
	for i, c := range n.Path {
		if c == '/' {
			sums[term{inFolder, n.Path[:i]}] += by
		}
	}
	if n.facets == nil {
		return
	}
	for _, name := range n.facets.Fields {
		sums[term{headField, name}] += by
	}
	for _, tag := range n.facets.Tags {
		sums[term{headTag, tag}] += by
	}
	for _, v := range n.facets.Types {
		sums[term{headValue, typeField + "\x00" + v}] += by
	}
	for _, v := range n.facets.Statuses {
		sums[term{headValue, statusField + "\x00" + v}] += by
	}
}

// sumFolder adds to the number of notes in a folder. Where there were none, or are none left, the folder above
// and the level of the folder have a folder more or less.
func (d *draft) sumFolder(folder string, by int) {
	name := d.word(inFolder, folder)
	before, _ := d.counts.Get(name)
	d.sum(name, by)
	if folder == "" || (before == 0) == (before+by == 0) {
		return
	}
	step := 1
	if before > 0 {
		step = -1
	}
	above := folder[:max(0, strings.LastIndexByte(folder, '/'))]
	d.sum(d.word(underFolder, above), step)
	d.sum(d.word(folderDepth, strconv.Itoa(1+strings.Count(folder, "/"))), step)
}

// Facets are what the head of the note says that is counted; nil: nothing.
func (n *Note) Facets() *Facets { return n.facets }

// A FolderSum counts what is in a folder.
type FolderSum struct {
	Notes   int // in the folder and below it
	Direct  int // in the folder itself
	Folders int // in the folder itself, that have notes in them or below
}

// FolderSum counts what is in a folder; "" is the vault. It is zero for a folder without notes.
func (x *Index) FolderSum(folder string) FolderSum {
	sum := func(k kind) int {
		n, _ := x.counts.Get(k.name(folder))
		return n
	}
	return FolderSum{sum(inFolder), sum(atFolder), sum(underFolder)}
}

// Folders is the number of folders in a folder itself that have notes in them or below.
func (x *Index) Folders(folder string) int { return x.count(underFolder, folder) }

// NotesIn is the number of notes in a folder itself.
func (x *Index) NotesIn(folder string) int { return x.count(atFolder, folder) }

// FoldersIn yields the paths of the folders in a folder that have notes in them or below, bytewise in order, with
// how many notes each has. It takes a step for each, whatever is below.
func (x *Index) FoldersIn(folder string) iter.Seq2[string, int] {
	prefix := folder
	if folder != "" {
		prefix += "/"
	}
	return func(yield func(string, int) bool) {
		for from, all := inFolder.name(prefix), inFolder.name(prefix); ; {
			name, notes, ok := x.firstFolder(from, all)
			if !ok {
				return
			}
			child, _, below := strings.Cut(name[1+len(prefix):], "/")
			switch {
			case below:
				from = inFolder.name(prefix + child + "0") // behind the slash
			case child != "" && !yield(name[1:], notes):
				return
			default:
				from = name + "\x00"
			}
		}
	}
}

// FoldersAt is the number of folders at a level that have notes in them or below. Those in the vault itself are
// at level 1.
func (x *Index) FoldersAt(level int) int { return x.count(folderDepth, strconv.Itoa(level)) }

// firstFolder is the first name of a folder from one on that begins with a prefix, and how many notes it has.
func (x *Index) firstFolder(from, prefix string) (first string, notes int, ok bool) {
	x.counts.Ascend(from, func(name string, n int) bool {
		first, notes, ok = name, n, strings.HasPrefix(name, prefix)
		return false
	})
	return first, notes, ok
}

// HeadFields yields the names of the fields in the heads of notes, by name, with how many notes have each.
func (x *Index) HeadFields() iter.Seq2[string, int] { return x.facets(headField.name("")) }

// HeadTags yields the tags in the heads of notes, by name, with how many notes have each.
func (x *Index) HeadTags() iter.Seq2[string, int] { return x.facets(headTag.name("")) }

// HeadValues yields the values of the field type or status, by value, with how many notes have each. Of other
// fields there are none.
func (x *Index) HeadValues(field string) iter.Seq2[string, int] {
	return x.facets(headValue.name(field + "\x00"))
}

// facets yields what is summed up behind a prefix.
func (x *Index) facets(prefix string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for name, n := range x.summed(prefix, prefix) {
			if !yield(name[len(prefix):], n) {
				return
			}
		}
	}
}
