package eventlog

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// Verify reads the whole log and calls each for every commit, oldest first. It returns the last
// commit up to which the chain is intact. It returns INDEX_ERROR if a header does not continue the
// chain, if the log ends before a commit that a consumer has seen and, with digests, if a part does
// not match its digest or a part is empty that no commit erases.
func (l *Log[S]) Verify(ctx context.Context, digests bool, each func(*Commit)) (intact uint64, err error) {
	r := replay[S]{log: l, verify: digests, upTo: MaxSeq, head: head[S]{status: Active}}
	r.each(ctx, func(c *Commit, _ PartRef) bool {
		each(c)
		return true
	})
	if err = r.err; err == nil {
		err = r.head.joinsAll()
	}
	if err == nil && digests {
		err = l.twins(ctx, r.head.control)
	}
	return r.head.seq, err
}

// CheckSegments checks that the segments contain the log up to a commit without gaps, and returns
// how many there are. It reads their directories. It returns INDEX_ERROR if one is missing or
// damaged.
func (l *Log[S]) CheckSegments(ctx context.Context, upTo uint64) (n int, err error) {
	for seq := uint64(1); seq <= upTo; n++ {
		d, err := l.segments.holding(ctx, seq)
		if errors.Is(err, errNoSegment) {
			err = Damaged(seq, err)
		}
		if err != nil {
			return n, err
		}
		seq = d.Last + 1
	}
	return n, nil
}

// CheckImage returns an error if an image cannot be read; blob.ErrNotExist if it is missing.
func (l *Log[S]) CheckImage(ctx context.Context, i Image) error {
	_, _, err := l.open(ctx, i)
	return err
}

// ErrHeaders is the error of a log whose headers cannot all be read.
var ErrHeaders = errors.New("the headers of the log cannot all be read")

// CheckPayloads looks for the payload objects that the headers of the runs in the table name. c is
// the control item. It returns how many the headers name, and the first commits of the runs whose
// object is missing. Runs that are in segments need none. It returns ErrHeaders if a header cannot
// be read.
func (l *Log[S]) CheckPayloads(ctx context.Context, c Control) (named int, missing []uint64, err error) {
	stored := map[string]bool{}
	for o, err := range l.opt.Bucket.List(ctx, payloadPrefix) {
		if err != nil {
			return 0, nil, fmt.Errorf("list payloads: %w", err)
		}
		stored[o.Key] = true
	}
	for r, err := range l.headers(ctx) {
		if err != nil {
			return named, missing, fmt.Errorf("%w: %w", ErrHeaders, err)
		}
		if r.Object == "" || r.Last <= c.Low { // such a run is read from segments
			continue
		}
		if !stored[r.Object] && r.Last <= c.Folded() {
			continue // its content is in a segment, which CheckSegments checks
		}
		if named++; !stored[r.Object] {
			missing = append(missing, r.First)
		}
	}
	return named, missing, nil
}

// headers yields the runs in the table, including those that are in segments too. Only the headers
// are decoded. It ends with the first error.
func (l *Log[S]) headers(ctx context.Context) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(0), runKey(MaxSeq)) {
			if err != nil {
				yield(nil, Unreadable(ctx, err))
				return
			}
			r, _, err := readItem(it.Data)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// twins verifies the runs that are in the table and also in a segment: those compacted within the
// last hour. Readers use either copy, so both must match the chain.
func (l *Log[S]) twins(ctx context.Context, c Control) error {
	folded, hashes := c.Cursors[segmentsCursor].Seq, map[uint64]string{}
	for r, err := range l.segments.from(ctx, l.code, c.Low+1, folded) {
		if err != nil {
			return err
		}
		hashes[r.First] = string(r.hash())
	}
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(c.Low+1), runKey(folded)) {
		if err != nil {
			return Unreadable(ctx, err)
		}
		if err := l.twin(ctx, it, hashes); err != nil {
			return err
		}
	}
	return nil
}

// twin verifies a run of the table, and compares its hash with that of the copy in a segment.
func (l *Log[S]) twin(ctx context.Context, it table.Item, hashes map[uint64]string) error {
	r, err := l.read(it)
	if err == nil {
		err = l.load(ctx, r)
	}
	if err != nil {
		return err
	}
	hash, known := hashes[r.First]
	if known && hash != string(r.hash()) {
		return offChain(r.First, errors.New("its segment has another header"))
	}
	if err := r.verify(); err != nil {
		return offChain(r.First, err)
	}
	return nil
}

// joinsAll returns INDEX_ERROR if the log ends before a commit that a cursor or the image has seen:
// it lost its newest commits.
func (h *head[S]) joinsAll() error {
	seen := uint64(0)
	for _, c := range h.control.Cursors {
		seen = max(seen, c.Seq)
	}
	if h.control.Image != nil {
		seen = max(seen, h.control.Image.Seq)
	}
	if seen <= h.seq {
		return nil
	}
	return fault.New(fault.IndexError, "the log ends at %s, and there was a %s",
		Version(h.seq), Version(seen)).OnServer("doctor")
}
