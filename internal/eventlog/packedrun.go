package eventlog

import (
	"context"
	"errors"
	"sort"

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
func (l *Log[S]) PackedAt(ctx context.Context, first uint64) (_ PackedRun, err error) {
	defer func() { err = l.orErased(ctx, err) }()
	if first <= l.head.Load().control.Low {
		return l.segments.packed(ctx, first)
	}
	it, err := l.opt.Table.Get(ctx, table.Key{Part: l.opt.Part, Sort: runKey(first)})
	if errors.Is(err, table.ErrNotFound) && l.opt.Imaging != nil {
		r, err := l.segments.packed(ctx, first)
		if errors.Is(err, errNoSegment) {
			err = Damaged(first, err)
		}
		return r, err
	}
	if err != nil {
		return PackedRun{}, Unreadable(ctx, err)
	}
	r, packed, err := readPlaced(it)
	if err == nil && r.Object != "" {
		packed, err = l.payload(ctx, r)
	}
	if err != nil {
		return PackedRun{}, err
	}
	p, err := newPackedRun(l.code, first, packed)
	if err != nil {
		err = Damaged(first, err)
	}
	return p, err
}
