package tree

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/relink"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A changeOut is the part of the output that all changes of nodes share.
//
// edit.finish fills it. In a dry run the addresses are those that the nodes would have.
type changeOut struct {
	// maps old addresses to new ones, for all nodes whose address changed
	IDMap map[string]string `json:"idMap"`
	// references that were rewritten to keep their targets
	RefsUpdated int  `json:"refsUpdated"`
	DryRun      bool `json:"dry_run,omitempty"`
	// of a dry run
	WouldModify []mutation.FileChange `json:"would_modify_files,omitempty"`
	versionOut
}

// An updatePropertyIn is the input of tree_update_payload_property.
type updatePropertyIn struct {
	nodeArg
	// a field, title, body, content or tags
	Property string `json:"propertyName" size:"name" alias:"property_name,property"`
	// null removes a field
	Value tool.JSON `json:"newValue" null:"kept" alias:"new_value,value" text:"true"`
	nodeMutation
}

// An updatePropertyOut is the output of tree_update_payload_property.
type updatePropertyOut struct {
	NodeID string `json:"nodeId"`
	// updated or unchanged
	Status string `json:"status"`
	changeOut
}

// updateProperty returns the tool that sets one property of a node. A property that cannot be set
// is a fault of the call, with the reason.
func (f tools) updateProperty() *tool.Tool {
	s := spec("update_payload_property", "Set one property of a node")
	s.Role, s.Kind, s.Idempotent = auth.Editor, tool.Destroy, true
	s.Route = tool.Route{Method: "POST", Path: "/nodes/property"}
	s.Commands = []tool.Command{{Words: "node set", Args: []string{"nodeId", "propertyName", "newValue"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in updatePropertyIn) (updatePropertyOut, error) {
		value, err := in.Value.Value()
		if err != nil {
			return updatePropertyOut{}, invalidParameter(typeMismatch,
				"newValue is not a JSON value").With("argument", "newValue")
		}
		w := request{c, in.Vault.Vault, &in.nodeMutation}
		return change(ctx, f, w, func(ctx context.Context, e *edit, out *updatePropertyOut) error {
			n, err := e.node("nodeId", in.NodeID)
			if err != nil {
				return err
			}
			if n, err = e.source(n); err != nil {
				return err
			}
			result, err := e.patchOne(ctx, n, newPatch(e, map[string]any{in.Property: value}))
			if err != nil {
				return err
			}
			if len(result.failed) > 0 {
				return result.failed[0].With("nodeId", n.ID()).With("argument", "propertyName")
			}
			out.Status = result.results[in.Property]
			out.NodeID, err = e.finish(ctx, n, in.DryRun, &out.changeOut)
			return err
		})
	})
}

// An updatePayloadIn is the input of tree_update_payload.
type updatePayloadIn struct {
	nodeArg
	// properties and their new values; null removes a field, others are kept
	Patch tool.Fields `json:"patch" complete:"field" of:"nodeId"`
	// set all properties or none
	Atomic bool `json:"atomic,omitempty"`
	nodeMutation
}

// An updatePayloadOut is the output of tree_update_payload.
type updatePayloadOut struct {
	NodeID string `json:"nodeId"`
	// by property: updated, unchanged, or why it was not set: internal_property, unknown_field,
	// type_mismatch and others
	Results map[string]string `json:"results"`
	changeOut
}

// updatePayload returns the tool that sets several properties of a node. If atomic is set, it sets
// all or none. Otherwise properties that cannot be set are results, and the call succeeds.
func (f tools) updatePayload() *tool.Tool {
	s := spec("update_payload", "Set properties of a node")
	s.Role, s.Kind, s.Idempotent = auth.Editor, tool.Destroy, true
	s.Route = tool.Route{Method: "PATCH", Path: "/nodes/{nodeId}"}
	s.Commands = []tool.Command{{Words: "node patch", Args: []string{"nodeId"}, Pairs: "patch"}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in updatePayloadIn) (updatePayloadOut, error) {
		if err := checkPatch(in.Patch); err != nil {
			return updatePayloadOut{}, err
		}
		w := request{c, in.Vault.Vault, &in.nodeMutation}
		return change(ctx, f, w, func(ctx context.Context, e *edit, out *updatePayloadOut) error {
			n, err := e.node("nodeId", in.NodeID)
			if err != nil {
				return err
			}
			if n, err = e.source(n); err != nil {
				return err
			}
			result, err := e.patchOne(ctx, n, newPatch(e, in.Patch))
			if err != nil {
				return err
			}
			if in.Atomic && len(result.failed) > 0 {
				return invalidParameter("atomic", "nothing was set, because some properties cannot be set").
					With("properties", result.results).With("nodeId", n.ID())
			}
			out.Results = result.results
			out.NodeID, err = e.finish(ctx, n, in.DryRun, &out.changeOut)
			return err
		})
	})
}

