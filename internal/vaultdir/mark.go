package vaultdir

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// The file that contains the id, below the folder. It is the only file that this package writes
// into the folder.
const (
	ownDir = ".rookery"
	idFile = "id"
	idPath = ownDir + "/" + idFile
)

// idDigits are the digits of an id. idLength is the number of its digits, for 128 bits.
const (
	idDigits = "0123456789abcdef"
	idLength = 32
)

// newID returns a new random id.
func newID() string {
	var bits [idLength / 2]byte
	_, _ = rand.Read(bits[:]) // it never fails
	return hex.EncodeToString(bits[:])
}

// A mark is the content of the id file of a folder. A torn file counts as no id, and may be
// replaced.
type mark struct {
	id        string // empty if the folder has none
	truncated bool   // the file is empty or was cut off
}

// parseMark parses the id file. An editor or version control may have changed its line endings. ok
// is false if the content is not an id.
func parseMark(data []byte) (m mark, ok bool) {
	text := string(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff"))))
	switch {
	case strings.Trim(text, idDigits) != "" || len(text) > idLength:
		return mark{}, false
	case len(text) < idLength:
		return mark{truncated: true}, true
	}
	return mark{id: text}, true
}

// mark reads the id of the folder. A folder without an id file has the zero mark. A file with
// another content is INVALID_PARAMETER, because it may belong to another program and is never
// replaced.
func (t *servedDir) mark() (mark, error) {
	own, err := t.own()
	if errors.Is(err, fs.ErrNotExist) {
		return mark{}, nil
	}
	if err != nil {
		return mark{}, err
	}
	defer own.Close()
	data, err := readID(own)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return mark{}, nil
	case errors.Is(err, errForeign):
		return mark{}, t.foreign(idPath, "is not a regular file")
	case err != nil:
		return mark{}, t.fail("read", idPath, err)
	}
	m, ok := parseMark(data)
	if !ok {
		return mark{}, t.foreign(idPath, "does not contain the id of a folder")
	}
	return m, nil
}

// errForeign is the error for a name that belongs to a file of another kind.
var errForeign = errors.New("it is of another kind")

// readID reads the id file, up to a size at which it is certainly not valid.
func readID(own *os.Root) ([]byte, error) {
	file, err := openID(own, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	const enough = 4096
	return io.ReadAll(io.LimitReader(file, enough))
}

// openID opens the id file. It does not follow a link: it checks the kind of the file before and
// after it opens it. The error is fs.ErrNotExist if there is none, and errForeign for a file of
// another kind.
func openID(own *os.Root, flags int) (*os.File, error) {
	info, err := own.Lstat(idFile)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errForeign
	}
	file, err := own.OpenFile(idFile, flags, 0)
	if err != nil {
		return nil, err
	}
	got, err := file.Stat()
	if err == nil && !got.Mode().IsRegular() {
		err = errForeign
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// own opens the .rookery directory of the folder. It does not follow a link. The error is
// fs.ErrNotExist if there is no such directory.
func (t *servedDir) own() (*os.Root, error) {
	info, err := t.root.Lstat(ownDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, t.fail("read", ownDir, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, t.foreign(ownDir, "is a link, which is not followed")
	case !info.IsDir():
		return nil, t.foreign(ownDir, "is not a directory")
	}
	own, err := t.root.OpenRoot(ownDir)
	if err != nil {
		return nil, t.fail("read", ownDir, err)
	}
	if got, err := own.Stat("."); err != nil || !os.SameFile(info, got) {
		own.Close()
		return nil, fault.New(fault.Unavailable, "%s in the folder %s was exchanged meanwhile",
			ownDir, t.typed).Fix("try again")
	}
	return own, nil
}

// foreign returns the error for a file of another kind at a name that Rookery uses.
func (t *servedDir) foreign(name, why string) error {
	return fault.New(fault.InvalidParameter, "%s in the folder %s %s", name, t.typed, why).
		Fix("move %s out of the folder: rookery will make its own", name)
}
