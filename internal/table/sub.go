package table

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"
)

// name is what a prefix must be. It has no "/", so no prefix and no partition under one can be
// taken for those of another: under "a" are "a" and "a/…", never "ab" and never "a-b/…".
var name = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// sub is a Table whose partitions lie under a prefix.
type sub struct {
	table  Table
	prefix string
}

var _ Table = sub{}

// Sub is the part of a table under a prefix, and cannot name anything outside it: Part "" is the
// partition prefix, Part "x" is prefix + "/" + "x". Items and conflicts come back with the Part
// that they have in the Sub. The prefix counts for the limits.
//
// A prefix is a lower-case letter or digit, then any of those and "-". Any other gives a table
// whose every call is ErrLimit: prefixes are names of tenants, which come with requests, and a name
// that slipped through unchecked must reach nothing, and must not end the program.
func Sub(t Table, prefix string) Table {
	if !name.MatchString(prefix) {
		return refusing{}
	}
	return sub{t, prefix}
}

// Incarnation is the part of a Sub for the n-th holder of its prefix. The first one has the Sub itself, each later
// one the partitions under "~" and its number, which the first one must not name.
func Incarnation(t Table, n int) Table {
	if n <= 1 {
		return t
	}
	return sub{t, fmt.Sprintf("~%d", n)}
}

func (s sub) part(part string) string {
	if part == "" {
		return s.prefix
	}
	return s.prefix + "/" + part
}

// Get implements Table.
func (s sub) Get(ctx context.Context, k Key) (Item, error) {
	it, err := s.table.Get(ctx, Key{s.part(k.Part), k.Sort})
	if err != nil {
		return Item{}, err
	}
	it.Key = k
	return it, nil
}

// Query implements Table.
func (s sub) Query(ctx context.Context, part, from, to string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for it, err := range s.table.Query(ctx, s.part(part), from, to) {
			if err == nil {
				it.Part = part
			}
			if !yield(it, err) {
				return
			}
		}
	}
}

// Commit implements Table.
func (s sub) Commit(ctx context.Context, ops ...Op) error {
	under := make([]Op, len(ops))
	for i, op := range ops {
		op.Item.Part = s.part(op.Item.Part)
		if op.conditional() {
			op.Old.Part = s.part(op.Old.Part)
		}
		under[i] = op
	}
	err := s.table.Commit(ctx, under...)
	var conflict *Conflict
	if !errors.As(err, &conflict) {
		return err
	}
	mine := *conflict
	mine.Key.Part = s.relative(mine.Key.Part)
	mine.Item.Part = s.relative(mine.Item.Part)
	return &mine
}

// relative undoes part.
func (s sub) relative(part string) string {
	return strings.TrimPrefix(strings.TrimPrefix(part, s.prefix), "/")
}

// refusing is the Sub of what is not a name.
type refusing struct{}

var _ Table = refusing{}

func (refusing) err() error { return fmt.Errorf("%w: the prefix is not a name", ErrLimit) }

// Get implements Table.
func (r refusing) Get(context.Context, Key) (Item, error) { return Item{}, r.err() }

// Query implements Table.
func (r refusing) Query(context.Context, string, string, string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) { yield(Item{}, r.err()) }
}

// Commit implements Table.
func (r refusing) Commit(context.Context, ...Op) error { return r.err() }