// checkPatch returns a fault if a patch is empty.
func checkPatch(p tool.Fields) error {
	if len(p) == 0 {
		return invalidParameter("empty", "patch has no properties").With("argument", "patch")
	}
	return nil
}

// fileOf returns the path of the file that contains a node. A folder's own file does not have to
// exist.
func fileOf(n tree.Node) vault.Path {
	if n.Note != nil {
		return vault.Path(n.Note.Path)
	}
	return vault.Path(n.Folder + vault.FolderFile)
}

// patchOne drafts a patch of one node. The properties that can be set are staged even if others
// cannot; a caller that wants all or none returns an error, and nothing is written. If no property
// changes, it stages nothing.
func (e *edit) patchOne(ctx context.Context, n tree.Node, p patch) (patchResult, error) {
	text, _, err := e.Text(ctx, fileOf(n))
	if err != nil {
		return patchResult{}, err
	}
	result := p.apply(e.tree, n, text)
	if !result.isUpdated() {
		return result, nil
	}
	return result, e.write(ctx, fileOf(n), result.text, p)
}

// write drafts the text of a patched file. The nodes in it keep their identities, unless the patch
// sets a content.
//
// With a new content the nodes below are other nodes, so the index determines which of them are the
// same.
func (e *edit) write(ctx context.Context, file vault.Path, text []byte, p patch) error {
	var same []index.UID
	if f, ok := e.tree.Index.File(string(file)); ok && !p.hasContent() {
		same = f.NodeIDs()
	}
	return e.PutNodes(ctx, file, text, nil, same)
}

// finish completes a draft: it rewrites the references to nodes whose address changed, and fills
// the output. It returns the new address of n.
//
// It must be the last step of a draft, when all files are staged. It compares the addresses of all
// nodes in the changed files before and after, by uid; a title, a move or a removal can change the
// addresses of other nodes than n. If nothing was staged, it only fills the output.
func (e *edit) finish(ctx context.Context, n tree.Node, dry bool, out *changeOut) (string, error) {
	out.IDMap, out.DryRun = map[string]string{}, dry
	if e.Touched() {
		if err := e.relink(ctx, out); err != nil {
			return "", err
		}
	}
	if dry {
		var err error
		if out.WouldModify, err = mutation.FileChanges(ctx, e.Tx); err != nil {
			return "", err
		}
	}
	return cmp.Or(out.IDMap[n.ID()], n.ID()), nil
}

// relink fills the map of changed addresses, and drafts the references so that they lead to the
// same nodes as before.
//
// Nodes without a uid of their own, such as folders without an own file, are in e.ids. New
// references that do not resolve are warnings.
//
// A reference is rewritten if it led to a node whose address changed, or if it would now lead to
// another node because a name has become ambiguous or free. For each, the Relinker compares its
// target in the state before with the one after. The notes that can contain such references are
// found by the index (Relinker.Sources), so the other notes are not read.
func (e *edit) relink(ctx context.Context, out *changeOut) error {
	after := e.Index()
	staged, err := e.Staged(ctx)
	if err != nil {
		return err
	}
	var was, is []*index.Note
	for _, s := range staged {
		if n, ok := e.tree.Index.Note(string(s.Path)); ok {
			was = append(was, n)
		}
		if n, ok := after.Note(string(s.Path)); ok {
			is = append(is, n)
		}
	}
	now := tree.New(after)
	maps.Copy(out.IDMap, tree.ChangedAddresses(e.tree, now, was, is))
	maps.Copy(out.IDMap, e.ids)
	ids := e.changedIDs(out.IDMap, is)
	e.addRetitled(ids, was, is, now)
	if len(ids) > 0 {
		r := relink.New(e.tree.Index, after, ids)
		r.Blocks = e.blocks
		if err := e.rewrite(ctx, r, after, out); err != nil {
			return err
		}
	}
	mutation.WarnRefs(e.Tx, &out.Aside, nil, pathsOf(staged)...)
	return nil
}

// addRetitled adds the nodes with a new title and the same address to the addresses for which
// references are checked: a reference can name a note by its title, and a section by its heading,
// although it declares an id.
func (e *edit) addRetitled(ids map[string]string, was, is []*index.Note, after *tree.Tree) {
	titles := map[string]string{} // of the notes and sections now, by address and uid
	key := func(t *tree.Tree, n tree.Node) string { return n.ID() + " " + t.UID(n) }
	for _, n := range is {
		for at := range after.Walk(tree.Node{Note: n}, nil) {
			titles[key(after, at)] = after.Name(at)
		}
	}
	for _, n := range was {
		for at := range e.tree.Walk(tree.Node{Note: n}, nil) {
			if now, ok := titles[key(e.tree, at)]; ok && now != e.tree.Name(at) {
				ids[at.ID()] = at.ID()
			}
		}
	}
}

