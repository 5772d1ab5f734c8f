package raven

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A tagIn is the input of raven_tag. It has either Tag or List.
type tagIn struct {
	tool.Vault
	// list the notes with this tag, with or without #
	Tag string `json:"tag,omitempty" complete:"tag"`
	// list the tags instead, with the number of notes of each
	List bool `json:"list,omitempty"`
	detail
	tool.AsOf
	tool.Page
}

// A tagOut contains the notes with a tag, or the tags.
//
// Exactly one of the two embedded parts is set.
type tagOut struct {
	tool.Aside `json:"-"`
	*TaggedObjects
	*TagCounts
}

// TaggedObjects is the part of the answer with the notes that have a tag.
type TaggedObjects struct {
	Tag   string         `json:"tag"`
	Items []taggedObject `json:"items"`
}

// A taggedObject is a note with the first line that contains the tag.
type taggedObject struct {
	object
	// the first line with the tag
	Line int `json:"line"`
}

// TagCounts is the part of the answer with the tags of the vault.
type TagCounts struct {
	// the most frequent first
	Tags []tagCount `json:"tags"`
}

// A tagCount is a tag with the number of its notes.
type tagCount struct {
	Tag   string `json:"tag"`
	Count int    `json:"count"`
}

// tagged returns the tool raven_tag, which lists the notes with a tag, or all tags.
func (f tools) tagged() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_tag", Family: Family, Title: "List the notes with a tag",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/tagged"},
		Commands: []tool.Command{{Words: "tag", Args: []string{"tag?"}}},
		Columns:  []string{"id", "type", "heading", "line", "fields"},
		Empty: []tool.Empty{
			{
				Of: "notes with the tag {tag}", Tool: "raven_add",
				Args: map[string]string{"text": "#{tag}"},
			},
			{Of: "tags", Tool: "raven_add", Args: map[string]string{"text": "#tag"}},
		},
	}, func(ctx context.Context, v view, in tagIn) (out tagOut, err error) {
		if err := oneOf("tag", in.Tag, in.List); err != nil {
			return out, err
		}
		if in.List {
			out.TagCounts, err = countTags(&out.Aside, v.Index, in.Page)
		} else {
			out.TaggedObjects, err = objectsTagged(ctx, &out.Aside, v.renderer(), in)
		}
		return out, err
	})
}

// objectsTagged returns a page of the notes with a tag.
//
// A note is listed once, however often it has the tag.
func objectsTagged(
	ctx context.Context, a *tool.Aside, d renderer, in tagIn,
) (*TaggedObjects, error) {
	tag := strings.TrimPrefix(strings.TrimSpace(in.Tag), "#")
	if tag == "" {
		return nil, fault.New(Family.Malformed, "tag must be the name of a tag").
			With("argument", "tag")
	}
	l := state.Listing[index.TaggedIn]{
		After: func(after index.Location) iter.Seq[index.TaggedIn] {
			return d.idx.Tagged(tag, after.Path)
		},
		Location: func(t index.TaggedIn) index.Location { return t.Note.Object(-1).Location() },
		Count:    func() int { return d.idx.TagCount(tag) },
	}
	items, err := state.Page(ctx, pager(a, in.Page), l, func(t index.TaggedIn) taggedObject {
		return taggedObject{d.object(t.Note.Object(-1)), t.Tag.Line}
	})
	return &TaggedObjects{tag, items}, err
}

// countTags returns a page of the tags.
//
// The key of a page token is COUNT:TAG. If a count changes between two pages, the next page begins
// where the old key would be in the new order.
func countTags(a *tool.Aside, idx *index.Index, in tool.Page) (*TagCounts, error) {
	all := []tagCount{}
	for name, n := range idx.Tags() {
		all = append(all, tagCount{name, n})
	}
	slices.SortFunc(all, byFrequency)
	tags, err := state.PageOf(pager(a, in), all, tagKey, func(key string) (int, bool) {
		last, ok := readTagKey(key)
		first, found := slices.BinarySearchFunc(all, last, byFrequency)
		if found {
			first++
		}
		return first, ok
	})
	return &TagCounts{tags}, err
}

// byFrequency compares tags: the most frequent first, then by name.
func byFrequency(a, b tagCount) int {
	return cmp.Or(b.Count-a.Count, strings.Compare(a.Tag, b.Tag))
}

// tagKey returns the position of a tag in the list, in the form that page tokens contain.
func tagKey(t tagCount) string { return fmt.Sprintf("%d:%s", t.Count, t.Tag) }

