package blob

import "context"

// A Deleter is a Bucket that removes many objects for less than one Delete of each costs.
type Deleter interface {
	// DeleteAll removes objects as Delete removes one: when it returns without an error, they are gone for good.
	// With an error it returns how many of the first were removed; of the others the outcome is unknown.
	DeleteAll(ctx context.Context, keys ...string) (removed int, err error)
}

// DeleteAll removes objects of any bucket as that of a Deleter does. A Deleter, or the Sub of one, does it in its own
// way.
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

// deleteAll removes objects of the part.
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
