package intake

import (
	"context"
	"slices"

	"rookery/internal/repo"
	"rookery/internal/vault"
)

// Unknown returns those edits whose texts no version of the vault has, so that they would be lost if the files
// became what the log says.
func Unknown(all []*Found) []*Found {
	return slices.DeleteFunc(slices.Clone(all), func(f *Found) bool {
		return f.Gone() || f.Exact || f.From != nil && f.From.Before.Digest == f.Digest
	})
}

// Bin puts texts into the trash, in one commit.
func Bin(ctx context.Context, v *repo.Vault, call repo.Call, all []*Found) error {
	if len(all) == 0 {
		return nil
	}
	call.Outside = false // the trash is ours, and must not be somebody else's file
	_, err := v.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		for _, f := range all {
			if _, err := tx.Bin(ctx, vault.Path(f.Path), f.Text); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	return err
}
