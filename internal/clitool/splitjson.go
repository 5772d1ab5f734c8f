package clitool

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rookeryhq/rookery/internal/tool"
)

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
