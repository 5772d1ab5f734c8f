package eventlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
)

// A segments is the set of segments of a log, as this process knows it. Each segment is named by
// its first commit and extends to the next segment. It is safe for concurrent use.
//
// What is known may be out of date: another process may write new segments, and an erasure may
// rewrite old ones. So the bucket is listed again if no known segment contains a commit, and every
// read compares the tag of the object with that of its cached directory. mu is held while a
// directory is read, so that concurrent callers read it once.
type segments struct {
	bucket blob.Bucket
	code   *codec

	mu     sync.Mutex
	firsts []uint64 // first commits of the known segments, sorted
	known  uint64   // firsts contains all segments of the log up to this commit
	dirs   *simplelru.LRU[uint64, *directory]
}

const (
	// mostDirectories is how many directories are cached; each takes about 50 KB.
	mostDirectories = 64

	// firstLook is how many bytes of a segment are read to get its directory.
	firstLook = 64 << 10
)

// errNoSegment is the error of a commit that is not in any segment.
var errNoSegment = errors.New("it is in no segment")

// newSegments returns a segments that knows no segment yet.
func newSegments(bucket blob.Bucket, code *codec) *segments {
	dirs, err := simplelru.NewLRU[uint64, *directory](mostDirectories, nil)
	if err != nil {
		panic(err) // never: the size is positive
	}
	return &segments{bucket: bucket, code: code, dirs: dirs}
}

// run reads the run that contains a commit. It costs one read if the directory of the segment is
// cached. The error is errNoSegment if no segment contains the commit.
func (s *segments) run(ctx context.Context, seq uint64) (*Run, error) {
	var r *Run
	err := s.item(ctx, seq, func(data []byte, at storedRun) (err error) {
		r, err = s.code.readStored(data, at)
		return err
	})
	return r, err
}

// packed reads the run that contains a commit, without its parts, and its packed payload.
func (s *segments) packed(ctx context.Context, seq uint64) (r *Run, packed []byte, err error) {
	err = s.item(ctx, seq, func(data []byte, at storedRun) (err error) {
		r, packed, err = readItemAt(data, at)
		return err
	})
	return r, packed, err
}

// placed returns the run that contains a commit, without its parts, and a reader of its packed
// payload.
func (s *segments) placed(ctx context.Context, seq uint64) (*Run, payloadReader, error) {
	d, err := s.holding(ctx, seq)
	if err != nil {
		return nil, nil, err
	}
	i, ok := d.holding(seq)
	if !ok {
		return nil, nil, errNoSegment
	}
	at := d.Runs[i]
	begin, end := d.start+at.Off, d.start+at.Off+at.Len
	// The item begins with the length of the header and the header, and the payload follows them.
	front, err := s.read(ctx, d, begin, min(firstLook, at.Len))
	if err != nil {
		return nil, nil, err
	}
	size, n := binary.Uvarint(front)
	if n <= 0 || size > uint64(at.Len) { //nolint:gosec // a length is not negative
		return nil, nil, brokenSegment(d.First, errors.New("it is cut off"))
	}
	header := int64(n) + int64(size) //nolint:gosec // at most twice the length of the item
	if header > int64(len(front)) {
		if front, err = s.read(ctx, d, begin, min(header, at.Len)); err != nil {
			return nil, nil, err
		}
	}
	r, _, err := readItemAt(front, at)
	if err != nil {
		return nil, nil, brokenSegment(d.First, err)
	}
	begin += header
	return r, func(ctx context.Context, off, n int64) ([]byte, error) {
		if rest := max(0, end-begin-off); n < 0 || n > rest {
			n = rest
		}
		return s.read(ctx, d, begin+off, n)
	}, nil
}

// item reads the item of the run that contains a commit, and passes it to decode.
func (s *segments) item(
	ctx context.Context, seq uint64, decode func(data []byte, at storedRun) error,
) error {
	for {
		d, err := s.holding(ctx, seq)
		if err != nil {
			return err
		}
		i, ok := d.holding(seq)
		if !ok {
			return errNoSegment
		}
		at := d.Runs[i]
		data, err := s.read(ctx, d, d.start+at.Off, at.Len)
		if errors.Is(err, errRewritten) {
			continue
		}
		if err != nil {
			return err
		}
		if err := decode(data, at); err != nil {
			return brokenSegment(d.First, err)
		}
		return nil
	}
}

// errRewritten is the error of a segment that has been rewritten since its directory was read. The
// cached directories have been dropped.
var errRewritten = errors.New("the segment was rewritten")

// read reads n bytes of a segment at offset off; -1: up to the end. It drops the cache if the
// segment was rewritten or cannot be read.
func (s *segments) read(
	ctx context.Context, d *directory, off, n int64,
) ([]byte, error) {
	data, tag, err := s.bucket.Get(ctx, segmentKey(d.First), off, n)
	if err != nil {
		s.forget()
		return nil, segmentUnread(ctx, d.First, err)
	}
	if tag != d.tag {
		s.forget()
		return nil, errRewritten
	}
	return data, nil
}

// holding returns the directory of the segment that contains a commit. If no known segment does, it
// lists the segments again, because another process may have written one. It returns errNoSegment
// if there is none.
func (s *segments) holding(ctx context.Context, seq uint64) (*directory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.among(ctx, seq)
	// A known segment may have been deleted, and another process may have written new ones.
	if d == nil && err == nil || errors.Is(err, blob.ErrNotExist) {
		if err = s.list(ctx); err == nil {
			d, err = s.among(ctx, seq)
		}
	}
	if d == nil && err == nil {
		err = errNoSegment
	}
	return d, err
}

