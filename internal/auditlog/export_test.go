package auditlog

import (
	"bytes"
)

// CutPieces calls cutPieces with a text.
func CutPieces(text []byte, pieces [][]byte) ([]byte, bool) {
	var rest bytes.Buffer
	rest.Grow(len(text))
	_, err := cutPieces(&rest, bytes.NewReader(text), pieces)
	return rest.Bytes(), err == nil
}

// Large returns the files of a bucket in which objects of at least this many bytes are extended.
func Large(f Files, bytes int64) Files {
	o := f.(objects)
	o.large = bytes
	return o
}
