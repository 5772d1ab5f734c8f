package fileblob

import (
	"io/fs"
	"strconv"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
)

// An entry is the metadata of a name in a directory. It distinguishes plain files, directories, and
// all other files.
type entry struct {
	name     string
	mode     fs.FileMode
	size     int64
	modified time.Time // when the contents changed
	changed  time.Time // when anything changed, including the name; zero if the system does not report it
	inode    uint64    // 0 if the system does not report it
}

var _ fs.FileInfo = (*entry)(nil)

func (e *entry) Name() string       { return e.name }
func (e *entry) Size() int64        { return e.size }
func (e *entry) Mode() fs.FileMode  { return e.mode }
func (e *entry) ModTime() time.Time { return e.modified }
func (e *entry) IsDir() bool        { return e.mode.IsDir() }
func (e *entry) Sys() any           { return nil }

// object returns the entry as the object of a key.
func (e *entry) object(key string) blob.Object {
	return blob.Object{
		Key: key, Size: e.size, Modified: e.modified, Changed: e.touched(), Mark: e.mark(),
		Foreign: !e.mode.IsRegular() || checkKey(key) != nil,
	}
}

// touched returns when anything about the file last changed.
func (e *entry) touched() time.Time {
	if e.changed.After(e.modified) {
		return e.changed
	}
	return e.modified
}

// mark returns the entry's blob.Object.Mark: the inode, the size, and the times of the last change
// of the contents and of anything, in base 36, separated by dots. An editor that writes the same
// size within the same clock tick of the file system leaves it unchanged. It does not include the
// device number, which may change each time a disk is mounted. Marks are stored, so a change of the
// format makes all files be read again.
func (e *entry) mark() string {
	text := make([]byte, 0, 80)
	text = strconv.AppendUint(text, e.inode, 36)
	for _, n := range [...]int64{
		e.size, e.modified.Unix(), int64(e.modified.Nanosecond()),
		e.changed.Unix(), int64(e.changed.Nanosecond()),
	} {
		text = strconv.AppendInt(append(text, '.'), n, 36)
	}
	return string(text)
}
