package orient

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

// valueFields are the fields whose values are listed. The values of all other fields may be
// private, such as names and addresses.
var valueFields = []string{"type", "status"}

// maxValues is the maximum number of listed values of a field.
const maxValues = 1000

// A facetsIn is the input of vault_facets.
type facetsIn struct {
	tool.Vault
	// fields to list at most
	Limit int `json:"limit,omitempty" default:"50" min:"1" max:"200"`
	tool.AsOf
}

// A facetsOut is the answer of vault_facets.
type facetsOut struct {
	tool.Aside `json:"-"`
	// the most common first
	Facets []Facet `json:"facets"`
	// fresh, stale, pending, updating or unknown
	Freshness repo.Freshness `json:"indexFreshness" title:"index"`
}

// A Facet is a frontmatter field: its name, the number of notes that have it and, for the fields in
// valued, its values.
//
// Values is nil, and absent from the answer, for a field whose values are not listed; it is empty
// for a listed field that no note has a value for.
type Facet struct {
	Name string `json:"name"`
	// notes with the field, also without a value
	Notes int `json:"noteCount" title:"notes"`
	// only of type and status, at most 1000, the most common first
	Values []FacetValue `json:"values,omitzero"`
}

// A FacetValue is one value of a field, with the number of notes that have it.
type FacetValue struct {
	Value string `json:"value"`
	// notes with the value
	Notes int `json:"noteCount" title:"notes"`
}

// facets returns the tool that lists the frontmatter fields of a vault, those with the most notes
// first.
//
// For the fields in valued, it also lists the values, so that a caller can choose a filter without
// reading notes. The limit applies to the fields, and maxValues to the values of each.
func (f tools) facets() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "vault_facets", Family: Family, Title: "Count the fields of a vault",
		Role: auth.Reader, Kind: tool.Read, List: "facets",
		Route:    tool.Route{Method: "GET", Path: "/facets"},
		Commands: []tool.Command{{Words: "facets"}},
		Empty:    []tool.Empty{{Of: "fields in frontmatter"}},
	}, func(ctx context.Context, c auth.Caller, in facetsIn) (facetsOut, error) {
		var out facetsOut
		s, err := f.open(ctx, c, source{in.Vault, in.AsOf}, &out.Aside)
		if err != nil {
			return facetsOut{}, err
		}
		first, total := topCounts(s.Index.HeadFields(), in.Limit)
		truncation{
			code: "FACETS_TRUNCATED", what: "fields", shown: in.Limit, total: total,
			more: limitAdvice(in.Limit, mostListed),
		}.warn(&out.Aside)
		out.Facets, out.Freshness = make([]Facet, len(first)), s.freshness.state
		for i, c := range first {
			out.Facets[i] = Facet{Name: c.name, Notes: c.notes, Values: out.values(s.Index, c.name)}
		}
		return out, nil
	})
}

// values returns the values of a field with the most notes, at most maxValues, or nil if its values
// are not listed. It adds a warning if values are omitted, which names the field: the answer can
// have several warnings with the same code.
func (out *facetsOut) values(idx *index.Index, field string) []FacetValue {
	if !slices.Contains(valueFields, field) {
		return nil
	}
	first, total := topCounts(idx.HeadValues(field), maxValues)
	truncation{code: "FACETS_TRUNCATED", what: "values", shown: maxValues, total: total, field: field}.warn(&out.Aside)
	list := make([]FacetValue, len(first))
	for i, c := range first {
		list[i] = FacetValue{c.name, c.notes}
	}
	return list
}

// mostListed is the maximum limit of a list of tags or fields.
const mostListed = 200

// A tagsIn is the input of vault_tags.
type tagsIn struct {
	tool.Vault
	// tags to list at most
	Limit int `json:"limit,omitempty" default:"50" min:"1" max:"200"`
	tool.AsOf
}

// A tagsOut is the answer of vault_tags.
type tagsOut struct {
	tool.Aside `json:"-"`
	// the most common first
	Tags []TagCount `json:"tags"`
	// fresh, stale, pending, updating or unknown
	Freshness repo.Freshness `json:"indexFreshness" title:"index"`
}

