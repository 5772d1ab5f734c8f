package repo

import (
	"context"
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
)

// EraseMemory removes a memory and its links, the chapters that quote it and the wisdom that quotes
// those. It erases the histories of all these: the parts of every commit that contain them, and the
// answers of calls; see EraseNote. It returns NOT_FOUND if no version has the memory.
func (v *Vault) EraseMemory(ctx context.Context, c eventlog.Call, id string) (ErasedNote, error) {
	head, err := v.Read(ctx)
	if err != nil {
		return ErasedNote{}, err
	}
	past := history{items: map[memory.Ref]bool{
		{Kind: memory.KindMemory, ID: id}: true, {Kind: memory.KindLinks, ID: id}: true,
	}}
	if err := past.read(ctx, v, head.Version()); err != nil {
		return ErasedNote{}, err
	}
	// The pass must know where to look for the commit before the commit exists: the process may
	// crash in between.
	if !c.DryRun {
		if err := v.log.BeginErasing(ctx, head.Version()); err != nil {
			return ErasedNote{}, err
		}
	}
	return v.eraseBy(ctx, c, func(ctx context.Context, tx *Tx) (ErasedNote, error) {
		return past.eraseItems(ctx, tx, id)
	})
}

// eraseItems stages the removal of the items, and the record of the erased parts.
func (h *history) eraseItems(ctx context.Context, tx *Tx, id string) (ErasedNote, error) {
	now := h.clone()
	if err := now.readAll(ctx, tx); err != nil {
		return ErasedNote{}, err
	}
	if len(now.parts) == 0 {
		return ErasedNote{}, fault.New(fault.NotFound, "no version has a memory %s", id).With("id", id)
	}
	for _, ref := range slices.SortedFunc(maps.Keys(now.items), memory.Ref.Compare) {
		if err := tx.RemoveItem(ref.Kind, ref.ID); err != nil {
			return ErasedNote{}, err
		}
	}
	at, c := tx.draft.At(), tx.draft.Commit()
	for i := range c.Items {
		now.parts = append(now.parts, ownPart{PartRef: eventlog.PartRef{Run: at.Run, Part: at.Part + len(c.Notes) + i}})
	}
	return now.record(tx, ErasedNote{})
}
