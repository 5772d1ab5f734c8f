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
