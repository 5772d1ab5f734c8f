package repo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"hash/crc32"
	"slices"
)

// A notePlaces records which parts of a large run contain the changes of which files, so that the
// history of one file in an import of thousands need not unpack all of them. A note takes 8 bytes:
// the CRC-32C of its path and the number of its part. A lookup finds the first entry of the commit
// with the digest by binary search, unpacks the frame of its part, and compares the path. It is
// immutable, and the entries of all commits of the run in the cache share it.
type notePlaces struct {
	first   uint64             // first commit of the run
	commits []*eventlog.Commit // without notes, items, records and key
	ends    []int              // for each commit, the number of the part after its last one
	notes   []notePlace        // sorted by comparePlaces
}

// A notePlace is the part of one note. Different paths may have the same digest, so the path in the
// part must be compared.
type notePlace struct{ sum, part uint32 } // the digest of the path, and the number of the part

// comparePlaces orders places by digest, then by part.
func comparePlaces(a, b notePlace) int {
	return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.part, b.part))
}

// placesOverhead is about how many bytes a notePlaces takes in addition to its notes, and
// commitOverhead about how many each of its commits takes.
const (
	placesOverhead = 256
	commitOverhead = 384
)

// size implements sized. The value is cached once for each commit of the run, so it returns the
// share of one commit.
func (p *notePlaces) size() int64 {
	n := int64(len(p.commits))
	return (placesOverhead+8*int64(len(p.notes)))/n + commitOverhead
}

// places returns the key of the notePlaces of the run that contains the commit.
func (k changeKey) places() changeKey {
	k.path = ""
	return k
}

// sumOf returns the digest of a path.
func sumOf(path string) uint32 {
	return crc32.Checksum([]byte(path), crc32.MakeTable(crc32.Castagnoli))
}

// newNotePlaces returns the places in a run whose payload is loaded. Erased notes have none.
func newNotePlaces(r *eventlog.Run) *notePlaces {
	p := &notePlaces{first: r.First}
	end := 0
	for i := range r.Commits {
		end += len(r.Commits[i].Parts)
		p.ends = append(p.ends, end)
		p.commits = append(p.commits, r.Bare(i))
	}
	for i := range r.Parts {
		head, err := r.Parts[i].NoteHead()
		if err != nil {
			continue // not a note
		}
		if path, ok := pathIn(head); ok {
			p.notes = append(p.notes, notePlace{sumOf(path), uint32(i)})
		}
	}
	slices.SortFunc(p.notes, comparePlaces)
	return p
}

// pathIn returns the path in the head of a note. The path is the first member, so the rest is not
// decoded.
func pathIn(head []byte) (path string, ok bool) {
	in := json.NewDecoder(bytes.NewReader(head))
	for range 3 { // the brace, the name, and the value
		token, err := in.Token()
		if err != nil {
			return "", false
		}
		path, ok = token.(string)
	}
	return path, ok
}

// change returns the change with this key; nil if there is none. data reads parts of the run.
func (p *notePlaces) change(k changeKey, data func(eventlog.PartRef) (eventlog.Part, error)) (*change, error) {
	h, in, at, err := p.note(k, data)
	if err != nil || h == nil {
		return nil, err
	}
	made, err := newChange(p.commits[k.seq-p.first], in, at)
	if err != nil {
		return nil, eventlog.Damaged(p.first, err)
	}
	made.path, made.seq = h.Path, h.Prev
	// For a moved note, the previous change is that of the removal at its old path; see
	// Commit.Earlier.
	if h.From == "" || h.Prev != 0 {
		return made, nil
	}
	k.path = h.From
	was, _, _, err := p.note(k, data)
	if was != nil {
		made.path, made.seq = h.From, was.Prev
	}
	return made, err
}

// note returns the note with this key, without its texts, its part and the place of the part. The
// note is nil if there is none.
func (p *notePlaces) note(
	k changeKey, data func(eventlog.PartRef) (eventlog.Part, error),
) (*eventlog.Note, eventlog.Part, eventlog.PartRef, error) {
	i := int(k.seq - p.first) //nolint:gosec // one of the run's commits
	begin := 0
	if i > 0 {
		begin = p.ends[i-1]
	}
	first := notePlace{sumOf(k.path), uint32(begin)}
	for j, _ := slices.BinarySearchFunc(p.notes, first, comparePlaces); j < len(p.notes); j++ {
		n := p.notes[j]
		if n.sum != first.sum || int(n.part) >= p.ends[i] {
			break
		}
		at := eventlog.PartRef{Run: p.first, Part: int(n.part)}
		in, err := data(at)
		if err != nil {
			return nil, eventlog.Part{}, at, err
		}
		if len(in.Data) == 0 {
			continue // it was erased meanwhile
		}
		head, err := in.NoteHead()
		if err != nil {
			return nil, eventlog.Part{}, at, eventlog.Damaged(p.first, err)
		}
		if h, err := eventlog.DecodeNoteHead(head); err != nil {
			return nil, eventlog.Part{}, at, eventlog.Damaged(p.first, err)
		} else if h.Path == k.path {
			return &h, in, at, nil
		}
	}
	return nil, eventlog.Part{}, eventlog.PartRef{}, nil
}
