package intake

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Unknown returns those edits whose texts are in no version of the vault, so that they would be
// lost if the files were restored from the log.
func Unknown(all []*Found) []*Found {
	return slices.DeleteFunc(slices.Clone(all), func(f *Found) bool {
		return f.Gone() || f.Exact || f.From != nil && f.From.Before.Digest == f.Digest
	})
}

// Bin moves texts to the trash, in one commit.
func Bin(ctx context.Context, v *repo.Vault, call eventlog.Call, all []*Found) error {
	if len(all) == 0 {
		return nil
	}
	call.Outside = false // files in the trash belong to the vault, and must not be another program's
	_, err := v.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		for _, f := range all {
			if _, err := tx.Trash(ctx, vault.Path(f.Path), f.Text); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	return err
}
