package convert

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// The limits of an archive. They bound the memory of one call, because all files are unpacked into
// memory.
const (
	MaxUnpacked = 64 << 20 // bytes of all files together
	maxEntries  = 20_000
)

// IsArchive reports whether a file is an archive, by its name.
func IsArchive(file string) bool { return strings.EqualFold(path.Ext(file), ".zip") }

// Unpack returns the regular files of a ZIP archive for whose names keep returns true, in the order
// of the archive. It refuses a whole archive that is damaged, that contains a path outside the
// archive, or that is larger than MaxUnpacked. Links and other special files are left out. Only the
// files that keep selects count for the size.
func Unpack(archive File, keep func(file string) bool) ([]File, error) {
	in, err := zip.NewReader(bytes.NewReader(archive.Data), int64(len(archive.Data)))
	// An insecure path is not an error here: the loop below refuses it, with another code.
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fault.New(fault.InvalidParameter, "the file is not a complete ZIP archive").At(archive.Path, 0)
	}
	if len(in.File) > maxEntries {
		return nil, tooLarge(archive.Path)
	}
	// All paths are checked, also those of files that are not selected.
	for _, f := range in.File {
		if !fs.ValidPath(strings.TrimSuffix(f.Name, "/")) || strings.Contains(f.Name, `\`) {
			return nil, fault.New(fault.InvalidPath, "the archive has a file whose path is not inside the archive").
				At(archive.Path, 0)
		}
	}
	var all []File
	room := int64(MaxUnpacked)
	for _, f := range in.File {
		if f.FileInfo().IsDir() || !f.Mode().IsRegular() || !keep(f.Name) {
			continue
		}
		data, err := unpacked(f, room)
		if errors.Is(err, errRoom) {
			return nil, tooLarge(archive.Path)
		}
		if err != nil {
			return nil, fault.New(fault.InvalidParameter,
				"a file of the archive cannot be read: it is damaged, or needs a password").
				At(archive.Path, 0).Because(err)
		}
		room -= int64(len(data))
		all = append(all, File{Path: f.Name, Data: data})
	}
	return all, nil
}

// IsHidden reports whether the name of a file, or of a folder above it, begins with a dot. Archives
// contain such files for the program or the system that made them.
func IsHidden(file string) bool { return strings.HasPrefix(file, ".") || strings.Contains(file, "/.") }

// errRoom is the error of unpacked for a file that is too large. tooLarge returns BATCH_TOO_LARGE
// for the archive.
var errRoom = errors.New("more bytes than there is room for")

// tooLarge returns the BATCH_TOO_LARGE fault for an archive that exceeds maxEntries or MaxUnpacked.
func tooLarge(archive string) error {
	return fault.New(fault.BatchTooLarge,
		"an archive has at most %d files of %d bytes together", maxEntries, MaxUnpacked).
		At(archive, 0).Fix("send its files in several calls; the command line does so by itself")
}

// unpacked returns a file of an archive, or errRoom if it is larger than room, in bytes. It does
// not trust the size in the archive, and reads at most one byte more than room.
func unpacked(f *zip.File, room int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("open a file of an archive: %w", err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, room+1))
	if err != nil {
		return nil, fmt.Errorf("read a file of an archive: %w", err)
	}
	if int64(len(data)) > room {
		return nil, errRoom
	}
	return data, nil
}
