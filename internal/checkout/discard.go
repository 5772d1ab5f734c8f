package checkout

import (
	"context"
	"errors"
	"slices"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/intake"
)

// discard writes the files of the batch that is held as the log says. Texts that no version of the
// vault has go to its trash first, so that nothing is lost by it.
func (b *batch) discard(ctx context.Context) error {
	if b.opt.ReadOnly {
		return fault.New(fault.ReadOnly, "the folder cannot be written, so nothing can be restored in it")
	}
	b.found = slices.DeleteFunc(b.found, func(f *found) bool { return !f.Kept })
	err := intake.InHalves(intake.Unknown(b.found), func(part []*found) error {
		return intake.Bin(ctx, b.vault, b.call(), part)
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.collect()
	b.write(ctx)
	for _, gone := range []bool{false, true} { // where names fold, a file is in the way of its other name
		for _, f := range b.found {
			if f.Gone() != gone {
				continue
			}
			if err := b.putBack(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// putBack makes one file what the log says, if it still is what was found. The caller holds mu.
func (b *batch) putBack(ctx context.Context, f *found) error {
	if f.Gone() {
		if _, note := b.at.File(f.Path); note {
			b.done.Restored++
		}
		return b.restore(ctx, f.Path)
	}
	now, _ := b.at.File(f.Path)
	err := b.replace(ctx, f.Path, now, f.Text)
	var met *blob.Found
	if errors.As(err, &met) {
		return nil // somebody changed it again: that is another edit
	}
	if err == nil {
		b.done.Restored++
		b.unsaved[f.Path] = true
	}
	return err
}
