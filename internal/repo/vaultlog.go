package repo

import (
	"context"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"iter"
	"time"
)

// The methods of this file are those of the log, for the log of a vault. LastAt, Back and VersionAt
// return NOT_FOUND for a vault that does not exist. The others are for the server and not for
// callers of tools, and return the errors of the log unchanged.

var _ eventlog.History = (*Vault)(nil)

// LastAt implements History.
func (v *Vault) LastAt(ctx context.Context, t time.Time) (uint64, time.Time, error) {
	seq, at, err := v.log.LastAt(ctx, t)
	return seq, at, v.orNone(err)
}

// Back implements History.
func (v *Vault) Back(ctx context.Context, from uint64, most int) iter.Seq2[*eventlog.Commit, error] {
	return func(yield func(*eventlog.Commit, error) bool) {
		for c, err := range v.log.Back(ctx, from, most) {
			if !yield(c, v.orNone(err)) {
				return
			}
		}
	}
}

// VersionAt returns the newest version at a time: that of the last commit at or before t. If there
// is none it returns 0, the version of an empty vault. It costs one Query, and a logarithmic number
// more if t is before the newest version. Its errors are those of Read.
func (v *Vault) VersionAt(ctx context.Context, t time.Time) (uint64, error) {
	head, err := v.Read(ctx)
	if err != nil {
		return 0, err
	}
	if !t.Before(head.Time()) {
		return head.Version(), nil
	}
	return v.log.SeqAt(ctx, head.Version(), t)
}

// Recover creates the log of a vault whose table is lost from its segments, up to the last commit
// in them, and returns that commit. Later commits are lost, except for changes that are in the
// files of the checkout. Its errors are those of eventlog.Log.Recover.
func (v *Vault) Recover(ctx context.Context) (uint64, error) { return v.log.Recover(ctx) }

// Rollback is eventlog.Log.Rollback for the log of the vault.
func (v *Vault) Rollback(ctx context.Context) (dropped int, err error) { return v.log.Rollback(ctx) }

// Unfolded returns how many commits are not in a segment yet, according to the state in memory. It
// does no I/O.
func (v *Vault) Unfolded() uint64 { return v.log.Unfolded() }

// WantImage makes an image due if there are commits after the last one. It is for callers that made
// many changes, after which none may follow for hours.
func (v *Vault) WantImage() { v.log.WantImage() }

// Seal ends the log of the vault, if it exists, with a commit after which no append succeeds.
// Sealing twice does no harm. It ignores the idempotency key, the version and the dry run of the
// call.
func (v *Vault) Seal(ctx context.Context, c eventlog.Call) error { return v.log.Seal(ctx, c) }

// Sealed reports whether the log of the vault is known to be sealed. It reads the end of the log in
// the table, but no state.
func (v *Vault) Sealed(ctx context.Context) bool { return v.log.IsSealed(ctx) }
