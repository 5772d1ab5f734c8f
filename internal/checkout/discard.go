package checkout

import (
	"context"
	"errors"
	"slices"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/intake"
)

// discard restores the files of the held batch from the log. Texts that are in no version of the
// vault are moved to its trash first, so that they are not lost. Edits that are not held stay
// pending.
//
// It returns READ_ONLY if the folder cannot be written. If it is interrupted between the commit to
// the trash and the last file, a repetition finds these texts in the vault, and continues with the
// files.
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
	for _, gone := range []bool{false, true} { // if names fold, a file must be removed before its other name is written
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

// putBack restores one file from the log, unless it has changed since it was found: then it stays,
// and is another edit. A file that the log does not have is removed. The caller holds mu.
func (b *batch) putBack(ctx context.Context, f *found) error {
	if f.Gone() {
		if _, note := b.at.File(f.Path); note {
			b.done.Restored++
		}
		return b.restore(ctx, f.Path)
	}
	now, _ := b.at.File(f.Path)
	err := b.replace(ctx, f.Path, &change{after: now}, f.Text)
	var met *blob.Found
	if errors.As(err, &met) {
		return nil // it was changed again, which is another edit
	}
	if err == nil {
		b.done.Restored++
		b.unsaved[f.Path] = true
	}
	return err
}
