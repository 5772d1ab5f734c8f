package repo

import (
	"context"

	"rookery/internal/vault"
)

// Move stages that a file goes to another path, with a text. The note there goes on with the times, the ids of
// traits and the history of the one that moves. A later Put of the new path keeps that.
func (tx *Tx) Move(ctx context.Context, from, to vault.Path, text []byte) error {
	if err := tx.Remove(ctx, from); err != nil {
		return err
	}
	return tx.place(ctx, to, Note{Text: text, From: string(from)})
}
