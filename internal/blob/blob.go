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
// A key is what CheckKey accepts; any other is ErrKey, and nothing is done. A key and one that goes
// on behind it ("a" and "a/b") are not both used: a folder cannot hold them.
//
// When the context is done before a call begins, its error is the answer and nothing is done. Every
// other error that is not named here leaves the outcome of a Put or Delete unknown: it may have
// happened, or happen later.
type Bucket interface {
	// Put stores an object and returns its new tag. When it returns, the object is durable. A
	// condition that does not hold is ErrCondition, and nothing was written; of several writers
	// whose conditions cannot all hold, one wins.
	Put(ctx context.Context, key string, data []byte, c Cond) (Tag, error)

	// Get returns n bytes from off on, fewer where the object ends before, and the tag of the whole
	// object. n < 0 means to the end. No such object is ErrNotExist; an off beyond the end, and an n
	// of 0, give no bytes and the tag. The bytes are those of one Put, and never nil.
	Get(ctx context.Context, key string, off, n int64) ([]byte, Tag, error)

	// Delete removes an object; to remove what is not there is no error. There is no condition: no
	// emulator of S3 can be trusted with one.
	Delete(ctx context.Context, key string) error

	// List yields the objects whose keys begin with prefix, in bytewise order of their keys; a
	// prefix that no key begins with yields none. What is put or deleted meanwhile, also by the
	// consumer, may or may not be seen. It ends with the first error. It yields no tags that would
	// cost a read: Tag may be empty.
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

	// Changed is when the last change of the file began to show: of its contents, its name or anything
	// else about it, as far as the system tells. Unlike Modified, nobody can set it back. Buckets that
	// are no folders leave it zero.
	Changed time.Time

	// Mark stands for the state of a file: as long as it is the same, so are the bytes, if the file was
	// at rest when it was looked at first. It is opaque, and empty where a List cannot tell.
	//
	// A file is at rest when Changed lies further back than the clock of its file system has ticks: two
	// seconds are enough for all of them. Two changes within one tick have the same mark. A file that is
	// not at rest is read, and looked at again later.
	Mark string

	// Foreign is set only by Walk: there is no object at Key, which may be none, but something that is
	// not a plain file, or one whose name is no key.
	Foreign bool
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
// it: that is ErrCondition, not ErrNotExist. The empty tag, which a List may yield, is that of no
// object: the condition never holds.
func IfTag(t Tag) Cond {
	if t == "" {
		t = noTag
	}
	return Cond{tag: t}
}

// noTag is the tag of no object on any engine.
const noTag Tag = "none"

// Absent reports whether the condition is that there is no such object.
func (c Cond) Absent() bool { return c.absent }

// Tag is the tag that the object must still have; empty where the condition is another.
func (c Cond) Tag() Tag { return c.tag }

// The definite answers of a Bucket. Engines wrap them.
var (
	ErrNotExist  = errors.New("no such object")
	ErrCondition = errors.New("the condition does not hold")
	ErrKey       = errors.New("not a key")

	// ErrForeign is given only by folders, which others write to as well: at the key, or on the way
	// to it, lies what is neither a plain file nor a folder of ours to pass, such as a symbolic
	// link. It is not followed, read or replaced, and nothing was done.
	ErrForeign = errors.New("not a plain file")
)

// A Taker is a Bucket that can remove an object on a condition. Buckets that keep versions implement it.
type Taker interface {
	Bucket

	// Take removes an object that has a tag. If it was another one by then, that one is there when Take returns, or a
	// later one, and the error is ErrCondition; for the moment between, there is none. No object is no error.
	Take(ctx context.Context, key string, t Tag) error
}

// An Exchanger is a Bucket whose objects are files that others edit too: people, with any editor.
// Folders implement it. Its writes are atomic for whoever reads the file, and durable only after
// Sync.
type Exchanger interface {
	// Exchange puts data at key if what is there is want, to the byte; a nil want means that nothing
	// is there, an empty one that an empty file is. Otherwise nothing changes and the error is a
	// *Found. What it displaces is compared after the exchange, so that a save of an editor in the
	// very moment of it is found and put back; a reader may see data for that moment.
	//
	// An editor may hold the displaced file open and write into it later. So it is kept for a while
	// out of sight; a Keeper tells what was written.
	Exchange(ctx context.Context, key string, data, want []byte) error

	// Remove takes the file away if it is want, to the byte; otherwise as Exchange. Folders that
	// become empty by it are removed as well, also that of a Sub: the next write makes it anew.
	Remove(ctx context.Context, key string, want []byte) error

	// Append writes data behind the first n bytes of a file, which only we append to, and cuts off
	// what stood there. With n = 0 the file is made where there is none. A shorter file, or none, is
	// ErrCondition. It is atomic for nobody, and durable after Sync.
	Append(ctx context.Context, key string, n int64, data []byte) error

	// Sync makes what was exchanged, removed and appended at these keys durable.
	Sync(ctx context.Context, keys ...string) error
}

// Found says that an Exchange or Remove met something else than it was told to expect.
type Found struct {
	Absent  bool   // there was nothing
	Foreign bool   // there was, or on the way to it, what is no plain file: see ErrForeign
	Data    []byte // what there was, if it was a file; not nil then
}

// Error says only that something else was there: what it was is nobody's business but the caller's.
func (f *Found) Error() string {
	switch {
	case f.Absent:
		return "the file is not there"
	case f.Foreign:
		return "something that is no plain file is in the way"
	}
	return "the file is not as expected"
}
