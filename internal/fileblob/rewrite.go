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

// Append implements blob.Exchanger. It is not atomic: a reader, or a power loss, can leave a file
// with a part of data. Callers append lines, and repair a torn end with the next Append, whose n is
// the length that they know to be good. With n = 0 it creates the file if there is none; otherwise
// a missing or shorter file is blob.ErrCondition. Nothing is synced; see Sync.
func (b *Bucket) Append(ctx context.Context, key string, n int64, data []byte) error {
	if err := b.beginWrite(ctx, key); err != nil {
		return err
	}
	defer b.lock(key)()
	w := walk{make: n == 0}
	err := b.withName(key, w, func(to nameInDir) error { return to.append(n, data) })
	if errors.Is(err, fs.ErrNotExist) {
		err = blob.ErrCondition
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", key, err)
	}
	return nil
}

// append writes data after the first n bytes of a plain file and truncates the rest. If the file is
// shorter than n bytes, the error is blob.ErrCondition, and nothing changes.
func (s nameInDir) append(n int64, data []byte) error {
	file, size, err := s.openToWrite(n == 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if size < n {
		return blob.ErrCondition
	}
	if err := s.truncate(file, n); err != nil {
		return err
	}
	if err := s.write(file, data, n); err != nil {
		return err
	}
	return file.Close()
}

// openToWrite opens a plain file for writing and returns its size. If there is none and create is
// set, it creates the file. It never follows a link.
func (s nameInDir) openToWrite(create bool) (*os.File, int64, error) {
	want, err := s.plain()
	if errors.Is(err, fs.ErrNotExist) && create {
		file, err := s.folder.create(s.name)
		return file, 0, err
	}
	if err != nil {
		return nil, 0, err
	}
	file, got, err := s.folder.openPlain(s.name, os.O_WRONLY, want)
	if err != nil {
		return nil, 0, err
	}
	return file, got.Size(), nil
}
