package checkout

import (
	"context"
	"errors"
	"slices"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// discard writes the files of the batch that is held as the log says. Texts that no version of the
// vault has go to its trash first, so that nothing is lost by it.
func (b *batch) discard(ctx context.Context) error {
	if b.opt.ReadOnly {
		return fault.New(fault.ReadOnly, "the folder cannot be written, so nothing can be put back in it")
	}
	b.found = slices.DeleteFunc(b.found, func(f *found) bool { return !f.kept })
	unknown := slices.DeleteFunc(slices.Clone(b.found), func(f *found) bool {
		return f.gone() || f.exact || f.from != nil && f.from.before.Digest == f.digest
	})
	err := inHalves(unknown, func(part []*found) error { return b.bin(ctx, part) })
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.collect()
	b.write(ctx)
	for _, gone := range []bool{false, true} { // where names fold, a file is in the way of its other name
		for _, f := range b.found {
			if f.gone() != gone {
				continue
			}
			if err := b.putBack(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// bin puts texts into the trash, in one commit.
func (b *batch) bin(ctx context.Context, all []*found) error {
	if len(all) == 0 {
		return nil
	}
	call := b.call()
	call.Outside = false // the trash is ours, and must not be somebody else's file
	_, err := b.vault.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		for _, f := range all {
			if _, err := tx.Bin(ctx, vault.Path(f.path), f.text); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	return err
}

// putBack makes one file what the log says, if it still is what was found. The caller holds mu.
func (b *batch) putBack(ctx context.Context, f *found) error {
	if f.gone() {
		if _, note := b.at.File(f.path); note {
			b.done.Restored++
		}
		return b.restore(ctx, f.path)
	}
	now, _ := b.at.File(f.path)
	err := b.replace(ctx, f.path, now, f.text)
	var met *blob.Found
	if errors.As(err, &met) {
		return nil // somebody changed it again: that is another edit
	}
	if err == nil {
		b.done.Restored++
		b.unsaved[f.path] = true
	}
	return err
}
