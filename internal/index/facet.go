package index

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// Facets are the values in the head of a note that the vault counts. Each value is in a list once,
// in text order. They are read from the head as YAML defines it, so a quarantined note can have
// facets too.
type Facets struct {
	Fields   []string // names, also of fields without a value
	Tags     []string // of the field tags, as written, without one leading #; a text value is one tag
	Types    []string // values of the field type: texts, numbers as JSON writes them, dates as written
	Statuses []string // values of the field status, likewise
}

// The fields whose values are facets.
const (
	tagsField   = "tags"
	typeField   = "type"
	statusField = "status"
)

// facetsOf returns the facets of a head; nil if the head is nil or empty. Names of fields are never
// left out, even without a value; values of type, status and tags are those that plainValues
// returns.
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

// asWritten returns s; it is the function for values that are counted unchanged.
func asWritten(s string) string { return s }

// tagOf returns a tag in the form in which it is counted: without spaces around it and one leading
// #.
func tagOf(s string) string {
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "#"))
}

// plainValues returns the values of a field as texts, each once. The value v can be a list of
// values, but not of lists. Mappings, null and empty texts are left out.
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

// plainValue returns a value as a text; "" for a list, a mapping and null. A date is as written,
// and a number in JSON notation.
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

// tallyFacets adds by to the counts that orientation shows: those of the folders that contain the
// note, and of its facets. It ignores an excluded note. A note counts in its own folder (atFolder),
// and in that folder and each above it up to the vault (inFolder).
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

// sumFolder adds by to the number of notes in a folder and below. If the folder begins or ceases to
// contain notes, the number of folders in the folder above and the number at the level of this one
// change by one too. With these counts, FolderSum and FoldersAt read one number and no notes.
func (d *draft) sumFolder(folder string, by int) {
	name := d.entryName(inFolder, folder)
	before, _ := d.counts.Get(name)
	d.sum(name, by)
	// The vault itself is no folder of another one. Otherwise, counts of folders change only if
	// this one begins or ceases to contain notes.
	if folder == "" || (before == 0) == (before+by == 0) {
		return
	}
	step := 1
	if before > 0 {
		step = -1
	}
	above := folder[:max(0, strings.LastIndexByte(folder, '/'))]
	d.sum(d.entryName(underFolder, above), step)
	d.sum(d.entryName(folderDepth, strconv.Itoa(1+strings.Count(folder, "/"))), step)
}

// A FolderSum is the numbers of notes and folders in a folder.
type FolderSum struct {
	Notes   int // in the folder and below it
	Direct  int // directly in the folder
	Folders int // directly in the folder; only those that contain notes, at any depth
}

// FolderSum returns the counts of a folder; "" is the vault. They are zero for a folder without
// notes. Excluded notes are not counted.
func (x *Index) FolderSum(folder string) FolderSum {
	sum := func(k kind) int {
		n, _ := x.counts.Get(k.name(folder))
		return n
	}
	return FolderSum{sum(inFolder), sum(atFolder), sum(underFolder)}
}

// Folders returns the number of folders directly in a folder that contain notes, at any depth.
func (x *Index) Folders(folder string) int { return x.count(underFolder, folder) }

// NotesIn returns the number of notes directly in a folder.
func (x *Index) NotesIn(folder string) int { return x.count(atFolder, folder) }

// FoldersIn yields the paths of the folders directly in a folder that contain notes, at any depth,
// sorted bytewise, with the number of notes in and below each. It takes one seek for each folder,
// independent of how much is below.
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
				from = inFolder.name(prefix + child + "0") // '0' is the byte after the slash
			case child != "" && !yield(name[1:], notes):
				return
			// The name is the folder itself, or one that was yielded. Continue with the next name.
			default:
				from = name + "\x00"
			}
		}
	}
}

// FoldersAt returns the number of folders at a level that contain notes, at any depth. The folders
// directly in the vault are at level 1.
func (x *Index) FoldersAt(level int) int { return x.count(folderDepth, strconv.Itoa(level)) }

// firstFolder returns the first folder name of the index that is not less than from, and its number
// of notes. from and prefix include the byte of the kind. It returns ok false if the name does not
// begin with prefix.
func (x *Index) firstFolder(from, prefix string) (first string, notes int, ok bool) {
	x.counts.Ascend(from, func(name string, n int) bool {
		first, notes, ok = name, n, strings.HasPrefix(name, prefix)
		return false
	})
	return first, notes, ok
}

// HeadFields yields the names of the fields in the heads of notes, sorted, with the number of notes
// that have each.
func (x *Index) HeadFields() iter.Seq2[string, int] { return x.facets(headField.name("")) }

// HeadTags yields the tags in the heads of notes, sorted, with the number of notes that have each.
func (x *Index) HeadTags() iter.Seq2[string, int] { return x.facets(headTag.name("")) }

// HeadValues yields the values of the field type or status, sorted, with the number of notes that
// have each. It yields nothing for other fields.
func (x *Index) HeadValues(field string) iter.Seq2[string, int] {
	return x.facets(headValue.name(field + "\x00"))
}

// facets yields the counts of the names that begin with a prefix, by the rest of the name.
func (x *Index) facets(prefix string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for name, n := range x.countedNames(prefix, prefix) {
			if !yield(name[len(prefix):], n) {
				return
			}
		}
	}
}
