package fileblob

import (
	"io/fs"
	"strconv"
	"time"

	"rookery/internal/blob"
)

// An entry is what a directory says of a name. Of a thing that is neither a plain file nor a
// directory, it does not say what it is.
type entry struct {
	name     string
	mode     fs.FileMode
	size     int64
	modified time.Time // its contents
	changed  time.Time // it, in any way, as also its name; zero where the system does not tell
	inode    uint64    // 0 where the system does not tell
}

var _ fs.FileInfo = (*entry)(nil)

func (e *entry) Name() string       { return e.name }
func (e *entry) Size() int64        { return e.size }
func (e *entry) Mode() fs.FileMode  { return e.mode }
func (e *entry) ModTime() time.Time { return e.modified }
func (e *entry) IsDir() bool        { return e.mode.IsDir() }
func (e *entry) Sys() any           { return nil }

// object is the file of a key.
func (e *entry) object(key string) blob.Object {
	return blob.Object{
		Key: key, Size: e.size, Modified: e.modified, Changed: e.touched(), Mark: e.mark(),
		Foreign: !e.mode.IsRegular() || checkKey(key) != nil,
	}
}

// touched is when anything about the file changed last.
func (e *entry) touched() time.Time {
	if e.changed.After(e.modified) {
		return e.changed
	}
	return e.modified
}

// mark is a blob.Object's. The device is not in it: it is another after each time that a disk is
// mounted.
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
