package eventlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// appendKeys appends keys in the format of an image section. Each key consists of its hash and the
// digest of its request, both with their lengths, its commit, its time in Unix milliseconds, and
// the place of its answer.
func appendKeys(b []byte, keys []keyEntry) []byte {
	for _, k := range keys {
		b = appendBytes(b, k.hash)
		b = appendBytes(b, k.request)
		b = binary.AppendUvarint(b, k.seq)
		b = binary.AppendUvarint(b, uint64(k.time.UnixMilli()))
		b = binary.AppendUvarint(b, k.answer.Run)
		b = binary.AppendUvarint(b, uint64(k.answer.Part))
	}
	return b
}

// appendBytes appends the length of data, as a varint, and data.
func appendBytes(b, data []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}

// errKeys is the error of a damaged section of keys.
var errKeys = errors.New("the keys of an image are damaged")

// readKeys decodes the section that appendKeys writes.
func readKeys(data []byte) ([]keyEntry, error) {
	r := keyReader{data: data}
	var all []keyEntry
	for len(r.data) > 0 && r.err == nil {
		k := keyEntry{hash: r.bytes()}
		k.request = r.bytes()
		k.seq, k.time = r.number(), time.UnixMilli(int64(r.number())).UTC()
		k.answer = PartRef{Run: r.number(), Part: int(r.number())}
		all = append(all, k)
	}
	return all, r.err
}

// A keyReader decodes one value after the other. After an error it returns zero values.
type keyReader struct {
	data []byte
	err  error
}

// number decodes a varint.
func (r *keyReader) number() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.data, r.err = nil, errKeys
		return 0
	}
	r.data = r.data[n:]
	return v
}

// bytes decodes a byte string with its length. It shares memory with the section.
func (r *keyReader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.data)) {
		r.data, r.err = nil, errKeys
		return nil
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

// keysOf returns a function that reads the keys of an image. If the image cannot be read, the
// function reads them from the log of the last day.
func (l *Log[S]) keysOf(from *OpenImage) func(context.Context) ([]keyEntry, error) {
	return func(ctx context.Context) ([]keyEntry, error) {
		data, err := l.keysSection(ctx, from)
		if err == nil && crc32.Checksum(data, castagnoli()) == from.head.KeysSum {
			if keys, err := readKeys(data); err == nil {
				return keys, nil
			}
		}
		return l.keysInLog(ctx, from.image)
	}
}

// keysSection reads the section with the keys of an image.
func (l *Log[S]) keysSection(ctx context.Context, from *OpenImage) ([]byte, error) {
	h := from.head
	if from.rest != nil {
		return l.code.unpackSection(from.rest.keys, h.Keys)
	}
	data, _, err := l.opt.Bucket.Get(ctx, from.image.key(), h.keysAt(), h.Keys)
	return data, err
}

// keysInLog reads from the log the keys that an image contains.
func (l *Log[S]) keysInLog(ctx context.Context, i Image) ([]keyEntry, error) {
	after := dayBefore(i.Time, l.opt.Now())
	from, err := l.SeqAt(ctx, i.Seq, after)
	if err != nil {
		return nil, fmt.Errorf("find the keys of the last day: %w", err)
	}
	var k keyring
	for r, err := range l.stored(ctx, from+1) {
		if err != nil {
			return nil, err
		}
		if r.First > i.Seq {
			break
		}
		for _, e := range r.keys() {
			k.add(e, l.opt.Now())
		}
	}
	return k.entries(i.Seq, after), nil
}

// keys returns the idempotency keys of the run's commits. The answer is the last part of a commit.
func (r *Run) keys() []keyEntry {
	var all []keyEntry
	at := PartRef{Run: r.First}
	for i, c := range r.Commits {
		at.Part += len(c.Parts)
		if c.KeyHash == nil {
			continue
		}
		u := usedKey{r.First + uint64(i), c.Time, c.KeyReq, PartRef{at.Run, at.Part - 1}}
		all = append(all, keyEntry{c.KeyHash, u})
	}
	return all
}
