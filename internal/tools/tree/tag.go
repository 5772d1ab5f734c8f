package tree

import (
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A tagNodeIn is the input of tree_tag_node.
type tagNodeIn struct {
	nodeArg
	// with or without #
	Tags []string `json:"tags" complete:"tag"`
	// remove the existing tags
	ReplaceExisting bool `json:"replaceExisting,omitempty" alias:"replace_existing"`
	nodeMutation
}

// An untagNodeIn is the input of tree_untag_node.
type untagNodeIn struct {
	nodeArg
	// with or without #; case does not matter
	Tags []string `json:"tags" complete:"tag"`
	nodeMutation
}

// A tagNodeOut is the output of the tools that change tags.
type tagNodeOut struct {
	NodeID string `json:"nodeId"`
	// current tags of the node
	Tags []string `json:"tags"`
	changeOut
}

// tagNode returns the tool that adds tags to a node, or replaces them. It changes the field tags;
// tags in the text of the node are part of the text.
func (f tools) tagNode() *tool.Tool {
	s := spec("tag_node", "Tag a node")
	s.Role, s.Kind, s.Idempotent = auth.Editor, tool.Write, true
	s.Route = tool.Route{Method: "POST", Path: "/node-tags"}
	s.Commands = []tool.Command{{Words: "node tag", Args: []string{"nodeId", "tags..."}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in tagNodeIn) (tagNodeOut, error) {
		tags, err := checkTags(in.Tags)
		if err != nil {
			return tagNodeOut{}, err
		}
		return f.retag(ctx, retagCall{c, in.nodeArg, &in.nodeMutation, func(has []string) []string {
			if in.ReplaceExisting {
				has = nil
			}
			return union(has, tags)
		}})
	})
}

// untagNode returns the tool that removes tags from a node.
func (f tools) untagNode() *tool.Tool {
	s := spec("untag_node", "Remove tags from a node")
	s.Role, s.Kind, s.Idempotent = auth.Editor, tool.Destroy, true
	s.Route = tool.Route{Method: "POST", Path: "/node-tags/untag"}
	s.Commands = []tool.Command{{Words: "node untag", Args: []string{"nodeId", "tags..."}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in untagNodeIn) (tagNodeOut, error) {
		tags, err := checkTags(in.Tags)
		if err != nil {
			return tagNodeOut{}, err
		}
		return f.retag(ctx, retagCall{c, in.nodeArg, &in.nodeMutation, func(has []string) []string {
			return slices.DeleteFunc(slices.Clone(has), func(tag string) bool { return hasTag(tags, tag) })
		}})
	})
}

// checkTags returns the tags of a call without their #. It returns a fault if a tag is not valid.
func checkTags(given []string) ([]string, error) {
	if err := checkBatch("tags", len(given)); err != nil {
		return nil, err
	}
	var tags []string
	for _, tag := range given {
		tag = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(tag), "#"))
		if tag == "" || strings.ContainsAny(tag, ",[]()\r\n") {
			return nil, invalidParameter("tag",
				"a tag must not be empty or contain any of , [ ] ( )").With("argument", "tags")
		}
		tags = append(tags, tag)
	}
	return tags, nil
}

// hasTag reports whether a list contains a tag, compared by index.TagKey. The key ignores case, so
// a node never gets a tag twice in different spellings.
func hasTag(tags []string, tag string) bool {
	key := index.TagKey(tag)
	return slices.ContainsFunc(tags, func(t string) bool { return index.TagKey(t) == key })
}

// union returns the tags of both lists without duplicates, in the order of their first occurrence.
func union(has, more []string) []string {
	all := slices.Clone(has)
	for _, tag := range more {
		if !hasTag(all, tag) {
			all = append(all, tag)
		}
	}
	return all
}

// A retagCall is a call that changes the tags of a node. change returns the new tags.
//
// change must not modify its argument, and may be called several times.
type retagCall struct {
	caller   auth.Caller
	naming   nodeArg
	mutation *nodeMutation
	change   func(has []string) []string
}

// retag changes the tags of a node, or of the node that it represents. A list that stays the same
// stages nothing.
func (f tools) retag(ctx context.Context, r retagCall) (tagNodeOut, error) {
	w := request{r.caller, r.naming.Vault.Vault, r.mutation}
	return change(ctx, f, w, func(ctx context.Context, e *edit, out *tagNodeOut) error {
		n, err := e.node("nodeId", r.naming.NodeID)
		if err != nil {
			return err
		}
		if n, err = e.source(n); err != nil {
			return err
		}
		has := e.tree.Tags(n)
		out.Tags = append([]string{}, r.change(has)...)
		if !slices.Equal(has, out.Tags) {
			if err := e.setTags(ctx, n, out.Tags); err != nil {
				return err
			}
		}
		out.NodeID, err = e.finish(ctx, n, r.mutation.DryRun, &out.changeOut)
		return err
	})
}

// setTags drafts the tags of a node. Without any, the field is removed. The field is in the
// declaration of a section, which is added if there is none, or else in the frontmatter.
func (e *edit) setTags(ctx context.Context, n tree.Node, tags []string) error {
	text, _, err := e.Text(ctx, fileOf(n))
	if err != nil {
		return err
	}
	if len(tags) == 0 {
		text, err = unset(n.Section, text, "tags")
	} else {
		list := make([]any, len(tags))
		for i, tag := range tags {
			list[i] = tag
		}
		text, err = setFields(n.Section, text, []markdown.Field{{Key: "tags", Value: list}})
	}
	if err != nil {
		return err
	}
	return e.Put(ctx, fileOf(n), text)
}
