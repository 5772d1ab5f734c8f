package blob

import "context"

// A Deleter is a Bucket that can remove many objects at a lower cost than with one Delete for each.
type Deleter interface {
	// DeleteAll removes objects as Delete does. If it returns no error, all of them are durably
	// removed. If it returns an error, the first `removed` of them are, and the outcome of the
	// others is unknown.
	DeleteAll(ctx context.Context, keys ...string) (removed int, err error)
}

// DeleteAll removes objects from any bucket. If b is a Deleter, or the Sub of one, it calls its
// DeleteAll, otherwise Delete for each key until one fails. The results are those of
// Deleter.DeleteAll.
func DeleteAll(ctx context.Context, b Bucket, keys ...string) (removed int, err error) {
	switch b := b.(type) {
	case interface {
		deleteAll(ctx context.Context, keys []string) (int, error)
	}:
		return b.deleteAll(ctx, keys)
	case Deleter:
		return b.DeleteAll(ctx, keys...)
	}
	for i, key := range keys {
		if err := b.Delete(ctx, key); err != nil {
			return i, err
		}
	}
	return len(keys), nil
}

// deleteAll is DeleteAll for a Sub.
func (s sub) deleteAll(ctx context.Context, keys []string) (int, error) {
	whole := make([]string, 0, len(keys))
	for _, key := range keys {
		key, err := s.key(key)
		if err != nil {
			return 0, err
		}
		whole = append(whole, key)
	}
	return DeleteAll(ctx, s.bucket, whole...)
}
