package table

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// overhead is what an item weighs beside its key and its data.
const overhead = 100

// CheckOps says whether a Commit of these operations keeps the limits of the port. The error wraps
// ErrLimit and names operations by their number, from 1, never by their keys. Every engine calls it
// before it does anything.
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

// conditional reports whether Old says anything.
func (o Op) conditional() bool { return o.Kind == OpReplace || o.Kind == OpCheck }

func (i Item) size() int { return len(i.Part) + len(i.Sort) + len(i.Data) + overhead }

// CheckKey says whether a key keeps the limits of the port. The error wraps ErrLimit.
func CheckKey(k Key) error {
	if k.Sort == "" {
		return fmt.Errorf("%w: the sort key is empty", ErrLimit)
	}
	return CheckRange(k.Part, k.Sort, k.Sort)
}

// CheckRange says whether the arguments of a Query keep the limits of the port: those of keys, but
// from and to may be empty. The error wraps ErrLimit.
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

// Second is how engines keep Expires: seconds since 1970, rounded up, at least 1; 0 is never.
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

// AtSecond is the Expires of an item that an engine keeps as a number of seconds, in UTC.
func AtSecond(s int64) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(s, 0).UTC()
}
