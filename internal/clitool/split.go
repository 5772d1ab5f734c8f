package clitool

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// cuts are the split files, by name.
type cuts map[string]*cutFile

// close closes the files that are open. It may be called more than once.
func (c cuts) close() {
	for _, f := range c {
		f.close()
	}
}

// A cutFile is a file split into pieces. Each piece consists of the head, some of the elements, and
// the tail, so that each is a valid file of its own: of a list in JSON, the head is everything up
// to the first element, the tail everything after the last, and a piece of CSV has the line with
// the names of the columns.
//
//	[{"id": 1}, {"id": 2}, {"id": 3}]      a file with three elements
//	[{"id": 1}, {"id": 2}]                 its first piece
//	[{"id": 3}]                            its second piece, with offset 2
//
// Only positions are kept in memory; the bytes of a piece are read when it is sent.
type cutFile struct {
	src    *source
	name   string
	path   string // as in a call
	head   []byte
	tail   []byte
	pieces []piece

	file fs.File // nil: not open
	at   int64   // offset of the next read
}

// A piece is a range of elements. from and to are offsets in the file, in bytes.
type piece struct {
	from, to int64
	offset   int // number of elements before it
	quoted   int // size in bytes within a JSON string
	size     int // size in bytes in a call
}

// An element is a part of a file that is not split further: an element of a list, a row or a line.
type element struct {
	from, to int64
	quoted   int // size in bytes within a JSON string
}

// An outline is the positions of a file's elements. Each piece repeats the text before the first
// element and after the last. It is found by reading the file once, one element at a time.
type outline struct {
	elements []element
	size     int64
	binary   bool // it is not valid UTF-8
}

// isLarger reports whether a file is too large to be read whole. It is always false for notes,
// which have a small limit that the server checks. It looks at the size only.
func (s *source) isLarger(name string) (bool, error) {
	if !s.of.Any {
		return false, nil
	}
	info, err := fs.Stat(s.fsys, name)
	if err != nil {
		return false, unreadable(name, err)
	}
	return info.Size() > int64(s.most), nil
}

// cut splits a file into pieces, by the way that its tool declares for the extension. A file that
// cannot be split is INVALID_VALUE, with the reason, and one with an element that fits into no call
// is BATCH_TOO_LARGE.
func (s *source) cut(name string, way tool.Split) (*cutFile, error) {
	path, err := s.check(name)
	if err != nil {
		return nil, err
	}
	o, err := s.outline(name, way)
	if err != nil {
		return nil, err
	}
	if o.binary && s.of.Binary == "" {
		return nil, fault.New(fault.InvalidValue, "the text is not valid UTF-8").At(name, 0)
	}
	c := &cutFile{src: s, name: name, path: path}
	if err := c.frame(o); err != nil {
		return nil, err
	}
	return c, c.share(o)
}

// outline reads a whole file, one element at a time. It reads to the end even if the list ends
// earlier, because the size and the encoding of the whole file count.
func (s *source) outline(name string, way tool.Split) (outline, error) {
	f, err := s.fsys.Open(name)
	if err != nil {
		return outline{}, unreadable(name, err)
	}
	defer f.Close()
	counted := &counting{r: f}
	var all []element
	switch way {
	case tool.Elements:
		all, err = elements(counted)
	case tool.Rows:
		all, err = rows(counted)
	case tool.Lines:
		all, err = lines(counted)
	}
	if err == nil && len(all) == 0 {
		err = errNoList
	}
	if err != nil && counted.err == nil {
		return outline{}, fault.New(fault.InvalidValue, "%v", err).At(name, 0)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, counted)
	}
	if err != nil {
		return outline{}, unreadable(name, err)
	}
	return outline{all, counted.n, counted.binary()}, nil
}

// errNoList is the error of a large file that cannot be split.
var errNoList = errors.New("the file exceeds the size of a call, and has no list that could be " +
	"split over several calls")

