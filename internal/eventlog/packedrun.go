package eventlog

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"unsafe"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// A PackedRun is the packed payload of a run, or the place of its frames in a bucket on this
// machine. It is immutable. The zero value has no parts.
type PackedRun struct {
	first  uint64
	packed []byte  // the payload; empty if its frames are read one by one
	frames []frame // nil if there is a single one
	code   *codec
	read   payloadReader // reads the frames; nil if packed is the payload
}

// A payloadReader reads n bytes from offset off of a payload in a bucket, fewer at its end; n < 0
// means up to the end. Once an erasure has rewritten the payload, or the run has moved into a
// segment, it fails or returns other bytes.
type payloadReader func(ctx context.Context, off, n int64) ([]byte, error)

// ErrMoved is the error of a payload that is no longer where it was. PackedAt finds it again.
var ErrMoved = errors.New("the payload is no longer at its place")

// newPackedRun returns a PackedRun, with the frames of the payload.
func newPackedRun(code *codec, first uint64, packed []byte) (PackedRun, error) {
	frames, err := framesOf(packed)
	return PackedRun{first: first, packed: packed, frames: frames, code: code}, err
}

// First returns the first commit of the run.
func (r PackedRun) First() uint64 { return r.first }

// IsRun reports whether r is a run, and not the zero value.
func (r PackedRun) IsRun() bool { return r.first > 0 }

// Size returns about how many bytes of memory the run takes.
func (r PackedRun) Size() int { return len(r.packed) + len(r.frames)*int(unsafe.Sizeof(frame{})) }

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
// is a single frame, its index is 0. It returns ErrMoved if the frame is not in memory, and is not
// where it was.
func (r PackedRun) Unpack(ctx context.Context, frame int) (parts []Part, first int, err error) {
	if r.frames == nil {
		parts, err = r.code.unpack(r.packed)
		return parts, 0, err
	}
	f := r.frames[frame]
	if r.read == nil {
		parts, err = r.code.unpackFrame(r.packed[f.off:f.end], f)
		return parts, f.first, err
	}
	packed, err := r.read(ctx, int64(f.off), int64(f.end-f.off))
	if err == nil {
		parts, err = r.code.unpackFrame(packed, f)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrMoved, err)
	}
	return parts, f.first, nil
}

// PackedAt returns the packed payload of the run that begins with commit first. It looks in the
// table and in the segments as RunAt does, and has the same errors. If the bucket of the log is on
// this machine, it reads only the table of the frames of a large payload: the system keeps what is
// read often in memory anyway.
func (l *Log[S]) PackedAt(ctx context.Context, first uint64) (PackedRun, error) {
	if l.isHere() {
		if p, err := l.placedAt(ctx, first); err == nil {
			return p, nil
		}
	}
	_, packed, err := l.packedAt(ctx, first) // which returns the error
	if err != nil {
		return PackedRun{}, err
	}
	p, err := newPackedRun(l.code, first, packed)
	if err != nil {
		err = Damaged(first, err)
	}
	return p, err
}

// isHere reports whether the bucket of the log is on this machine.
func (l *Log[S]) isHere() bool {
	_, here := l.opt.Bucket.(blob.Folder)
	return here
}

// placedAt is PackedAt for a bucket on this machine.
func (l *Log[S]) placedAt(ctx context.Context, first uint64) (PackedRun, error) {
	if first <= l.head.Load().control.Low {
		_, p, err := l.placedInSegment(ctx, first)
		return p, err
	}
	it, err := l.opt.Table.Get(ctx, table.Key{Part: l.opt.Part, Sort: runKey(first)})
	if errors.Is(err, table.ErrNotFound) && l.opt.Imaging != nil {
		_, p, err := l.placedInSegment(ctx, first)
		return p, err
	}
	if err != nil {
		return PackedRun{}, err
	}
	r, inline, err := readPlaced(it)
	if err != nil {
		return PackedRun{}, err
	}
	return l.placed(ctx, r, inline)
}

// placedWith is PackedWith for a bucket on this machine.
func (l *Log[S]) placedWith(ctx context.Context, seq uint64) (*Run, PackedRun, error) {
	r, err := l.tableRunWith(ctx, seq)
	switch {
	case err != nil:
		return nil, PackedRun{}, err
	case r == nil:
		return l.placedInSegment(ctx, seq)
	case r.Size == 0:
		return r, PackedRun{}, nil
	}
	p, err := l.placed(ctx, r, r.packed)
	return r, p, err
}

// placedInSegment returns the run of a segment that contains a commit.
func (l *Log[S]) placedInSegment(ctx context.Context, seq uint64) (*Run, PackedRun, error) {
	r, read, err := l.segments.placed(ctx, seq)
	if err != nil || r.Size == 0 {
		return r, PackedRun{}, err
	}
	p, err := l.framesBy(ctx, r.First, read)
	return r, p, err
}

// placed returns the packed payload of a run of the table, which is inline if it is not an object.
func (l *Log[S]) placed(ctx context.Context, r *Run, inline []byte) (PackedRun, error) {
	if r.Object == "" {
		return newPackedRun(l.code, r.First, inline)
	}
	return l.framesBy(ctx, r.First, func(ctx context.Context, off, n int64) ([]byte, error) {
		data, _, err := l.opt.Bucket.Get(ctx, r.Object, off, n)
		return data, err
	})
}

// framesLook is how many bytes of a payload are read to find its frames.
const framesLook = 4 << 10

// framesBy returns the run of a payload. It reads the table of the frames or, if there is only one
// frame, the whole payload.
func (l *Log[S]) framesBy(ctx context.Context, first uint64, read payloadReader) (PackedRun, error) {
	head, err := read(ctx, 0, framesLook)
	if size := tableSize(head); err == nil && size > framesLook {
		head, err = read(ctx, 0, size)
	}
	if err != nil {
		return PackedRun{}, err
	}
	frames, err := framesIn(head)
	if err != nil || frames != nil {
		return PackedRun{first: first, frames: frames, code: l.code, read: read}, err
	}
	whole, err := read(ctx, 0, -1)
	if err != nil {
		return PackedRun{}, err
	}
	return newPackedRun(l.code, first, whole)
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
// packed payload, as PackedAt does. It costs the same requests as RunWith. Its errors are those of
// RunAt; there may be an INDEX_ERROR for a run whose payload object is lost, which RunWith may find
// in a segment.
func (l *Log[S]) PackedWith(ctx context.Context, seq uint64) (*Run, PackedRun, error) {
	if l.isHere() {
		if r, p, err := l.placedWith(ctx, seq); err == nil {
			return r, p, nil
		}
	}
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
		if err = r.unpackOnly(ctx, l.code, packed, parts); err == nil {
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
func (r *Run) unpackOnly(ctx context.Context, code *codec, packed []byte, parts []int) error {
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
		some, at, err := p.Unpack(ctx, frame)
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
