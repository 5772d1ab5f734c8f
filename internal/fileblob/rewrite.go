package fileblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/rookeryhq/rookery/internal/blob"
)

var _ blob.Rewriter = (*Bucket)(nil)

// Rewrite implements blob.Rewriter. The file keeps its permissions. No other call may change the
// file meanwhile. What another program writes to it during the call is lost.
func (b *Bucket) Rewrite(
	ctx context.Context, key string, n int64, copyTo func(to io.Writer, from io.Reader) error,
) error {
	if err := b.beginWrite(ctx, key); err != nil {
		return err
	}
	err := b.withMove(func() error { return b.rewrite(key, n, copyTo) })
	if err == nil {
		err = b.syncSettled()
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errFolder) {
		err = blob.ErrCondition
	}
	if err != nil {
		return fmt.Errorf("rewrite %s: %w", key, err)
	}
	return nil
}

// rewrite stages the file that copyTo writes, and moves it to its key.
func (b *Bucket) rewrite(key string, n int64, copyTo func(to io.Writer, from io.Reader) error) error {
	var s *stagedFile
	err := b.withNameToRead(key, walk{}, func(from nameInDir) (err error) {
		file, info, err := from.openFile()
		if err != nil {
			return err
		}
		defer file.Close()
		if n < 0 {
			n = math.MaxInt64
		} else if info.Size() < n {
			return blob.ErrCondition
		}
		s, err = b.store.Load().tmp.stageBy(true, func(to io.Writer) error {
			return copyTo(to, io.LimitReader(file, n))
		})
		if err == nil {
			err = s.copyMode(info)
		}
		return err
	})
	if s != nil {
		defer s.drop()
	}
	if err != nil {
		return err
	}
	return b.putStaged(key, s, blob.Always)
}

// A stagedWriter writes an open file from its beginning, through the seam.
type stagedWriter struct {
	nameInDir
	file *os.File
	at   int64
}

// Write implements io.Writer.
func (w *stagedWriter) Write(p []byte) (int, error) {
	if err := w.write(w.file, p, w.at); err != nil {
		return 0, err
	}
	w.at += int64(len(p))
	return len(p), nil
}