// frame reads the text around the elements: the head and the tail. Both are kept in memory, because
// every piece repeats them.
func (c *cutFile) frame(o outline) (err error) {
	first, last := o.elements[0].from, o.elements[len(o.elements)-1].to
	if c.head, err = c.bytes(0, first); err == nil {
		c.tail, err = c.bytes(last, o.size)
	}
	return err
}

// takes returns an upper bound of the size of n bytes of the file in a call, as a text or, if the
// file is not UTF-8, in base64. quoted is their size within a JSON string. Whether a piece is UTF-8
// is known only when it is read, so the larger of the two counts. A bound that is too large costs a
// call more; one that is too small would make the server refuse the call.
func (o outline) takes(n, quoted int) int {
	if !o.binary {
		return quoted
	}
	return max(quoted, base64.StdEncoding.EncodedLen(n))
}

// share distributes the elements over pieces that fit into a call, as many as possible in each, in
// their order. It is greedy, so it needs one pass. An element that fits into no piece is an error,
// because half of it would be no valid file.
func (c *cutFile) share(o outline) error {
	frame, err := c.frameSize(o)
	if err != nil {
		return err
	}
	room := c.src.most - frame
	for i, e := range o.elements {
		if o.takes(int(e.to-e.from), e.quoted) > room {
			return tooLargeElement(c.name, i, c.src.most)
		}
		n := len(c.pieces) - 1
		if n >= 0 && c.pieces[n].extend(o, i, room) {
			continue
		}
		c.pieces = append(c.pieces, piece{from: e.from, to: e.to, offset: i, quoted: e.quoted})
	}
	for i, p := range c.pieces {
		c.pieces[i].size = frame + o.takes(int(p.to-p.from), p.quoted)
	}
	return nil
}

// extend adds the next element, and the text between the two, to a piece. That text is blanks and a
// comma, each of which may be escaped. It returns false, and changes nothing, if the piece would
// become too large.
func (p *piece) extend(o outline, i, room int) bool {
	e := o.elements[i]
	quoted := p.quoted + 2*int(e.from-p.to) + e.quoted
	if o.takes(int(e.to-p.from), quoted) > room {
		return false
	}
	p.quoted, p.to = quoted, e.to
	return true
}

// frameSize returns the size in bytes of an entry without elements.
func (c *cutFile) frameSize(o outline) (int, error) {
	around := bytes.Join([][]byte{c.head, c.tail}, nil)
	quoted, err := quotedLen(around)
	if err != nil {
		return 0, err
	}
	entry, err := file{path: c.path, part: len(o.elements), offset: len(o.elements)}.size(c.src.of)
	return entry + o.takes(len(around), quoted) + base64Slack, err
}

// base64Slack is the number of bytes by which a base64 entry can exceed the sum of its parts,
// because its key is longer than that of a text.
const base64Slack = 32

// tooLargeElement returns the fault of an element that does not fit into any call.
func tooLargeElement(name string, i, most int) error {
	return fault.New(fault.BatchTooLarge, "element %d of the file is larger than the %d bytes of a call", i+1, most).
		With("element", i+1).At(name, 0)
}

// read reads the n-th piece, from 1. If there is only one piece, the result is a whole file without
// a part number.
func (c *cutFile) read(n int) (file, error) {
	p := c.pieces[n-1]
	data, err := c.bytes(p.from, p.to)
	if err != nil {
		return file{}, err
	}
	f := file{path: c.path, data: bytes.Join([][]byte{c.head, data, c.tail}, nil)}
	if len(c.pieces) > 1 {
		f.part, f.offset = n, p.offset
	}
	return f, nil
}

// bytes reads a range of the file. A file in an archive can be read only forward, so it is opened
// again if necessary. Pieces are read in order, so usually it is opened once.
func (c *cutFile) bytes(from, to int64) ([]byte, error) {
	if c.file == nil || from < c.at {
		c.close()
		f, err := c.src.fsys.Open(c.name)
		if err != nil {
			return nil, unreadable(c.name, err)
		}
		c.file, c.at = f, 0
	}
	if _, err := io.CopyN(io.Discard, c.file, from-c.at); err != nil {
		return nil, c.changed(err)
	}
	data := make([]byte, to-from)
	if _, err := io.ReadFull(c.file, data); err != nil {
		return nil, c.changed(err)
	}
	c.at = to
	return data, nil
}

