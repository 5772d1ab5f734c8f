package repo

import (
	"bytes"
	"context"
	"hash/maphash"
	"iter"
	"slices"
	"sync"
)

// A ledger remembers of each run which texts may be in the heads of its notes and items: paths, ids of traits and of
// items, and whatever else JSON has there. So the log is read once to find out that it never had a name, and after that
// only the runs that may have it, and those that came since. It holds hashes, not texts: what is erased needs not leave it.
type ledger struct {
	seed maphash.Seed

	mu   sync.Mutex
	runs []runNames // from the first run on, without gaps
	size int        // bytes
}

// maxLedger is how many bytes a ledger holds. Of a log with more the rest is read each time.
const maxLedger = 8 << 20

// runNames are the names in a run, as a Bloom filter of 16 bits a name: of 700 names that are not there one is taken for
// one that is.
type runNames struct {
	first, last uint64
	bits        []uint64
}

// The parameters of the filters.
const (
	bitsPerName  = 16
	probes       = 5
	runNamesSize = 48 // bytes of one beside its bits
)

func newLedger() *ledger { return &ledger{seed: maphash.MakeSeed()} }

// known are the runs that the ledger has.
func (l *ledger) known() []runNames {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs
}

// add adds runs that follow those which the reader saw; what another reader has added meanwhile stays.
func (l *ledger) add(seen int, more []runNames) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.runs) != seen {
		return
	}
	for _, r := range more {
		size := runNamesSize + 8*len(r.bits)
		if l.size+size > maxLedger {
			return
		}
		l.runs, l.size = append(l.runs, r), l.size+size
	}
}

// namesOf returns the names of a run.
func (l *ledger) namesOf(r *run) (runNames, error) {
	var hashes []uint64
	for _, p := range r.parts {
		if len(p.data) == 0 || p.data[0] != partNote && p.data[0] != partItem {
			continue
		}
		head, _, err := splitNote(p.data[1:])
		if err != nil {
			return runNames{}, err
		}
		for text := range stringsIn(head) {
			hashes = append(hashes, maphash.Bytes(l.seed, text))
		}
	}
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	n := runNames{first: r.First, last: r.Last, bits: make([]uint64, (len(hashes)*bitsPerName+63)/64)}
	for _, h := range hashes {
		for at := range n.places(h) {
			n.bits[at/64] |= 1 << (at % 64)
		}
	}
	return n, nil
}

// places are the bits of a hash.
func (n runNames) places(h uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		h = (h ^ n.first*0x9E3779B97F4A7C15) * 0xFF51AFD7ED558CCD // each run takes other names for its own
		h ^= h >> 33
		all, step := uint64(64*len(n.bits)), h>>32|1
		for range probes {
			if !yield(h % all) {
				return
			}
			h += step
		}
	}
}

// mayHave reports whether the run may have one of some texts, which are spelled as in JSON.
func (l *ledger) mayHave(n runNames, texts [][]byte) bool {
	return len(n.bits) > 0 && slices.ContainsFunc(texts, func(text []byte) bool {
		for at := range n.places(maphash.Bytes(l.seed, text)) {
			if n.bits[at/64]&(1<<(at%64)) == 0 {
				return false
			}
		}
		return true
	})
}

// stringsIn yields the strings in JSON, as they are spelled there and without quotes.
func stringsIn(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := data; ; {
			begin := bytes.IndexByte(rest, '"')
			if begin < 0 {
				return
			}
			rest = rest[begin+1:]
			end := stringEnd(rest)
			if end < 0 || !yield(rest[:end]) {
				return
			}
			rest = rest[end+1:]
		}
	}
}

// stringEnd is where a string ends, behind its first quote; negative if it does not.
func stringEnd(data []byte) int {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// naming yields the runs that may have one of some texts in the head of a note or an item, oldest first, up to the one
// that has a commit. The texts are spelled as in JSON, and may change between two runs. What is yielded is valid until the
// next is.
func (v *Vault) naming(ctx context.Context, upTo uint64, texts func() [][]byte) iter.Seq2[*run, error] {
	return func(yield func(*run, error) bool) {
		known, from := v.ledger.known(), uint64(1)
		for _, n := range known {
			if n.first > upTo {
				return
			}
			from = n.last + 1
			if !v.ledger.mayHave(n, texts()) {
				continue
			}
			if r, err := v.log.runAt(ctx, n.first); !yield(r, err) || err != nil {
				return
			}
		}
		var more []runNames
		defer func() { v.ledger.add(len(known), more) }()
		code := v.log.code.reusing()
		for r, err := range v.log.unpackedBy(ctx, code, from) {
			if err == nil {
				err = v.log.loadBy(ctx, code, r)
			}
			if err != nil {
				yield(nil, v.log.orErased(ctx, err))
				return
			}
			if r.First > upTo {
				return
			}
			n, err := v.ledger.namesOf(r)
			if err != nil {
				yield(nil, damaged(r.First, err))
				return
			}
			more = append(more, n)
			if v.ledger.mayHave(n, texts()) && !yield(r, nil) {
				return
			}
		}
	}
}
