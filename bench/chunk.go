package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/rookeryhq/rookery/bench/corpus"
)

// The limits of one call of an import (CONTRACT §4): its notes, and the bytes of its body, of which
// some are reserved for everything except notes.
const (
	maxNotes = 1000
	maxBody  = 4<<20 - 4<<10
)

// A chunk is the body of one call of an import.
type chunk struct {
	body  []byte
	notes int
}

// An importNote is a file in the format of the tool.
type importNote struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// chunks yields the bodies of the calls that import the files into a vault: as few calls as
// possible, in order.
func chunks(vault string, files []corpus.File) iter.Seq2[chunk, error] {
	return func(yield func(chunk, error) bool) {
		for len(files) > 0 {
			c, err := firstChunk(vault, files)
			if !yield(c, err) || err != nil {
				return
			}
			files = files[c.notes:]
		}
	}
}

// firstChunk returns a body with as many of the files as one call can import.
func firstChunk(vault string, files []corpus.File) (chunk, error) {
	var notes []json.RawMessage
	size := 0
	for _, f := range files[:min(len(files), maxNotes)] {
		note, err := encode(importNote(f))
		if err != nil {
			return chunk{}, err
		}
		if size += len(note) + 1; size > maxBody {
			break
		}
		notes = append(notes, note)
	}
	if len(notes) == 0 {
		return chunk{}, fmt.Errorf("%s is too large for a call", files[0].Path)
	}
	body, err := encode(map[string]any{"vault": vault, "notes": notes})
	return chunk{body, len(notes)}, err
}

// encode encodes a value as JSON without HTML escapes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a call: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
