package repo

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/s2"

	"github.com/rookeryhq/rookery/internal/eventlog"
)

// A Derivations caches values that readers derive from large commits of a vault, so that the next
// reader need not decode the whole commit. The entries share the limit of the changes cache, and
// all of them are dropped when something in the vault is erased. It is safe for concurrent use, and
// is for one reading of the log: a value that was derived before an erasure is not added after it.
// A commit has at most one value.
type Derivations struct {
	v     *Vault
	state int // of the changes cache, before the reader reads the log
}

// A derived is a cached value, and the commit from which it was derived.
type derived struct {
	commit *eventlog.Commit // without notes, items, records and key
	value  any
	bytes  int64 // of value
}

// size implements sized.
func (d *derived) size() int64 { return d.bytes + changeOverhead }

// Derivations returns the cache of values derived from the commits of the vault. A reader must call
// it before it reads the commits.
func (v *Vault) Derivations() Derivations {
	return Derivations{v, v.texts.changes.state(v.derivedKey(0))}
}

// derivedKey returns the key of the derived value of a commit.
func (v *Vault) derivedKey(seq uint64) changeKey {
	return changeKey{tenant: v.texts.tenant, part: v.part, seq: seq, derived: true}
}

// Of returns the value that was added for a commit, and the commit without notes, items, records
// and key; false if none is cached.
func (d Derivations) Of(seq uint64) (c *eventlog.Commit, value any, ok bool) {
	found, ok := d.v.texts.changes.get(d.v.derivedKey(seq)).(*derived)
	if !ok {
		return nil, nil, false
	}
	return found.commit, found.value, true
}

// Fits reports whether a value of this many bytes can be cached: whether it takes at most half of
// the cache.
func (d Derivations) Fits(bytes int64) bool { return bytes <= d.v.texts.changes.most/2 }

// Add caches a value for a commit. The value takes about this many bytes, and must not be changed
// afterwards. Add does nothing if the value does not fit, or if something was erased since the call
// of Vault.Derivations.
func (d Derivations) Add(c *eventlog.Commit, value any, bytes int64) {
	if !d.Fits(bytes) {
		return
	}
	d.v.texts.changes.add(d.v.derivedKey(c.Seq), d.state, &derived{c.Bare(), value, bytes})
}

// PackDerived returns data compressed, for a part of a cached value.
func PackDerived(data []byte) []byte { return bytes.Clone(s2.Encode(nil, data)) }

// UnpackDerived returns the data that PackDerived compressed.
func UnpackDerived(packed []byte) ([]byte, error) {
	data, err := s2.Decode(nil, packed)
	if err != nil {
		return nil, fmt.Errorf("unpack derived data: %w", err)
	}
	return data, nil
}
