package raven_test

import (
	"context"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// outside takes in a file that somebody changed.
func outside(path, text string) func(context.Context, *repo.Tx) (any, error) {
	return func(ctx context.Context, tx *repo.Tx) (any, error) {
		return nil, tx.TakeIn(ctx, vault.Path(path), repo.Outside{Text: []byte(text), Found: []byte(text)})
	}
}
