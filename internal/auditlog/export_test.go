package auditlog

// CutPieces cuts out pieces of whole lines.
func CutPieces(text []byte, pieces [][]byte) ([]byte, bool) { return cutPieces(text, pieces) }
