package eventlog

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/parallel"
)

// The formats of the item of a run: format is without items of the vault, and can be read by
// earlier releases too; formatItems is with items.
const (
	format      = 1
	formatItems = 2
)

// A Run is one or more commits that are stored as one item of the table: a header and a payload.
//
// The headers form a hash chain: each contains the hash of the one before. Texts, values, records
// and answers are in the payload; the header contains only their salted digests. So a part can be
// erased with its salt, and the chain still verifies (log.md §2.7).
type Run struct {
	Header
	raw    []byte // the header as stored; its hash is the next header's Prev
	Parts  []Part // nil: the payload is not unpacked
	packed []byte // the payload as stored, if it is loaded and not unpacked yet
	stored int    // bytes of the run as stored; includes a payload object once it is loaded
}

// A Header is the part of a run that is hashed. It is stored in JSON.
type Header struct {
	Format  int          `json:"format"`
	First   uint64       `json:"first"`
	Last    uint64       `json:"last"`
	Prev    []byte       `json:"prev"` // SHA-256 of the header before; empty in the first run
	Commits []CommitHead `json:"commits"`
	Object  string       `json:"object,omitempty"` // key of the payload object; empty: the payload is in the item
	Size    int          `json:"size"`             // bytes of the payload, not compressed
}

// A CommitHead is the entry of one commit in a header. It is never erased, so it contains nothing
// from notes or items: only who made the commit, when and how, and the digests of its parts.
// See Commit and Key for its other fields. Took is in milliseconds; KeyHash and KeyReq are nil if
// the call had no key.
type CommitHead struct {
	Call    string    `json:"call"`
	Time    time.Time `json:"time"`
	Who     Who       `json:"who"`
	Tool    string    `json:"tool"`
	Took    int64     `json:"took_ms,omitempty"`
	Status  Status    `json:"status,omitempty"`
	KeyHash []byte    `json:"key,omitempty"`
	KeyReq  []byte    `json:"key_request,omitempty"`

	// Items is the number of parts that are items, and FirstItem the number of the first one. They
	// are needed because an empty part has no kind.
	Items     int `json:"items,omitempty"`
	FirstItem int `json:"first_item,omitempty"`

	Parts []Digest `json:"parts"`
}

// A Digest is the SHA-256 of the salt and the data of a part.
type Digest []byte

// A Part is the smallest unit of a payload that can be erased: one note or one item of a commit,
// its records, or its answer.
type Part struct {
	salt [16]byte
	Data []byte // first byte: the kind; empty: erased
}

// The kinds of parts. A payload contains the parts of all commits of the run one after the other:
// for each commit its notes, its items, its records if it has any, and the answer if it has a key.
// A part is stored as its salt, the length of its data as a varint, and its data:
//
//	'n', length of the head (varint), head (JSON), text, Theirs
//	'i', length of the head (varint), head (JSON), value (JSON)
//	'r', records (JSON array)
//	'a', answer (JSON)
//
// An erased part has no data and a salt of zeros. Its digest in the header stays, but without the
// salt a guess of the text cannot be tested against it.
const (
	partNote    = 'n'
	partItem    = 'i'
	partRecords = 'r'
	partAnswer  = 'a'
)

// newPart returns a part with a new random salt.
func newPart(kind byte, chunks ...[]byte) Part {
	size := 1
	for _, c := range chunks {
		size += len(c)
	}
	p := Part{Data: append(make([]byte, 0, size), kind)}
	if _, err := rand.Read(p.salt[:]); err != nil {
		panic(err) // never: crypto/rand does not fail
	}
	for _, c := range chunks {
		p.Data = append(p.Data, c...)
	}
	return p
}

// digest returns the digest of the part, which is in the header.
func (p Part) digest() Digest {
	h := sha256.New()
	h.Write(p.salt[:])
	h.Write(p.Data)
	return h.Sum(nil)
}

