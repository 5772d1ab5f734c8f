package table

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"
)

// name matches a valid prefix. It contains no "/", so the partitions of one prefix are never those
// of another: those of "a" are "a" and "a/…", but not "ab" or "a-b/…".
var name = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// A sub is a Table whose partitions have a common prefix.
type sub struct {
	table  Table
	prefix string
}

var _ Table = sub{}

// Sub returns the part of a table below a prefix. It cannot access anything else: Part "" is the
// partition prefix, and Part "x" is prefix + "/" + "x". Items and conflicts are returned with their
// Part in the Sub. The prefix counts toward the limits of keys.
//
// A prefix is a lower-case letter or digit, followed by lower-case letters, digits and "-". For any
// other prefix every method of the result returns ErrLimit. Prefixes are names of tenants that come
// with requests: an invalid one must not give access to anything, and must not crash the program.
func Sub(t Table, prefix string) Table {
	if !name.MatchString(prefix) {
		return invalidSub{}
	}
	return sub{t, prefix}
}

// Incarnation returns the part of a Sub for the n-th owner of its prefix, from 1. The first owner
// has the Sub itself. Each later one has the partitions below "~" and its number, which the first
// one must not use.
func Incarnation(t Table, n int) Table {
	if n <= 1 {
		return t
	}
	return sub{t, fmt.Sprintf("~%d", n)}
}

// part returns the partition in the whole table.
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

// relative is the inverse of part.
func (s sub) relative(part string) string {
	return strings.TrimPrefix(strings.TrimPrefix(part, s.prefix), "/")
}

// An invalidSub is the Sub of an invalid prefix. Its methods return ErrLimit.
type invalidSub struct{}

var _ Table = invalidSub{}

// err returns the error of every method.
func (invalidSub) err() error { return fmt.Errorf("%w: the prefix is not a name", ErrLimit) }

// Get implements Table.
func (r invalidSub) Get(context.Context, Key) (Item, error) { return Item{}, r.err() }

// Query implements Table.
func (r invalidSub) Query(context.Context, string, string, string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) { yield(Item{}, r.err()) }
}

// Commit implements Table.
func (r invalidSub) Commit(context.Context, ...Op) error { return r.err() }
