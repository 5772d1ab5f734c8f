package eventlog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/table"
)

// Recover creates a log whose table is lost from its segments, up to the last commit in them, and
// returns that commit. Later commits are lost. It returns INDEX_ERROR if the segments do not
// continue each other, ErrNoLog if there are none, and ErrLogExists if the log exists. Nothing is
// copied into the table, because a log need not have runs there.
func (l *Log[S]) Recover(ctx context.Context) (uint64, error) {
	last, made, err := l.segments.chained(ctx)
	if err != nil {
		return 0, err
	}
	if last == 0 {
		return 0, ErrNoLog
	}
	c := Control{
		Made: made, Low: last, Cursors: map[string]Cursor{segmentsCursor: {Seq: last}},
	}
	// Without images, a start would read all segments.
	if err := l.findImages(ctx, &c); err != nil {
		return 0, err
	}
	return last, l.create(ctx, c)
}

// chained returns the last commit in the segments and the time of the first commit. The segments
// must form one chain from the first commit; otherwise it returns INDEX_ERROR. It reads only their
// directories. last is 0 if there are no segments.
func (s *segments) chained(ctx context.Context) (last uint64, made time.Time, err error) {
	s.forget()
	var hash []byte
	for {
		d, err := s.holding(ctx, last+1)
		if errors.Is(err, errNoSegment) {
			return last, made, s.behind(last)
		}
		if err != nil {
			return last, made, err
		}
		// Segments of different histories may overlap after a restore.
		if d.First != last+1 || !bytes.Equal(d.Prev, hash) {
			return last, made, offChain(d.First, nil)
		}
		if last == 0 {
			made = d.Runs[0].Time
		}
		last, hash = d.Last, d.Hash
	}
}

// behind returns INDEX_ERROR if there is a segment after commit last: then one is missing in
// between.
func (s *segments) behind(last uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.firsts); n > 0 && s.firsts[n-1] > last {
		return offChain(last+1, errors.New("a segment is missing"))
	}
	return nil
}

// findImages adds the images in the bucket that are not after the low mark to the control item. It
// skips images that cannot be read.
func (l *Log[S]) findImages(ctx context.Context, c *Control) error {
	prefix := fmt.Sprintf("%s%d/", imagePrefix, imageFormat)
	now := l.opt.Now().UTC()
	for o, err := range l.opt.Bucket.List(ctx, prefix) {
		if err != nil {
			return notNow(ctx, "the images of the log cannot be listed", err)
		}
		seq, err := strconv.ParseUint(strings.TrimPrefix(o.Key, prefix), 10, 64)
		if err != nil || seq > c.Low {
			continue
		}
		i := Image{Format: imageFormat, Seq: seq, Size: o.Size}
		if h, err := l.headOf(ctx, i); err == nil {
			i.Time, i.Head = h.Time, h.start+h.State
			c.supersede(i, now)
		}
	}
	return nil
}

// firstOfImage is how many bytes of an image usually contain its head. If it names many segments,
// it is longer.
const firstOfImage = 4 << 10

// BaseOf reads the head of an image. For an image in items, the other sections come with it.
func (l *Log[S]) BaseOf(ctx context.Context, i Image) (*OpenImage, error) {
	if i.Items == 0 {
		h, err := l.headOf(ctx, i)
		return &OpenImage{image: i, head: h}, err
	}
	data, rest, err := l.readImageItems(ctx, i)
	if err != nil {
		return nil, err
	}
	h, err := readImageHead(data)
	return &OpenImage{i, h, rest}, err
}

// headOf reads the head of an image that is an object. Of the description i, it uses only the
// commit.
func (l *Log[S]) headOf(ctx context.Context, i Image) (imageHead, error) {
	data, _, err := l.opt.Bucket.Get(ctx, i.key(), 0, firstOfImage)
	if err != nil {
		return imageHead{}, err
	}
	if size := imageHeadSize(data); size > int64(len(data)) {
		if data, _, err = l.opt.Bucket.Get(ctx, i.key(), 0, size); err != nil {
			return imageHead{}, err
		}
	}
	h, err := readImageHead(data)
	if err == nil && h.Seq != i.Seq {
		err = errImage
	}
	return h, err
}

// Discard deletes the segments and images of a log whose table is lost. It returns ErrLogExists,
// and deletes nothing, if the log exists. It stops at the first error, and can be repeated.
func (l *Log[S]) Discard(ctx context.Context) error {
	if _, err := l.Control(ctx); !errors.Is(err, ErrNoLog) {
		return cmp.Or(err, ErrLogExists)
	}
	for _, prefix := range []string{segmentPrefix, imagePrefix} {
		for o, err := range l.opt.Bucket.List(ctx, prefix) {
			if err == nil {
				err = l.opt.Bucket.Delete(ctx, o.Key)
			}
			if err != nil {
				return fmt.Errorf("delete what is left of a log: %w", err)
			}
		}
	}
	return nil
}

// CreateNew creates the log if it does not exist. It returns ErrLogExists if there are segments of
// a log whose table is lost.
func (l *Log[S]) CreateNew(ctx context.Context) error {
	if _, err := l.Control(ctx); !errors.Is(err, ErrNoLog) {
		return err
	}
	switch _, err := l.segments.holding(ctx, 1); {
	case err == nil:
		return ErrLogExists
	case !errors.Is(err, errNoSegment):
		return err
	}
	if err := l.Create(ctx); !errors.Is(err, ErrLogExists) {
		return err
	}
	return nil
}

// create writes the control item, in the current format and with revision 1. It returns
// ErrLogExists if there is one.
func (l *Log[S]) create(ctx context.Context, c Control) error {
	c.Format, c.Rev = controlFormat, 1
	data, err := c.encode()
	if err != nil {
		return err
	}
	ops := []table.Op{table.Create(table.Item{
		Key: table.Key{Part: l.opt.Part, Sort: controlKey}, Data: data,
	})}
	if l.opt.Listed != (table.Key{}) {
		ops = append(ops, table.Set(table.Item{Key: l.opt.Listed}))
	}
	err = l.opt.Table.Commit(ctx, ops...)
	var conflict *table.Conflict
	switch {
	case errors.As(err, &conflict):
		return ErrLogExists
	case errors.Is(err, table.ErrLimit):
		return fmt.Errorf("make a log: %w", err)
	case err != nil:
		return unknown(err)
	}
	return nil
}
