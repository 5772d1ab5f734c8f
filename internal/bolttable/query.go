package bolttable

import (
	"bytes"
	"context"
	"iter"

	bolt "go.etcd.io/bbolt"

	"github.com/rookeryhq/rookery/internal/table"
)

// The size of a page of a Query. A page is read and copied in one transaction, which ends before
// the first item is yielded. A transaction that stayed open would prevent freed pages from being
// reused, and would block a Commit that has to grow the file.
const (
	pageItems = 256 // items read, including expired ones
	pageBytes = 1 << 20
)

// A page is a part of the result of a Query.
type page struct {
	items []table.Item
	next  []byte // key at which the next page begins; nil: this is the last page
}

// Query implements table.Table. Each page is read in a transaction of its own, so an item that is
// written during the loop may or may not be yielded, and two items can be of different moments. No
// transaction is open while the loop body runs, so it may call any method.
func (t *Table) Query(ctx context.Context, part, from, to string) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		if err := table.CheckRange(part, from, to); err != nil {
			yield(table.Item{}, err)
			return
		}
		last := encodeKey(table.Key{Part: part, Sort: to})
		next := encodeKey(table.Key{Part: part, Sort: from})
		for next != nil {
			p, err := t.page(ctx, next, last)
			if err != nil {
				yield(table.Item{}, err)
				return
			}
			if !yieldAll(p.items, yield) {
				return
			}
			next = p.next
		}
	}
}

// yieldAll yields items, and reports whether the loop continues.
func yieldAll(items []table.Item, yield func(table.Item, error) bool) bool {
	for _, it := range items {
		if !yield(it, nil) {
			return false
		}
	}
	return true
}

// page reads the next page, from the key `from` up to and including the key `last` of the same
// partition.
func (t *Table) page(ctx context.Context, from, last []byte) (p page, err error) {
	if err := ctx.Err(); err != nil {
		return page{}, err
	}
	err = t.view(func(tx *bolt.Tx) (err error) {
		p, err = t.state(tx).page(from, last)
		return err
	})
	return p, err
}

// page reads a page within a transaction: live items up to the limits of a page, and the key at
// which the next one begins. Expired items count for the first limit, so that a page costs a
// bounded time even if all have expired.
func (s state) page(from, last []byte) (page, error) {
	var p page
	looked, size := 0, 0
	cursor := s.tx.Bucket(itemBucket).Cursor()
	for k, v := cursor.Seek(from); k != nil; k, v = cursor.Next() {
		if bytes.Compare(k, last) > 0 {
			return p, nil
		}
		if looked == pageItems || size >= pageBytes {
			p.next = bytes.Clone(k)
			return p, nil
		}
		r, err := decode(v)
		if err != nil {
			return page{}, err
		}
		looked++
		if r.live(s.now) {
			p.items = append(p.items, r.item(decodeKey(k)))
			size += len(k) + len(v)
		}
	}
	return p, nil
}
