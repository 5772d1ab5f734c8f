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
// ids of traits and items, and any other JSON strings; and which notes its answers of calls may
// name. With it, a search for a name reads the whole log only once; later searches read only the
// runs that may contain the name, and the new ones. It contains hashes, not texts, so erased texts
// need not be removed from it. It is safe for concurrent use.
type ledger struct {
	seed maphash.Seed

	mu   sync.Mutex
	runs []runNames // from the first run, without gaps
	size int        // bytes of runs
}

// maxLedger is the most bytes that a ledger takes. The runs of the log that do not fit are read by
// each search.
const maxLedger = 8 << 20

// A runNames has Bloom filters of the hashes of names in a run: of the strings in the heads of its
// notes and items, and of the ids that its answers may contain. A filter is nil if there is no name.
type runNames struct {
	first, last    uint64
	heads, answers *bloom.BloomFilter
}

const (
	// falsePositives is the rate at which a search reads a run that does not contain the name. It
	// takes 29 bits for each name.
	falsePositives = 1e-6

	// runNamesSize is about how many bytes a runNames takes without the bits of its filters.
	runNamesSize = 112
)

// size returns about how many bytes the filters take.
func (n runNames) size() int {
	size := runNamesSize
	for _, f := range []*bloom.BloomFilter{n.heads, n.answers} {
		if f != nil {
			size += int(f.Cap() / 8) //nolint:gosec // at most a commit's names
		}
	}
	return size
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

// namesOf returns the filters of a run whose payload is loaded. It returns an error if a head cannot
// be read.
func (l *ledger) namesOf(r *eventlog.Run) (runNames, error) {
	var heads, answers []uint64
	for _, p := range r.Parts {
		if answer, ok := p.Answer(); ok {
			for id := range idsIn(answer) {
				answers = append(answers, maphash.Bytes(l.seed, id))
			}
		}
		if !p.IsNote() && !p.IsItem() {
			continue
		}
		head, err := p.Head()
		if err != nil {
			return runNames{}, err
		}
		for text := range stringsIn(head) {
			heads = append(heads, maphash.Bytes(l.seed, text))
		}
	}
	return runNames{r.First, r.Last, filterOf(heads), filterOf(answers)}, nil
}

// filterOf returns a filter of some hashes; nil for none. It sorts hashes.
func filterOf(hashes []uint64) *bloom.BloomFilter {
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	if len(hashes) == 0 {
		return nil
	}
	f := bloom.NewWithEstimates(uint(len(hashes)), falsePositives)
	var key [8]byte
	for _, h := range hashes {
		binary.LittleEndian.PutUint64(key[:], h)
		f.Add(key[:])
	}
	return f
}

// mayHave reports whether a run may contain one of the texts in a head. They are encoded as in
// JSON, without quotes.
func (l *ledger) mayHave(n runNames, texts [][]byte) bool { return l.test(n.heads, texts) }

// mayAnswer reports whether an answer in a run may have one of the texts as an id; see idsIn.
func (l *ledger) mayAnswer(n runNames, ids [][]byte) bool { return l.test(n.answers, ids) }

// test reports whether a filter, which may be nil, may contain one of the texts.
func (l *ledger) test(filter *bloom.BloomFilter, texts [][]byte) bool {
	return filter != nil && slices.ContainsFunc(texts, func(text []byte) bool {
		return filter.Test(binary.LittleEndian.AppendUint64(nil, maphash.Bytes(l.seed, text)))
	})
}

// idsIn yields everything in an answer that hasID may find: the bytes after each quote, up to the
// next quote or the first #, and the same without the extension of a note. It may yield more.
func idsIn(answer []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := answer; len(rest) > 0; {
			id, after, _ := bytes.Cut(rest, []byte(`"`))
			rest = after
			id, _, _ = bytes.Cut(id, []byte("#"))
			stem, isFile := bytes.CutSuffix(id, []byte(".md"))
			if !yield(id) || isFile && !yield(stem) {
				return
			}
		}
	}
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
	return v.runsWhere(ctx, 1, upTo, func(n runNames) bool { return v.ledger.mayHave(n, texts()) })
}

// runsWhere yields the runs from the one that contains commit from to the one that contains upTo for
// which may returns true, oldest first. It adds runs that it reads to the ledger. A run is valid
// only until the next one is yielded. It ends with the first error.
func (v *Vault) runsWhere(
	ctx context.Context, from, upTo uint64, may func(runNames) bool,
) iter.Seq2[*eventlog.Run, error] {
	return func(yield func(*eventlog.Run, error) bool) {
		known, next := v.ledger.known(), uint64(1)
		for _, n := range known {
			if n.first > upTo {
				return
			}
			next = n.last + 1
			if n.last < from || !may(n) {
				continue
			}
			if r, err := v.log.RunAt(ctx, n.first); !yield(r, err) || err != nil {
				return
			}
		}
		var more []runNames
		if from <= next {
			from = next
			defer func() { v.ledger.add(len(known), more) }()
		}
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
			if may(n) && !yield(r, nil) {
				return
			}
		}
	}
}
