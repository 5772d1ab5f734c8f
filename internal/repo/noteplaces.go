package repo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
)

// NotePlaces say where in a large run the changes of files are.
type notePlaces struct {
	first   uint64      // commit
	commits []*Commit   // without notes, records and key
	ends    []int       // of each commit, the number of the part behind its last
	notes   []notePlace // in order
}

// A notePlace is the part that a note of a commit is in. Paths may have the same digest, so what is there must be looked
// at.
type notePlace struct{ sum, part uint32 } // the digest of the path, and the number of the part

func comparePlaces(a, b notePlace) int {
	return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.part, b.part))
}

// placesOverhead is about what places cost beside the notes, and commitOverhead what each commit of them does.
const (
	placesOverhead = 256
	commitOverhead = 384
)

// size implements sized. Each commit of the run has an entry, and a share.
func (p *notePlaces) size() int64 {
	n := int64(len(p.commits))
	return (placesOverhead+8*int64(len(p.notes)))/n + commitOverhead
}

// places is the key of the places in the run that a commit is in.
func (k changeKey) places() changeKey {
	k.path = ""
	return k
}

// sumOf is the digest of a path.
func sumOf(path string) uint32 { return crc32.Checksum([]byte(path), castagnoli()) }

// newNotePlaces are the places in a run that is unpacked, without those of notes whose history is erased.
func newNotePlaces(r *run) *notePlaces {
	p := &notePlaces{first: r.First}
	end := 0
	for i := range r.Commits {
		end += len(r.Commits[i].Parts)
		p.ends = append(p.ends, end)
		p.commits = append(p.commits, r.bare(i))
	}
	for i := range r.parts {
		head, err := noteHeadIn(r.parts[i].data)
		if err != nil {
			continue // it is none of a note
		}
		if path, ok := pathIn(head); ok {
			p.notes = append(p.notes, notePlace{sumOf(path), uint32(i)})
		}
	}
	slices.SortFunc(p.notes, comparePlaces)
	return p
}

// pathIn is the path in the head of a note. It is the first member, so that no more is read.
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

// change is the change that a key names; nil if there is none. Data reads parts of the run.
func (p *notePlaces) change(k changeKey, data func(Place) ([]byte, error)) (*change, error) {
	h, part, at, err := p.note(k, data)
	if err != nil || h == nil {
		return nil, err
	}
	made, err := newChange(p.commits[k.seq-p.first], part, at)
	if err != nil {
		return nil, damaged(p.first, err)
	}
	made.path, made.seq = h.Path, h.Prev
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

// note is the head of the note that a key names, and the part that it is in; nil if there is none.
func (p *notePlaces) note(k changeKey, data func(Place) ([]byte, error)) (*noteHead, []byte, Place, error) {
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
		at := Place{p.first, int(n.part)}
		part, err := data(at)
		if err != nil {
			return nil, nil, at, err
		}
		if len(part) == 0 {
			continue // it was erased meanwhile
		}
		if h, err := readNoteHead(part); err != nil {
			return nil, nil, at, damaged(p.first, err)
		} else if h.Path == k.path {
			return h, part, at, nil
		}
	}
	return nil, nil, Place{}, nil
}

// readNoteHead is the head of the note that a part holds.
func readNoteHead(part []byte) (*noteHead, error) {
	head, err := noteHeadIn(part)
	if err != nil {
		return nil, err
	}
	h := &noteHead{}
	if err := json.Unmarshal(head, h); err != nil {
		return nil, fmt.Errorf("decode a note's head: %w", err)
	}
	return h, nil
}

// dataOf is the data of a part of a run that is unpacked.
func (r *run) dataOf(at Place) ([]byte, error) { return r.parts[at.Part].data, nil }
