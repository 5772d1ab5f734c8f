package raven

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// undoName is the name of the tool, which its commits in the log contain.
const undoName = "raven_undo"

// An undoIn is the input of raven_undo.
//
// An undo is a new commit; the log keeps both. Undoing an undo repeats the change.
type undoIn struct {
	tool.Vault
	// the version to undo: v42
	Version string `json:"version" complete:"version"`
	tool.Mutation
}

// An undoOut is the output of raven_undo.
type undoOut struct {
	tool.Aside `json:"-"`
	Action     string `json:"action,omitempty"`
	// the change that is undone
	Undone undoneCommit `json:"undone"`
	// the result for each, the first 200
	Files      []undoneFile `json:"files,omitzero"`
	FilesTotal int          `json:"files_total,omitempty"`

	DryRun bool `json:"dry_run,omitempty"`
	// the first 200
	WouldModify []mutation.FileChange `json:"would_modify_files,omitempty"`
	SideEffects []string              `json:"side_effects,omitzero"`
}

// An undoneCommit is a commit that was undone.
type undoneCommit struct {
	Version   string    `json:"version"`
	TS        time.Time `json:"ts" title:"when"`
	Tool      string    `json:"tool"`
	Principal string    `json:"principal" title:"who"`
	Agent     string    `json:"agent"`
}

// An undoneFile is a file that was changed by the undo.
type undoneFile struct {
	Path string `json:"path"`
	// create, modify or delete
	Action string `json:"action"`
}

// undo returns the tool raven_undo, which reverses one commit.
func (f tools) undo() *tool.Tool {
	return tool.New(tool.Spec{
		Name: undoName, Family: Family, Title: "Undo a change",
		Role: auth.Editor, Kind: tool.Destroy,
		Route:    tool.Route{Method: "POST", Path: "/log/undo"},
		Commands: []tool.Command{{Words: "undo", Args: []string{"version"}}},
	}, f.undoOrExplain)
}

// undoOrExplain undoes a commit. If the files have changed since, the fault explains which commits
// did that.
//
// The explanation reads the commits since, so it is computed only for a failed undo.
func (f tools) undoOrExplain(ctx context.Context, c auth.Caller, in undoIn) (undoOut, error) {
	out, err := f.undoCommit(ctx, c, in)
	if err == nil || fault.Of(err).Details["changed"] == nil {
		return out, err
	}
	v, problem := f.Vault(ctx, c, in.Vault.Vault)
	if problem != nil {
		return out, problem
	}
	version, _ := eventlog.ParseVersion(strings.TrimSpace(in.Version))
	r, problem := v.Reversal(ctx, version)
	if problem != nil {
		return out, problem
	}
	return out, explained(ctx, v, r, fault.Of(err))
}

// undoCommit computes the reversal before the draft, and reports a failure only in the draft, so
// that a repeated call gets its stored answer although the undo is no longer possible.
//
// The reversal restores files as they were before the commit, so it is allowed only if they are as
// the commit left them. Protected paths may be reversed, because the commit has changed them
// already. A dry run reports the same faults.
func (f tools) undoCommit(ctx context.Context, c auth.Caller, in undoIn) (undoOut, error) {
	version, ok := eventlog.ParseVersion(strings.TrimSpace(in.Version))
	if !ok {
		return undoOut{}, fault.New(fault.InvalidValue, "version must be a version such as v42").
			With("argument", "version")
	}
	call, err := mutation.Call(c, &in.Mutation, Family)
	call.Unprotected = true
	if err != nil {
		return undoOut{}, err
	}
	v, err := f.Vault(ctx, c, in.Vault.Vault)
	if err != nil {
		return undoOut{}, err
	}
	r, refused := v.Reversal(ctx, version)
	if refused != nil && !isAnswer(refused) {
		return undoOut{}, refused
	}
	return mutation.ChangeVault(ctx, v, call, mutation.Change[undoOut]{
		Targets: func(context.Context, *repo.Tx) ([]vault.Path, error) { return r.Paths(), nil },
		Draft: func(ctx context.Context, tx *repo.Tx, out *undoOut) error {
			if refused != nil {
				return state.InArgument(refused, "version")
			}
			if err := mayReverse(c, in.Vault.Vault, r); err != nil {
				return err
			}
			if err := tx.Reverse(ctx, r); err != nil {
				return err
			}
			return out.fill(ctx, tx, r)
		},
	})
}

