package repo

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/vault"
)

// ReversalOf is Reversal for some of the files that a commit changed. It returns INVALID_VALUE if
// the commit changed none of them. Items of the commit are ignored. Other errors are those of
// Reversal.
func (v *Vault) ReversalOf(ctx context.Context, version uint64, paths ...vault.Path) (*Reversal, error) {
	c, err := v.Commit(ctx, version)
	if err != nil {
		return nil, err
	}
	of := *c
	of.Items = nil
	of.Notes = slices.DeleteFunc(slices.Clone(c.Notes), func(n eventlog.Note) bool {
		return !slices.Contains(paths, vault.Path(n.Path))
	})
	r, err := v.reversal(ctx, &of)
	if err != nil {
		return nil, err
	}
	return r, r.date(ctx, v)
}

// IsAsLeft reports whether each file that the commit changed has the contents that the commit gave
// it.
func (tx *Tx) IsAsLeft(ctx context.Context, r *Reversal) (bool, error) {
	for _, n := range r.Of.Notes {
		if same, err := tx.isNow(ctx, n); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}
