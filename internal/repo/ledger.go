package repo

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/maphash"
	"iter"
	"slices"
	"sync"

	"github.com/bits-and-blooms/bloom/v3"

	"github.com/rookeryhq/rookery/internal/eventlog"
)

// A ledger records for each run which strings may occur in the heads of its notes and items: paths,
// ids of traits and items, and any other JSON strings. With it, a search for a name reads the whole
// log only once; later searches read only the runs that may contain the name, and the new ones. It
// contains hashes, not texts, so erased texts need not be removed from it. It is safe for
// concurrent use.
type ledger struct {
	seed maphash.Seed

	mu   sync.Mutex
	runs []runNames // from the first run, without gaps
	size int        // bytes of runs
}

// maxLedger is the most bytes that a ledger takes. The runs of the log that do not fit are read by
// each search.
const maxLedger = 8 << 20

// A runNames is a Bloom filter of the hashes of the names in a run. It has no filter if the run has
// no names.
type runNames struct {
	first, last uint64
	filter      *bloom.BloomFilter
}

const (
	// falsePositives is the rate at which a search reads a run that does not contain the name. It
	// takes 29 bits for each name.
	falsePositives = 1e-6

	// runNamesSize is about how many bytes a runNames takes without the bits of its filter.
	runNamesSize = 96
)

// size returns about how many bytes the filter takes.
func (n runNames) size() int {
	if n.filter == nil {
		return runNamesSize
	}
	return runNamesSize + int(n.filter.Cap()/8) //nolint:gosec // at most a commit's names
}

// newLedger returns an empty ledger with a random hash seed.
func newLedger() *ledger { return &ledger{seed: maphash.MakeSeed()} }

// known returns the runs that the ledger contains, oldest first.
func (l *ledger) known() []runNames {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs
}

// add adds the runs after the first seen ones. It does nothing if another reader has added runs
// meanwhile, and stops at maxLedger. The runs must have no gaps, so nothing is evicted: a full
// ledger covers the beginning of the log.
func (l *ledger) add(seen int, more []runNames) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.runs) != seen {
		return
	}
	for _, r := range more {
		size := r.size()
		if l.size+size > maxLedger {
			return
		}
		l.runs, l.size = append(l.runs, r), l.size+size
	}
}

// namesOf returns the filter of a run whose payload is loaded. For a run without notes and items
// mayHave is always false. It returns an error if a head cannot be read.
func (l *ledger) namesOf(r *eventlog.Run) (runNames, error) {
	var hashes []uint64
	for _, p := range r.Parts {
		if !p.IsNote() && !p.IsItem() {
			continue
		}
		head, err := p.Head()
		if err != nil {
			return runNames{}, err
		}
		for text := range stringsIn(head) {
			hashes = append(hashes, maphash.Bytes(l.seed, text))
		}
	}
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	n := runNames{first: r.First, last: r.Last}
	if len(hashes) == 0 {
		return n, nil
	}
	n.filter = bloom.NewWithEstimates(uint(len(hashes)), falsePositives)
	for _, h := range hashes {
		n.filter.Add(binary.LittleEndian.AppendUint64(nil, h))
	}
	return n, nil
}

// mayHave reports whether a run may contain one of the texts, which are encoded as in JSON, without
// quotes.
func (l *ledger) mayHave(n runNames, texts [][]byte) bool {
	return n.filter != nil && slices.ContainsFunc(texts, func(text []byte) bool {
		return n.filter.Test(binary.LittleEndian.AppendUint64(nil, maphash.Bytes(l.seed, text)))
	})
}

// stringsIn yields the strings in JSON data, as they are encoded there and without quotes.
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

// stringEnd returns the offset of the quote that ends a string, if data begins after its first
// quote; -1 if there is none.
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

// naming yields the runs that may contain one of the texts in the head of a note or an item, oldest
// first, up to the run that contains commit upTo. texts returns the texts, encoded as in JSON; its
// result may change between two runs. A run is valid only until the next one is yielded. It ends
// with the first error.
func (v *Vault) naming(ctx context.Context, upTo uint64, texts func() [][]byte) iter.Seq2[*eventlog.Run, error] {
	return func(yield func(*eventlog.Run, error) bool) {
		known, from := v.ledger.known(), uint64(1)
		for _, n := range known {
			if n.first > upTo {
				return
			}
			from = n.last + 1
			if !v.ledger.mayHave(n, texts()) {
				continue
			}
			if r, err := v.log.RunAt(ctx, n.first); !yield(r, err) || err != nil {
				return
			}
		}
		var more []runNames
		defer func() { v.ledger.add(len(known), more) }()
		for r, err := range v.log.Runs(ctx, from, upTo) {
			if err != nil {
				yield(nil, err)
				return
			}
			n, err := v.ledger.namesOf(r)
			if err != nil {
				yield(nil, eventlog.Damaged(r.First, err))
				return
			}
			more = append(more, n)
			if v.ledger.mayHave(n, texts()) && !yield(r, nil) {
				return
			}
		}
	}
}
