package index

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// A UID is the identity of a node: a note, a section whose heading is not in a list or a quote, or
// a folder. It stays the same when the address changes (reference/tree.md C2). It is stored in the
// log, not in the texts. The zero UID means none.
type UID [16]byte

// uidPrefix is the beginning of a UID in text form.
const uidPrefix = "n_"

// String returns the text form of the UID: `n_` and a ULID.
func (u UID) String() string { return uidPrefix + ulid.ULID(u).String() }

// ParseUID parses the result of String; ok is false for any other text.
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

// PackUIDs returns UIDs as consecutive bytes, 16 each; nil for an empty list.
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

// UnpackUIDs parses the result of PackUIDs. It returns nil if b is empty or its length is not a
// multiple of 16.
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

// uidKey is the number of bytes at the end of a UID that distinguish nodes: all except the time.
// The lookup of UIDs has only these bytes, to save memory, so it also finds a UID with another
// time. Node and NodeFolder compare the whole UID.
const uidKey = 10

// key returns the part of the UID by which its file is found.
func (u UID) key() string { return string(u[len(u)-uidKey:]) }

// derivedUID returns the UID of a new node for which the commit has none: a hash of the version and
// the path, with the time of the commit. It depends only on the arguments, so every reader of the
// log computes the same one. ordinal distinguishes the nodes of a note, and further attempts for
// the same node.
func derivedUID(at time.Time, seq uint64, path string, ordinal int) UID {
	b := binary.BigEndian.AppendUint64(nil, seq)
	b = binary.BigEndian.AppendUint64(b, uint64(ordinal))
	return hashedUID(ulid.Timestamp(at), append(b, path...))
}

// folderUID returns a UID that depends only on the path of a folder and attempt, for a folder whose
// own file has none.
func folderUID(dir string, attempt int) UID {
	b := binary.BigEndian.AppendUint64([]byte("folder\x00"), uint64(attempt))
	return hashedUID(0, append(b, dir...))
}

// hashedUID returns a UID with a time, in milliseconds since 1970, and the first ten bytes of the
// SHA-256 of b. A time that a ULID cannot express is replaced by the last possible one. It returns
// the zero UID if the time is invalid.
func hashedUID(ms uint64, b []byte) UID {
	var id ulid.ULID
	if id.SetTime(min(ms, ulid.MaxTime())) != nil {
		return UID{}
	}
	sum := sha256.Sum256(b)
	copy(id[len(id)-uidKey:], sum[:])
	return UID(id)
}
