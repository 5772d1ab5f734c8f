package bolttable

import (
	"bytes"
	"encoding/binary"
	"errors"
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

// errRecord is the error of a value that cannot be decoded.
var errRecord = errors.New("an item of the database cannot be read")

// encodeKey returns the key of an item in its bucket. The length prefix keeps partitions apart,
// whatever bytes their names contain.
func encodeKey(k table.Key) []byte {
	b := make([]byte, 0, 2+len(k.Part)+len(k.Sort))
	b = binary.BigEndian.AppendUint16(b, uint16(len(k.Part)))
	b = append(b, k.Part...)
	return append(b, k.Sort...)
}

// decodeKey is the inverse of encodeKey. b must be a key of the item bucket; it is not validated,
// because checkFormat and Check find files of other programs.
func decodeKey(b []byte) table.Key {
	n := 2 + int(binary.BigEndian.Uint16(b))
	return table.Key{Part: string(b[2:n]), Sort: string(b[n:])}
}

// A record is the stored value of an item.
type record struct {
	count   int64
	expires int64 // as table.Second
	data    []byte
}

// recordOf returns the record of an item.
func recordOf(it table.Item) record {
	return record{it.Count, table.Second(it.Expires), it.Data}
}

// encode returns the value of the record in the item bucket.
func (r record) encode() []byte {
	b := make([]byte, 0, 2*binary.MaxVarintLen64+len(r.data))
	b = binary.AppendVarint(b, r.count)
	b = binary.AppendVarint(b, r.expires)
	return append(b, r.data...)
}

// decode is the inverse of record.encode. The data of the result shares the memory of b.
func decode(b []byte) (record, error) {
	count, n := binary.Varint(b)
	if n <= 0 {
		return record{}, errRecord
	}
	expires, m := binary.Varint(b[n:])
	if m <= 0 {
		return record{}, errRecord
	}
	return record{count, expires, b[n+m:]}, nil
}

// live reports whether the record has not expired at now, in seconds since 1970. An item expires at
// the beginning of its second.
func (r record) live(now int64) bool { return r.expires == 0 || now < r.expires }

// item returns the item of the record. Its data is a copy that remains valid after the transaction.
func (r record) item(k table.Key) table.Item {
	return table.Item{
		Key:     k,
		Data:    append([]byte{}, r.data...),
		Count:   r.count,
		Expires: table.AtSecond(r.expires),
	}
}

// encodeExpiry returns the key in the expiry bucket of the item with this key: the second in big
// endian, so that keys are in the order of time, and then the key of the item, so that it is
// unique.
func encodeExpiry(second int64, key []byte) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), uint64(second))
	return append(b, key...)
}

// decodeExpiry is the inverse of encodeExpiry. The key is a copy.
func decodeExpiry(b []byte) (second int64, key []byte) {
	return int64(binary.BigEndian.Uint64(b)), bytes.Clone(b[8:])
}
