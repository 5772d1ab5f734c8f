package eventlog

import (
	"context"
	"errors"
	"hash/crc32"
	"runtime/debug"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
)

// An image that is due by the number of commits is delayed while little was appended, relative to
// the size of the image in use: by publishEvery, and by publishEvery more for each publishBytes of
// that size. Images are kept for an hour, so this bounds the storage of the images of an hour,
// which does not grow with the vault.
const (
	publishEvery = time.Minute
	publishBytes = 16 << 20
)

// The life of an image: publish writes it; name records it in the control item, first as waiting if
// a follower has not passed its commit; supersede puts it in use. When the next image comes into
// use, it expires an hour later, except for the first image of a month, which is kept. dropImages
// deletes the expired ones. An image that was written but never named, because the process ended,
// is an orphan that sweepLeftovers deletes. An erasure deletes all images before it.

// imageDue reports whether an image is due (log.md §4): foldCommits commits or foldBytes bytes
// after the one in use, and also either a tenth of its size or some minutes after it was written.
// It depends only on stored data, so that processes that start for each pass do not write more
// images than one that keeps running.
func (l *Log[S]) imageDue(h *head[S], f Compaction) bool {
	if l.imageHeld(h, f) {
		return false
	}
	from := uint64(0)
	if h.control.Image != nil {
		from = h.control.Image.Seq
	}
	// An image that cannot be read must be replaced at once, because every start would read more of
	// the log.
	if h.seq > 0 && from == l.unusable.Load() && from > 0 {
		return true
	}
	commits, weight := h.seq-min(from, h.seq), h.weight-h.control.Image.weight()
	if f.All || commits == 0 || l.imageWanted.Load() {
		return commits > 0
	}
	if commits < foldCommits && weight < foldBytes {
		return false
	}
	if h.control.Image == nil || weight >= h.control.Image.Size/10 {
		return true
	}
	wait := publishEvery * time.Duration(1+h.control.Image.Size/publishBytes)
	return l.opt.Now().Sub(h.control.Image.At) >= wait
}

// imageHeld reports whether the image in use must not be replaced, because another release still
// needs it: a later release wrote it within the last hour, or an earlier one did and
// Compaction.Hold returns true. Two releases that run at once would otherwise replace each other's
// images again and again (docs/design/0066).
func (l *Log[S]) imageHeld(h *head[S], f Compaction) bool {
	i, own := h.control.Image, l.opt.Imaging.Format
	switch {
	case i == nil || i.State == own:
		return false
	case i.State > own:
		return l.opt.Now().Sub(i.At) < imageLife
	}
	return f.Hold != nil && f.Hold()
}

// weight returns the bytes of the log up to the image; 0 if i is nil.
func (i *Image) weight() int64 {
	if i == nil {
		return 0
	}
	return i.Weight
}

// WantImage makes an image due if there are commits after the last one. It is for callers that made
// many changes, after which none may follow for hours.
func (l *Log[S]) WantImage() { l.imageWanted.Store(true) }

// publish writes an image of a head with some sections, and returns its description for the
// control item. The image is not in use until name is called. yield is called between the steps; see
// Pass.Yield.
func (l *Log[S]) publish(
	ctx context.Context, h *head[S], all Sections, yield func(context.Context),
) (i Image, err error) {
	if err := l.keys.need(ctx); err != nil {
		return i, err
	}
	m, err := l.draw(ctx, h, all, yield)
	if err != nil {
		return i, err
	}
	whole := m.whole()
	i = Image{
		Format: imageFormat, Seq: h.seq, Time: h.time, Head: m.start + m.State, Size: whole.Size(),
		At: l.opt.Now().UTC().Round(0), Weight: h.weight, State: l.opt.Imaging.Format,
	}
	if i.Items, err = l.putImageItems(ctx, i, m); err == nil && i.Items == 0 {
		_, err = blob.PutPieces(ctx, l.opt.Bucket, i.key(), whole, blob.Always)
	}
	if err != nil {
		return i, NotCompacted(err)
	}
	l.imageWanted.Store(false)
	return i, nil
}

