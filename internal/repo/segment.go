package repo

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"sort"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
)

// A segment is an immutable object that holds runs which follow each other, so that their items may
// leave the table (log.md §4). It is a directory and the runs behind it, each as its item was: the
// header as it was stored, so that the chain goes on, and the payload, also where that had been an
// object of its own. Each payload is a zstd frame of its own, so that one can be read alone.
//
// On disk: segmentMagic, the length of the directory and its CRC-32C, four bytes each with the lowest
// first; the directory in JSON; the runs.

// segmentFormat is the version of a segment's directory.
const segmentFormat = 1

const (
	segmentPrefix = "segment/"
	segmentMagic  = "RKSG"

	// segmentHead is how many bytes stand before the directory.
	segmentHead = len(segmentMagic) + 8
)

// segmentKey is the key of the segment that begins with a commit.
func segmentKey(first uint64) string { return fmt.Sprintf("%s%012d", segmentPrefix, first) }

// A directory says what a segment holds, and where.
type directory struct {
	Format int         `json:"format"`
	First  uint64      `json:"first"`
	Last   uint64      `json:"last"`
	Prev   []byte      `json:"prev"` // of the first header
	Hash   []byte      `json:"hash"` // of the last header
	Runs   []storedRun `json:"runs"`

	start int64    // where the runs begin
	tag   blob.Tag // of the segment, which is written anew where a history is erased
}

// A storedRun is one run of a segment.
type storedRun struct {
	First uint64    `json:"first"`
	Last  uint64    `json:"last"`
	Time  time.Time `json:"time"` // of its first commit
	Off   int64     `json:"off"`  // behind the directory
	Len   int64     `json:"len"`
}

// holding is the number of the run that holds a commit.
func (d *directory) holding(seq uint64) (int, bool) {
	i := sort.Search(len(d.Runs), func(i int) bool { return d.Runs[i].Last >= seq })
	return i, i < len(d.Runs) && d.Runs[i].First <= seq
}

// A segmentWriter collects the runs of a segment.
type segmentWriter struct {
	dir  directory
	body []byte
}

// add takes the next run: its item, with the payload in it.
func (w *segmentWriter) add(r *run, packed []byte) {
	item := withPayload(r.raw, packed)
	if len(w.dir.Runs) == 0 {
		w.dir.Format, w.dir.First, w.dir.Prev = segmentFormat, r.First, r.Prev
	}
	w.dir.Last, w.dir.Hash = r.Last, r.hash()
	w.dir.Runs = append(w.dir.Runs, storedRun{
		First: r.First, Last: r.Last, Time: r.Commits[0].Time,
		Off: int64(len(w.body)), Len: int64(len(item)),
	})
	w.body = append(w.body, item...)
}

// commits is how many commits the segment holds so far.
func (w *segmentWriter) commits() uint64 {
	if len(w.dir.Runs) == 0 {
		return 0
	}
	return w.dir.Last - w.dir.First + 1
}

// bytes is the segment as an object.
func (w *segmentWriter) bytes() ([]byte, error) {
	dir, err := json.Marshal(w.dir)
	if err != nil {
		return nil, fmt.Errorf("encode the directory of a segment: %w", err)
	}
	b := make([]byte, 0, segmentHead+len(dir)+len(w.body))
	b = append(b, segmentMagic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(dir)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(dir, castagnoli()))
	return append(append(b, dir...), w.body...), nil
}

// castagnoli is the table of CRC-32C, which crc32 makes once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// withPayload is the item of a run that holds its payload.
func withPayload(header, packed []byte) []byte {
	data := binary.AppendUvarint(nil, uint64(len(header)))
	return append(append(data, header...), packed...)
}

// errShort says that a directory is longer than what was read of its segment.
var errShort = errors.New("there is more of the directory")

// directorySize is how many bytes of a segment hold its directory, by its first bytes.
func directorySize(head []byte) (int64, error) {
	if len(head) < segmentHead || string(head[:len(segmentMagic)]) != segmentMagic {
		return 0, errors.New("it is no segment")
	}
	return int64(segmentHead) + int64(binary.LittleEndian.Uint32(head[len(segmentMagic):])), nil
}

// readDirectory reads the directory of the segment that begins so. It is errShort if that is not
// enough.
func readDirectory(head []byte) (*directory, error) {
	size, err := directorySize(head)
	if err != nil {
		return nil, err
	}
	if size > int64(len(head)) {
		return nil, errShort
	}
	text := head[segmentHead:size]
	if crc32.Checksum(text, castagnoli()) != binary.LittleEndian.Uint32(head[segmentHead-4:]) {
		return nil, errors.New("its directory is damaged")
	}
	d := &directory{start: size}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("decode its directory: %w", err)
	}
	if d.Format != segmentFormat {
		return nil, errFormat
	}
	return d, d.check()
}

// check is why the directory cannot be right.
func (d *directory) check() error {
	next, off := d.First, int64(0)
	for _, r := range d.Runs {
		if r.First != next || r.Last < r.First || r.Off != off || r.Len <= 0 {
			return errors.New("its runs do not follow each other")
		}
		next, off = r.Last+1, off+r.Len
	}
	if len(d.Runs) == 0 || next != d.Last+1 {
		return errors.New("its directory is cut off")
	}
	return nil
}

// readStored reads a run of a segment, which has its payload with it.
func (c *codec) readStored(data []byte, at storedRun) (*run, error) {
	r, packed, err := readItemAt(data, at)
	if err == nil && r.Size > 0 {
		r.parts, err = c.unpack(packed)
	}
	return r, err
}

// readItemAt reads the item of a run of a segment, whose payload it does not unpack.
func readItemAt(data []byte, at storedRun) (r *run, packed []byte, err error) {
	r, packed, err = readItem(data)
	if err == nil && (r.First != at.First || r.Last != at.Last) {
		err = errors.New("the run of another place")
	}
	return r, packed, err
}

// joins reports whether the segment goes on behind a header.
func (d *directory) joins(first uint64, prev []byte) bool {
	return d.First == first && bytes.Equal(d.Prev, prev)
}

// brokenSegment is the fault of a segment that cannot be used.
func brokenSegment(first uint64, err error) error {
	if errors.Is(err, errFormat) {
		return fmt.Errorf("segment %d: %w", first, err)
	}
	return fault.New(fault.IndexError, "the log cannot be read at %s", Version(first)).
		OnServer("doctor --full").Because(fmt.Errorf("segment %d: %w", first, err))
}