// changed returns the fault of a file that became shorter or unreadable while it was read. A change
// that keeps the length is not noticed; the server then reports the problem of the piece.
func (c *cutFile) changed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.New(fault.FileError, "the file changed while it was read").At(c.name, 0)
	}
	return unreadable(c.name, fmt.Errorf("read: %w", err))
}

// close closes the file, if it is open.
func (c *cutFile) close() {
	if c.file != nil {
		_ = c.file.Close() // it was only read
		c.file = nil
	}
}

// A counting is a reader that counts bytes and checks whether they are UTF-8. half has the
// beginning of a character that was split between two reads.
type counting struct {
	r    io.Reader
	n    int64
	err  error // of the reader, except io.EOF
	odd  bool  // some bytes were not UTF-8
	half []byte
}

// Read implements io.Reader.
func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	c.look(p[:n])
	return n, err
}

// look checks more bytes. A character may be split between two reads, so the bytes of an incomplete
// one are kept for the next. After the first byte that is not UTF-8 it does nothing.
func (c *counting) look(p []byte) {
	if c.odd {
		return
	}
	text := slices.Concat(c.half, p)
	c.half = nil
	for i := max(0, len(text)-utf8.UTFMax+1); i < len(text); i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			c.half = bytes.Clone(text[i:])
			text = text[:i]
			break
		}
	}
	c.odd = !utf8.Valid(text)
}

// binary reports whether the bytes read were not UTF-8.
func (c *counting) binary() bool { return c.odd || len(c.half) > 0 }

// bom is the byte order mark of UTF-8.
const bom = "\ufeff"

// withoutBOM returns a reader after the byte order mark, if there is one, and the length of the
// mark in bytes, by which later offsets must be moved.
func withoutBOM(r io.Reader) (*bufio.Reader, int64) {
	b := bufio.NewReader(r)
	if first, err := b.Peek(len(bom)); err != nil || string(first) != bom {
		return b, 0
	}
	n, _ := b.Discard(len(bom)) // it was peeked at
	return b, int64(n)
}

// elements returns the elements of the only list in a JSON file: the file itself, or the only
// member of an object that is a non-empty list. It returns none if there is no such list, and
// errSeveral if there are two, because it would be a guess which of them to split. Lists within
// members are not looked at. The whole file must be valid JSON, so that a damaged export is refused
// before its first half is imported.
func elements(r io.Reader) ([]element, error) {
	text, from := withoutBOM(r)
	in := &lists{dec: json.NewDecoder(text), from: from}
	first, err := in.dec.Token()
	if err != nil {
		return nil, errNotJSON
	}
	switch first {
	case json.Delim('['):
		err = in.list()
	case json.Delim('{'):
		err = in.object()
	}
	if err != nil {
		return nil, err
	}
	if _, err := in.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotJSON
	}
	return in.found, nil
}

// Errors of files that cannot be split.
var (
	errNotJSON = errors.New("the file exceeds the size of a call, and is not JSON that can " +
		"be split")
	errSeveral = errors.New("the file exceeds the size of a call, and has several lists: " +
		"which one to split is ambiguous")
	errNotCSV = errors.New("the file exceeds the size of a call, and is not CSV that can be " +
		"split")
	errDeepLevels = errors.New("the file is nested too deeply")
)

// A lists finds the lists in a JSON file, with their positions. It decodes one element at a time,
// so its memory does not depend on the size of the file.
type lists struct {
	dec   *json.Decoder
	from  int64 // offset in the file at which the decoder began
	found []element
}

