package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/blob"
)

// Rollback makes the bucket consistent with a table that was restored to an earlier time. It writes
// payload objects again that have been deleted since, from segments, and deletes the segments after
// the segments cursor, which may belong to another history. It returns how many segments it
// deleted. During the call nothing may be written to the log and no compaction pass may run. A
// second call does nothing. After an error it can be repeated; dropped is then the number of
// segments deleted so far.
func (l *Log[S]) Rollback(ctx context.Context) (dropped int, err error) {
	c, err := l.Control(ctx)
	if err != nil {
		return 0, err
	}
	folded := c.Cursors[segmentsCursor].Seq
	l.segments.forget()
	if err := l.bringBack(ctx, folded); err != nil {
		return 0, err
	}
	defer l.segments.forget()
	for o, err := range l.opt.Bucket.List(ctx, segmentPrefix) {
		if err != nil {
			return dropped, segmentUnread(ctx, 0, err)
		}
		first, err := strconv.ParseUint(strings.TrimPrefix(o.Key, segmentPrefix), 10, 64)
		if err != nil || first <= folded {
			continue
		}
		if err := l.opt.Bucket.Delete(ctx, o.Key); err != nil {
			return dropped, NotCompacted(fmt.Errorf("delete a segment: %w", err))
		}
		dropped++
	}
	return dropped, nil
}

// bringBack writes the missing payload objects of runs in the table again, from segments.
func (l *Log[S]) bringBack(ctx context.Context, folded uint64) error {
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(folded+1), runKey(MaxSeq)) {
		if err != nil {
			return Unreadable(ctx, err)
		}
		r, _, err := readItem(it.Data)
		if err != nil {
			return Damaged(0, err)
		}
		if r.Object == "" {
			continue
		}
		if _, _, err := l.opt.Bucket.Get(ctx, r.Object, 0, 0); !errors.Is(err, blob.ErrNotExist) {
			if err != nil {
				return notNow(ctx, "a payload of the log cannot be read", err)
			}
			continue
		}
		_, packed, err := l.segments.packed(ctx, r.First)
		if err != nil {
			return Damaged(r.First, err)
		}
		_, err = l.opt.Bucket.Put(ctx, r.Object, packed, blob.IfAbsent)
		if err != nil && !errors.Is(err, blob.ErrCondition) {
			return NotCompacted(err)
		}
	}
	return nil
}
