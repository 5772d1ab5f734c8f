package bolttable

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/rookeryhq/rookery/internal/table"
)

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
