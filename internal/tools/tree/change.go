package tree

import (
	"cmp"
	"context"
	"errors"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/relink"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A request is the part of a call that every change of the vault has.
type request struct {
	caller   auth.Caller
	vault    string
	mutation *nodeMutation
}

// An edit is a draft of a change of the vault.
//
// It embeds the transaction, so that an edit stages files with Put, PutNodes, Move, Remove and
// Trash. tree is the state before the change and does not change while files are staged; the
// addresses, positions and identities that the functions of this package pass around all belong to
// it. An edit is for one run of the draft.
//
// ids, blocks and passages are collected for finish, because only the function that moves a text
// knows where it came from: ids for nodes that are not matched by uid, blocks for references to
// single lines (#^id), and passages for the references in the text itself.
type edit struct {
	*repo.Tx
	tree  *tree.Tree // before the change
	since uint64     // the version token of the call

	ids map[string]string // new addresses by old ones, of nodes that have no uid of their own
	// moves is set if nodes are added, removed or moved, so that references to all changed notes
	// are checked.
	moves    bool
	blocks   map[relink.Line]string      // ids of the notes to which blocks moved
	passages map[string][]relink.Passage // by id of a note: the origins of its new parts
}

// A tokenSetter is an output that sets its version from its metadata.
type tokenSetter[Out any] interface {
	*Out
	setToken()
}

// change runs fn, which drafts a change of the vault and fills the output. The version token is
// checked first: it returns CONFLICT if the token is missing or not valid. fn must call edit.covers
// for the nodes that it changes. It may run several times, each time with a new edit and a new
// output, so it must keep nothing from an earlier run. If it returns an error, nothing is written.
//
// The log's own check of if_version is not used: which nodes a call affects is known only inside
// the draft. The answer of a CONFLICT names the agent whose commit changed the node. For a repeated
// idempotency key fn does not run, and the output is the stored one.
func change[Out any, P tokenSetter[Out]](
	ctx context.Context, f tools, w request, fn func(context.Context, *edit, *Out) error,
) (Out, error) {
	var none Out
	call, err := mutation.Call(w.caller, w.mutation.logged(w.caller), Family)
	if err != nil {
		return none, err
	}
	v, err := f.Vault(ctx, w.caller, w.vault)
	if err != nil {
		return none, err
	}
	draft := func(ctx context.Context, tx *repo.Tx, out *Out) error {
		seq, err := since(tx.Index().Version(), w.mutation.VersionToken)
		if err != nil {
			return err
		}
		e := &edit{Tx: tx, tree: tree.New(tx.Index()), since: seq, ids: map[string]string{},
			blocks:   map[relink.Line]string{},
			passages: map[string][]relink.Passage{}}
		return fn(ctx, e, out)
	}
	out, err := mutation.ChangeVault(ctx, v, call, mutation.Change[Out]{Draft: draft})
	P(&out).setToken()
	if stale := (*outdatedError)(nil); errors.As(err, &stale) {
		err = stale.withAgent(ctx, v)
	}
	return out, err
}

// An outdatedError is a CONFLICT fault because of a commit after the version token.
//
// It leaves the draft without the name of the agent, because the commit must be read for that,
// which a draft should not do.
type outdatedError struct {
	*fault.Fault
	seq uint64 // of the commit
}

// Unwrap returns the fault.
func (o *outdatedError) Unwrap() error { return o.Fault }

// withAgent returns the fault with the agent that made the commit. It omits the agent if the commit
// cannot be read, because it may not be durable yet.
func (o *outdatedError) withAgent(ctx context.Context, v *repo.Vault) error {
	c, err := v.Commit(ctx, o.seq)
	if err != nil {
		return o.Fault
	}
	return o.With("lastChangedBy", cmp.Or(c.Who.Agent, c.Who.Principal))
}

// since returns the sequence number of a version token. It returns CONFLICT if the token is
// missing, cannot be parsed, or is newer than the vault.
//
// Any existing version is accepted here, however old; covers then compares it with the nodes.
func since(newest uint64, token string) (uint64, error) {
	if token == "" {
		return 0, conflict(newest, "a change needs a versionToken")
	}
	seq, ok := eventlog.ParseVersion(token)
	switch {
	case !ok:
		return 0, conflict(newest, "the versionToken is not from an answer")
	case seq > newest:
		return 0, conflict(newest, "the versionToken is of a version that does not exist yet")
	}
	return seq, nil
}

// conflict returns a CONFLICT fault with the latest version.
func conflict(newest uint64, message string) *fault.Fault {
	latest := eventlog.Version(newest)
	return fault.New(fault.Conflict, "%s; the latest version is %s", message, latest).
		With("latestVersion", latest).With("latest_version", latest).
		Fix("read the nodes again, and repeat the call with the versionToken %s", latest)
}

// checkUnchanged returns CONFLICT if any of the nodes, which the call changes, changed after the
// version token.
//
// The nodes must be those of e.tree. A note also counts as changed if one of its sections changed,
// because the note is the unit of a commit; a folder changed if a child was added or removed, or if
// its own file changed. In a vault with strict versions any change of a note or folder counts. A
// note whose references are rewritten as a consequence need not be passed.
func (e *edit) checkUnchanged(nodes ...tree.Node) error {
	changed, seq := e.tree.Changed(e.since, nodes...)
	if changed == "" {
		return nil
	}
	return &outdatedError{
		conflict(e.tree.Index.Version(), "a node that the call affects changed after the versionToken").
			With("changed", changed).With("nodeId", nodes[0].ID()), seq,
	}
}

// checkAllUnchanged returns CONFLICT if any note or folder changed after the version token. It is
// for calls that affect the whole vault, and costs no walk.
func (e *edit) checkAllUnchanged() error {
	seq := e.tree.Index.NotesVersion()
	if seq <= e.since {
		return nil
	}
	root := e.tree.Root().ID()
	return &outdatedError{
		conflict(e.tree.Index.Version(), "a note or a folder changed after the versionToken").
			With("changed", root).With("nodeId", root), seq,
	}
}

// node returns the node that an argument names, or NOT_FOUND. It is a node of e.tree, the state
// before the change, whatever is staged already.
func (e *edit) node(arg, id string) (tree.Node, error) { return nodeIn(e.tree, arg, id) }

// source returns the node to change in place of n: n itself, or the node that it represents. It
// returns NOT_FOUND if that node does not exist, and CONFLICT if it changed after the version
// token.
//
// A change of a node that represents another one is a change of the other, as the reader sees it.
func (e *edit) source(n tree.Node) (tree.Node, error) {
	source, ok := e.tree.Source(n)
	if !ok {
		return n, fault.New(fault.NotFound, "the node represents another one that does not exist").
			With("nodeId", n.ID()).With("reason", "broken_reference")
	}
	return source, e.checkUnchanged(source)
}
