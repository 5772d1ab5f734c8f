package repo

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rookery/internal/index"
)

// The versions of the item of a run: one without items of the vault in it, which earlier releases read too, and one
// with them.
const (
	format      = 1
	formatItems = 2
)

// A run is one or more commits as one item of the table: a header and a payload.
//
// The header is chained: it holds the hash of the header before. Texts, old and new values, records
// and answers do not enter it, only their salted digests; they lie in the payload, each with its
// salt. So what one part says can be erased, salt included, and the chain still verifies
// (log.md §2.7).
type run struct {
	header
	raw    []byte // the header as it is stored; its hash is the next header's Prev
	parts  []part
	packed []byte // the payload as it is stored, if it is at hand and not unpacked yet
	stored int    // bytes of the run as it is stored; of a payload that is an object, once it was loaded
}

type header struct {
	Format  int          `json:"format"`
	First   uint64       `json:"first"`
	Last    uint64       `json:"last"`
	Prev    []byte       `json:"prev"` // sha256 of the header before; empty in the first run
	Commits []commitHead `json:"commits"`
	Object  string       `json:"object,omitempty"` // key of the payload, if it is not in the item
	Size    int          `json:"size"`             // of the payload, not compressed
}

// commitHead is what the header says of one commit.
type commitHead struct {
	Call    string    `json:"call"`
	Time    time.Time `json:"time"`
	Who     Who       `json:"who"`
	Tool    string    `json:"tool"`
	Took    int64     `json:"took_ms,omitempty"`
	Status  Status    `json:"status,omitempty"`
	KeyHash []byte    `json:"key,omitempty"`
	KeyReq  []byte    `json:"key_request,omitempty"`

	// Items is how many of the parts are items, and FirstItem the number of the first: an empty part does not say
	// what it was.
	Items     int `json:"items,omitempty"`
	FirstItem int `json:"first_item,omitempty"`

	Parts []digest `json:"parts"`
}

type digest []byte

// A part is the smallest thing in a payload that can be erased alone: one note or one item of a commit, its
// records, or its answer.
type part struct {
	salt [16]byte
	data []byte // first byte: the kind
}

// The kinds of part.
const (
	partNote    = 'n'
	partItem    = 'i'
	partRecords = 'r'
	partAnswer  = 'a'
)

func newPart(kind byte, chunks ...[]byte) part {
	size := 1
	for _, c := range chunks {
		size += len(c)
	}
	p := part{data: append(make([]byte, 0, size), kind)}
	if _, err := rand.Read(p.salt[:]); err != nil {
		panic(err) // never: crypto/rand does not fail
	}
	for _, c := range chunks {
		p.data = append(p.data, c...)
	}
	return p
}

func (p part) digest() digest {
	h := sha256.New()
	h.Write(p.salt[:])
	h.Write(p.data)
	return h.Sum(nil)
}

// noteHead is what a note's part holds before its text.
type noteHead struct {
	Path    string          `json:"path"`
	Deleted bool            `json:"deleted,omitempty"`
	Prev    uint64          `json:"prev,omitempty"`
	Was     *[]byte         `json:"was,omitempty"`
	Traits  []string        `json:"traits,omitempty"`
	Nodes   []byte          `json:"nodes,omitempty"` // one UID behind the other
	Events  json.RawMessage `json:"events,omitempty"`
	Past    *index.Past     `json:"past,omitempty"`
	From    string          `json:"from,omitempty"`
	Since   time.Time       `json:"since,omitzero"`
	Theirs  *int            `json:"theirs,omitempty"` // how many bytes behind the text are theirs
}

func headOf(n Note) noteHead {
	h := noteHead{
		Path: n.Path, Deleted: n.Deleted, Prev: n.Prev, Traits: n.Traits, Events: n.Events,
		Past: n.Past, From: n.From, Since: n.Since, Nodes: index.PackUIDs(n.Nodes),
	}
	if n.Was != nil {
		h.Was = &n.Was
	}
	if n.Theirs != nil {
		size := len(n.Theirs)
		h.Theirs = &size
	}
	return h
}

