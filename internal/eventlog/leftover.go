package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/table"
)

// payloadPrefix is the prefix of the keys of payload objects.
const payloadPrefix = "payload/"

// sweepLeftovers deletes orphans once a day: payloads of lost appends and of runs that are in
// segments, images that never came into use, and items up to the low mark. A payload is written at
// most five minutes before its append is sent, so an unreferenced object that is a day old is not
// needed (log.md §2.4).
func (l *Log[S]) sweepLeftovers(ctx context.Context) error {
	now := l.opt.Now().UTC()
	if known := l.head.Load().control; !known.sweepDue(now) {
		return nil
	}
	c, err := l.Control(ctx)
	if err != nil || !c.sweepDue(now) {
		return err
	}
	err = errors.Join(
		l.sweepObjects(ctx, payloadPrefix, now, func(key string) (bool, error) {
			return l.namesPayload(ctx, c, key)
		}),
		l.sweepObjects(ctx, imagePrefix, now, func(key string) (bool, error) {
			return c.namesImage(key), nil
		}),
		l.sweepImageItems(ctx, c, now),
		l.removeItems(ctx, c.Low),
	)
	if err != nil {
		return err
	}
	return l.Change(ctx, func(c *Control) bool {
		c.Swept = now
		return true
	})
}

// sweepDue reports whether leftoverLife has passed since the last search for orphans, or since the
// log was created.
func (c *Control) sweepDue(now time.Time) bool {
	last := c.Swept
	if last.IsZero() {
		last = c.Made
	}
	return now.Sub(last) >= leftoverLife
}

// sweepObjects deletes the objects under a prefix that are at least leftoverLife old and for which
// named returns false.
func (l *Log[S]) sweepObjects(
	ctx context.Context, prefix string, now time.Time, named func(key string) (bool, error),
) error {
	var old []blob.Object
	for o, err := range l.opt.Bucket.List(ctx, prefix) {
		if err != nil {
			return fmt.Errorf("look for leftovers: %w", err)
		}
		if now.Sub(o.Modified) >= leftoverLife {
			old = append(old, o)
		}
	}
	for _, o := range old {
		is, err := named(o.Key)
		if err == nil && !is {
			err = l.opt.Bucket.Delete(ctx, o.Key)
		}
		if err != nil {
			return fmt.Errorf("delete a leftover: %w", err)
		}
	}
	return nil
}

// namesPayload reports whether the payload object with this key is in use: whether a run in the
// table refers to it. It returns true for keys that are not those of payloads, and if the run
// cannot be read.
func (l *Log[S]) namesPayload(ctx context.Context, c Control, key string) (bool, error) {
	digits, _, _ := strings.Cut(strings.TrimPrefix(key, payloadPrefix), "-")
	first, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || first <= c.Low {
		return err != nil, nil // an unknown name is not ours to delete
	}
	it, err := l.opt.Table.Get(ctx, table.Key{Part: l.opt.Part, Sort: runKey(first)})
	if errors.Is(err, table.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	r, _, err := readItem(it.Data)
	return err != nil || r.Object == key, err
}

// sweepImageItems removes items of images that are at least leftoverLife old and that the control
// item does not refer to.
func (l *Log[S]) sweepImageItems(ctx context.Context, c Control, now time.Time) error {
	if !l.opt.ImageItems {
		return nil
	}
	return l.removeImageItems(ctx, func(seq uint64, n int, at time.Time) bool {
		return now.Sub(at) >= leftoverLife && !c.names(func(i Image) bool { return i.Seq == seq && n <= i.Items })
	})
}

// namesImage reports whether the control item refers to the image object with this key, or may come
// to refer to it.
func (c Control) namesImage(key string) bool {
	return c.names(func(i Image) bool { return i.Items == 0 && i.key() == key })
}

// names reports whether the control item refers to an image for which is returns true. It also
// returns true if there is no image in use, because any may come into use then.
func (c Control) names(is func(Image) bool) bool {
	return c.Image == nil || is(*c.Image) || c.Waiting != nil && is(*c.Waiting) || slices.ContainsFunc(c.Images, is)
}