// among returns the directory of the known segment that contains a commit; nil if none does. The
// caller holds mu.
func (s *segments) among(ctx context.Context, seq uint64) (*directory, error) {
	i, found := slices.BinarySearch(s.firsts, seq)
	if !found {
		i--
	}
	if i < 0 {
		return nil, nil
	}
	d, err := s.directory(ctx, s.firsts[i])
	if err != nil || d.Last < seq {
		return nil, err
	}
	return d, nil
}

// next returns the first commit of the first known segment after a commit; MaxSeq+1 if there is
// none.
func (s *segments) next(seq uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, first := range s.firsts {
		if first > seq {
			return first
		}
	}
	return MaxSeq + 1
}

// list reads the names of the segments from the bucket. The caller holds mu.
func (s *segments) list(ctx context.Context) error {
	var firsts []uint64
	for o, err := range s.bucket.List(ctx, segmentPrefix) {
		if err != nil {
			return segmentUnread(ctx, 0, err)
		}
		first, err := strconv.ParseUint(strings.TrimPrefix(o.Key, segmentPrefix), 10, 64)
		if err == nil {
			firsts = append(firsts, first)
		}
	}
	s.firsts = firsts
	return nil
}

// directory returns the directory of a segment, and caches it. The caller holds mu.
func (s *segments) directory(ctx context.Context, first uint64) (*directory, error) {
	if d, ok := s.dirs.Get(first); ok {
		return d, nil
	}
	d, err := s.look(ctx, first, firstLook)
	if err != nil {
		return nil, err
	}
	s.dirs.Add(first, d)
	return d, nil
}

// look reads the directory of a segment from its first n bytes. If these are too few, it reads as
// many as necessary.
func (s *segments) look(ctx context.Context, first uint64, n int64) (*directory, error) {
	head, tag, err := s.bucket.Get(ctx, segmentKey(first), 0, n)
	if err != nil {
		return nil, segmentUnread(ctx, first, err)
	}
	d, err := readDirectory(head)
	if errors.Is(err, errShort) && n == firstLook {
		size, _ := directorySize(head)
		return s.look(ctx, first, size)
	}
	if err != nil {
		return nil, brokenSegment(first, err)
	}
	d.tag = tag
	return d, nil
}

// wrote adds a segment that now exists.
func (s *segments) wrote(d *directory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learn(d.First)
	// The new segment extends the range that is known without gaps.
	if d.First <= s.known+1 {
		s.known = max(s.known, d.Last)
	}
	s.dirs.Remove(d.First)
}

// learn adds the name of a segment. The caller holds mu.
func (s *segments) learn(first uint64) {
	if i, found := slices.BinarySearch(s.firsts, first); !found {
		s.firsts = slices.Insert(s.firsts, i, first)
	}
}

// know adds the names of all segments that contain the log up to a commit, from an image.
func (s *segments) know(firsts []uint64, upTo uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, first := range firsts {
		s.learn(first)
	}
	s.known = max(s.known, upTo)
}

// upTo returns the first commits of the segments that contain the log up to commit folded. It lists
// the bucket only if another process wrote some of them.
func (s *segments) upTo(ctx context.Context, folded uint64) ([]uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known < folded {
		if err := s.list(ctx); err != nil {
			return nil, err
		}
		s.known = folded
	}
	end, found := slices.BinarySearch(s.firsts, folded)
	if found {
		end++
	}
	return slices.Clone(s.firsts[:end]), nil
}

// forget drops all names and directories, so that they are read again.
func (s *segments) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.firsts, s.known = nil, 0
	s.dirs.Purge()
}

// from yields the runs in segments, from the one that contains commit seq to the end of the segment
// that contains upTo. It reads each segment in one piece, and unpacks the runs with code. It ends
// with the first error.
func (s *segments) from(ctx context.Context, code *codec, seq, upTo uint64) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		for seq = max(seq, 1); seq <= upTo; {
			d, err := s.holding(ctx, seq)
			if errors.Is(err, errNoSegment) {
				err = Damaged(seq, err)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			i, _ := d.holding(seq)
			runs := d.Runs[i:]
			last := runs[len(runs)-1]
			data, err := s.read(ctx, d, d.start+runs[0].Off, last.Off+last.Len-runs[0].Off)
			if errors.Is(err, errRewritten) {
				continue
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !d.all(code, data, runs, yield) {
				return
			}
			seq = d.Last + 1
		}
	}
}

// all yields consecutive runs of the segment from their data. It returns false if the iteration must
// stop.
func (d *directory) all(
	code *codec, data []byte, runs []storedRun, yield func(*Run, error) bool,
) bool {
	for _, at := range runs {
		from := at.Off - runs[0].Off
		end := from + at.Len
		if end > int64(len(data)) {
			return yield(nil, brokenSegment(d.First, errors.New("it is cut off")))
		}
		r, err := code.readStored(data[from:end:end], at)
		if err != nil {
			return yield(nil, brokenSegment(d.First, err))
		}
		if !yield(r, nil) {
			return false
		}
	}
	return true
}

// segmentUnread returns the error of a segment that cannot be read: INDEX_ERROR if it is missing,
// otherwise UNAVAILABLE or the error of an ended context.
func segmentUnread(ctx context.Context, first uint64, err error) error {
	err = fmt.Errorf("read segment %d: %w", first, err)
	if errors.Is(err, blob.ErrNotExist) {
		return fault.New(fault.IndexError, "a part of the log is missing at %s", Version(first)).
			OnServer("doctor --full").Because(err)
	}
	return notNow(ctx, "a part of the log cannot be read now", err)
}
