package index

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// A UID is the identity of a node: of a note, of a section whose heading is at the top of its note, or of a folder. It
// stays when the address changes (reference/tree.md C2). No text says it: the log keeps it. The zero UID is none.
type UID [16]byte

// uidPrefix begins a UID as it is written.
const uidPrefix = "n_"

// String writes the UID: `n_` and a ULID.
func (u UID) String() string { return uidPrefix + ulid.ULID(u).String() }

// ParseUID reads what String wrote; ok is false for any other text.
func ParseUID(s string) (u UID, ok bool) {
	written, ok := strings.CutPrefix(s, uidPrefix)
	if !ok {
		return UID{}, false
	}
	id, err := ulid.ParseStrict(written)
	if err != nil || UID(id).String() != s {
		return UID{}, false
	}
	return UID(id), true
}

// PackUIDs writes UIDs one behind the other; nil of none.
func PackUIDs(all []UID) []byte {
	if len(all) == 0 {
		return nil
	}
	b := make([]byte, 0, len(all)*len(UID{}))
	for _, u := range all {
		b = append(b, u[:]...)
	}
	return b
}

// UnpackUIDs reads what PackUIDs wrote; nil of bytes that it did not write.
func UnpackUIDs(b []byte) []UID {
	size := len(UID{})
	if len(b) == 0 || len(b)%size != 0 {
		return nil
	}
	all := make([]UID, len(b)/size)
	for i := range all {
		all[i] = UID(b[i*size:])
	}
	return all
}

// uidKey is how many bytes at the end of a UID tell nodes apart: all but the time.
const uidKey = 10

// key is the part of the UID by which its note is found.
func (u UID) key() string { return string(u[len(u)-uidKey:]) }

// derivedUID is the UID of a node that a commit brings and that says none: everybody who reads the log finds the same.
func derivedUID(at time.Time, seq uint64, path string, ordinal int) UID {
	b := binary.BigEndian.AppendUint64(nil, seq)
	b = binary.BigEndian.AppendUint64(b, uint64(ordinal))
	return hashedUID(ulid.Timestamp(at), append(b, path...))
}

// folderUID is the UID of a folder whose own file says none: it follows from its path.
func folderUID(dir string, attempt int) UID {
	b := binary.BigEndian.AppendUint64([]byte("folder\x00"), uint64(attempt))
	return hashedUID(0, append(b, dir...))
}

// hashedUID is a UID of a time, in milliseconds, and of the hash of some bytes.
func hashedUID(ms uint64, b []byte) UID {
	var id ulid.ULID
	if id.SetTime(min(ms, ulid.MaxTime())) != nil {
		return UID{}
	}
	sum := sha256.Sum256(b)
	copy(id[len(id)-uidKey:], sum[:])
	return UID(id)
}
