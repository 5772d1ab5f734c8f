package fileblob

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/rookeryhq/rookery/internal/blob"
)

// A stagedFile is a complete file in tmp that waits to be moved to its place.
type stagedFile struct {
	nameInDir
	tag    blob.Tag // empty if it was staged by stageBy
	info   fs.FileInfo
	placed bool // it was moved out of tmp
}

// stage writes a file to tmp, and syncs it if durable is set. The caller must call drop, which does
// nothing once the file was moved to its place.
func (b *Bucket) stage(durable bool, data ...[]byte) (*stagedFile, error) {
	return b.store.Load().tmp.stage(durable, data...)
}

// stage writes a file with a random name to the folder.
func (f *folder) stage(durable bool, data ...[]byte) (*stagedFile, error) {
	s, err := f.stageBy(durable, func(to io.Writer) error {
		for _, piece := range data {
			if _, err := to.Write(piece); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.tag = tagOf(data...)
	}
	return s, err
}

// stageBy is stage for a content that fill writes. The staged file has no tag.
func (f *folder) stageBy(durable bool, fill func(io.Writer) error) (*stagedFile, error) {
	s := &stagedFile{nameInDir: nameInDir{f, rand.Text()}}
	file, err := f.create(s.name)
	if err != nil {
		return nil, err
	}
	err = fill(&stagedWriter{nameInDir: s.nameInDir, file: file})
	if err == nil && durable {
		err = s.syncFile(file)
	}
	if err == nil {
		s.info, err = file.Stat()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		s.drop()
		return nil, fmt.Errorf("write a temporary file: %w", err)
	}
	return s, nil
}

// drop removes the file if it is still in tmp. If that fails, the next Open removes it.
func (s *stagedFile) drop() {
	if !s.placed {
		_ = s.folder.remove(s.name)
	}
}

// create moves the file to a spot. If there is something, the error is fs.ErrExist.
func (s *stagedFile) create(to nameInDir) error { return s.recordMove(moveNew(s.nameInDir, to)) }

// replace moves the file to a spot and replaces a plain file there. Anything else is errFolder or
// blob.ErrForeign.
func (s *stagedFile) replace(to nameInDir) error {
	if _, err := to.plain(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.recordMove(move(s.nameInDir, to))
}

// recordMove records whether a move succeeded, and returns its error.
func (s *stagedFile) recordMove(err error) error {
	s.placed = err == nil
	return err
}

// copyMode gives the file the permissions of the one that it will replace.
func (s *stagedFile) copyMode(info fs.FileInfo) error {
	if s.info.Mode().Perm() == info.Mode().Perm() {
		return nil
	}
	file, _, err := s.openFile()
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Chmod(info.Mode().Perm())
}
