package repo

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/parallel"
)

// mostFetches is how many runs a Prefetch reads concurrently.
const mostFetches = 32

// Prefetch loads texts into the cache that are about to be read, so that the caller waits for many
// reads about as long as for one. It reads each run once, 32 at a time, and skips runs whose texts
// are all cached. It returns no errors: a text that cannot be read or does not fit in the cache is
// read by Text, which returns the error.
func (v *Vault) Prefetch(ctx context.Context, bodies []index.Body) {
	runs := v.missing(bodies)
	if len(runs) < 2 || v.log.Known().Status == eventlog.Sealed {
		return // Text is as fast
	}
	_ = parallel.ForEach(mostFetches, runs, func(of []eventlog.PartRef) error {
		if ctx.Err() != nil {
			return nil
		}
		v.fetch(ctx, of)
		return nil
	})
}

// PrefetchFiles is Prefetch for the texts of the first files that have at most most bytes together.
func (v *Vault) PrefetchFiles(ctx context.Context, files iter.Seq[*index.File], most int) {
	var bodies []index.Body
	for f := range files {
		if most -= f.Size; most < 0 {
			break
		}
		bodies = append(bodies, f.Body)
	}
	v.Prefetch(ctx, bodies)
}

// missing returns the places of the texts that are not cached, grouped by run. Both the runs and
// the places in a run are in the order of the log, and no place occurs twice.
func (v *Vault) missing(bodies []index.Body) [][]eventlog.PartRef {
	var places []eventlog.PartRef
	for _, b := range bodies {
		if !v.texts.has(textKey{v.part, eventlog.PartRef(b)}) {
			places = append(places, eventlog.PartRef(b))
		}
	}
	slices.SortFunc(places, eventlog.PartRef.Compare)
	var runs [][]eventlog.PartRef
	for i := 0; i < len(places); {
		end := i + 1
		for end < len(places) && places[end].Run == places[i].Run {
			end++
		}
		runs = append(runs, slices.Compact(places[i:end]))
		i = end
	}
	return runs
}

// fetch reads texts of one run into the cache. It stops at the first error. The packed run is read
// once for all of them.
func (v *Vault) fetch(ctx context.Context, of []eventlog.PartRef) {
	p := pick{v: v}
	for _, at := range of {
		if _, err := p.text(ctx, at); err != nil {
			return
		}
	}
}

// aheadBytes is how many bytes of text a sweep reads ahead, unless a single run has more.
const aheadBytes = 4 << 20

// readAhead reads the runs of the next changes concurrently, and returns for how many changes it
// did so: at least one. The changes of one run are together in the list, and are not divided, so
// that no run is read twice. A run that cannot be read is read again when it is needed.
func (s *sweep) readAhead(ctx context.Context, list []searchChange) (changes int) {
	s.ahead = map[uint64]*eventlog.Run{}
	size := 0
	for changes < len(list) && len(s.ahead) < mostFetches {
		end, bytes := s.ofRun(list[changes:])
		if size += bytes; size > aheadBytes && changes > 0 {
			break
		}
		if bytes > 0 {
			s.ahead[list[changes].at.Run] = nil
		}
		changes += end
	}
	// A single run is read by change when it is needed.
	if len(s.ahead) < 2 {
		return changes
	}
	var mu sync.Mutex
	_ = parallel.ForEach(mostFetches, slices.Collect(maps.Keys(s.ahead)), func(first uint64) error {
		r, err := s.v.log.RunAt(ctx, first)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			s.ahead[first] = r
		}
		return nil
	})
	return changes
}

// ofRun returns how many changes at the beginning of a list are of one run, and how many bytes of
// their texts must be read, at least 1 if any must be.
func (s *sweep) ofRun(list []searchChange) (changes, bytes int) {
	for changes < len(list) && list[changes].at.Run == list[0].at.Run {
		if c := list[changes]; !c.gone && !s.v.texts.has(textKey{s.v.part, c.at}) {
			bytes += max(1, c.size)
		}
		changes++
	}
	return changes, bytes
}