// partsOf takes a commit apart. Its notes come first, so that note i of a commit is its part i, and then its items.
func partsOf(c *Commit) ([]part, error) {
	var parts []part
	for _, n := range c.Notes {
		head, err := json.Marshal(headOf(n))
		if err != nil {
			return nil, fmt.Errorf("encode a note's head: %w", err)
		}
		size := binary.AppendUvarint(nil, uint64(len(head)))
		parts = append(parts, newPart(partNote, size, head, n.Text, n.Theirs))
	}
	for i := range c.Items {
		p, err := c.Items[i].part()
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	if len(c.Records) > 0 {
		records, err := json.Marshal(c.Records)
		if err != nil {
			return nil, fmt.Errorf("encode records: %w", err)
		}
		parts = append(parts, newPart(partRecords, records))
	}
	if c.Key != nil {
		parts = append(parts, newPart(partAnswer, c.Key.Answer))
	}
	return parts, nil
}

// answerPart is the number, within its commit, of the part that holds the answer.
func (c *Commit) answerPart() int {
	n := len(c.Notes) + len(c.Items)
	if len(c.Records) > 0 {
		n++
	}
	return n
}

// newRun makes the run of these commits, which follow the header whose hash is prev. The payload is
// not placed yet.
func newRun(commits []*Commit, prev []byte) (*run, error) {
	r := &run{header: header{
		Format: format, First: commits[0].Seq, Last: commits[len(commits)-1].Seq, Prev: prev,
	}}
	for _, c := range commits {
		parts, err := partsOf(c)
		if err != nil {
			return nil, err
		}
		h := commitHead{
			Call: c.Call, Time: c.Time, Who: c.Who, Tool: c.Tool, Status: c.Status,
			Parts: []digest{},
		}
		if len(c.Items) > 0 {
			r.Format, h.Items, h.FirstItem = formatItems, len(c.Items), len(c.Notes)
		}
		if c.Key != nil {
			h.KeyHash, h.KeyReq = c.Key.Hash, c.Key.Request
		}
		for _, p := range parts {
			h.Parts = append(h.Parts, p.digest())
		}
		r.Commits = append(r.Commits, h)
		r.parts = append(r.parts, parts...)
	}
	return r, nil
}

// bare is a commit of the run without notes, records and key.
func (r *run) bare(i int) *Commit {
	h := &r.Commits[i]
	return &Commit{
		Seq: r.First + uint64(i), Call: h.Call, Time: h.Time, Who: h.Who, Tool: h.Tool,
		Status: h.Status, Took: time.Duration(h.Took) * time.Millisecond,
	}
}

// commits puts the commits together again.
func (r *run) commits() ([]*Commit, error) { return r.commitsOf(func(part) bool { return true }) }

// commitsOf is commits, with nothing but their places of the parts that are not wanted.
func (r *run) commitsOf(wanted func(part) bool) ([]*Commit, error) {
	var all []*Commit
	rest := r.parts
	for i, h := range r.Commits {
		if len(h.Parts) > len(rest) {
			return nil, fmt.Errorf("run %d: its payload lacks parts", r.First)
		}
		c := r.bare(i)
		if h.KeyHash != nil {
			c.Key = &Key{Hash: h.KeyHash, Request: h.KeyReq}
		}
		if err := c.fill(&h, rest[:len(h.Parts)], wanted); err != nil {
			return nil, fmt.Errorf("run %d: %w", r.First, err)
		}
		rest = rest[len(h.Parts):]
		all = append(all, c)
	}
	return all, nil
}

// fill reads the parts of the commit, of which those that are erased have no bytes.
func (c *Commit) fill(h *commitHead, parts []part, wanted func(part) bool) error {
	for i, p := range parts {
		answers := c.Key != nil && i == len(parts)-1
		switch {
		case len(p.data) == 0 && h.isItem(i):
			c.Items = append(c.Items, Item{Erased: true})
		case len(p.data) == 0 && !answers:
			c.Notes = append(c.Notes, Note{Erased: true})
		case !wanted(p):
			c.pass(p)
		default:
			if err := c.take(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// isItem reports whether a part of the commit is an item.
func (h *commitHead) isItem(part int) bool {
	return part >= h.FirstItem && part < h.FirstItem+h.Items
}

// pass leaves the place of a part empty.
func (c *Commit) pass(p part) {
	switch {
	case len(p.data) == 0:
	case p.data[0] == partNote:
		c.Notes = append(c.Notes, Note{})
	case p.data[0] == partItem:
		c.Items = append(c.Items, Item{})
	}
}

// take reads one part into the commit.
func (c *Commit) take(p part) error {
	if len(p.data) == 0 {
		return nil // the answer, which was erased
	}
	body := p.data[1:]
	switch p.data[0] {
	case partNote:
		n, err := readNote(body)
		c.Notes = append(c.Notes, n)
		return err
	case partItem:
		i, err := readItemPart(body)
		c.Items = append(c.Items, i)
		return err
	case partRecords:
		return json.Unmarshal(body, &c.Records)
	case partAnswer:
		if c.Key != nil {
			c.Key.Answer = body
		}
		return nil
	}
	return fmt.Errorf("a part of unknown kind %q", p.data[0])
}

// splitNote is the head and the text of a note, with what is theirs behind it, as its part holds them.
func splitNote(body []byte) (head, text []byte, err error) {
	size, n := binary.Uvarint(body)
	if n <= 0 || size > uint64(len(body)-n) {
		return nil, nil, errCutOff
	}
	return body[n : n+int(size)], body[n+int(size):], nil
}

// errCutOff says that a note's part ends too early.
var errCutOff = errors.New("a note's part is cut off")

// ours is the text of a note without what is theirs.
func ours(text []byte, theirs *int) ([]byte, error) {
	if theirs == nil {
		return text, nil
	}
	at := len(text) - *theirs
	if at < 0 || at > len(text) {
		return nil, errCutOff
	}
	return text[:at:at], nil
}

func readNote(body []byte) (Note, error) {
	head, text, err := splitNote(body)
	if err != nil {
		return Note{}, err
	}
	var h noteHead
	if err := json.Unmarshal(head, &h); err != nil {
		return Note{}, fmt.Errorf("decode a note's head: %w", err)
	}
	note := h.note()
	mine, err := ours(text, h.Theirs)
	if err != nil {
		return Note{}, err
	}
	if h.Theirs != nil {
		note.Theirs = text[len(mine):]
	}
	if !h.Deleted {
		note.Text = mine
	}
	return note, nil
}

// note is what a head says of a note.
func (h *noteHead) note() Note {
	note := Note{
		Path: h.Path, Deleted: h.Deleted, Prev: h.Prev, Traits: h.Traits, Events: h.Events,
		Past: h.Past, From: h.From, Since: h.Since, Nodes: index.UnpackUIDs(h.Nodes),
	}
	if h.Was != nil {
		note.Was = append([]byte{}, *h.Was...)
	}
	return note
}

// textOf is the text of a note that a part holds, or the value of an item; nil of one that is gone. Of the head, which may be
// larger than the text, it reads no more than it needs.
func textOf(data []byte, at Place) ([]byte, error) {
	if len(data) == 0 || data[0] != partNote && data[0] != partItem {
		return nil, fmt.Errorf("part %d of run %d is no note", at.Part, at.Run)
	}
	if data[0] == partItem {
		i, err := readItemPart(data[1:])
		return i.Value, err
	}
	head, text, err := splitNote(data[1:])
	if err != nil {
		return nil, err
	}
	var h struct {
		Deleted bool `json:"deleted"`
		Theirs  *int `json:"theirs"`
	}
	if err := json.Unmarshal(head, &h); err != nil {
		return nil, fmt.Errorf("decode a note's head: %w", err)
	}
	if h.Deleted {
		return nil, nil
	}
	return ours(text, h.Theirs)
}

// verify reports whether the parts are those that the header names. One that is empty may have been
// erased: see emptied.
func (r *run) verify() error {
	i := 0
	for _, h := range r.Commits {
		for _, want := range h.Parts {
			if i < len(r.parts) && len(r.parts[i].data) == 0 {
				i++
				continue
			}
			if i >= len(r.parts) || string(r.parts[i].digest()) != string(want) {
				return fmt.Errorf("run %d: part %d is not what its header says", r.First, i)
			}
			i++
		}
	}
	if i != len(r.parts) {
		return fmt.Errorf("run %d: it has parts that its header does not name", r.First)
	}
	return nil
}

// emptied are the places of the parts that are empty. That is right only of those that a later commit
// of the log erases.
func (r *run) emptied() []Place {
	var all []Place
	for i, p := range r.parts {
		if len(p.data) == 0 {
			all = append(all, Place{r.First, i})
		}
	}
	return all
}

// hash is what the next header's Prev is.
func (r *run) hash() []byte {
	sum := sha256.Sum256(r.raw)
	return sum[:]
}
