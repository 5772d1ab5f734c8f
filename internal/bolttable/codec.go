package bolttable

import (
	"bytes"
	"encoding/binary"
	"errors"

	"rookery/internal/table"
)

var errRecord = errors.New("an item of the database cannot be read")

// encodeKey is the key of an item in its bucket. The length in front keeps partitions apart
// whatever bytes are in their names.
func encodeKey(k table.Key) []byte {
	b := make([]byte, 0, 2+len(k.Part)+len(k.Sort))
	b = binary.BigEndian.AppendUint16(b, uint16(len(k.Part)))
	b = append(b, k.Part...)
	return append(b, k.Sort...)
}

// decodeKey undoes encodeKey.
func decodeKey(b []byte) table.Key {
	n := 2 + int(binary.BigEndian.Uint16(b))
	return table.Key{Part: string(b[2:n]), Sort: string(b[n:])}
}

// A record is an item as it is stored, under a key that is known.
type record struct {
	count   int64
	expires int64 // as table.Second
	data    []byte
}

func recordOf(it table.Item) record {
	return record{it.Count, table.Second(it.Expires), it.Data}
}

func (r record) encode() []byte {
	b := make([]byte, 0, 2*binary.MaxVarintLen64+len(r.data))
	b = binary.AppendVarint(b, r.count)
	b = binary.AppendVarint(b, r.expires)
	return append(b, r.data...)
}

// decode reads a record whose data is part of b.
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

// live reports whether the record has not expired at now.
func (r record) live(now int64) bool { return r.expires == 0 || now < r.expires }

// item is a copy of the record that stays when its transaction ends.
func (r record) item(k table.Key) table.Item {
	return table.Item{
		Key:     k,
		Data:    append([]byte{}, r.data...),
		Count:   r.count,
		Expires: table.AtSecond(r.expires),
	}
}

// encodeExpiry is the key that an item with this key has in the bucket of what expires.
func encodeExpiry(second int64, key []byte) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), uint64(second))
	return append(b, key...)
}

// decodeExpiry undoes encodeExpiry.
func decodeExpiry(b []byte) (second int64, key []byte) {
	return int64(binary.BigEndian.Uint64(b)), bytes.Clone(b[8:])
}