// changedIDs returns the new addresses by old ones for which references are checked. These are the
// changed ones and, if nodes were added, removed or moved, all changed notes.
//
// A node that appears or disappears can change what a short name refers to, even where no address
// changed.
func (e *edit) changedIDs(moved map[string]string, is []*index.Note) map[string]string {
	if !e.moves {
		return maps.Clone(moved)
	}
	ids, taken := map[string]string{}, map[string]bool{}
	for from, to := range moved {
		if !strings.HasSuffix(from, "/") {
			ids[from], taken[to] = to, true
		}
	}
	// A changed note whose address stayed maps to itself, so that its references are checked.
	for _, n := range is {
		if _, left := ids[n.ID]; !left && !taken[n.ID] {
			ids[n.ID] = n.ID
		}
	}
	return ids
}

// rewrite drafts the references that a Relinker changes.
//
// References in text that was moved from another note are read as they were there; see e.passages.
// The identities in a rewritten note stay the same, because only references change.
func (e *edit) rewrite(ctx context.Context, r *relink.Relinker, after *index.Index, out *changeOut) error {
	for _, id := range r.Sources() {
		at := vault.Path(id + ".md")
		text, exists, err := e.Text(ctx, at)
		if err != nil {
			return err
		}
		if !exists {
			continue
		}
		var rewritten relink.Result
		if passages := e.passages[id]; passages != nil {
			rewritten = r.Passages(id, text, passages)
		} else {
			rewritten = r.Rewrite(id, text)
		}
		if rewritten.Count == 0 {
			continue
		}
		out.RefsUpdated += rewritten.Count
		n, ok := after.Kept(string(at))
		if !ok {
			continue
		}
		if err := e.PutNodes(ctx, at, rewritten.Text, n.TraitIDs(), n.NodeIDs()); err != nil {
			return err
		}
	}
	return nil
}

// An updateNodesIn is the input of tree_update_nodes.
type updateNodesIn struct {
	tool.Vault
	// a query as for select_nodes, or predicates as for search_advanced
	Filter tool.JSON `json:"filter"`
	// properties and their new values; null removes a field, others are kept
	Patch tool.Fields `json:"patch"`
	// false: stop at the first node that fails
	ContinueOnError *bool `json:"continueOnError,omitempty" default:"true" alias:"continue_on_error"`
	nodeMutation
}

// A nodeResult is the result for one node.
//
// A node of which some properties were set and others not has the status updated and a reason.
type nodeResult struct {
	NodeID string `json:"nodeId"`
	// updated, unchanged, failed or skipped
	Status string `json:"status"`
	// of the first property that was not set
	Reason string `json:"reason,omitempty"`
	// by property, as in update_payload
	Properties map[string]string `json:"properties,omitempty"`
}

// An updateNodesOut is the output of tree_update_nodes.
type updateNodesOut struct {
	// in the order of the tree
	Results []nodeResult `json:"results"`
	Matched int          `json:"matched"`
	Updated int          `json:"updated"`
	changeOut
}

// updateNodes returns the tool that sets properties of all nodes that match a filter. Nodes that
// cannot be changed are results and not errors; what was set for the others is written.
func (f tools) updateNodes() *tool.Tool {
	s := spec("update_nodes", "Set properties of all nodes that match")
	s.Role, s.Kind, s.Idempotent, s.List = auth.Editor, tool.Destroy, true, "results"
	s.Columns = []string{"nodeId", "status", "reason"}
	s.Route = tool.Route{Method: "PATCH", Path: "/nodes"}
	s.Commands = []tool.Command{{Words: "node update", Args: []string{"filter"}, Pairs: "patch"}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in updateNodesIn) (updateNodesOut, error) {
		x, err := in.query()
		if err != nil {
			return updateNodesOut{}, err
		}
		return change(ctx, f, request{c, in.Vault.Vault, &in.nodeMutation}, func(
			ctx context.Context, e *edit, out *updateNodesOut,
		) error {
			return in.run(ctx, e, x, out)
		})
	})
}

// query parses the filter: a string is a query, and any other value is predicates.
func (in updateNodesIn) query() (*tree.Expr, error) {
	if err := checkPatch(in.Patch); err != nil {
		return nil, err
	}
	var text string
	if json.Unmarshal(in.Filter, &text) == nil {
		return parseQuery("filter", text)
	}
	return predicatesOf("filter", tool.Structure(in.Filter))
}

