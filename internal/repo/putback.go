package repo

import (
	"context"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// PutBack stages a file as it was at an earlier version: its text, the ids of its traits and nodes
// and, if there is no such file now, its times. then is the file in the index of that version.
//
// An id that another file has now is not taken from it, unless changes returns true for that file:
// then the call changes it too, and it may lose the id. If one id cannot be restored, no id of its
// kind (trait or node) is, and the index assigns new ones. The errors are those of Put.
func (tx *Tx) PutBack(ctx context.Context, then *index.File, changes func(path string) bool) error {
	text, err := tx.text(ctx, then.Body)
	if err != nil {
		return err
	}
	nodes := then.NodeIDs()
	for _, u := range nodes {
		if path := tx.Before().FileOf(u); path != "" && path != then.Path && !changes(path) {
			nodes = nil
			break
		}
	}
	was := eventlog.Note{Text: text, Nodes: index.PackUIDs(nodes)}
	if then.Note != nil {
		was.Traits = then.Note.TraitIDs()
		was.Past = storedPast(then.Note.AllTimes())
	}
	for _, id := range was.Traits {
		holder, _ := tx.Before().Trait(id)
		if holder != nil && holder.Note.Path != then.Path && !changes(holder.Note.Path) {
			was.Traits = nil
			break
		}
	}
	path := vault.Path(then.Path)
	if _, exists := tx.Before().File(then.Path); exists {
		return tx.PutNodes(ctx, path, text, was.Traits, nodes)
	}
	return tx.RestoreFile(ctx, path, was, 0)
}
