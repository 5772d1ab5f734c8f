package repo

import (
	"context"
	"errors"
	"fmt"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// checkSegments checks that the segments cover the log without gaps up to their cursor.
func checkSegments(ctx context.Context, e *examined) []Finding {
	const check = "segments"
	folded := e.control.Cursors[segmentsCursor].Seq
	n := 0
	for seq := uint64(1); seq <= folded; n++ {
		d, err := e.vault.log.segments.holding(ctx, seq)
		if errors.Is(err, errNoSegment) {
			err = damaged(seq, err)
		}
		if fault.Is(err, fault.IndexError) {
			return []Finding{Failure(check, err, fromBackup)}
		}
		if err != nil {
			return []Finding{Failure(check, err, "")}
		}
		seq = d.Last + 1
	}
	if n == 0 {
		return []Finding{Good(check, "none yet: the whole log is in the database")}
	}
	return []Finding{Good(check, fmt.Sprintf("%s up to %s", howMany(n, "segment"), Version(folded)))}
}

// checkImage checks that the image in use can be read. A damaged one is only a warning: nothing is
// lost, because the next one is built from the log.
func checkImage(ctx context.Context, e *examined) []Finding {
	const check = "image"
	i := e.control.Image
	if i == nil {
		return []Finding{Good(check, "none yet: a start reads the whole log")}
	}
	if _, _, err := e.vault.log.open(ctx, *i); err != nil {
		why := "is damaged"
		if errors.Is(err, blob.ErrNotExist) {
			why = "is missing"
		}
		return []Finding{Warning(check, fmt.Sprintf("the image of %s %s: a start reads more of the log",
			Version(i.Seq), why), "serve the vault: the next image is made from the log")}
	}
	return []Finding{Good(check, fmt.Sprintf("%s, of %d KiB", Version(i.Seq), i.Size>>10))}
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
			return unreadable(ctx, err)
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
