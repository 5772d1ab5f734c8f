package tree

import (
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
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

// A queryByTagIn is the input of tree_query_by_tag.
type queryByTagIn struct {
	tool.Vault
	// with or without #; case does not matter
	Tag string `json:"tag" complete:"tag"`
	// search below this node
	RootNodeID string `json:"rootNodeId,omitempty" default:"/" complete:"id" size:"id" alias:"root_node_id,rootId"`
	// also tags below this one: a/b is below a
	IncludeNested bool `json:"includeNested,omitempty" alias:"include_nested"`
	propertyLists
	page
	tool.AsOf
}

// The sources of a tag: the field tags, or the text of the node.
const (
	explicitTag = "explicit"
	inlineTag   = "inline"
)

// queryByTag returns the tool that lists the nodes with a tag, in pages. Each item says whether the
// tag is in the field of the node or in its text.
func (f tools) queryByTag() *tool.Tool {
	s := spec("query_by_tag", "List the nodes with a tag")
	s.Role, s.Kind, s.Columns = auth.Reader, tool.Read, []string{"nodeId", "payloadType", "name", "source"}
	s.Route = tool.Route{Method: "GET", Path: "/node-tags"}
	s.Commands = []tool.Command{{Words: "node tagged", Args: []string{"tag"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in queryByTagIn) (nodesOut, error) {
		out := nodesOut{Items: []*tree.Shape{}}
		r, top, err := f.readNode(ctx, c, nodeRef{in.Vault, in.AsOf, "rootNodeId", in.RootNodeID}, &out)
		if err != nil {
			return out, err
		}
		all, source, err := r.tagged(ctx, top,
			wantedTag{strings.TrimPrefix(strings.TrimSpace(in.Tag), "#"), in.IncludeNested})
		if err != nil {
			return out, err
		}
		out.Items, err = r.page(ctx, &out.pageOut, nodeList{all, in.page, r.shaper(in.propertyLists), true})
		for _, item := range out.Items {
			item.Source = source[item.NodeID]
		}
		return out, err
	})
}

// A wantedTag is a tag to search for. nested includes the tags below it, such as a/b for a.
type wantedTag struct {
	name   string
	nested bool
}

// matches reports whether a tag matches.
func (w wantedTag) matches(tag string) bool {
	key, want := index.TagKey(tag), index.TagKey(w.name)
	return key == want || w.nested && strings.HasPrefix(key, want+"/")
}

// matchesAny reports whether any of the tags matches.
func (w wantedTag) matchesAny(tags []string) bool {
	return slices.ContainsFunc(tags, w.matches)
}

// tagged returns the nodes below top that have a tag, in the order of the tree, and the source of
// the tag for each address.
//
// The field takes precedence if a node has the tag in both places.
func (r *treeView) tagged(
	ctx context.Context, top tree.Node, want wantedTag,
) (all []tree.Node, source map[string]string, err error) {
	inline, err := r.inline(ctx, top, want)
	if err != nil {
		return nil, nil, err
	}
	source = map[string]string{}
	going := state.KeepGoing(ctx)
	for n := range r.Walk(top, nil) {
		if !going() {
			return nil, nil, ctx.Err()
		}
		switch {
		case n == top:
			continue
		case want.matchesAny(r.Tags(n)):
			source[n.ID()] = explicitTag
		case inline[n]:
			source[n.ID()] = inlineTag
		default:
			continue
		}
		all = append(all, n)
	}
	return all, source, nil
}

// inline returns the nodes whose own text contains a tag. It reads only the notes that have the tag
// according to the index.
//
// The index knows in which notes a tag is, but not in which section, so these notes are read and
// parsed.
func (r *treeView) inline(ctx context.Context, top tree.Node, want wantedTag) (map[tree.Node]bool, error) {
	found := map[tree.Node]bool{}
	r.view.Prefetch(ctx, func(yield func(string) bool) {
		for tagged := range r.Index.Tagged(want.name, "") {
			if r.near(tagged.Note, top) && !yield(tagged.Note.Path) {
				return
			}
		}
	})
	for tagged := range r.Index.Tagged(want.name, "") {
		if !r.near(tagged.Note, top) {
			continue
		}
		text, err := r.view.Vault.Text(ctx, tagged.Note.Body)
		if err != nil {
			return nil, err
		}
		for _, tag := range inlineTags(text, tagged.Note) {
			if want.matches(tag.Name) {
				found[tag.node] = true
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return found, nil
}

// near reports whether a note can contain nodes of the subtree of top: whether the note is in that
// subtree, or top is one of its sections.
func (r *treeView) near(n *index.Note, top tree.Node) bool {
	return top.Note == n || r.Within(tree.Node{Note: n}, top)
}

// A nodeTag is a tag in the own text of a node.
//
// A tag in a section belongs to that section and not to the note.
type nodeTag struct {
	markdown.Tag
	node tree.Node // the innermost node that contains the tag
}

// inlineTags returns the tags in the texts of the nodes of a note.
func inlineTags(text []byte, n *index.Note) []nodeTag {
	d := markdown.Parse(text)
	var all []nodeTag
	lines := tree.NewLines(n)
	for _, tag := range d.Tags {
		if tag.Place == markdown.InBody {
			all = append(all, nodeTag{tag, lines.Node(tag.Line)})
		}
	}
	return all
}

// A getTagsOut is the output of tree_get_tags.
type getTagsOut struct {
	NodeID string `json:"nodeId"`
	// of its field tags, in the order of the text
	Tags []string `json:"tags"`
	// other tags in its own text, each once
	Inline []string `json:"inline"`
	versionOut
}

// getTags returns the tool that lists the tags of one node: those of its field, and those in its
// text.
func (f tools) getTags() *tool.Tool {
	s := spec("get_tags", "Get the tags of a node")
	s.Role, s.Kind = auth.Reader, tool.Read
	s.Route = tool.Route{Method: "GET", Path: "/node-tags/{nodeId}"}
	s.Commands = []tool.Command{{Words: "node tags", Args: []string{"nodeId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in oneNodeIn) (getTagsOut, error) {
		out := getTagsOut{Tags: []string{}, Inline: []string{}}
		r, n, err := f.readNode(ctx, c, nodeRef{in.Vault, in.AsOf, "nodeId", in.NodeID}, &out)
		if err != nil {
			return out, err
		}
		out.NodeID, out.Tags = n.ID(), r.Tags(n)
		if n.Note == nil {
			return out, nil
		}
		text, err := r.text(ctx, n)
		seen := out.Tags
		for _, tag := range inlineTags(text, n.Note) {
			if tag.node == n && !(wantedTag{tag.Name, false}).matchesAny(seen) {
				seen, out.Inline = append(seen, tag.Name), append(out.Inline, tag.Name)
			}
		}
		return out, err
	})
}
