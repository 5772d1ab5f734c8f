// Package blob is the port to a store of whole objects: files on a laptop, S3 in the cloud.
//
// What every implementation must do is said here and held by the suite in blobtest. It is what AWS
// promises and nothing more.
package blob

import (
	"context"
	"errors"
	"iter"
	"time"
)

// A Bucket keeps whole objects by key. It is safe for concurrent use.
//
// A key is 1 to 1,024 bytes of UTF-8: segments joined by "/", none of them empty, "." or "..", and
// no control character anywhere; any other key is ErrKey, and nothing is done. A key and one that
// goes on behind it ("a" and "a/b") are not both used: a folder cannot hold them.
//
// An error other than those named here leaves the outcome of a Put or Delete unknown: it may have
// happened, or happen later.
type Bucket interface {
	// Put stores an object and returns its new tag. When it returns, the object is durable. A
	// condition that does not hold is ErrCondition, and nothing was written.
	Put(ctx context.Context, key string, data []byte, c Cond) (Tag, error)

	// Get returns n bytes from off on, fewer where the object ends before, and the tag of the whole
	// object. n < 0 means to the end. No such object is ErrNotExist; an off beyond the end gives
	// no bytes.
	Get(ctx context.Context, key string, off, n int64) ([]byte, Tag, error)

	// Delete removes an object; to remove what is not there is no error. There is no condition: no
	// emulator of S3 can be trusted with one.
	Delete(ctx context.Context, key string) error

	// List yields the objects whose keys begin with prefix, in bytewise order of their keys. What is
	// put or deleted meanwhile may or may not be seen. It ends with the first error. It yields no
	// tags that would cost a read: Tag may be empty.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
}

// A Tag stands for the contents of an object: equal tags, equal bytes. It is opaque; S3's is the
// ETag.
type Tag string

// An Object is one row of a List.
type Object struct {
	Key      string
	Tag      Tag // may be empty
	Size     int64
	Modified time.Time
}

// A Cond is the condition of a Put. The zero value always holds.
type Cond struct {
	absent bool
	tag    Tag
}

// Always is the condition that holds always; IfAbsent, if there is no such object.
var (
	Always   = Cond{}
	IfAbsent = Cond{absent: true}
)

// IfTag is the condition that the object still has this tag. An object that is gone does not hold
// it: that is ErrCondition, not ErrNotExist.
func IfTag(t Tag) Cond { return Cond{tag: t} }

// Absent reports whether the condition is that there is no such object.
func (c Cond) Absent() bool { return c.absent }

// Tag is the tag that the object must still have; empty where the condition is another.
func (c Cond) Tag() Tag { return c.tag }

// The definite answers of a Bucket. Engines wrap them.
var (
	ErrNotExist  = errors.New("no such object")
	ErrCondition = errors.New("the condition does not hold")
	ErrKey       = errors.New("not a key")
)

// An Exchanger is a Bucket whose objects are files that others edit too: people, with any editor.
// Folders implement it. Its writes are atomic for whoever reads the file, and durable only after
// Sync.
type Exchanger interface {
	// Exchange puts data at key if what is there is want, to the byte; a nil want means that nothing
	// is there. Otherwise nothing changes and the error is a *Found. What it displaces is compared
	// after the exchange, so that a save of an editor in the very moment of it is found and put back.
	Exchange(ctx context.Context, key string, data, want []byte) error

	// Remove takes the file away if it is want, to the byte; otherwise as Exchange. Folders that
	// become empty by it are removed as well.
	Remove(ctx context.Context, key string, want []byte) error

	// Sync makes what was exchanged and removed at these keys durable.
	Sync(ctx context.Context, keys ...string) error
}

// Found says that an Exchange or Remove met something else than it was told to expect.
type Found struct {
	Absent bool   // there was nothing
	Data   []byte // what there was
}

// Error says only that something else was there: what it was is nobody's business but the caller's.
func (f *Found) Error() string {
	if f.Absent {
		return "the file is not there"
	}
	return "the file is not as expected"
}