// mayReverse returns PERMISSION_DENIED for a commit with memories of another principal, unless the
// caller is an admin: a memory belongs to the principal that stored it (reference/memory.md §A7).
func mayReverse(c auth.Caller, vault string, r *repo.Reversal) error {
	if len(r.Of.Items) == 0 || r.Of.Who.Principal == c.Principal || c.Role(vault).Allows(auth.Admin) {
		return nil
	}
	return fault.New(fault.PermissionDenied, "%s changed memories of another principal; that principal or an admin "+
		"can undo it", eventlog.Version(r.Of.Seq)).With("argument", "version")
}

// A changeSince is a commit that prevents an undo, because it changed one of the files.
type changeSince struct {
	Version string `json:"version"`
	Tool    string `json:"tool"`
}

// maxSince is the maximum number of such commits in a conflict.
const maxSince = 50

// explained adds to the conflict of an undo the commits that changed the files since, and a fix. It
// never suggests to undo an undo, because that would repeat a change.
//
// The fix names the first of the commits that must be undone before, if undoing them in turn would
// make this undo possible; otherwise it names the history of a changed note.
func explained(ctx context.Context, v *repo.Vault, r *repo.Reversal, f *fault.Fault) error {
	o, err := v.Obstacles(ctx, r, func(c *eventlog.Commit) bool { return c.Tool == undoName })
	if err != nil {
		return err
	}
	since := []changeSince{}
	for _, c := range firstOf(o.Since, maxSince) {
		since = append(since, changeSince{eventlog.Version(c.Seq), c.Tool})
	}
	f = f.With("changed_after", since)
	if undone, _ := f.Details["undone"].(bool); !undone && len(o.First) > 0 {
		var first []string
		for _, c := range o.First {
			first = append(first, eventlog.Version(c.Seq))
		}
		f = f.With("undo_first", first).Try(undoName, fault.Args{"version": first[0]})
	}
	for _, path := range o.Changed {
		if kind := path.Kind(); kind == vault.KindNote && path[0] != '.' {
			return f.Try("raven_history", fault.Args{"id": path.ID()})
		}
	}
	return f
}

// isAnswer reports whether an error is about the arguments of the call.
func isAnswer(err error) bool {
	return fault.Is(err, fault.NotFound) || fault.Is(err, fault.InvalidValue)
}

// fill fills the output.
func (o *undoOut) fill(ctx context.Context, tx *repo.Tx, r *repo.Reversal) error {
	o.Undone = undoneCommit{
		eventlog.Version(r.Of.Seq), r.Of.Time, r.Of.Tool, r.Of.Who.Principal, r.Of.Who.Agent,
	}
	staged, err := tx.Staged(ctx)
	if err != nil {
		return err
	}
	o.FilesTotal = len(staged)
	shown := staged[:min(len(staged), tool.MaxPage)]
	if tx.DryRun() {
		o.DryRun, o.SideEffects = true, []string{}
		o.WouldModify = firstChanges(&o.Aside, shown)
		if n := len(staged) - len(o.WouldModify); n > 0 {
			o.SideEffects = append(o.SideEffects, fmt.Sprintf("%d more files change", n))
		}
		return nil
	}
	o.Action, o.Files = "updated", []undoneFile{}
	for _, s := range shown {
		o.Files = append(o.Files, undoneFile{string(s.Path), actionOn(s)})
	}
	return mutation.NoteFiles(ctx, tx, &o.Aside)
}

// firstChanges returns the changes of the first files, as many as fit into the answer.
func firstChanges(a *tool.Aside, files []repo.Staged) []mutation.FileChange {
	var all []mutation.FileChange
	for _, s := range files {
		c := mutation.ChangeOf(s)
		if !a.Fits(c) {
			break
		}
		all = append(all, c)
	}
	return all
}

// actionOn returns the action on a staged file.
func actionOn(s repo.Staged) string {
	switch {
	case s.New == nil:
		return "delete"
	case s.Old == nil:
		return "create"
	}
	return "modify"
}
