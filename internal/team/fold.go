package team

import (
	"context"

	"rookery/internal/checkout"
	"rookery/internal/repo"
)

// folding is how the logs of vaults move outward: behind those who follow them.
func (t *Team) folding() repo.Folding {
	if !t.opt.Folders {
		return repo.Folding{}
	}
	return repo.Folding{Behind: checkout.Cursors()}
}

// FoldVault makes one pass over a vault: whatever is due of moving its log outward; see repo.Vault.Fold.
// It may end anywhere, and several processes may make one at once. Where Options.Background is set, each
// open vault is folded without it. A vault that does not exist, or is in the trash, is NOT_FOUND.
func (t *Team) FoldVault(ctx context.Context, name string) error {
	v, err := t.Vault(ctx, name)
	if err != nil {
		return err
	}
	return v.Fold(ctx, t.folding())
}
