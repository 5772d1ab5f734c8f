package blob

import (
	"context"
	"errors"
	"fmt"
)

// MinExtended is the least Size of an Extension, in bytes: S3 copies no smaller part in front of another one.
const MinExtended = 5 << 20

// An Extension says what an object is to be: the beginning of an object that is there, and bytes behind it.
type Extension struct {
	From string // the key of the object that it begins with; it may be the key that is put
	Tag  Tag    // that this one must have
	Size int64  // how many bytes of it come first, at least MinExtended
	Data []byte // what comes behind them; may be empty
}

// An Extender is a Bucket that can put an object which begins as another one, without reading or sending these bytes.
type Extender interface {
	Bucket

	// Extend is Put with the bytes of an Extension. An object From that is not there, or has another tag, is
	// ErrCondition too.
	Extend(ctx context.Context, key string, e Extension, c Cond) (Tag, error)
}

// Extend is that of the bucket, if it is an Extender or the Sub of one. Of another it is errors.ErrUnsupported.
func Extend(ctx context.Context, b Bucket, key string, e Extension, c Cond) (Tag, error) {
	switch b := b.(type) {
	case interface {
		extend(ctx context.Context, key string, e Extension, c Cond) (Tag, error)
	}:
		return b.extend(ctx, key, e, c)
	case Extender:
		return b.Extend(ctx, key, e, c)
	}
	return "", fmt.Errorf("extend an object: %w", errors.ErrUnsupported)
}

// extend is Extend with keys of the part.
func (s sub) extend(ctx context.Context, key string, e Extension, c Cond) (Tag, error) {
	key, err := s.key(key)
	if err != nil {
		return "", err
	}
	if e.From, err = s.key(e.From); err != nil {
		return "", err
	}
	return Extend(ctx, s.bucket, key, e, c)
}
