package fileblob

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/rookeryhq/rookery/internal/blob"
)

// A nameInDir is a name in an open folder. There may be a file of any type, or none.
type nameInDir struct {
	folder *folder
	name   string
}

// errFolder is blob.ErrForeign for a folder.
var errFolder = fmt.Errorf("%w: a folder", blob.ErrForeign)

// stat returns the metadata of the name without following a link.
func (s nameInDir) stat() (fs.FileInfo, error) { return s.folder.lstat(s.name) }

// plain is stat with an error for anything but a plain file: errFolder or blob.ErrForeign.
func (s nameInDir) plain() (fs.FileInfo, error) {
	info, err := s.stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errFolder
	case !info.Mode().IsRegular():
		return nil, blob.ErrForeign
	}
	return info, nil
}

// openFile opens a plain file for reading. Otherwise the error is fs.ErrNotExist, errFolder or
// blob.ErrForeign.
func (s nameInDir) openFile() (*os.File, fs.FileInfo, error) {
	for {
		want, err := s.plain()
		if err != nil {
			return nil, nil, err
		}
		file, got, err := s.folder.openPlain(s.name, os.O_RDONLY, want)
		if !errors.Is(err, errMoved) {
			return file, got, err
		}
		// It was replaced between the two calls, perhaps by a link. Look again.
	}
}

// A content is bytes of a file, with the tag and the metadata of the whole file.
type content struct {
	data []byte
	tag  blob.Tag
	info fs.FileInfo
}

// read returns n bytes from offset off, up to the end if n < 0, and the tag, for which it reads the
// whole file. The tag and the data are of one open file; if a program writes to it during the read,
// they can be of different moments.
func (s nameInDir) read(off, n int64) (content, error) {
	file, info, err := s.openFile()
	if err != nil {
		return content{}, err
	}
	defer file.Close()
	digest := sha256.New()
	in := io.TeeReader(file, digest)
	if _, err := io.CopyN(io.Discard, in, off); err != nil && !errors.Is(err, io.EOF) {
		return content{}, err
	}
	size := max(info.Size()-off, 0)
	part := in
	if n >= 0 {
		size, part = min(n, size), io.LimitReader(in, n)
	}
	data := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := data.ReadFrom(part); err != nil {
		return content{}, err
	}
	if n >= 0 {
		if _, err := io.Copy(io.Discard, in); err != nil {
			return content{}, err
		}
	}
	tag := blob.Tag(hex.EncodeToString(digest.Sum(nil)))
	return content{data.Bytes(), tag, info}, nil
}

// hashers compute tags of files, and have only a small part of a file in memory. Those that are not in
// use are kept. The zero value is ready to use.
type hashers struct{ free sync.Pool } // of *hasher

// A hasher computes one tag at a time.
type hasher struct {
	digest hash.Hash
	buffer [16 << 10]byte
}

// tag returns the tag of everything that is read from in.
func (p *hashers) tag(in io.Reader) (blob.Tag, error) {
	h, ok := p.free.Get().(*hasher)
	if !ok {
		h = &hasher{digest: sha256.New()}
	}
	defer p.free.Put(h)
	h.digest.Reset()
	for {
		n, err := in.Read(h.buffer[:])
		_, _ = h.digest.Write(h.buffer[:n]) // a hash returns no error
		if errors.Is(err, io.EOF) {
			return blob.Tag(hex.EncodeToString(h.digest.Sum(nil))), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// hash returns the tag and the metadata of the file, like read, without its bytes.
func (s nameInDir) hash() (blob.Tag, fs.FileInfo, error) {
	file, info, err := s.openFile()
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	tag, err := s.folder.hash.tag(file)
	return tag, info, err
}

// errNoTag means that the tag of a file is not cached.
var errNoTag = errors.New("no tag is known")

// part returns n bytes from offset off without reading the rest of the file. known returns the
// cached tag of the file; if it has none, the error is errNoTag, and the caller reads the whole
// file. At the end of the file it returns fewer bytes.
func (s nameInDir) part(
	off, n int64, known func(fs.FileInfo) (blob.Tag, bool),
) (content, error) {
	file, info, err := s.openFile()
	if err != nil {
		return content{}, err
	}
	defer file.Close()
	tag, ok := known(info)
	if !ok {
		return content{}, errNoTag
	}
	data := make([]byte, min(n, max(info.Size()-off, 0)))
	read, err := file.ReadAt(data, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return content{}, err
	}
	return content{data[:read], tag, info}, nil
}

// sync makes the contents of a plain file durable. If there is none, it does nothing.
func (s nameInDir) sync() error {
	file, _, err := s.openFile()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, blob.ErrForeign) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return s.syncFile(file)
}

// remove removes a plain file, and nothing else.
func (s nameInDir) remove() error {
	if _, err := s.plain(); err != nil {
		return err
	}
	return s.folder.remove(s.name)
}

// tagOf returns the tag of a content: its SHA-256 in hexadecimal.
func tagOf(data ...[]byte) blob.Tag {
	sum := sha256.New()
	for _, piece := range data {
		_, _ = sum.Write(piece) // a hash returns no error
	}
	return blob.Tag(hex.EncodeToString(sum.Sum(nil)))
}
