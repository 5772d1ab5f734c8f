package job

import (
	"context"
	"slices"
	"time"
)

// A Filter says which jobs are listed: those for which all that it says is so.
type Filter struct {
	State State           // empty: any
	Kind  string          // empty: any
	Seen  func(Item) bool // nil: all
}

func (f Filter) wants(it Item) bool {
	return (f.State == "" || it.State == f.State) && (f.Kind == "" || it.Kind == f.Kind) &&
		(f.Seen == nil || f.Seen(it))
}

// List returns jobs, the newest first, those before an id if there is one, and whether there are more. A table
// is read forwards only: blocks of time are, each twice as long as the one after it, so that a page costs
// about what it shows.
func (j *Jobs) List(
	ctx context.Context, f Filter, before string, limit int,
) (items []Item, more bool, err error) {
	oldest, ok, err := j.oldest(ctx)
	if err != nil || !ok {
		return nil, false, err
	}
	now := j.opt.Now()
	from, upTo := now, now.Add(24*time.Hour) // the clock of another process may be ahead
	if at, ok := timeOf(before); ok {
		from, upTo = at, at.Add(time.Millisecond)
	}
	for span := time.Minute; ; span *= 2 {
		from = from.Add(-span)
		block, err := j.block(ctx, f, from, upTo, before)
		if err != nil {
			return nil, false, err
		}
		if items = append(items, block...); len(items) > limit {
			return items[:limit], true, nil
		}
		if upTo = from; from.Before(oldest) {
			return items, false, nil
		}
	}
}

// oldest is when the oldest job was made that there is.
func (j *Jobs) oldest(ctx context.Context) (at time.Time, ok bool, err error) {
	for row, err := range j.opt.Table.Query(ctx, Part, jobPrefix, jobPrefix+last) {
		if err != nil {
			return at, false, unknown(err)
		}
		at, ok = timeOf(row.Sort[len(jobPrefix):])
		return at, ok, nil
	}
	return at, false, nil
}

// block returns the jobs from one time up to another, newest first.
func (j *Jobs) block(
	ctx context.Context, f Filter, from, upTo time.Time, before string,
) ([]Item, error) {
	var all []Item
	rows := j.opt.Table.Query(ctx, Part, jobPrefix+firstID(from), jobPrefix+firstID(upTo))
	for row, err := range rows {
		if err != nil {
			return nil, unknown(err)
		}
		it, err := read(row)
		if err != nil {
			return nil, err
		}
		if (before == "" || it.ID < before) && f.wants(it) {
			all = append(all, it)
		}
	}
	slices.Reverse(all)
	return all, nil
}
