package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"
)

// A logReader is one call that reads the log. It counts its cost, which is bounded for each call, in
// spent, which the caller reads too. The bound is checked by the caller, between entries.
type logReader struct {
	log  Refusals
	now  time.Time
	cost *int
}

// Limits of reading the log in one call.
const (
	// maxCost is the maximum cost of one call, in entries read.
	maxCost = 5000

	// archiveCost is the cost of reading an archive, in entries.
	archiveCost = 50

	// window is the number of days for which archives are looked up with one Query.
	window = 8
)

// backward yields the entries with keys in the closed interval from `from` to `to`, newest first and
// each once. An entry that is archived meanwhile is not missed, because each block of the table is
// read before its archives are looked up.
func (r logReader) backward(ctx context.Context, from, to string) iter.Seq2[keyedEntry, error] {
	return func(yield func(keyedEntry, error) bool) {
		for b, err := range r.log.blocks(ctx, from, to, r.now) {
			if err != nil {
				yield(keyedEntry{}, err)
				return
			}
			if !r.mergeArchives(ctx, b, yield) {
				return
			}
		}
	}
}

// mergeArchives yields the entries of a block, merged with those of the archives in its range, newest first.
// An entry that is in both, because it is being archived, is yielded once. It reports whether the
// loop continues.
func (r logReader) mergeArchives(ctx context.Context, b block, yield func(keyedEntry, error) bool) bool {
	fresh := b.entries
	for k, err := range r.archived(ctx, b.from, b.to) {
		for err == nil && len(fresh) > 0 && fresh[len(fresh)-1].Key >= k.Key {
			newest := fresh[len(fresh)-1]
			if fresh = fresh[:len(fresh)-1]; newest.Key > k.Key && !yield(newest, nil) {
				return false
			}
		}
		if !yield(k, err) || err != nil {
			return false
		}
	}
	for _, k := range slices.Backward(fresh) {
		if !yield(k, nil) {
			return false
		}
	}
	return true
}

// archived yields the entries in archives, newest first. It looks up the archives of window days at
// a time, from the newest day on, so that the first entries cost one Query whatever the age of the
// log.
func (r logReader) archived(ctx context.Context, from, to string) iter.Seq2[keyedEntry, error] {
	return func(yield func(keyedEntry, error) bool) {
		h, _, err := r.log.readHead(ctx)
		if err != nil {
			yield(keyedEntry{}, err)
			return
		}
		first, last := h.Oldest, h.Newest
		if from != "" {
			first = max(first, dayOf(from))
		}
		if to < headKey {
			last = min(last, dayOf(to))
		}
		for last != "" && last >= first {
			begin := max(first, daysBefore(last, window-1))
			days, err := r.days(ctx, begin, last)
			if err != nil {
				yield(keyedEntry{}, err)
				return
			}
			for _, spans := range slices.Backward(days) {
				if !r.day(ctx, within(spans, from, to), yield) {
					return
				}
			}
			last = daysBefore(begin, 1)
		}
	}
}

// daysBefore returns the day n days before another.
func daysBefore(day string, n int) string {
	t, _ := time.Parse(time.DateOnly, day) // dayOf returned it
	return t.AddDate(0, 0, -n).Format(time.DateOnly)
}

// days returns the spans of the archives from one day to another, grouped by day, oldest first. It
// costs one Query.
func (r logReader) days(ctx context.Context, first, last string) ([][]archiveSpan, error) {
	var days [][]archiveSpan
	day := ""
	for it, err := range r.log.table.Query(ctx, partArchives, first, last+"/"+headKey) {
		if err != nil {
			return nil, unread(err)
		}
		var s archiveSpan
		if err := json.Unmarshal(it.Data, &s); err != nil {
			return nil, broken("the item of an archive cannot be read", err)
		}
		if of := it.Sort[:min(len(it.Sort), len(time.DateOnly))]; of != day {
			day, days = of, append(days, nil)
		}
		days[len(days)-1] = append(days[len(days)-1], s)
	}
	return days, nil
}

// An archiveRange is an archive with the range of its entries that are requested.
type archiveRange struct {
	archiveSpan
	from, to string
}

// within returns the archives that may have entries with keys in a range.
func within(all []archiveSpan, from, to string) []archiveRange {
	var parts []archiveRange
	for _, s := range all {
		if s.Last >= from && s.First <= to {
			parts = append(parts, archiveRange{s, from, to})
		}
	}
	return parts
}

// day yields the requested entries of archives that may overlap, newest first. An archive is read
// only when the next entry may be in it. It reports whether the loop continues.
//
// Archives of one day overlap if processes with different clocks wrote entries, or if one was
// written late. The archives are visited by their last key; entries with greater keys than the last
// key of the next archive cannot be in it or in a later one, so they are yielded before it is read.
func (r logReader) day(
	ctx context.Context, parts []archiveRange, yield func(keyedEntry, error) bool,
) bool {
	slices.SortFunc(parts, func(a, b archiveRange) int { return cmp.Compare(b.Last, a.Last) })
	var read []keyedEntry // not yielded yet, oldest first
	emit := func(behind string) bool {
		for len(read) > 0 && read[len(read)-1].Key > behind {
			k := read[len(read)-1]
			if read = read[:len(read)-1]; !yield(k, nil) {
				return false
			}
		}
		return true
	}
	for _, p := range parts {
		if !emit(p.Last) {
			return false
		}
		some, err := r.entries(ctx, p)
		if err != nil {
			yield(keyedEntry{}, err)
			return false
		}
		read = append(read, some...)
		slices.SortFunc(read, byKey)
		read = slices.CompactFunc(read, func(a, b keyedEntry) bool { return a.Key == b.Key })
	}
	return emit("")
}

// byKey orders entries by key.
func byKey(a, b keyedEntry) int { return cmp.Compare(a.Key, b.Key) }

// entries reads the requested entries of an archive, oldest first, and counts the cost of the
// archive. The hash of the archive is not verified here; see Verify.
func (r logReader) entries(ctx context.Context, p archiveRange) ([]keyedEntry, error) {
	*r.cost += archiveCost
	a, _, err := r.log.archive(ctx, p.N)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(a.Entries, func(k keyedEntry) bool {
		return k.Key < p.from || k.Key > p.to
	}), nil
}
