package eventlog

import (
	"context"
	"errors"
	"sort"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// A PackedRun is the packed payload of a run. It is immutable. The zero value has no parts.
type PackedRun struct {
	first  uint64
	packed []byte
	frames []frame // nil if there is a single one
	code   *codec
}

// newPackedRun returns a PackedRun, with the frames of the payload.
func newPackedRun(code *codec, first uint64, packed []byte) (PackedRun, error) {
	frames, err := framesOf(packed)
	return PackedRun{first, packed, frames, code}, err
}

// First returns the first commit of the run.
func (r PackedRun) First() uint64 { return r.first }

// Size returns the size of the packed payload in bytes.
func (r PackedRun) Size() int { return len(r.packed) }

// Frames returns the number of frames that can be unpacked on their own; 0 if there is a single
// one.
func (r PackedRun) Frames() int { return len(r.frames) }

// FrameOf returns the index of the frame that contains a part; Frames if none does, and if there is
// a single one.
func (r PackedRun) FrameOf(part int) int {
	return sort.Search(len(r.frames), func(i int) bool { return part < r.frames[i].first+r.frames[i].parts })
}

// Reusing returns the run with a buffer of its own, which every Unpack reuses: unpacked parts are
// valid only until the next Unpack, and Unpack is not safe for concurrent use. It is for readers of
// many frames that keep nothing.
func (r PackedRun) Reusing() PackedRun {
	r.code = r.code.reusing()
	return r
}

// Unpack unpacks the parts of a frame. first is the number of its first part in the run. If there
// is a single frame, its index is 0.
func (r PackedRun) Unpack(frame int) (parts []Part, first int, err error) {
	if r.frames == nil {
		parts, err = r.code.unpack(r.packed)
		return parts, 0, err
	}
	parts, err = r.code.unpackFrame(r.packed, r.frames[frame])
	return parts, r.frames[frame].first, err
}

// PackedAt returns the packed payload of the run that begins with commit first. It looks in the
// table and in the segments as RunAt does, and has the same errors.
func (l *Log[S]) PackedAt(ctx context.Context, first uint64) (PackedRun, error) {
	_, packed, err := l.packedAt(ctx, first)
	if err != nil {
		return PackedRun{}, err
	}
	p, err := newPackedRun(l.code, first, packed)
	if err != nil {
		err = Damaged(first, err)
	}
	return p, err
}

// packedAt returns the run that begins with commit first without its parts, and its packed payload.
// Its errors are those of RunAt.
func (l *Log[S]) packedAt(ctx context.Context, first uint64) (r *Run, packed []byte, err error) {
	defer func() { err = l.orErased(ctx, err) }()
	if first <= l.head.Load().control.Low {
		return l.segments.packed(ctx, first)
	}
	it, err := l.opt.Table.Get(ctx, table.Key{Part: l.opt.Part, Sort: runKey(first)})
	if errors.Is(err, table.ErrNotFound) && l.opt.Imaging != nil {
		r, packed, err = l.segments.packed(ctx, first)
		if errors.Is(err, errNoSegment) {
			err = Damaged(first, err)
		}
		return r, packed, err
	}
	if err != nil {
		return nil, nil, Unreadable(ctx, err)
	}
	if r, packed, err = readPlaced(it); err == nil && r.Object != "" {
		packed, err = l.payload(ctx, r)
	}
	return r, packed, err
}

// PackedWith returns the run that contains a commit, which must exist, without its parts, and its
// packed payload. It costs the same requests as RunWith. Its errors are those of RunAt; there may be
// an INDEX_ERROR for a run whose payload object is lost, which RunWith may find in a segment.
func (l *Log[S]) PackedWith(ctx context.Context, seq uint64) (*Run, PackedRun, error) {
	r, packed, err := l.packedWith(ctx, seq)
	if err != nil || r.Size == 0 {
		return r, PackedRun{}, err
	}
	p, err := newPackedRun(l.code, r.First, packed)
	if err != nil {
		err = Damaged(r.First, err)
	}
	return r, p, err
}

// packedWith is PackedWith with the payload as it is stored.
func (l *Log[S]) packedWith(ctx context.Context, seq uint64) (r *Run, packed []byte, err error) {
	defer func() { err = l.orErased(ctx, err) }()
	r, err = l.tableRunWith(ctx, seq)
	switch {
	case err != nil:
		return nil, nil, err
	case r == nil:
		r, packed, err = l.segments.packed(ctx, seq)
		if errors.Is(err, errNoSegment) {
			err = Damaged(seq, err)
		}
	case r.Object != "":
		packed, err = l.payload(ctx, r)
	default:
		packed = r.packed
	}
	return r, packed, err
}

// RunWithParts is RunAt for a reader of a few parts. It unpacks only the frames that contain them;
// the other parts of the run may be empty. It returns INDEX_ERROR if the run has no such part.
func (l *Log[S]) RunWithParts(ctx context.Context, first uint64, parts []int) (*Run, error) {
	r, packed, err := l.packedAt(ctx, first)
	if err == nil {
		if err = r.unpackOnly(l.code, packed, parts); err == nil {
			return r, nil
		}
		err = Damaged(first, err)
	}
	if fault.Is(err, fault.IndexError) { // RunAt can read a run whose payload object is lost
		return l.RunAt(ctx, first)
	}
	return nil, err
}

// unpackOnly sets the parts of a run to those of the frames that contain some of them. It returns
// ErrFewParts if the run does not have all of these.
func (r *Run) unpackOnly(code *codec, packed []byte, parts []int) error {
	p, err := newPackedRun(code, r.First, packed)
	if err != nil {
		return err
	}
	n := 0
	for _, h := range r.Commits {
		n += len(h.Parts)
	}
	r.Parts = make([]Part, n)
	done := map[int]bool{}
	for _, part := range parts {
		frame := p.FrameOf(part)
		if done[frame] {
			continue
		}
		if part >= n || frame == p.Frames() && frame > 0 {
			return ErrFewParts
		}
		some, at, err := p.Unpack(frame)
		if err != nil {
			return err
		}
		if at+len(some) > n {
			return ErrFewParts
		}
		copy(r.Parts[at:], some)
		done[frame] = true
	}
	return nil
}
