// Package backup copies a data directory into one file while a server uses it, and restores a data
// directory from such a file (docs/design/0079-backups.md).
//
// A backup is a tar archive, compressed with zstd. It contains the files of the directory under
// data/. If a file is there more than once, the last one counts. The archive ends with
// manifest.json, the list of its files.
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

// Format is the version of the format of a backup.
const Format = 1

// A Manifest describes a backup.
type Manifest struct {
	Format  int       `json:"format"`
	Release string    `json:"release"` // of the program that wrote it
	Created time.Time `json:"created"` // the moment whose state the backup has
	Files   []File    `json:"files"`   // sorted by path
}

// A File is one file of the data directory.
type File struct {
	Path   string `json:"path"` // relative to the data directory, with slashes
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // hexadecimal
}

// Bytes returns the number of bytes of all files together.
func (m *Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// newSum returns the hash function of files.
func newSum() hash.Hash { return sha256.New() }

// sumOf returns a hash in the format of a manifest.
func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// Bare returns the error of a file without its path, for a message.
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
