// Package backup copies a data directory into one file while a server uses it, and restores a data
// directory from such a file (docs/design/0079-backups.md).
//
// A backup is a tar archive, compressed with zstd. It contains the files of the directory under
// data/. If a file is there more than once, the last one counts. The archive ends with
// manifest.json, the list of its files.
package backup

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
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

// A Source is a data directory that may be in use.
type Source struct {
	Dir      string            // the directory
	Database string            // the path of the database in it
	Skips    func(string) bool // reports whether the file at a path is not part of a backup
	Release  string

	// Snapshot writes a copy of the database, and returns its path. While it runs frozen, the
	// database must not change, and other files only in ways that a crash at that moment could have
	// left unfinished.
	Snapshot func(frozen func() error) (string, error)
}

// atRest is how long a file must have been unchanged when it was copied to count as unchanged
// since. It is longer than the resolution of file times.
const atRest = 2 * time.Second

// Create writes a backup of a directory. It copies everything while the directory is in use. Then
// it copies the changes since, which are few, while writes wait. It skips files that are not
// regular files.
func Create(ctx context.Context, to io.Writer, s Source) (*Manifest, error) {
	packed, err := zstd.NewWriter(to)
	if err != nil {
		return nil, fmt.Errorf("compress the backup: %w", err)
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the data directory: %w", err)
	}
	defer root.Close()
	c := &copier{ctx: ctx, source: s, root: root, out: tar.NewWriter(packed), copied: map[string]copied{}}
	m, err := c.create()
	if err != nil {
		_ = packed.Close()
		return nil, err
	}
	return m, errors.Join(c.out.Close(), packed.Close())
}

// A copier writes one backup.
type copier struct {
	ctx    context.Context
	source Source
	root   *os.Root
	out    *tar.Writer
	copied map[string]copied // by path
}

// A copied is a file in the archive.
type copied struct {
	file File
	info fs.FileInfo // at the time of its copy
	at   time.Time   // when it was opened
}

// create writes the archive. It copies the files twice: first while the server runs as usual, which
// takes long, and again during the snapshot of the database, when only the changes since are left.
func (c *copier) create() (*Manifest, error) {
	if err := c.all(); err != nil {
		return nil, err
	}
	var moment time.Time
	snapshot, err := c.source.Snapshot(func() error {
		moment = time.Now()
		return c.all()
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(snapshot) }()
	if err := c.database(snapshot); err != nil {
		return nil, err
	}
	return c.manifest(moment)
}

// all copies the files that are new or changed since their last copy, and forgets those that are
// gone.
func (c *copier) all() error {
	there := map[string]bool{}
	err := fs.WalkDir(c.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case c.ctx.Err() != nil:
			return context.Cause(c.ctx)
		case errors.Is(err, fs.ErrNotExist):
			return nil // it was removed meanwhile
		case err != nil:
			return err
		case d.IsDir() || path == c.source.Database || c.source.Skips(path) || !d.Type().IsRegular():
			return nil
		}
		there[path] = true
		return c.one(path)
	})
	if err != nil {
		return fmt.Errorf("copy the data directory: %w", Bare(err))
	}
	maps.DeleteFunc(c.copied, func(path string, _ copied) bool { return !there[path] })
	return nil
}

// one copies a file, unless it is unchanged since its last copy.
func (c *copier) one(path string) error {
	info, err := c.root.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if was, ok := c.copied[path]; ok && was.still(info) {
		return nil
	}
	f, err := c.root.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return c.copy(path, f)
}

// still reports whether a file is unchanged since its copy.
func (c *copied) still(now fs.FileInfo) bool {
	return os.SameFile(c.info, now) && c.info.Size() == now.Size() && c.info.ModTime().Equal(now.ModTime()) &&
		c.at.Sub(now.ModTime()) > atRest
}

// copy writes a file into the archive. If the file is truncated while it is read, it is padded, and
// copied again later.
func (c *copier) copy(path string, f *os.File) error {
	at := time.Now()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	err = c.out.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: dataPrefix + path, Size: info.Size(), Mode: int64(info.Mode().Perm()),
		ModTime: info.ModTime(), Format: tar.FormatPAX,
	})
	if err != nil {
		return err
	}
	sum := newSum()
	n, err := io.Copy(io.MultiWriter(c.out, sum), io.LimitReader(f, info.Size()))
	if err != nil {
		return err
	}
	if n < info.Size() {
		delete(c.copied, path)
		_, err := io.CopyN(c.out, zeros{}, info.Size()-n)
		return err
	}
	c.copied[path] = copied{File{path, n, sumOf(sum)}, info, at}
	return nil
}

// A zeros is a reader of zero bytes.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// database writes the copy of the database.
func (c *copier) database(snapshot string) error {
	f, err := os.Open(snapshot)
	if err != nil {
		return fmt.Errorf("read the copy of the database: %w", Bare(err))
	}
	defer f.Close()
	if err := c.copy(c.source.Database, f); err != nil {
		return fmt.Errorf("copy the database: %w", Bare(err))
	}
	return nil
}

// manifest writes the manifest.
func (c *copier) manifest(moment time.Time) (*Manifest, error) {
	m := &Manifest{Format: Format, Release: c.source.Release, Created: moment.UTC().Truncate(time.Millisecond)}
	for _, f := range c.copied {
		m.Files = append(m.Files, f.file)
	}
	slices.SortFunc(m.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	err = c.out.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: manifestName, Size: int64(len(data)), Mode: 0o600, ModTime: moment,
	})
	if err == nil {
		_, err = c.out.Write(data)
	}
	if err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	return m, nil
}
