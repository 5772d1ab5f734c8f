package eventlog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"sort"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
)

// A segment is an immutable object with consecutive runs, so that their items can leave the table
// (log.md §4). It consists of a directory and the runs in the format of their items: the header as
// stored, so that the chain continues, and the payload, including payloads that were objects. Each
// payload is compressed separately, so that it can be read alone. The only change of a segment is
// that parts are emptied when a history is erased.
//
// Format: segmentMagic; the length of the directory and its CRC-32C, as 32-bit little-endian
// numbers; the directory in JSON; the runs.

// segmentFormat is the version of the directory of a segment.
const segmentFormat = 1

const (
	segmentPrefix = "segment/"
	segmentMagic  = "RKSG"

	// segmentHead is the number of bytes before the directory.
	segmentHead = len(segmentMagic) + 8
)

// segmentKey returns the key of the segment that begins with a commit.
func segmentKey(first uint64) string { return fmt.Sprintf("%s%012d", segmentPrefix, first) }

// A directory lists the runs of a segment and their offsets.
type directory struct {
	Format int         `json:"format"`
	First  uint64      `json:"first"`
	Last   uint64      `json:"last"`
	Prev   []byte      `json:"prev"` // of the first run
	Hash   []byte      `json:"hash"` // of the last run's header
	Runs   []storedRun `json:"runs"`

	start int64    // offset of the runs in the object
	tag   blob.Tag // of the object; it changes when a history is erased
}

// A storedRun is the entry of one run in a directory.
type storedRun struct {
	First uint64    `json:"first"`
	Last  uint64    `json:"last"`
	Time  time.Time `json:"time"` // of its first commit
	Off   int64     `json:"off"`  // offset from directory.start
	Len   int64     `json:"len"`
}

// holding returns the index of the run that contains a commit; false if none does.
func (d *directory) holding(seq uint64) (int, bool) {
	i := sort.Search(len(d.Runs), func(i int) bool { return d.Runs[i].Last >= seq })
	return i, i < len(d.Runs) && d.Runs[i].First <= seq
}

// A segmentWriter collects the runs of a segment.
type segmentWriter struct {
	dir  directory
	body []byte
}

// add appends the next run, with its packed payload.
func (w *segmentWriter) add(r *Run, packed []byte) {
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

// commits returns how many commits the segment contains so far.
func (w *segmentWriter) commits() uint64 {
	if len(w.dir.Runs) == 0 {
		return 0
	}
	return w.dir.Last - w.dir.First + 1
}

// bytes returns the segment as an object.
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

// castagnoli returns the table of CRC-32C, which crc32 caches.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// withPayload returns the item of a run from its stored header and its packed payload.
func withPayload(header, packed []byte) []byte {
	data := binary.AppendUvarint(nil, uint64(len(header)))
	return append(append(data, header...), packed...)
}

// errShort is the error of a directory that is longer than the data.
var errShort = errors.New("there is more of the directory")

// directorySize returns how many bytes at the beginning of a segment contain its directory, from
// its first bytes.
func directorySize(head []byte) (int64, error) {
	if len(head) < segmentHead || string(head[:len(segmentMagic)]) != segmentMagic {
		return 0, errors.New("it is not a segment")
	}
	return int64(segmentHead) + int64(binary.LittleEndian.Uint32(head[len(segmentMagic):])), nil
}

// readDirectory decodes the directory of a segment from its first bytes. It returns errShort if
// these do not contain the whole directory, and errFormat for another format.
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

// check returns an error if the runs of the directory are not consecutive.
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

// readStored decodes a run of a segment, and unpacks its payload.
func (c *codec) readStored(data []byte, at storedRun) (*Run, error) {
	r, packed, err := readItemAt(data, at)
	if err == nil && r.Size > 0 {
		r.Parts, err = c.unpack(packed)
	}
	return r, err
}

// readItemAt decodes the item of a run of a segment, without unpacking its payload.
func readItemAt(data []byte, at storedRun) (r *Run, packed []byte, err error) {
	r, packed, err = readItem(data)
	if err == nil && (r.First != at.First || r.Last != at.Last) {
		err = errors.New("the run of another place")
	}
	return r, packed, err
}

// joins reports whether the segment begins with commit first and continues the chain after the
// header with hash prev.
func (d *directory) joins(first uint64, prev []byte) bool {
	return d.First == first && bytes.Equal(d.Prev, prev)
}

// brokenSegment returns the INDEX_ERROR of a segment that cannot be used, or an error that wraps
// errFormat if a later release wrote it.
func brokenSegment(first uint64, err error) error {
	if errors.Is(err, errFormat) {
		return fmt.Errorf("segment %d: %w", first, err)
	}
	return fault.New(fault.IndexError, "the log cannot be read at %s", Version(first)).
		OnServer("doctor --full").Because(fmt.Errorf("segment %d: %w", first, err))
}
