package auditlog

// CutPieces calls cutPieces.
func CutPieces(text []byte, pieces [][]byte) ([]byte, bool) { return cutPieces(text, pieces) }

// Large returns the files of a bucket in which objects of at least this many bytes are extended.
func Large(f Files, bytes int64) Files {
	o := f.(objects)
	o.large = bytes
	return o
}
