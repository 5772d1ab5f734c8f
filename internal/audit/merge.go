package audit

import (
	"iter"
	"slices"
	"time"
)

// A stream is a sequence of entries in the order of a listing: the commits of one log, or the
// refusal log. It is pulled, because several streams are merged.
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

// merged yields the items of all streams in order, and ends with the first error. A stream is read
// only when its bound shows that its next item may come next. So a page of the newest entries does
// not read logs that have not changed for a long time.
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

// next returns the index of the stream that has the next item, or must be read to find out. all
// must not be empty. There are as many streams as logs, so a linear search is enough.
func next(all []*stream) int {
	best := 0
	for i, s := range all {
		if s.before(all[best]) {
			best = i
		}
	}
	return best
}

// before reports whether s must be considered before t: by the time of its next item or, if that is
// not known, by its bound. Of two streams with equal times, one whose item is not known comes
// first, so that it is read before the other is yielded.
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
