package repo

import (
	"context"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Move stages the move of a file to another path, with a new text. The note keeps its times, the
// ids of its traits and its history. A later Put to the new path keeps them too. Its errors are
// those of Remove and Put.
func (tx *Tx) Move(ctx context.Context, from, to vault.Path, text []byte) error {
	if err := tx.Remove(ctx, from); err != nil {
		return err
	}
	return tx.place(ctx, to, eventlog.Note{Text: text, From: string(from)})
}
