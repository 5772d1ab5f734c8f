package table

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// overhead is the size, in bytes, that an item has in addition to its key and its data.
const overhead = 100

// CheckOps returns an error if a Commit of these operations exceeds a limit of the package. The
// error wraps ErrLimit. It identifies operations by their number, from 1, never by their keys.
// Every implementation calls CheckOps first.
func CheckOps(ops []Op) error {
	if len(ops) < 1 || len(ops) > MaxOps {
		return fmt.Errorf("%w: a commit of %d operations; 1 to %d are allowed",
			ErrLimit, len(ops), MaxOps)
	}
	seen, total := make(map[Key]bool, len(ops)), 0
	for i, op := range ops {
		if err := op.check(); err != nil {
			return fmt.Errorf("operation %d: %w", i+1, err)
		}
		if seen[op.Item.Key] {
			return fmt.Errorf("operation %d: %w: an earlier one has the same key", i+1, ErrLimit)
		}
		seen[op.Item.Key] = true
		total += op.Item.size() + len(op.Old.Data)
	}
	if total > MaxCommit {
		return fmt.Errorf("%w: a commit of %d bytes; %d are allowed", ErrLimit, total, MaxCommit)
	}
	return nil
}

// check checks a single operation.
func (o Op) check() error {
	if o.Kind < OpCreate || o.Kind > OpAdd {
		return fmt.Errorf("%w: no kind of operation has the number %d", ErrLimit, o.Kind)
	}
	if err := CheckKey(o.Item.Key); err != nil {
		return err
	}
	if o.conditional() && o.Old.Key != o.Item.Key {
		return fmt.Errorf("%w: an item and the one it is compared with have two keys", ErrLimit)
	}
	if n := max(o.Item.size(), o.Old.size()); n > MaxItem {
		return fmt.Errorf("%w: an item of %d bytes; %d are allowed", ErrLimit, n, MaxItem)
	}
	return nil
}

// conditional reports whether the operation uses Old.
func (o Op) conditional() bool { return o.Kind == OpReplace || o.Kind == OpCheck }

// size returns the size of the item in bytes, as it counts against MaxItem.
func (i Item) size() int { return len(i.Part) + len(i.Sort) + len(i.Data) + overhead }

// CheckKey returns an error that wraps ErrLimit if a key is invalid or too long.
func CheckKey(k Key) error {
	if k.Sort == "" {
		return fmt.Errorf("%w: the sort key is empty", ErrLimit)
	}
	return CheckRange(k.Part, k.Sort, k.Sort)
}

// CheckRange returns an error that wraps ErrLimit if an argument of a Query is invalid or too long.
// Unlike a key's Sort, from and to may be empty.
func CheckRange(part, from, to string) error {
	if part == "" {
		return fmt.Errorf("%w: the partition key is empty", ErrLimit)
	}
	for _, s := range []string{part, from, to} {
		if len(s) > MaxKey {
			return fmt.Errorf("%w: a key of %d bytes; %d are allowed", ErrLimit, len(s), MaxKey)
		}
		if !utf8.ValidString(s) {
			return fmt.Errorf("%w: a key that is not UTF-8", ErrLimit)
		}
	}
	return nil
}

// Second returns the form in which implementations store Expires: seconds since 1970, rounded up
// and at least 1, or 0 for never.
func Second(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return max(s, 1)
}

// AtSecond returns the Expires of a stored number of seconds, in UTC. It is the inverse of Second.
func AtSecond(s int64) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(s, 0).UTC()
}
