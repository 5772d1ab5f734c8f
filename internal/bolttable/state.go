package bolttable

import (
	"bytes"
	"math"

	bolt "go.etcd.io/bbolt"

	"github.com/rookeryhq/rookery/internal/table"
)

// A state is the database within one transaction, at one time.
type state struct {
	tx  *bolt.Tx
	now int64 // seconds since 1970, rounded down so that no item expires early
}

// state returns the state of a transaction at the current time.
func (t *Table) state(tx *bolt.Tx) state { return state{tx, t.now().Unix()} }

// live returns an item, and false if it is missing or expired.
func (s state) live(k table.Key) (it table.Item, found bool, err error) {
	value := s.tx.Bucket(itemBucket).Get(encodeKey(k))
	if value == nil {
		return table.Item{}, false, nil
	}
	r, err := decode(value)
	if err != nil || !r.live(s.now) {
		return table.Item{}, false, err
	}
	return r.item(k), true, nil
}

// apply executes the operations of one Commit. If a condition is not met, it does nothing and
// returns the conflict, with the item as it is now. All conditions are checked before the first
// change, so a refused Commit needs no undo within the transaction that it shares with others.
// After an error the transaction must not be committed.
func (s state) apply(ops []table.Op) (*table.Conflict, error) {
	current := make([]table.Item, len(ops))
	for i, op := range ops {
		it, found, err := s.live(op.Item.Key)
		if err != nil {
			return nil, err
		}
		if !holds(op, it, found) {
			return &table.Conflict{Key: op.Item.Key, Item: it, Found: found}, nil
		}
		current[i] = it
	}
	for i, op := range ops {
		if err := s.do(op, current[i]); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// holds reports whether the condition of an operation is met by the current item.
func holds(op table.Op, it table.Item, found bool) bool {
	switch op.Kind {
	case table.OpCreate:
		return !found
	case table.OpReplace:
		return found && bytes.Equal(it.Data, op.Old.Data)
	case table.OpCheck:
		if op.Old.Data == nil {
			return !found
		}
		return found && bytes.Equal(it.Data, op.Old.Data)
	case table.OpAdd:
		return fits(it.Count, op.Delta) && it.Count+op.Delta <= op.Max
	}
	return true
}

// fits reports whether a + b does not overflow.
func fits(a, b int64) bool {
	if b > 0 {
		return a <= math.MaxInt64-b
	}
	return a >= math.MinInt64-b
}

// do executes an operation whose condition is met. it is the current item, or the zero Item if
// there is none.
func (s state) do(op table.Op, it table.Item) error {
	switch op.Kind {
	case table.OpCheck:
		return nil
	case table.OpRemove:
		return s.remove(encodeKey(op.Item.Key))
	case table.OpReplace:
		op.Item.Count = it.Count
	case table.OpAdd:
		op.Item.Data, op.Item.Count = it.Data, it.Count+op.Delta
		if op.Item.Expires.IsZero() {
			op.Item.Expires = it.Expires
		}
	}
	return s.put(encodeKey(op.Item.Key), recordOf(op.Item))
}

// put writes a record and updates the expiry bucket.
func (s state) put(key []byte, r record) error {
	if err := s.forget(key); err != nil {
		return err
	}
	if r.expires != 0 {
		err := s.tx.Bucket(expiryBucket).Put(encodeExpiry(r.expires, key), nil)
		if err != nil {
			return err
		}
	}
	return s.tx.Bucket(itemBucket).Put(key, r.encode())
}

// remove deletes an item, if there is one.
func (s state) remove(key []byte) error {
	if err := s.forget(key); err != nil {
		return err
	}
	return s.tx.Bucket(itemBucket).Delete(key)
}

// forget deletes the entry of an item in the expiry bucket.
func (s state) forget(key []byte) error {
	value := s.tx.Bucket(itemBucket).Get(key)
	if value == nil {
		return nil
	}
	old, err := decode(value)
	if err != nil || old.expires == 0 {
		return err
	}
	return s.tx.Bucket(expiryBucket).Delete(encodeExpiry(old.expires, key))
}

// sweep deletes up to n expired items, the earliest expired first. Each transaction that changes
// something does this, so expired items go as fast as others are written; there is no background
// task.
func (s state) sweep(n int) error {
	var gone [][]byte
	cursor := s.tx.Bucket(expiryBucket).Cursor()
	for k, _ := cursor.First(); k != nil && len(gone) < n; k, _ = cursor.Next() {
		second, key := decodeExpiry(k)
		if s.now < second {
			break
		}
		gone = append(gone, key)
	}
	for _, key := range gone {
		if err := s.remove(key); err != nil {
			return err
		}
	}
	return nil
}
