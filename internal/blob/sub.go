package blob

import (
	"context"
	"iter"
	"strings"
)

// Sub returns the part of a bucket whose keys begin with prefix + "/", as a bucket with keys
// without that prefix. It cannot access anything outside: keys are checked before they are
// prefixed, so that "../" is refused. If prefix is not a valid key, every call returns ErrKey. A
// Sub of a Sub has both prefixes.
//
// The result is an Exchanger if and only if b is one, and likewise a Folder or a Taker. Optional
// interfaces such as Deleter are reached through the functions of this package, such as DeleteAll.
func Sub(b Bucket, prefix string) Bucket {
	s := sub{b, prefix + "/", CheckKey(prefix)}
	switch b := b.(type) {
	case Folder:
		return subFolder{subExchanger{s, b}, b}
	case Exchanger:
		return subExchanger{s, b}
	case Taker:
		return subTaker{s, b}
	}
	return s
}

// A subTaker is a sub of a Taker.
type subTaker struct {
	sub
	taker Taker
}

var _ Taker = subTaker{}

// Take implements Taker.
func (s subTaker) Take(ctx context.Context, key string, t Tag) error {
	key, err := s.key(key)
	if err != nil {
		return err
	}
	return s.taker.Take(ctx, key, t)
}

// A sub is a Sub of any bucket.
type sub struct {
	bucket Bucket
	prefix string // ends with "/"
	err    error  // error of an invalid prefix, returned by every call
}

var _ Bucket = sub{}

// key returns the key in the whole bucket.
func (s sub) key(key string) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	if err := CheckKey(key); err != nil {
		return "", err
	}
	return s.prefix + key, nil
}

// Put implements Bucket.
func (s sub) Put(ctx context.Context, key string, data []byte, c Cond) (Tag, error) {
	key, err := s.key(key)
	if err != nil {
		return "", err
	}
	return s.bucket.Put(ctx, key, data, c)
}

// Get implements Bucket.
func (s sub) Get(ctx context.Context, key string, off, n int64) ([]byte, Tag, error) {
	key, err := s.key(key)
	if err != nil {
		return nil, "", err
	}
	return s.bucket.Get(ctx, key, off, n)
}

// Delete implements Bucket.
func (s sub) Delete(ctx context.Context, key string) error {
	key, err := s.key(key)
	if err != nil {
		return err
	}
	return s.bucket.Delete(ctx, key)
}

// List implements Bucket.
func (s sub) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		if s.err != nil {
			yield(Object{}, s.err)
			return
		}
		for o, err := range s.bucket.List(ctx, s.prefix+prefix) {
			// Ignore other keys, which a correct implementation does not yield.
			key, inside := strings.CutPrefix(o.Key, s.prefix)
			if err == nil && !inside {
				continue
			}
			o.Key = key
			if !yield(o, err) || err != nil {
				return
			}
		}
	}
}

// A subExchanger is a sub of an Exchanger.
type subExchanger struct {
	sub
	exchanger Exchanger
}

var _ Exchanger = subExchanger{}

// Exchange implements Exchanger.
func (s subExchanger) Exchange(ctx context.Context, key string, data, want []byte) error {
	key, err := s.key(key)
	if err != nil {
		return err
	}
	return s.exchanger.Exchange(ctx, key, data, want)
}

// Remove implements Exchanger.
func (s subExchanger) Remove(ctx context.Context, key string, want []byte) error {
	key, err := s.key(key)
	if err != nil {
		return err
	}
	return s.exchanger.Remove(ctx, key, want)
}

// Append implements Exchanger.
func (s subExchanger) Append(ctx context.Context, key string, n int64, data []byte) error {
	key, err := s.key(key)
	if err != nil {
		return err
	}
	return s.exchanger.Append(ctx, key, n, data)
}

// Sync implements Exchanger.
func (s subExchanger) Sync(ctx context.Context, keys ...string) error {
	whole := make([]string, len(keys))
	for i, key := range keys {
		var err error
		if whole[i], err = s.key(key); err != nil {
			return err
		}
	}
	return s.exchanger.Sync(ctx, whole...)
}