// largeState is the size of an encoded state in bytes from which garbage is collected when an image
// was encoded, which is when a process needs the most memory.
const largeState = 8 << 20

// draw encodes an image of a head. The head of the image names the segments up to the segments cursor,
// so that a start need not list the bucket.
func (l *Log[S]) draw(
	ctx context.Context, h *head[S], all Sections, yield func(context.Context),
) (*drawnImage, error) {
	m := &drawnImage{sections: all, imageHead: imageHead{
		Format: imageFormat, Seq: h.seq, Time: h.time, Hash: h.hash, Status: h.status, Weight: h.weight,
		Folded: l.head.Load().control.Cursors[segmentsCursor].Seq,
	}}
	var err error
	if m.Segments, err = l.segments.upTo(ctx, m.Folded); err != nil {
		return nil, NotCompacted(err)
	}
	yield(ctx)
	m.state = l.opt.Imaging.Draw(h.state)
	yield(ctx)
	if m.state.Size() >= largeState {
		debug.FreeOSMemory() // what the state was encoded with
	}
	m.keys = appendKeys(nil, l.keys.entries(h.seq, dayBefore(h.time, l.opt.Now())))
	m.KeysSum = crc32.Checksum(m.keys, castagnoli())
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m, m.seal()
}

// name puts an image in use if every follower has passed it; otherwise it records the image as
// waiting in the control item. Therefore a process that starts from an image never needs to report
// earlier commits to a follower.
func (l *Log[S]) name(ctx context.Context, f Compaction, i Image) error {
	now, behind := l.opt.Now().UTC(), false
	err := l.Change(ctx, func(c *Control) bool {
		if behind = c.behind(f) < i.Seq; behind {
			return c.wait(i)
		}
		waited := c.Waiting != nil && c.Waiting.Seq <= i.Seq
		if waited {
			c.Waiting = nil
		}
		return c.supersede(i, now) || waited
	})
	if err == nil && !behind {
		l.unusable.CompareAndSwap(i.Seq, 0)
	}
	return err
}

// wait records an image that is not in use yet, and reports whether it was recorded. It refuses an
// image that contains erased data, and one that is not newer than the waiting one.
func (c *Control) wait(i Image) bool {
	if i.Seq < c.Erased || c.Waiting != nil && c.Waiting.Seq >= i.Seq {
		return false
	}
	c.Waiting = &i
	return true
}

// supersede puts an image in use, and reports whether that changed the control item. The image
// before is kept for an hour, because a process may be about to read it. The first image of a month
// does not expire, so that past states can be built without replaying the whole log.
func (c *Control) supersede(i Image, now time.Time) bool {
	if i.Seq < c.Erased {
		return false // it contains data that was erased since
	}
	if c.Image != nil {
		if c.Image.Seq > i.Seq || c.Image.is(i) {
			return false
		}
		if old := *c.Image; old.Seq < i.Seq {
			if c.hasOf(old.Time) {
				old.Until = now.Add(imageLife)
			}
			c.Images = append(c.Images, old)
		}
	}
	c.Image = &i
	return true
}

// hasOf reports whether there is an image of the month of t that does not expire.
func (c *Control) hasOf(t time.Time) bool {
	year, month, _ := t.UTC().Date()
	return slices.ContainsFunc(c.Images, func(i Image) bool {
		y, m, _ := i.Time.UTC().Date()
		return i.Until.IsZero() && y == year && m == month
	})
}

// dropImages deletes the images that have expired. They are removed from the control item first.
func (l *Log[S]) dropImages(ctx context.Context) error {
	now := l.opt.Now()
	over := func(i Image) bool { return !i.Until.IsZero() && !now.Before(i.Until) }
	if !slices.ContainsFunc(l.head.Load().control.Images, over) {
		return nil
	}
	var gone []Image
	err := l.Change(ctx, func(c *Control) bool {
		gone = nil
		c.Images = slices.DeleteFunc(slices.Clone(c.Images), func(i Image) bool {
			if over(i) {
				gone = append(gone, i)
			}
			return over(i)
		})
		return len(gone) > 0
	})
	for _, i := range gone {
		err = errors.Join(err, l.deleteImage(ctx, i))
	}
	return err
}
