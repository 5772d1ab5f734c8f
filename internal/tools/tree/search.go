package tree

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A searchOptions is the part of the input that all searches share.
//
// VisibleOnly restricts the results to nodes whose ancestors up to the root of the search are
// expanded.
type searchOptions struct {
	// only nodes that the view of the session shows
	VisibleOnly bool `json:"visibleOnly,omitempty" rare:"true" alias:"visible_only"`
	propertyLists
	page
	tool.AsOf
}

// A searchIn is the input of tree_search. Filters is a list of predicates with two operators.
type searchIn struct {
	tool.Vault
	// search below this node
	RootNodeID string `json:"rootNodeId,omitempty" default:"/" complete:"id" size:"id" alias:"root_node_id,rootId"`
	// {path, op, value}, all of which must match; op is eq or contains
	Filters tool.Structure `json:"filters,omitempty"`
	searchOptions
}

// A searchAdvancedIn is the input of tree_search_advanced. Predicates can be nested groups.
type searchAdvancedIn struct {
	tool.Vault
	// search below this node
	RootNodeID string `json:"rootId,omitempty" default:"/" complete:"id" size:"id" alias:"root_id,rootNodeId"`
	// a list of {path, op, value, value2}, or a group {op, predicates, groups}
	Predicates tool.Structure `json:"predicates,omitempty"`
	// the name of a property, or {path, direction}, where direction is asc or desc
	SortBy tool.JSON `json:"sortBy,omitempty" alias:"sort_by"`
	searchOptions
}

// A selectNodesIn is the input of tree_select_nodes. The query has the text form that tree.Parse
// reads.
type selectNodesIn struct {
	tool.Vault
	// type = project AND status = active AND under projects/
	Query string `json:"queryDsl" size:"query" max:"4096" alias:"query_dsl,query"`
	// search below this node
	RootNodeID string `json:"rootNodeId,omitempty" default:"/" complete:"id" size:"id" alias:"root_node_id,rootId"`
	searchOptions
}

