package repo

import (
	"context"
	"errors"
	"hash/crc32"
	"slices"
	"time"

	"rookery/internal/blob"
)

// publishEvery is how long an image is waited for at most that is due by the number of commits, while
// what came since is little beside the image: so long for each publishBytes of it. So what the images
// of an hour take, which is how long they are kept, does not grow with the vault.
const (
	publishEvery = time.Minute
	publishBytes = 16 << 20
)

// imageDue reports whether an image is due: 500 commits or 1 MB behind the one in force, and a tenth
// of its size, or some minutes after the last one (log.md §4). It follows from what is stored alone, so
// that processes which begin for each pass make no more images than one that goes on.
func (l *Log[S]) imageDue(h *head[S], f Folding) bool {
	if l.imageHeld(h, f) {
		return false
	}
	from := uint64(0)
	if h.control.Image != nil {
		from = h.control.Image.Seq
	}
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

// imageHeld reports whether no image may be put in the place of the one in force, because another release still
// needs it: a later release made it within the last hour, or an earlier one did and Folding.Hold holds. Two releases
// that run at once would otherwise replace each other's images again and again (docs/design/0066).
func (l *Log[S]) imageHeld(h *head[S], f Folding) bool {
	i, own := h.control.Image, l.opt.Imaging.Format
	switch {
	case i == nil || i.State == own:
		return false
	case i.State > own:
		return l.opt.Now().Sub(i.At) < imageLife
	}
	return f.Hold != nil && f.Hold()
}

// weight is how many bytes the log has up to the image; nil: none.
func (i *Image) weight() int64 {
	if i == nil {
		return 0
	}
	return i.Weight
}

// WantImage makes an image due, if anything came since the last one: after many changes that none may
// follow for hours.
func (v *Vault) WantImage() { v.log.imageWanted.Store(true) }

// A made is an image that was put, and its head.
type made struct {
	imageHead
	data []byte
}

// state and search are those sections of the image. They are parts of it.
func (m *made) state() []byte  { return m.data[m.start : m.start+m.State : m.start+m.State] }
func (m *made) search() []byte { return m.data[m.searchAt() : m.searchAt()+m.Search] }

// memories is what a search of memories needs; empty: there is none.
func (m *made) memories() []byte {
	if m.Memories == 0 {
		return nil
	}
	return m.data[m.memoriesAt() : m.memoriesAt()+m.Memories]
}

// A searchSection writes what a search needs into an image. Size is about how many bytes that takes; a
// nil add writes nothing.
type searchSection struct {
	size int64
	add  func(b []byte) []byte
}

// SearchSections are what searches of notes and of memories need.
type searchSections struct{ notes, memories searchSection }

// publish puts an image of a head, with what a search of it needs, and returns what the control item says of
// it. It is named when every follower has passed it. The image is in memory once, in the buffer that it is
// written to.
func (l *Log[S]) publish(ctx context.Context, h *head[S], search searchSections) (i Image, m *made, err error) {
	if err := l.keys.need(ctx); err != nil {
		return i, nil, err
	}
	if m, err = l.draw(ctx, h, search); err != nil {
		return i, nil, err
	}
	i = Image{
		Format: imageFormat, Seq: h.seq, Time: h.time, Head: m.start + m.State, Size: int64(len(m.data)),
		At: l.opt.Now().UTC().Round(0), Weight: h.weight, State: l.opt.Imaging.Format,
	}
	if i.Items, err = l.putImageItems(ctx, i, m); err == nil && i.Items == 0 {
		_, err = l.opt.Bucket.Put(ctx, i.key(), m.data, blob.Always)
	}
	if err != nil {
		return i, nil, notFolded(err)
	}
	l.imageWanted.Store(false)
	return i, m, nil
}

// draw makes an image of a head.
func (l *Log[S]) draw(ctx context.Context, h *head[S], search searchSections) (*made, error) {
	m := &made{imageHead: imageHead{
		Format: imageFormat, Seq: h.seq, Time: h.time, Hash: h.hash, Status: h.status, Weight: h.weight,
		Folded: l.head.Load().control.Cursors[segmentsCursor].Seq,
	}}
	var err error
	if m.Segments, err = l.segments.upTo(ctx, m.Folded); err != nil {
		return nil, notFolded(err)
	}
	d := newDraftImage(l.room(h)+search.notes.size+search.memories.size, len(m.Segments))
	m.State = d.section(func(b []byte) []byte { return l.opt.Imaging.Append(b, h.state) })
	keys := appendKeys(nil, l.keys.entries(h.seq, dayBefore(h.time, l.opt.Now())))
	m.KeysSum = crc32.Checksum(keys, castagnoli())
	m.Keys = d.section(func(b []byte) []byte { return append(b, keys...) })
	if search.notes.add != nil {
		m.Search = d.section(search.notes.add)
	}
	if search.memories.add != nil {
		m.Memories = d.section(search.memories.add)
	}
	m.data, err = d.seal(&m.imageHead)
	return m, err
}

// room is about how many bytes an image of a head takes beside what a search needs: an eighth more than
// the one in force. Of the first image it is not known.
func (l *Log[S]) room(h *head[S]) int64 {
	if h.control.Image == nil {
		return 0
	}
	return h.control.Image.Head + h.control.Image.Head/8
}

// name puts an image in force, if every follower has passed it; else it waits in the control item. So a
// process that starts from an image has never to tell a follower of what came before it.
func (l *Log[S]) name(ctx context.Context, f Folding, i Image) error {
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

// wait notes an image that is there and not in force, and reports whether there was none as new.
func (c *Control) wait(i Image) bool {
	if i.Seq < c.Erased || c.Waiting != nil && c.Waiting.Seq >= i.Seq {
		return false
	}
	c.Waiting = &i
	return true
}

// supersede puts an image in force. The one before stays for an hour, for somebody may have read of it
// just now; the first of a month stays, so that what was can be seen without folding all of it again.
func (c *Control) supersede(i Image, now time.Time) bool {
	if i.Seq < c.Erased {
		return false // it has what was erased since
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

// hasOf reports whether an image of the month of a time is kept.
func (c *Control) hasOf(t time.Time) bool {
	year, month, _ := t.UTC().Date()
	return slices.ContainsFunc(c.Images, func(i Image) bool {
		y, m, _ := i.Time.UTC().Date()
		return i.Until.IsZero() && y == year && m == month
	})
}

// dropImages deletes the images whose time is over. They leave the control item first.
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
