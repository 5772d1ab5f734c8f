package auditlog

// CutPieces cuts out pieces of whole lines.
func CutPieces(text []byte, pieces [][]byte) ([]byte, bool) { return cutPieces(text, pieces) }

// Large are files of a bucket in which an object of so many bytes is extended.
func Large(f Files, bytes int64) Files {
	o := f.(objects)
	o.large = bytes
	return o
}
