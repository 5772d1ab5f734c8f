package blob

import (
	"bytes"
	"context"
	"io"
)

// Pieces are the bytes of an object in several pieces of memory, in order. Nothing in them may be
// changed while a call uses them.
type Pieces [][]byte

// Size returns the number of bytes.
func (p Pieces) Size() int64 {
	var size int64
	for _, piece := range p {
		size += int64(len(piece))
	}
	return size
}

// Join returns a copy of the bytes in one piece.
func (p Pieces) Join() []byte { return bytes.Join(p, nil) }

// Reader returns a new reader of the bytes.
func (p Pieces) Reader() *io.SectionReader { return io.NewSectionReader(p, 0, p.Size()) }

// ReadAt implements io.ReaderAt.
func (p Pieces) ReadAt(b []byte, off int64) (n int, err error) {
	for _, piece := range p {
		if off < int64(len(piece)) {
			n += copy(b[n:], piece[off:])
		}
		off = max(0, off-int64(len(piece)))
		if n == len(b) {
			return n, nil
		}
	}
	return n, io.EOF
}

// A PiecePutter is a Bucket that can write pieces without a copy of the whole object in memory.
type PiecePutter interface {
	// PutPieces writes an object as Put does.
	PutPieces(ctx context.Context, key string, data Pieces, c Cond) (Tag, error)
}

// PutPieces writes an object to any bucket as Put does. If b is a PiecePutter, or the Sub of one, no
// copy of the whole object is in memory.
func PutPieces(ctx context.Context, b Bucket, key string, data Pieces, c Cond) (Tag, error) {
	if b, ok := b.(PiecePutter); ok {
		return b.PutPieces(ctx, key, data, c)
	}
	return b.Put(ctx, key, data.Join(), c)
}

// PutPieces implements PiecePutter.
func (s sub) PutPieces(ctx context.Context, key string, data Pieces, c Cond) (Tag, error) {
	key, err := s.key(key)
	if err != nil {
		return "", err
	}
	return PutPieces(ctx, s.bucket, key, data, c)
}
