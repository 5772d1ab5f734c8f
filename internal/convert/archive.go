package convert

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

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

// Lengths in characters of texts that are derived from an export. Longer texts are cut off.
const (
	maxName    = 60  // a file name that is derived from a title
	maxID      = 128 // an id of the source
	maxRowID   = 200 // an id in a row
	maxTitle   = 200
	digestName = 12 // a digest in a name
	digestID   = 32 // a digest that is an id
)

// fileName returns a file name derived from a title: its letters, digits, - and _, with _ in place
// of every other character, and at most maxName characters. It has no extension. It returns other
// if nothing is left.
func fileName(title, other string) string {
	name := truncate(strings.Map(func(r rune) rune {
		switch {
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			return r
		}
		return '_'
	}, title), maxName)
	if strings.Trim(name, "_") == "" {
		return other
	}
	return name
}

// plainID returns an id of at most most characters, with _ in place of all but ASCII letters,
// digits, - and _. Different ids can become equal. It is used for names of files and for the ids of
// ChatGPT.
func plainID(id string, most int) string {
	return truncate(strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, id), most)
}

// truncate returns the first most characters of a text, counted as code points.
func truncate(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i]
		}
		n++
	}
	return s
}

// line returns a text on one line, with blanks collapsed.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// digest returns the first length hexadecimal digits of the SHA-256 digest of some texts, which are
// joined without a separator. It is part of names and ids of notes that were imported, so its
// result must not change.
func digest(length int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = io.WriteString(h, p) // a hash returns no errors
	}
	return hex.EncodeToString(h.Sum(nil))[:length]
}

// hasPrefix reports whether some bytes begin with a text. The functions below are likewise short
// forms for bytes.
func hasPrefix(data []byte, prefix string) bool { return bytes.HasPrefix(data, []byte(prefix)) }

// isUTF8 reports whether the bytes of a file are valid UTF-8. Other encodings are not converted.
func isUTF8(data []byte) bool { return utf8.Valid(data) }

// trimBOM returns a text without the byte order mark that some programs write at its beginning.
func trimBOM(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }
