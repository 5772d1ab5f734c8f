package repo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/rookeryhq/rookery/internal/eventlog"
)

// A notePlaces records which parts of a large run contain the changes of which files, so that the
// history of one file in an import of thousands need not unpack all of them. A note takes 8 bytes:
// the CRC-32C of its path and the number of its part. A lookup unpacks the frames of the parts with
// the digest, and compares the path. If none has it, it unpacks one frame after the other, from where
// the last lookup stopped, and records their notes, until one contains the file. The entries of all
// commits of the run in the cache share it. It is safe for concurrent use.
type notePlaces struct {
	first   uint64             // first commit of the run
	commits []*eventlog.Commit // without notes, items, records and key
	ends    []int              // for each commit, the number of the part after its last one

	mu    sync.Mutex
	known int         // number of the first part that is not recorded
	notes []notePlace // of the parts before it, in their order
}

// A partReader reads parts of a run. Its errors are INDEX_ERROR and UNAVAILABLE.
type partReader interface {
	// part returns the part at a place. It is valid until the next call of part.
	part(ctx context.Context, at eventlog.PartRef) (eventlog.Part, error)
	// frame returns the parts of the frame that contains the part at a place, and the number of the
	// first one. They are valid until the next call of frame.
	frame(ctx context.Context, at eventlog.PartRef) (parts []eventlog.Part, first int, err error)
}

var _ partReader = (*pick)(nil)

// A notePlace is the part of one note. Different paths may have the same digest, so the path in the
// part must be compared.
type notePlace struct{ sum, part uint32 } // the digest of the path, and the number of the part

// placesOverhead is about how many bytes a notePlaces takes in addition to its notes, and
// commitOverhead about how many each of its commits takes.
const (
	placesOverhead = 256
	commitOverhead = 384
)

// size implements sized. The value is cached once for each commit of the run, so it returns the
// share of one commit. It counts all parts of the run as notes that are recorded.
func (p *notePlaces) size() int64 {
	n := int64(len(p.commits))
	return (placesOverhead+8*int64(p.ends[n-1]))/n + commitOverhead
}

// places returns the key of the notePlaces of the run that contains the commit.
func (k changeKey) places() changeKey {
	k.path = ""
	return k
}

// sumOf returns the digest of a path.
func sumOf(path []byte) uint32 { return crc32.Checksum(path, crc32.MakeTable(crc32.Castagnoli)) }

// newNotePlaces returns the places in a run. If its payload is loaded, they are all known, otherwise
// none is.
func newNotePlaces(r *eventlog.Run) *notePlaces {
	p := &notePlaces{first: r.First}
	end := 0
	for i := range r.Commits {
		end += len(r.Commits[i].Parts)
		p.ends = append(p.ends, end)
		p.commits = append(p.commits, r.Bare(i))
	}
	p.record(0, r.Parts)
	return p
}

// record adds the notes of the parts from number first on, unless another lookup did it meanwhile.
// Erased notes have no place.
func (p *notePlaces) record(first int, parts []eventlog.Part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if first != p.known {
		return
	}
	p.notes = slices.Grow(p.notes, p.ends[len(p.ends)-1]-len(p.notes)) // the size that is counted
	for i := range parts {
		head, err := parts[i].NoteHead()
		if err != nil {
			continue // not a note
		}
		if path, ok := pathIn(head); ok {
			p.notes = append(p.notes, notePlace{sumOf(path), uint32(first + i)}) //nolint:gosec // a count of parts
		}
	}
	p.known += len(parts)
}

// pathIn returns the path in the head of a note. The path is the first member, so the rest is not
// decoded.
func pathIn(head []byte) (path []byte, ok bool) {
	if rest, found := bytes.CutPrefix(head, []byte(`{"path":"`)); found {
		path, _, ok = bytes.Cut(rest, []byte{'"'})
		if ok && !bytes.Contains(path, []byte{'\\'}) {
			return path, true
		}
	}
	in := json.NewDecoder(bytes.NewReader(head))
	var value string
	for range 3 { // the brace, the name, and the value
		token, err := in.Token()
		if err != nil {
			return nil, false
		}
		value, ok = token.(string)
	}
	return []byte(value), ok
}

// change returns the change with this key; nil if there is none. guess is a place at which the note
// may be, or the zero place.
func (p *notePlaces) change(
	ctx context.Context, k changeKey, guess eventlog.PartRef, from partReader,
) (*change, error) {
	n, err := p.note(ctx, k, guess, from)
	if err != nil || n == nil {
		return nil, err
	}
	made, err := newChange(p.commits[k.seq-p.first], n.in, n.at)
	if err != nil {
		return nil, eventlog.Damaged(p.first, err)
	}
	made.path, made.seq = n.Path, n.Prev
	// For a moved note, the previous change is that of the removal at its old path; see
	// Commit.Earlier.
	if n.From == "" || n.Prev != 0 {
		return made, nil
	}
	k.path = n.From
	was, err := p.note(ctx, k, eventlog.PartRef{}, from)
	if was != nil {
		made.path, made.seq = k.path, was.Prev
	}
	return made, err
}

// A placedNote is a note without its texts, its part, and the place of the part.
type placedNote struct {
	eventlog.Note
	in eventlog.Part
	at eventlog.PartRef
}

// note returns the note with this key; nil if there is none. guess is as for change.
func (p *notePlaces) note(
	ctx context.Context, k changeKey, guess eventlog.PartRef, from partReader,
) (*placedNote, error) {
	begin, end := p.partsOf(k.seq)
	if guess.Run == p.first && guess.Part >= begin && guess.Part < end {
		if n, err := p.noteAt(ctx, k.path, guess.Part, from); n != nil || err != nil {
			return n, err
		}
	}
	for next := begin; ; {
		parts, known := p.recorded(k.path, next, end)
		for _, part := range parts {
			if n, err := p.noteAt(ctx, k.path, part, from); n != nil || err != nil {
				return n, err
			}
		}
		if known >= end {
			return nil, nil
		}
		more, first, err := from.frame(ctx, eventlog.PartRef{Run: p.first, Part: known})
		if err != nil {
			return nil, err
		}
		p.record(known, more[known-first:])
		next = max(begin, known)
	}
}

// partsOf returns the numbers of the first part of a commit and of the part after its last one.
func (p *notePlaces) partsOf(seq uint64) (begin, end int) {
	i := int(seq - p.first) //nolint:gosec // one of the run's commits
	if i > 0 {
		begin = p.ends[i-1]
	}
	return begin, p.ends[i]
}

// recorded returns the numbers of the recorded parts from begin to before end that may be the note at
// a path, and the number of the first part that is not recorded.
func (p *notePlaces) recorded(path string, begin, end int) (parts []int, known int) {
	sum := sumOf([]byte(path))
	p.mu.Lock()
	defer p.mu.Unlock()
	i, _ := slices.BinarySearchFunc(p.notes, begin, func(n notePlace, part int) int {
		return cmp.Compare(int(n.part), part)
	})
	for _, n := range p.notes[i:] {
		if int(n.part) >= end {
			break
		}
		if n.sum == sum {
			parts = append(parts, int(n.part))
		}
	}
	return parts, p.known
}

// noteAt returns the note in a part; nil if the part has another path, or was erased meanwhile.
func (p *notePlaces) noteAt(ctx context.Context, path string, part int, from partReader) (*placedNote, error) {
	at := eventlog.PartRef{Run: p.first, Part: part}
	in, err := from.part(ctx, at)
	if err != nil || !in.IsNote() {
		return nil, err
	}
	head, err := in.NoteHead()
	if err != nil {
		return nil, eventlog.Damaged(p.first, err)
	}
	h, err := eventlog.DecodeNoteHead(head)
	if err != nil {
		return nil, eventlog.Damaged(p.first, err)
	}
	if h.Path != path {
		return nil, nil
	}
	return &placedNote{h, in, at}, nil
}
