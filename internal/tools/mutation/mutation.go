// Package mutation carries out what mutations have in common, of a vault and of a tenant: the version that
// they build on, the idempotency key, and the answer that a repetition gets.
package mutation

import (
	"context"
	"errors"
	"fmt"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Mutation is the part of a call that says how to carry out a change, however its family spells the
// arguments. *tool.Mutation is one.
type Mutation interface {
	Version() string // that the change builds on, as text; empty: none
	Key() string     // the idempotency key; empty: none
	Dry() bool       // only the plan is asked for

	Operation() string    // the name of the tool
	Request() tool.Digest // of the call
}

// Call is what the log needs to know of a call. A malformed if_version is a fault of the family.
func Call(c auth.Caller, m Mutation, f *tool.Family) (repo.Call, error) {
	digest := m.Request()
	call := repo.Call{
		Who:  Who(c),
		Tool: m.Operation(), Key: m.Key(), Request: digest[:], DryRun: m.Dry(),
		Prefix: c.Prefix, Began: c.Began,
	}
	if m.Version() == "" {
		return call, nil
	}
	v, ok := repo.ParseVersion(m.Version())
	if !ok {
		return call, fault.New(f.Malformed, "if_version must be a version such as %q", "v42").
			With("argument", "if_version")
	}
	call.IfVersion = v
	if v == 0 {
		call.IfVersion = 1 // v0 is the version before the first commit: nothing is that old
	}
	return call, nil
}

// Who is what a log keeps of the caller of a mutation. A person is named with the issuer already.
func Who(c auth.Caller) repo.Who {
	who := repo.Who{
		Principal: c.Principal, Agent: c.Agent, Request: c.RequestID, Token: c.TokenID,
	}
	if c.Principal != auth.User(c.Issuer, c.Subject) {
		who.Issuer, who.Subject = c.Issuer, c.Subject
	}
	return who
}

// A Change is a change of a vault.
type Change[Out any] struct {
	// About are the files that the call is about, as far as its arguments name files that are there. If
	// one of them changed after the call's if_version, that is the answer, before any other check. Nil: no
	// argument names a file; what Draft stages is compared with if_version all the same.
	About func(context.Context, *repo.Tx) ([]vault.Path, error)

	// Draft drafts the change and fills the output. It may run several times, each time with an empty
	// output. An output that is too large for an answer is BATCH_TOO_LARGE, and nothing is written. If it
	// says that the call failed in part, the rest is written, and that is the error. Where Draft returns an error,
	// nothing is written, and the output is returned with the error.
	Draft func(context.Context, *repo.Tx, *Out) error
}

// expect is CONFLICT if a file that the call is about changed after its if_version.
func (c Change[Out]) expect(ctx context.Context, tx *repo.Tx, call repo.Call) error {
	if c.About == nil || call.IfVersion == 0 {
		return nil
	}
	paths, err := c.About(ctx, tx)
	if err != nil {
		return err
	}
	return tx.Expect(paths)
}

// Vault carries out a change of a vault and returns its output.
func Vault[Out any](
	ctx context.Context, v *repo.Vault, call repo.Call, c Change[Out],
) (Out, error) {
	var out Out
	r, err := v.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		if err := c.expect(ctx, tx, call); err != nil {
			return nil, err
		}
		var fresh Out
		if err := c.Draft(ctx, tx, &fresh); err != nil {
			if p, ok := any(&fresh).(tool.Partial); ok && p.Partly() {
				return nil, &unwritten[Out]{err, fresh}
			}
			return nil, err
		}
		warnUnindexed(&fresh, tx)
		if err := tool.CheckFits(&fresh); err != nil {
			return nil, err
		}
		out = fresh
		return tool.EncodeReplay(&out), nil
	})
	if partial := (*unwritten[Out])(nil); errors.As(err, &partial) {
		if errors.Is(partial.error, ErrUnwritten) {
			return partial.out, nil
		}
		return partial.out, partial.error
	}
	if err != nil { // a call that gave up does not wait for its function: out is not ours to read
		var none Out
		return none, err
	}
	return Finish(r, out, nil)
}

// ErrUnwritten is what a Draft returns that succeeded and is not to be written, nor to use its idempotency
// key. Its output must be a tool.Partial.
var ErrUnwritten = errors.New("nothing to write")

// An unwritten is a call of which nothing is written, and its output all the same.
type unwritten[Out any] struct {
	error
	out Out
}

// Unwrap returns why nothing is written.
func (u *unwritten[Out]) Unwrap() error { return u.error }

// Tenant runs a change of a tenant, and is its output. The function is given what keeps an output for whoever
// repeats the call: it calls it each time that it drafts the change, and the last time counts.
func Tenant[Out any](change func(keep func(Out) any) (repo.Receipt, error)) (Out, error) {
	var out Out
	r, err := change(func(o Out) any {
		out = o
		return tool.EncodeReplay(&out)
	})
	if err != nil { // a call that gave up does not wait for its function: out is not ours to read
		var none Out
		return none, err
	}
	return Finish(r, out, nil)
}

// Finish is the output of a call, from the receipt: the first answer of its key, if this is a
// repetition. Its meta says the version that it made, or saw.
func Finish[Out any](r repo.Receipt, out Out, err error) (Out, error) {
	var none Out
	if err != nil {
		return none, err
	}
	if r.Replayed != nil {
		out = none
		if err := tool.DecodeReplay(r.Replayed, &out); err != nil {
			return none, err
		}
	}
	return out, noteReceipt(&out, r)
}

// noteReceipt notes what a receipt says in an output, which out points to, and returns its failure. It is apart from
// Finish because a program has the code of Finish once for each output.
func noteReceipt(out any, r repo.Receipt) error {
	a, ok := out.(aside)
	if !ok {
		return nil
	}
	a.Note("version", repo.Version(r.Seq))
	for _, f := range r.Unread {
		a.Warn(fileUnread, unread(f), map[string]any{"path": f.Path})
	}
	if failed := a.Failure(); failed != nil {
		return failed
	}
	return nil
}

// warnUnindexed warns, in an output which out points to, of notes that have more things than are indexed.
func warnUnindexed(out any, tx *repo.Tx) {
	a, ok := out.(aside)
	if !ok {
		return
	}
	for _, n := range tx.Unindexed() {
		a.Warn(notIndexed, repo.UnindexedProblem(n)+"; "+repo.UntilIndexed, map[string]any{"path": n.Path})
	}
}

// aside is implemented by a pointer to every output that embeds a tool.Aside.
type aside interface {
	Note(key string, value any)
	Warn(code, message string, fields map[string]any)
	Failure() *fault.Fault
}

// fileUnread is the code of a warning: the file of a note that the call changed is left as it is.
const fileUnread = "FILE_UNREAD"

// notIndexed is the code of a warning: a note that the call changed has more things than are indexed.
const notIndexed = "NOTE_NOT_INDEXED"

// unread says why a file does not show the change, and what helps.
func unread(f repo.LeftFile) string {
	return fmt.Sprintf("the change is saved, but the file of %s on disk does not show it, "+
		"because the file cannot be read: %s; %s", f.Path, f.Problem(), f.Remedy())
}
