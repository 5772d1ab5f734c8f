package backup

import (
	"archive/tar"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Restore restores a backup into a data directory. dir must not exist, or must be an empty
// directory. The directory gets its name at once, after all files are written, their digests are
// those of the manifest, and verify, which is called with a temporary path, returns nil. Restore
// returns INDEX_ERROR for a damaged or incomplete backup.
func Restore(ctx context.Context, from io.Reader, dir string, verify func(dir string) error) (m *Manifest, err error) {
	if err := isFree(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, unwritten(err)
	}
	staged, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".restoring-")
	if err != nil {
		return nil, unwritten(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staged)) }()
	if m, err = unpack(ctx, from, staged); err != nil {
		return nil, err
	}
	if err := verify(staged); err != nil {
		return nil, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unwritten(err)
	}
	if err := os.Rename(staged, dir); err != nil {
		return nil, unwritten(err)
	}
	return m, nil
}

// isFree returns CONFLICT if a directory is not empty.
func isFree(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fault.New(fault.FileError, "the directory to restore into cannot be read: %v", Bare(err))
	case len(entries) > 0:
		return fault.New(fault.Conflict, "the directory to restore into is not empty").
			Fix("name a new one, or move that one away: nothing is replaced")
	}
	return nil
}

func unwritten(err error) error {
	return fault.New(fault.FileError, "the restored directory cannot be written: %v", Bare(err))
}

func damaged(format string, args ...any) error {
	return fault.New(fault.IndexError, "the backup is damaged: "+format, args...).
		Fix("restore from another one")
}

// Verify reads a whole backup, compares it with its manifest, and returns the manifest. Its errors
// are those of Restore.
func Verify(ctx context.Context, from io.Reader) (*Manifest, error) {
	m, _, err := read(ctx, from, func(name string, _ *tar.Header, from io.Reader) (File, error) {
		sum := newSum()
		n, err := io.Copy(sum, from)
		if err != nil {
			return File{}, cutOff()
		}
		return File{name, n, sumOf(sum)}, nil
	})
	return m, err
}

// unpack writes the files of a backup into a directory.
func unpack(ctx context.Context, from io.Reader, dir string) (*Manifest, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unwritten(err)
	}
	defer root.Close()
	m, gone, err := read(ctx, from, func(name string, head *tar.Header, from io.Reader) (File, error) {
		return write(root, name, head, from)
	})
	for _, name := range gone {
		if err := root.Remove(name); err != nil {
			return nil, unwritten(err)
		}
	}
	return m, err
}

// A taker handles one file of a backup.
type taker func(name string, head *tar.Header, from io.Reader) (File, error)

// read reads a backup, calls take with each file, and compares the results with the manifest. gone
// lists the files that are in the archive but not in the manifest, because they were deleted during
// the backup.
func read(ctx context.Context, from io.Reader, take taker) (m *Manifest, gone []string, err error) {
	packed, err := zstd.NewReader(from)
	if err != nil {
		return nil, nil, damaged("it is not compressed as one is")
	}
	defer packed.Close()
	files, found := tar.NewReader(packed), map[string]File{}
	for {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		head, err := files.Next()
		if err != nil {
			return nil, nil, cutOff()
		}
		if head.Name == manifestName {
			return compare(files, found)
		}
		name, ok := strings.CutPrefix(head.Name, dataPrefix)
		if !ok || head.Typeflag != tar.TypeReg || !isPath(name) {
			return nil, nil, damaged("it contains an entry that is not a file of a data directory")
		}
		if found[name], err = take(name, head, files); err != nil {
			return nil, nil, err
		}
	}
}

// isPath reports whether a name is a valid path of a file in a directory.
func isPath(name string) bool {
	return name != "." && fs.ValidPath(name) && filepath.IsLocal(filepath.FromSlash(name))
}

func cutOff() error { return damaged("it ends too early, or is not a backup") }

// write writes one file, and syncs it.
func write(root *os.Root, name string, head *tar.Header, from io.Reader) (File, error) {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return File{}, unwritten(err)
	}
	mode := fs.FileMode(head.Mode)&0o777 | 0o600 //nolint:gosec // only the permissions are taken
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return File{}, unwritten(err)
	}
	sum := newSum()
	n, copied := io.Copy(io.MultiWriter(f, sum), from)
	var at *fs.PathError
	switch err := errors.Join(f.Sync(), f.Close()); {
	case errors.As(copied, &at):
		return File{}, unwritten(copied)
	case copied != nil:
		return File{}, cutOff()
	case err != nil:
		return File{}, unwritten(err)
	}
	if err := root.Chtimes(name, head.ModTime, head.ModTime); err != nil {
		return File{}, unwritten(err)
	}
	return File{name, n, sumOf(sum)}, nil
}

// compare reads the manifest, and compares it with the files found.
func compare(from io.Reader, found map[string]File) (m *Manifest, gone []string, err error) {
	m = &Manifest{}
	if err := json.NewDecoder(from).Decode(m); err != nil {
		return nil, nil, cutOff()
	}
	if m.Format != Format {
		return nil, nil, fault.New(fault.IndexIncompatible, "the backup has format %d, and this release reads %d",
			m.Format, Format).Fix("use the release that wrote it: %s", cmp.Or(m.Release, "a later one"))
	}
	for _, f := range m.Files {
		if found[f.Path] != f {
			return nil, nil, damaged("a file is not what its digest says")
		}
		delete(found, f.Path)
	}
	return m, slices.Sorted(maps.Keys(found)), nil
}
