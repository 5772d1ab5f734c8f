package blob

import (
	"context"
	"errors"
	"fmt"
)

// MinExtended is the minimum Size of an Extension, in bytes: the minimum size of a part in an S3
// multipart upload, except for the last one.
const MinExtended = 5 << 20

// An Extension describes a new object: the first bytes of an existing object, followed by other
// bytes.
type Extension struct {
	From string // key of the existing object; may equal the key that is put
	Tag  Tag    // tag that the existing object must have
	Size int64  // number of its bytes to copy, at least MinExtended
	Data []byte // bytes that follow them; may be empty
}

// An Extender is a Bucket that can put an object which begins with the bytes of another one,
// without transferring these bytes.
type Extender interface {
	Bucket

	// Extend is Put with the bytes that an Extension describes. If there is no object e.From, or it
	// has another tag, the error is ErrCondition.
	Extend(ctx context.Context, key string, e Extension, c Cond) (Tag, error)
}

// Extend calls the Extend of a bucket that is an Extender or the Sub of one. For any other bucket
// the error wraps errors.ErrUnsupported.
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

// extend is Extend for a Sub.
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