// search returns the tool that finds nodes whose properties equal or contain given values. All
// three tools for searches parse their filter into a tree.Expr and then do the same.
func (f tools) search() *tool.Tool {
	s := spec("search", "Search nodes by properties")
	s.Role, s.Kind, s.Columns = auth.Reader, tool.Read, itemColumns
	s.Route = tool.Route{Method: "POST", Path: "/node-search"}
	s.Commands = []tool.Command{{Words: "node search", Args: []string{"rootNodeId?"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in searchIn) (nodesOut, error) {
		x, err := predicatesOf("filters", in.Filters, "eq", "contains")
		if err != nil {
			return nodesOut{}, err
		}
		return f.runSearch(ctx, c, searchCall{in.Vault, "rootNodeId", in.RootNodeID, x, nil, in.searchOptions})
	})
}

// searchAdvanced returns the tool that finds nodes by groups of predicates, and can sort them.
func (f tools) searchAdvanced() *tool.Tool {
	s := spec("search_advanced", "Search nodes by groups of predicates")
	s.Role, s.Kind, s.Columns = auth.Reader, tool.Read, itemColumns
	s.Route = tool.Route{Method: "POST", Path: "/node-search/advanced"}
	s.Commands = []tool.Command{{Words: "node find", Args: []string{"rootId?"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in searchAdvancedIn) (nodesOut, error) {
		x, err := predicatesOf("predicates", in.Predicates)
		if err != nil {
			return nodesOut{}, err
		}
		by, err := sortingOf(in.SortBy)
		if err != nil {
			return nodesOut{}, err
		}
		return f.runSearch(ctx, c, searchCall{in.Vault, "rootId", in.RootNodeID, x, by, in.searchOptions})
	})
}

// selectNodes returns the tool that finds nodes by a text query.
func (f tools) selectNodes() *tool.Tool {
	s := spec("select_nodes", "Select nodes by a query")
	s.Role, s.Kind, s.Columns = auth.Reader, tool.Read, itemColumns
	s.Route = tool.Route{Method: "POST", Path: "/node-search/select"}
	s.Commands = []tool.Command{{Words: "node select", Args: []string{"queryDsl"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in selectNodesIn) (nodesOut, error) {
		x, err := parseQuery("queryDsl", in.Query)
		if err != nil {
			return nodesOut{}, err
		}
		return f.runSearch(ctx, c, searchCall{in.Vault, "rootNodeId", in.RootNodeID, x, nil, in.searchOptions})
	})
}

// predicatesOf parses predicates. It returns nil, which matches all nodes, if there are none. only
// restricts the operators.
func predicatesOf(arg string, raw tool.Structure, only ...string) (*tree.Expr, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	x, err := tree.Predicates(json.RawMessage(raw), only...)
	if err != nil {
		return nil, fault.Of(err).With("argument", arg)
	}
	return x, nil
}

// parseQuery parses a query. A syntax error is a fault with the byte position and the expected
// token.
//
// The position counts from 0.
func parseQuery(arg, query string) (*tree.Expr, error) {
	x, err := tree.Parse(query)
	if syntax := (*tree.SyntaxError)(nil); errors.As(err, &syntax) {
		return nil, invalidParameter("syntax",
			"syntax error in the query at byte %d: expected %s", syntax.Position, syntax.Expected).
			With("argument", arg).With("position", syntax.Position).With("expected", syntax.Expected)
	}
	return x, err
}

// sortingOf parses sortBy, which is a JSON string with a path or an object with path and direction.
// nil means the order of the tree. Other JSON is a fault with the reason sort.
func sortingOf(raw tool.JSON) (*tree.Sorting, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var by struct{ Path, Direction string }
	if json.Unmarshal(raw, &by.Path) != nil && json.Unmarshal(raw, &by) != nil {
		by.Path = ""
	}
	direction := strings.ToLower(by.Direction)
	path := strings.Split(by.Path, ".")
	for _, name := range path {
		if name == "" || direction != "" && direction != "asc" && direction != "desc" {
			return nil, invalidParameter("sort",
				"sortBy must be the name of a property, or {path, direction} with the direction asc or desc").
				With("argument", "sortBy")
		}
	}
	return &tree.Sorting{Path: path, Descending: direction == "desc"}, nil
}

// A searchCall is one call of a search.
//
// The query is nil if the call has no condition; it then lists all nodes below the root.
type searchCall struct {
	vault   tool.Vault
	arg     string // the argument that names the root
	root    string
	query   *tree.Expr
	sort    *tree.Sorting // nil: the order of the tree
	options searchOptions
}

// runSearch returns one page of the nodes below the root that match the query. The root itself is
// not a result. Items have their ancestors, because a result can be anywhere in the subtree.
// Results are found before the page is built, so every page costs the whole search.
func (f tools) runSearch(ctx context.Context, c auth.Caller, s searchCall) (nodesOut, error) {
	out := nodesOut{Items: []*tree.Shape{}}
	r, top, err := f.readNode(ctx, c, nodeRef{s.vault, s.options.AsOf, s.arg, s.root}, &out)
	if err != nil {
		return out, err
	}
	e := tree.NewEvaluator(r.Tree, r.view.Clock)
	all, err := finder{e, r.Tree, r.text, r.view.Prefetch}.find(ctx, s.query, top)
	if err != nil {
		return out, err
	}
	if s.options.VisibleOnly {
		all = r.visible(all, top)
	}
	l := nodeList{all, s.options.page, r.shaper(s.options.propertyLists), true}
	if s.sort != nil {
		out.Items, err = r.sortedPage(ctx, &out.pageOut, l, e, *s.sort)
	} else {
		out.Items, err = r.page(ctx, &out.pageOut, l)
	}
	return out, err
}

// maxTexts is the maximum number of nodes whose texts one query reads.
//
// Only nodes for which the properties in the index do not decide the query are counted.
const maxTexts = 10_000

// A finder finds the nodes that match a query.
//
// It is also used in drafts, with the texts of the draft.
type finder struct {
	*tree.Evaluator
	tree     *tree.Tree
	text     func(context.Context, tree.Node) ([]byte, error) // text of the file of a node
	prefetch func(context.Context, iter.Seq[string])          // nil: the texts are in memory
}

// find returns the nodes below top that match a query, in the order of the tree. It returns a fault
// with the reason too_broad if it would have to read more than maxTexts texts.
//
// It evaluates the query in two passes. The first reads only the index; the answer for a node is
// unknown if it depends on the text. The second reads the texts of those nodes. For example, the
// query `type = project AND body contains launch` reads only the texts of projects.
func (f finder) find(ctx context.Context, x *tree.Expr, top tree.Node) ([]tree.Node, error) {
	var all []tree.Node
	var open []int // positions in all of the nodes whose texts decide
	going := state.KeepGoing(ctx)
	for n := range f.tree.Walk(top, nil) {
		if !going() {
			return nil, ctx.Err()
		}
		if n == top {
			continue
		}
		switch f.Holds(x, n) {
		// The text decides, so the node is kept for now.
		case tree.Unknown:
			open = append(open, len(all))
			fallthrough
		case tree.Yes:
			all = append(all, n)
		}
	}
	if len(open) == 0 {
		return all, nil
	}
	if len(open) > maxTexts {
		return nil, invalidParameter("too_broad",
			"the query reads the texts of %d nodes; the limit is %d", len(open), maxTexts).
			Fix("narrow the query by other properties, or search below a folder")
	}
	return f.byText(ctx, x, all, open)
}

// byText removes the nodes in open that do not match the query once their texts are read.
//
// open must be sorted. The nodes of one file are consecutive, so each file is read and parsed once.
// Errors of reading end the search, since a node that could not be read must not count as one that
// does not match.
func (f finder) byText(ctx context.Context, x *tree.Expr, all []tree.Node, open []int) ([]tree.Node, error) {
	var failed error
	known := texts{read: f.text}
	with := f.With(func(n tree.Node, content bool) string {
		own, whole, err := known.load(ctx, n)
		if err != nil && failed == nil {
			failed = err
		}
		if content {
			own = whole
		}
		return string(own)
	})
	if f.prefetch != nil {
		f.prefetch(ctx, func(yield func(string) bool) {
			for _, i := range open {
				if n := all[i]; n.Note != nil && !yield(n.Note.Path) {
					return
				}
			}
		})
	}
	kept := all[:0:0]
	for i, n := range all {
		if len(open) == 0 || open[0] != i {
			kept = append(kept, n)
			continue
		}
		open = open[1:]
		holds := with.Holds(x, n) == tree.Yes
		if failed != nil || ctx.Err() != nil {
			return nil, errors.Join(failed, ctx.Err())
		}
		if holds {
			kept = append(kept, n)
		}
	}
	return kept, nil
}

// visible returns the nodes that the view of the session shows below top: those whose ancestors up
// to top are expanded, by a rule or by the default of the session. It reuses the memory of all.
func (r *treeView) visible(all []tree.Node, top tree.Node) []tree.Node {
	v := r.viewer(r.session.otherwise())
	kept := all[:0]
	for _, n := range all {
		if v.Visible(n, top) {
			kept = append(kept, n)
		}
	}
	return kept
}

// sortedPage returns one page of a list of nodes that is sorted by a property.
//
// The mark has the sort key of the last node, so a page begins at the right place even if the
// values of other nodes changed.
func (r *treeView) sortedPage(
	ctx context.Context, out *pageOut, l nodeList, e *tree.Evaluator, by tree.Sorting,
) ([]*tree.Shape, error) {
	after, err := l.page.after()
	if err != nil {
		return []*tree.Shape{}, err
	}
	all, from := e.Sort(l.nodes, by), 0
	if after != nil && after.Key != nil {
		from = e.FirstAfter(all, by, *after.Key, after.Position)
	}
	return takePage(out, l.page, listing[tree.SortedNode]{
		all, from, func(s tree.SortedNode) (*tree.Shape, error) { return r.item(ctx, l, s.Node) },
		func(s tree.SortedNode) mark { return mark{Position: s.Position(), Key: &s.Key} },
	})
}