// tags returns the tool that lists the tags that most notes have, with the number of notes of each.
// Only tags in the frontmatter are counted, not those in texts.
func (f tools) tags() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "vault_tags", Family: Family, Title: "Count the tags of a vault",
		Role: auth.Reader, Kind: tool.Read, List: "tags",
		Route:    tool.Route{Method: "GET", Path: "/tags"},
		Commands: []tool.Command{{Words: "tags"}},
		Empty:    []tool.Empty{{Of: "tags in frontmatter"}},
	}, func(ctx context.Context, c auth.Caller, in tagsIn) (tagsOut, error) {
		out := tagsOut{Tags: []TagCount{}}
		s, err := f.open(ctx, c, source{in.Vault, in.AsOf}, &out.Aside)
		if err != nil {
			return tagsOut{}, err
		}
		first, total := topCounts(s.Index.HeadTags(), in.Limit)
		out.Tags, out.Freshness = tagCounts(first), s.freshness.state
		truncation{
			code: "TAGS_TRUNCATED", what: "tags", shown: in.Limit, total: total,
			more: limitAdvice(in.Limit, mostListed),
		}.warn(&out.Aside)
		return out, nil
	})
}

// A count is a name, with the number of notes that have it.
type count struct {
	name  string
	notes int
}

// topCounts returns the first limit counts of all, sorted by descending number of notes and then by
// name, and the total number of names. all must yield the names in order. It keeps only limit
// counts in memory. A name with as many notes as the last kept one is after it in the order, so it
// is dropped.
//
// The list stays sorted by binary insertion. That is cheap because limit is at most some hundreds,
// and most names of a long list are rejected by the first comparison.
func topCounts(all iter.Seq2[string, int], limit int) (first []count, total int) {
	for name, notes := range all {
		total++
		if len(first) == limit && first[limit-1].notes >= notes {
			continue
		}
		if len(first) == limit {
			first = first[:limit-1]
		}
		at, _ := slices.BinarySearchFunc(first, notes, func(c count, notes int) int {
			if c.notes >= notes {
				return -1
			}
			return 1
		})
		first = slices.Insert(first, at, count{name, notes})
	}
	return first, total
}

// A truncation describes a list or tree that may be truncated. It is not if total is at most shown.
type truncation struct {
	code         string // of the warning
	what         string // the plural noun of the entries, such as "tags"
	shown, total int
	field        string // the field whose values are listed; empty for other lists
	more         string // advice that shows more entries; empty: none
}

// warn adds a warning, with the total number of entries, if the list is truncated. The message ends
// with the advice in more, if there is any.
func (c truncation) warn(a *tool.Aside) {
	if c.total <= c.shown {
		return
	}
	message := fmt.Sprintf("%d of %d %s are shown", c.shown, c.total, c.what)
	fields := map[string]any{"total": c.total}
	if c.field != "" {
		message = fmt.Sprintf("%d of %d %s of %q are shown", c.shown, c.total, c.what, c.field)
		fields["field"] = c.field
	}
	if c.more != "" {
		message += "; " + c.more
	}
	a.Warn(c.code, message, fields)
}

// limitAdvice returns the advice to use a higher limit, or "" if the limit is the maximum already.
func limitAdvice(limit, most int) string {
	if limit < most {
		return "use a higher limit"
	}
	return ""
}

// A TagCount is a tag, with the number of notes that have it.
type TagCount struct {
	// without a leading #
	Tag string `json:"tag"`
	// notes with the tag in their frontmatter
	Notes int `json:"noteCount" title:"notes"`
}

// tagCounts converts counts of tags. The result is never nil, so that it is a JSON array.
func tagCounts(all []count) []TagCount {
	list := make([]TagCount, len(all))
	for i, c := range all {
		list[i] = TagCount{c.name, c.notes}
	}
	return list
}