// object reads the members of an object after its opening brace. Members that are not lists are
// skipped; they are part of the head or the tail.
func (in *lists) object() error {
	for in.dec.More() {
		if _, err := in.dec.Token(); err != nil { // the name of the member
			return errNotJSON
		}
		value, err := in.dec.Token()
		if err != nil {
			return errNotJSON
		}
		switch value {
		case json.Delim('['):
			before := len(in.found)
			if err := in.list(); err != nil {
				return err
			}
			if before > 0 && len(in.found) > before {
				return errSeveral
			}
		case json.Delim('{'):
			if err := in.skip(); err != nil {
				return err
			}
		}
	}
	if _, err := in.dec.Token(); err != nil {
		return errNotJSON
	}
	return nil
}

// list reads a list after its opening bracket and adds its elements. An element is one JSON value,
// without the blanks and the comma around it.
func (in *lists) list() error {
	for in.dec.More() {
		var raw json.RawMessage
		if err := in.dec.Decode(&raw); err != nil {
			return errNotJSON
		}
		to := in.from + in.dec.InputOffset()
		quoted, err := quotedLen(raw)
		if err != nil {
			return err
		}
		in.found = append(in.found, element{to - int64(len(raw)), to, quoted})
	}
	if _, err := in.dec.Token(); err != nil {
		return errNotJSON
	}
	return nil
}

// skip reads the rest of an object after its opening brace, without keeping it. It bounds the
// depth, so that a malicious file cannot exhaust the memory of the decoder.
func (in *lists) skip() error {
	const most = 10_000
	for depth := 1; depth > 0; {
		switch t, err := in.dec.Token(); {
		case err != nil:
			return errNotJSON
		case t == json.Delim('{'), t == json.Delim('['):
			if depth++; depth > most {
				return errDeepLevels
			}
		case t == json.Delim('}'), t == json.Delim(']'):
			depth--
		}
	}
	return nil
}

// quotedLen returns the size in bytes of a text within a JSON string, without the quotes: escapes
// make it longer. Bytes that are not UTF-8 count as the replacement character.
func quotedLen(text []byte) (int, error) {
	data, err := tool.Marshal(string(text))
	if err != nil {
		return 0, fmt.Errorf("write a text: %w", err)
	}
	return len(data) - len(`""`), nil
}

// lines returns the lines of a file, each with its line break, as elements. The last line need not
// have one. Empty lines are elements too.
func lines(r io.Reader) ([]element, error) {
	text, from := withoutBOM(r)
	var all []element
	for at := from; ; {
		line, err := text.ReadBytes('\n')
		if len(line) > 0 {
			quoted, err := quotedLen(line)
			if err != nil {
				return nil, err
			}
			all = append(all, element{at, at + int64(len(line)), quoted})
			at += int64(len(line))
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// rows returns the rows of a CSV file after the first one, which contains the names of the columns.
// A row may have line breaks within quotes. It returns none if there is only the first row. Offsets
// are those of the CSV reader, and the buffer keeps the bytes of one row at a time to measure them.
func rows(r io.Reader) ([]element, error) {
	text, from := withoutBOM(r)
	kept := &bytes.Buffer{}
	in := csv.NewReader(io.TeeReader(text, kept))
	in.Comma, in.LazyQuotes, in.FieldsPerRecord, in.ReuseRecord = separator(text), true, -1, true
	var all []element
	for at := int64(0); ; {
		_, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errNotCSV
		}
		end := in.InputOffset()
		row := kept.Next(int(end - at))
		quoted, err := quotedLen(row)
		if err != nil {
			return nil, err
		}
		all = append(all, element{from + at, from + end, quoted})
		at = end
	}
	if len(all) < 2 {
		return nil, nil
	}
	return all[1:], nil
}

// separator returns the field separator of a CSV file: the usual one that occurs most often in the
// first line, and a comma if none does. Only the part of the line in the buffer of r is looked at.
func separator(r *bufio.Reader) rune {
	first, _ := r.Peek(r.Size()) // an error occurs again in the next read
	line, _, _ := bytes.Cut(first, []byte("\n"))
	best := ','
	for _, other := range ";\t|" {
		if bytes.ContainsRune(line, other) &&
			bytes.Count(line, []byte(string(other))) > bytes.Count(line, []byte(string(best))) {
			best = other
		}
	}
	return best
}