// readTagKey is the inverse of tagKey. It returns false for a malformed key.
func readTagKey(key string) (tagCount, bool) {
	count, tag, ok := strings.Cut(key, ":")
	n, err := strconv.Atoi(count)
	return tagCount{tag, n}, ok && err == nil
}

// A typeIn is the input of raven_type. It has either Name or List.
type typeIn struct {
	tool.Vault
	// list the objects of this type
	Name string `json:"name,omitempty" complete:"type" alias:"type,type_name"`
	// list the types instead, with the number of objects of each
	List bool `json:"list,omitempty"`
	detail
	tool.AsOf
	tool.Page
}

// A typeOut contains the objects of a type, or the types.
//
// Exactly one of the two embedded parts is set.
type typeOut struct {
	tool.Aside `json:"-"`
	*TypeObjects
	*TypeCounts
}

// TypeObjects is the part of the answer with the objects of a type.
type TypeObjects struct {
	Type  string   `json:"type"`
	Items []object `json:"items"`
}

// TypeCounts is the part of the answer with the types of the vault.
type TypeCounts struct {
	// as in the schema, then the built-in ones
	Types []typeCount `json:"types"`
}

// A typeCount is a type with the number of its objects.
type typeCount struct {
	Name    string `json:"name"`
	Count   int    `json:"count"`
	Builtin bool   `json:"builtin"`
}

// ofType returns the tool raven_type, which lists the objects of a type, or all types.
func (f tools) ofType() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_type", Family: Family, Title: "List the objects of a type",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/types"},
		Commands: []tool.Command{{Words: "type", Args: []string{"name?"}}},
		Columns:  []string{"id", "type", "heading", "last_modified_at", "fields"},
		Empty: []tool.Empty{
			{Of: "objects of type {name}", Tool: "raven_new",
				Args: map[string]string{"type": "{name}", "title": "Title"}},
		},
	}, func(ctx context.Context, v view, in typeIn) (out typeOut, err error) {
		if err := oneOf("name", in.Name, in.List); err != nil {
			return out, err
		}
		if in.List {
			out.TypeCounts, err = countTypes(ctx, &out.Aside, v.Index, in.Page)
		} else {
			out.TypeObjects, err = objectsOfType(ctx, &out.Aside, v.renderer(), in)
		}
		return out, err
	})
}

// objectsOfType returns a page of the objects of a type.
func objectsOfType(
	ctx context.Context, a *tool.Aside, d renderer, in typeIn,
) (*TypeObjects, error) {
	s, err := state.Schema(d.idx)
	if err != nil {
		return nil, err
	}
	t, ok := s.Type(in.Name)
	if !ok {
		return nil, s.NoType(in.Name)
	}
	l := state.Listing[index.Object]{
		After: state.ListAfter(d.idx.Objects, t.Name), Location: index.Object.Location,
		Count: func() int { return d.idx.Count(t.Name) },
	}
	items, err := state.Page(ctx, pager(a, in.Page), l, d.object)
	return &TypeObjects{t.Name, items}, err
}

// countTypes returns a page of the types. All types are listed, also those without objects.
func countTypes(
	ctx context.Context, a *tool.Aside, idx *index.Index, in tool.Page,
) (*TypeCounts, error) {
	s, err := state.Schema(idx)
	if err != nil {
		return nil, err
	}
	all := make([]typeCount, 0, len(s.Types))
	for _, t := range s.Types {
		all = append(all, typeCount{t.Name, idx.Count(t.Name), t.Builtin})
	}
	name := func(c typeCount) string { return c.Name }
	types, err := whole(all, name)(ctx, pager(a, in))
	return &TypeCounts{types}, err
}

// untyped returns the tool raven_untyped, which lists the notes that do not declare a type.
func (f tools) untyped() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "raven_untyped", Family: Family, Title: "List notes without a type",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/untyped"},
		Commands: []tool.Command{{Words: "untyped"}},
		Columns:  []string{"id", "type", "heading", "last_modified_at", "fields"},
		Empty: []tool.Empty{
			{Of: "notes without a type"},
		},
	}, func(_ context.Context, v view, _ pageIn, _ *itemsOut[object]) (listing[object], error) {
		return located(untypedNotes(v.Index), v.renderer().object), nil
	})
}

// untypedNotes returns the list of the notes that do not declare a type.
func untypedNotes(idx *index.Index) state.Listing[index.Object] {
	behind := func(after index.Location) iter.Seq[index.Object] {
		return func(yield func(index.Object) bool) {
			for n := range idx.Untyped(after.Path) {
				if !yield(n.Object(-1)) {
					return
				}
			}
		}
	}
	return state.Listing[index.Object]{After: behind, Location: index.Object.Location, Count: idx.UntypedCount}
}