// A treeIn is the input of vault_tree.
//
// Depth is the number of levels below the root, and Limit the number of folders in the answer, with
// the root. DirectOnly counts only the notes directly in each folder, and not those below.
type treeIn struct {
	tool.Vault
	// levels of folders below the root
	Depth int `json:"depth,omitempty" default:"2" min:"1" max:"10"`
	// the maximum number of folders, including the root
	Limit int `json:"limit,omitempty" default:"50" min:"1" max:"500"`
	// count only the notes directly in a folder, not those in subfolders
	DirectOnly bool `json:"directOnly,omitempty" alias:"direct_only"`
	tool.AsOf
}

// A treeOut is the answer of vault_tree.
type treeOut struct {
	tool.Aside `json:"-"`
	// the root of the vault, whose path is empty
	Tree *Node `json:"tree"`
	// fresh, stale, pending, updating or unknown
	Freshness repo.Freshness `json:"indexFreshness" title:"index"`
}

// A Node is a folder, with its child folders.
type Node struct {
	// in the vault
	Path string `json:"path"`
	// notes in the folder and its subfolders; with directOnly, directly in the folder
	Notes int `json:"noteCount" title:"notes"`
	// direct subfolders, shown or not
	Folders int `json:"childFolders" title:"folders"`
	// the direct subfolders that are shown, by path
	Children []*Node `json:"children"`
}

// tree returns the tool that returns the tree of folders, from the root down to a depth. The number
// of folders in it is limited; a folder that is not shown still counts in the childFolders of its
// parent, so a caller sees where to look further.
func (f tools) tree() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "vault_tree", Family: Family, Title: "Show the folders of a vault",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/tree"},
		Commands: []tool.Command{{Words: "tree"}},
	}, func(ctx context.Context, c auth.Caller, in treeIn) (treeOut, error) {
		var out treeOut
		s, err := f.open(ctx, c, source{in.Vault, in.AsOf}, &out.Aside)
		if err != nil {
			return treeOut{}, err
		}
		b := treeBuilder{s.Index, in.DirectOnly, in.Limit}
		out.Tree, out.Freshness = b.build(in.Depth), s.freshness.state
		// The total is the number of folders down to the depth, shown or not, including the root.
		total := 1
		for level := range in.Depth {
			total += s.Index.FoldersAt(level + 1)
		}
		truncation{
			code: "TREE_LIMIT_EXCEEDED", what: "folders, including the root,", shown: in.Limit, total: total,
			more: "use a higher limit, or less depth",
		}.warn(&out.Aside)
		return out, nil
	})
}

// A treeBuilder builds a tree of at most left nodes. It reads counts of the index: one for each
// shown folder, and one seek for each child.
type treeBuilder struct {
	idx    *index.Index
	direct bool // count only the notes directly in a folder
	left   int  // number of nodes that can still be added
}

// build returns the tree with the given number of levels below the root. It works level by level,
// so that the limit omits the deepest folders first and, of one level, the last.
func (b *treeBuilder) build(depth int) *Node {
	root := b.node("", b.idx.FolderSum("").Notes)
	level := []*Node{root}
	for range depth {
		var next []*Node
		for _, n := range level {
			b.fill(n)
			next = append(next, n.Children...)
		}
		level = next
	}
	return root
}

// node returns a node without children. notes is the number of notes in the folder and below; with
// direct, it is replaced by the number directly in the folder.
func (b *treeBuilder) node(path string, notes int) *Node {
	b.left--
	if b.direct {
		notes = b.idx.NotesIn(path)
	}
	return &Node{Path: path, Notes: notes, Folders: b.idx.Folders(path), Children: []*Node{}}
}

// fill adds the children of a node, in order of their paths, until the limit is reached.
func (b *treeBuilder) fill(n *Node) {
	if b.left == 0 || n.Folders == 0 {
		return
	}
	for path, notes := range b.idx.FoldersIn(n.Path) {
		n.Children = append(n.Children, b.node(path, notes))
		if b.left == 0 {
			return
		}
	}
}
