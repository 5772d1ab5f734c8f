package audit

import (
	"iter"
	"slices"
	"time"
)

// A stream is a sequence of entries in the order of a listing.
type stream struct {
	pull func() (item, error, bool)
	stop func()

	bound time.Time // no remaining item is younger
	top   *item     // the next item; nil: not known yet
}

// add adds a stream without items younger than bound. The stream is not read before its next item
// may be the next one of the listing.
func (l *listing) add(bound time.Time, items iter.Seq2[item, error]) {
	pull, stop := iter.Pull2(items)
	l.streams = append(l.streams, &stream{pull: pull, stop: stop, bound: bound})
}

// stop ends all streams.
func (l *listing) stop() {
	for _, s := range l.streams {
		s.stop()
	}
}

// merged yields the items of all streams in order, and ends with the first error.
func (l *listing) merged() iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		left := slices.Clone(l.streams)
		for len(left) > 0 {
			i := next(left)
			s := left[i]
			if s.top != nil {
				it := *s.top
				s.top, s.bound = nil, it.At
				if !yield(it, nil) {
					return
				}
				continue
			}
			it, err, ok := s.pull()
			switch {
			case !ok:
				left = slices.Delete(left, i, i+1)
			case err != nil:
				yield(item{}, err)
				return
			default:
				s.top = &it
			}
		}
	}
}

// next returns the index of the stream that has the next item, or must be read to find out.
func next(all []*stream) int {
	best := 0
	for i, s := range all {
		if s.before(all[best]) {
			best = i
		}
	}
	return best
}

// before reports whether s must be considered before t.
func (s *stream) before(t *stream) bool {
	at, than := s.bound, t.bound
	if s.top != nil {
		at = s.top.At
	}
	if t.top != nil {
		than = t.top.At
	}
	switch {
	case !at.Equal(than):
		return at.After(than)
	case s.top == nil || t.top == nil:
		return s.top == nil && t.top != nil
	}
	return s.top.compare(t.top.Position) < 0
}