// run drafts the patch of all matching nodes. It returns BATCH_TOO_LARGE if more than maxBatch
// nodes match.
func (in updateNodesIn) run(
	ctx context.Context, e *edit, x *tree.Expr, out *updateNodesOut,
) error {
	matching, err := e.matching(ctx, x)
	if err != nil {
		return err
	}
	if len(matching) > maxBatch {
		return fault.New(fault.BatchTooLarge,
			"the filter matches %d nodes; a call changes at most %d", len(matching), maxBatch).
			With("argument", "filter").With("max", maxBatch).With("got", len(matching)).Fix("narrow the filter")
	}
	if err := e.checkUnchanged(matching...); err != nil {
		return err
	}
	results, err := in.apply(ctx, e, matching)
	if err != nil {
		return err
	}
	for _, n := range matching {
		r := results[n]
		if r.Status == updated {
			out.Updated++
		}
		out.Results = append(out.Results, r)
	}
	out.Matched = len(matching)
	if out.Results == nil {
		out.Results = []nodeResult{}
		out.Warn("NO_RESULTS", "nothing matches", nil)
	}
	_, err = e.finish(ctx, tree.Node{}, in.DryRun, &out.changeOut)
	return err
}

// matching returns the nodes that match a query. The texts are those of the draft, and the root of
// the search is the vault.
func (e *edit) matching(ctx context.Context, x *tree.Expr) ([]tree.Node, error) {
	text := func(ctx context.Context, n tree.Node) ([]byte, error) {
		text, _, err := e.Text(ctx, fileOf(n))
		return text, err
	}
	clock := state.Clock(e.tree.Index, e.Now())
	return finder{tree.NewEvaluator(e.tree, clock), e.tree, text, nil}.find(ctx, x, e.tree.Root())
}

// apply patches nodes from the last to the first, so that a patch does not move the nodes of the
// file that are still to be patched.
//
// Each file is staged once, with the patches of all its nodes. A patch is located in the text by
// the position of its section, and a new content or title changes only the positions after it.
func (in updateNodesIn) apply(ctx context.Context, e *edit, matching []tree.Node) (map[tree.Node]nodeResult, error) {
	results, texts := map[tree.Node]nodeResult{}, map[vault.Path][]byte{}
	p := newPatch(e, in.Patch)
	stop, err := in.stop(ctx, e, p, matching, results)
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Backward(matching[:stop]) {
		file := fileOf(n)
		text, drafted := texts[file]
		if !drafted {
			if text, _, err = e.Text(ctx, file); err != nil {
				return nil, err
			}
		}
		one := p.apply(e.tree, n, text)
		if results[n] = resultOf(n, one); one.isUpdated() {
			texts[file] = one.text
		}
	}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		if err := e.write(ctx, file, texts[file], p); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// stop returns the number of nodes to patch: all, or those before the first that fails if
// continueOnError is false. It records the results of that node and of the skipped ones after it.
//
// It tries the patch on each node in the order of the tree, without keeping the results, because
// the patch itself runs in the opposite order.
func (in updateNodesIn) stop(
	ctx context.Context, e *edit, p patch, matching []tree.Node, results map[tree.Node]nodeResult,
) (int, error) {
	if in.ContinueOnError == nil || *in.ContinueOnError {
		return len(matching), nil
	}
	for i, n := range matching {
		text, _, err := e.Text(ctx, fileOf(n))
		if err != nil {
			return 0, err
		}
		one := p.apply(e.tree, n, text)
		if len(one.failed) == 0 {
			continue
		}
		results[n] = nodeResult{n.ID(), "failed", resultOf(n, one).Reason, nil}
		// Nodes after the failed one are not patched.
		for _, behind := range matching[i+1:] {
			results[behind] = nodeResult{NodeID: behind.ID(), Status: "skipped"}
		}
		return i, nil
	}
	return len(matching), nil
}

// resultOf returns the result of a patch of a node.
func resultOf(n tree.Node, p patchResult) nodeResult {
	r := nodeResult{NodeID: n.ID(), Status: unchanged, Properties: p.results}
	if len(p.failed) > 0 {
		r.Status = "failed"
		r.Reason, _ = p.failed[0].Details["reason"].(string)
	}
	if p.isUpdated() {
		r.Status = updated
	}
	return r
}

// pathsOf returns the paths of the files that a draft changes.
func pathsOf(staged []repo.Staged) []string {
	var all []string
	for _, s := range staged {
		all = append(all, string(s.Path))
	}
	return all
}
