package job

import (
	"context"
	"slices"
	"time"
)

// A Filter selects jobs. A job must satisfy all fields.
type Filter struct {
	State   State           // empty: any
	Kind    string          // empty: any
	Visible func(Item) bool // nil: all jobs
}

// matches reports whether the filter selects a job.
func (f Filter) matches(it Item) bool {
	return (f.State == "" || it.State == f.State) && (f.Kind == "" || it.Kind == f.Kind) &&
		(f.Visible == nil || f.Visible(it))
}

// List returns up to limit jobs, newest first, with ids before `before` if that is not empty; more
// reports whether there are others. An id contains its time, but the table can only be read
// forward, so List reads blocks of time, each twice as long as the one after it. The cost of a page
// is about proportional to its size.
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
		// One job more than limit shows that there are others.
		if items = append(items, block...); len(items) > limit {
			return items[:limit], true, nil
		}
		if upTo = from; from.Before(oldest) {
			return items, false, nil
		}
	}
}

// oldest returns the creation time of the oldest job, from its id; ok is false if there is none. It
// costs one read, because ids sort by time.
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

// block returns the selected jobs created in [from, upTo), newest first.
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
		if (before == "" || it.ID < before) && f.matches(it) {
			all = append(all, it)
		}
	}
	slices.Reverse(all)
	return all, nil
}
