package blob

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"
)

// A subFolder is a sub of a Folder.
type subFolder struct {
	subExchanger
	folder Folder
}

var _ Folder = subFolder{}

// Walk implements Walker. enter gets the keys of folders without the prefix of the sub.
func (s subFolder) Walk(
	ctx context.Context, prefix string, enter func(folder string) bool,
) iter.Seq2[Object, error] {
	below := enter
	if enter != nil {
		below = func(folder string) bool { return enter(strings.TrimPrefix(folder, s.prefix)) }
	}
	return func(yield func(Object, error) bool) {
		if s.err != nil {
			yield(Object{}, s.err)
			return
		}
		for o, err := range s.folder.Walk(ctx, s.prefix+prefix, below) {
			key, inside := strings.CutPrefix(o.Key, s.prefix)
			if err == nil && !inside {
				continue // see List
			}
			o.Key = key
			if !yield(o, s.walkError(err)) {
				return
			}
		}
	}
}

// walkError returns err with the folder of a WalkError relative to the sub.
func (s subFolder) walkError(err error) error {
	var failed *WalkError
	if !errors.As(err, &failed) {
		return err
	}
	inside := strings.TrimPrefix(failed.Folder+"/", s.prefix)
	return &WalkError{strings.TrimSuffix(inside, "/"), failed.Err}
}

// Look implements Looker.
func (s subFolder) Look(ctx context.Context, key string) (Object, error) {
	whole, err := s.key(key)
	if err != nil {
		return Object{}, err
	}
	o, err := s.folder.Look(ctx, whole)
	o.Key = key
	return o, err
}

// Touched implements Looker.
func (s subFolder) Touched(ctx context.Context, key string) (time.Time, error) {
	whole, err := s.key(key)
	if err != nil {
		return time.Time{}, err
	}
	return s.folder.Touched(ctx, whole)
}

// Displaced implements Displacer. It yields only texts of keys in the sub.
func (s subFolder) Displaced(ctx context.Context) iter.Seq2[Displaced, error] {
	return s.inSub(s.folder.Displaced(ctx))
}

// Due implements Displacer. It yields only texts of keys in the sub, but examines all files of the
// bucket.
func (s subFolder) Due(ctx context.Context) iter.Seq2[Displaced, error] {
	return s.inSub(s.folder.Due(ctx))
}

// inSub yields those of all whose keys are in the sub, and their errors.
func (s subFolder) inSub(all iter.Seq2[Displaced, error]) iter.Seq2[Displaced, error] {
	return func(yield func(Displaced, error) bool) {
		if s.err != nil {
			yield(Displaced{}, s.err)
			return
		}
		for d, err := range all {
			key, inside := strings.CutPrefix(d.Key, s.prefix)
			if err == nil && !inside {
				continue
			}
			d.Key = key
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// Settle implements Displacer.
func (s subFolder) Settle(ctx context.Context, d Displaced) error {
	var err error
	if d.Key, err = s.key(d.Key); err != nil {
		return err
	}
	return s.folder.Settle(ctx, d)
}