// IsNote reports whether the part is a note that is not erased.
func (p Part) IsNote() bool { return len(p.Data) > 0 && p.Data[0] == partNote }

// IsItem reports whether the part is an item that is not erased.
func (p Part) IsItem() bool { return len(p.Data) > 0 && p.Data[0] == partItem }

// Answer returns the answer of a call; false for parts of another kind, and for an erased answer.
func (p Part) Answer() ([]byte, bool) {
	if len(p.Data) == 0 || p.Data[0] != partAnswer {
		return nil, false
	}
	return p.Data[1:], true
}

// Head returns the JSON at the beginning of a note or an item: everything except the text or value.
// It shares memory with the part. It returns an error for a part of another kind.
func (p Part) Head() ([]byte, error) {
	if !p.IsNote() && !p.IsItem() {
		return nil, errors.New("a part is neither a note nor an item")
	}
	head, _, err := splitNote(p.Data[1:])
	return head, err
}

// NoteHead is Head for the part of a note. It returns an error for a part of another kind.
func (p Part) NoteHead() ([]byte, error) {
	if !p.IsNote() {
		return nil, errors.New("a part is not a note")
	}
	return p.Head()
}

// Note decodes the part of a note. It shares memory with the part. It returns an error for a part
// of another kind.
func (p Part) Note() (Note, error) {
	if !p.IsNote() {
		return Note{}, errors.New("a part is not a note")
	}
	return readNote(p.Data[1:])
}

// DecodeNoteHead returns the note with a head, without its texts.
func DecodeNoteHead(head []byte) (Note, error) {
	var h noteHead
	if err := json.Unmarshal(head, &h); err != nil {
		return Note{}, fmt.Errorf("decode a note's head: %w", err)
	}
	return h.note(), nil
}

// A noteHead is the JSON at the beginning of a note's part. See Note for the fields.
type noteHead struct {
	Path    string          `json:"path"`
	Deleted bool            `json:"deleted,omitempty"`
	Prev    uint64          `json:"prev,omitempty"`
	Was     *[]byte         `json:"was,omitempty"`
	Traits  []string        `json:"traits,omitempty"`
	Nodes   []byte          `json:"nodes,omitempty"` // concatenated UIDs
	Events  json.RawMessage `json:"events,omitempty"`
	Past    *Past           `json:"past,omitempty"`
	From    string          `json:"from,omitempty"`
	Since   time.Time       `json:"since,omitzero"`
	Theirs  *int            `json:"theirs,omitempty"` // length of Note.Theirs, after the text; nil: none
}

