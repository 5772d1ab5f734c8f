// Package backup copies a data directory into one file while a server uses it, and makes a data directory of such a
// file again (docs/design/0079-backups.md).
//
// A backup is a tar archive, compressed with zstd. It has the files of the directory under data/, some of them twice,
// of which the later one counts, and ends with manifest.json, which says what it has.
package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io/fs"
	"os"
	"time"
)

// Names in the archive.
const (
	dataPrefix   = "data/"
	manifestName = "manifest.json"
)

// Format is the number of the format of a backup.
const Format = 1

// A Manifest says what a backup has.
type Manifest struct {
	Format  int       `json:"format"`
	Release string    `json:"release"` // of the program that made it
	Created time.Time `json:"created"` // the moment that it shows
	Files   []File    `json:"files"`   // by path
}

// A File is one file of the data directory.
type File struct {
	Path   string `json:"path"` // below the data directory, with slashes
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // hexadecimal
}

// Bytes is how many bytes all files have.
func (m *Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// newSum hashes a file.
func newSum() hash.Hash { return sha256.New() }

// sumOf is the hash of a file as a manifest has it.
func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// Bare is the error of a file without its path, for a message.
func Bare(err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		return at.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