// headOf returns the head of a note for its part.
func headOf(n Note) noteHead {
	h := noteHead{
		Path: n.Path, Deleted: n.Deleted, Prev: n.Prev, Traits: n.Traits, Events: n.Events,
		Past: n.Past, From: n.From, Since: n.Since, Nodes: n.Nodes,
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

// partsOf returns the parts of a commit: its notes, so that note i is part i, its items, its
// records and its answer.
func partsOf(c *Commit) ([]Part, error) {
	parts, err := noteParts(c.Notes)
	if err != nil {
		return nil, err
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

// noteParts returns the parts of some notes.
func noteParts(notes []Note) ([]Part, error) {
	parts, failed := make([]Part, len(notes)), make([]error, len(notes))
	parallel.Range(len(notes), func(i int) { parts[i], failed[i] = notes[i].part() })
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// part returns the part of a note.
func (n *Note) part() (Part, error) {
	head, err := json.Marshal(headOf(*n))
	if err != nil {
		return Part{}, fmt.Errorf("encode a note's head: %w", err)
	}
	size := binary.AppendUvarint(nil, uint64(len(head)))
	return newPart(partNote, size, head, n.Text, n.Theirs), nil
}

// digests returns the digests of parts, in their order.
func digests(parts []Part) []Digest {
	all := make([]Digest, len(parts))
	parallel.Range(len(parts), func(i int) { all[i] = parts[i].digest() })
	return all
}

// AnswerPart returns the number, within the commit, of the part with the answer.
func (c *Commit) AnswerPart() int {
	n := len(c.Notes) + len(c.Items)
	if len(c.Records) > 0 {
		n++
	}
	return n
}

// NewRun returns a run of consecutive commits. prev is the hash of the header before; empty: there
// is none. The payload is not packed yet. It returns an error if a commit cannot be encoded.
func NewRun(commits []*Commit, prev []byte) (*Run, error) {
	r := &Run{Header: Header{
		Format: format, First: commits[0].Seq, Last: commits[len(commits)-1].Seq, Prev: prev,
	}}
	for _, c := range commits {
		parts, err := partsOf(c)
		if err != nil {
			return nil, err
		}
		h := CommitHead{
			Call: c.Call, Time: c.Time, Who: c.Who, Tool: c.Tool, Status: c.Status,
			Parts: digests(parts),
		}
		if len(c.Items) > 0 {
			r.Format, h.Items, h.FirstItem = formatItems, len(c.Items), len(c.Notes)
		}
		if c.Key != nil {
			h.KeyHash, h.KeyReq = c.Key.Hash, c.Key.Request
		}
		r.Commits = append(r.Commits, h)
		r.Parts = append(r.Parts, parts...)
	}
	return r, nil
}

// Bare returns commit i of the run without notes, items, records and key.
func (r *Run) Bare(i int) *Commit {
	h := &r.Commits[i]
	return &Commit{
		Seq: r.First + uint64(i), Call: h.Call, Time: h.Time, Who: h.Who, Tool: h.Tool,
		Status: h.Status, Took: time.Duration(h.Took) * time.Millisecond,
	}
}

// Decode decodes the commits of the run. The payload must be loaded.
func (r *Run) Decode() ([]*Commit, error) { return r.DecodeOnly(func(Part) bool { return true }) }

// DecodeOnly is Decode, but decodes only the parts for which wanted returns true. Other notes and
// items are zero values, so that the numbers of parts still match. Other records are missing, and
// other answers are nil.
func (r *Run) DecodeOnly(wanted func(Part) bool) ([]*Commit, error) {
	var all []*Commit
	rest := r.Parts
	for i, h := range r.Commits {
		if len(h.Parts) > len(rest) {
			return nil, fmt.Errorf("run %d: its payload lacks parts", r.First)
		}
		c := r.Bare(i)
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

// Alone returns the commit that contains a part of the run, with that part alone decoded. If the
// part is the answer of a call or empty, the commit has no changes. It returns an error if the
// payload has no such part, or if the part cannot be decoded.
func (r *Run) Alone(part int) (*Commit, error) {
	if part < 0 || part >= len(r.Parts) {
		return nil, ErrFewParts
	}
	i := 0
	for end := len(r.Commits[0].Parts); end <= part && i < len(r.Commits)-1; end += len(r.Commits[i].Parts) {
		i++
	}
	c := r.Bare(i)
	return c, c.take(r.Parts[part])
}

// ErrFewParts is the error of a run whose payload has fewer parts than its header.
var ErrFewParts = errors.New("its payload lacks parts")

// fill decodes the parts of the commit. Erased parts have no bytes, so their kind follows from the
// header: the range of the items, and the last part of a commit with a key is the answer. Any other
// empty part was a note; records are not erased.
func (c *Commit) fill(h *CommitHead, parts []Part, wanted func(Part) bool) error {
	for i, p := range parts {
		answers := c.Key != nil && i == len(parts)-1
		switch {
		case len(p.Data) == 0 && h.isItem(i):
			c.Items = append(c.Items, Item{Erased: true})
		case len(p.Data) == 0 && !answers:
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
func (h *CommitHead) isItem(part int) bool {
	return part >= h.FirstItem && part < h.FirstItem+h.Items
}

// pass adds a zero note or item for a part that is not decoded.
func (c *Commit) pass(p Part) {
	switch {
	case len(p.Data) == 0:
	case p.Data[0] == partNote:
		c.Notes = append(c.Notes, Note{})
	case p.Data[0] == partItem:
		c.Items = append(c.Items, Item{})
	}
}

// take decodes one part into the commit.
func (c *Commit) take(p Part) error {
	if len(p.Data) == 0 {
		return nil // the answer, erased
	}
	body := p.Data[1:]
	switch p.Data[0] {
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
	return fmt.Errorf("a part of unknown kind %q", p.Data[0])
}

// splitNote splits the data of a note's part, without the kind byte, into the head and the text.
// The text includes Theirs.
func splitNote(body []byte) (head, text []byte, err error) {
	size, n := binary.Uvarint(body)
	if n <= 0 || size > uint64(len(body)-n) {
		return nil, nil, errCutOff
	}
	return body[n : n+int(size)], body[n+int(size):], nil
}

// errCutOff is the error of a note's part that is too short.
var errCutOff = errors.New("a note's part is cut off")

// ours returns the text of a note without the bytes of Theirs at its end.
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

// readNote decodes a note from the data of its part, without the kind byte.
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

// note returns a Note with the fields of the head.
func (h *noteHead) note() Note {
	note := Note{
		Path: h.Path, Deleted: h.Deleted, Prev: h.Prev, Traits: h.Traits, Events: h.Events,
		Past: h.Past, From: h.From, Since: h.Since, Nodes: h.Nodes,
	}
	if h.Was != nil {
		note.Was = append([]byte{}, *h.Was...)
	}
	return note
}

// TextOf returns the text of a note, or the value of an item, from its part; nil if it is deleted.
// It shares memory with the part. It decodes only the necessary fields of the head, which may be
// larger than the text, and of the head of a usual note nothing: a damaged payload is found by the
// checksum of its frame when it is unpacked, and a head that is not as it was written by verify. It
// returns an error, which names the position at, for a part of another kind.
func TextOf(p Part, at PartRef) ([]byte, error) {
	if p.IsItem() {
		i, err := readItemPart(p.Data[1:])
		return i.Value, err
	}
	if !p.IsNote() {
		return nil, fmt.Errorf("part %d of run %d is not a note", at.Part, at.Run)
	}
	head, text, err := splitNote(p.Data[1:])
	if err != nil || isPlain(head) {
		return text, err
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

// isPlain reports whether a head is certainly that of a note that is not deleted and has no Theirs,
// as that of almost every note. It does not parse the head, which may be larger than the text.
func isPlain(head []byte) bool {
	return bytes.HasPrefix(head, []byte(`{"path":"`)) && bytes.HasSuffix(head, []byte{'}'}) &&
		!bytes.Contains(head, []byte(`"deleted":`)) && !bytes.Contains(head, []byte(`"theirs":`))
}

// verify returns an error if the parts do not match the digests in the header. It ignores empty
// parts, which may have been erased; see emptied.
func (r *Run) verify() error {
	i := 0
	for _, h := range r.Commits {
		for _, want := range h.Parts {
			if i < len(r.Parts) && len(r.Parts[i].Data) == 0 {
				i++
				continue
			}
			if i >= len(r.Parts) || string(r.Parts[i].digest()) != string(want) {
				return fmt.Errorf("run %d: part %d does not match its header", r.First, i)
			}
			i++
		}
	}
	if i != len(r.Parts) {
		return fmt.Errorf("run %d: it has parts that its header does not name", r.First)
	}
	return nil
}

// emptied returns the places of the empty parts. Each must be erased by a later commit of the log.
func (r *Run) emptied() []PartRef {
	var all []PartRef
	for i, p := range r.Parts {
		if len(p.Data) == 0 {
			all = append(all, PartRef{r.First, i})
		}
	}
	return all
}

// hash returns the SHA-256 of the stored header, which is the next header's Prev.
func (r *Run) hash() []byte {
	sum := sha256.Sum256(r.raw)
	return sum[:]
}
