// Package blob defines the interface to a store of whole objects: files on a laptop, S3 in the
// cloud.
//
// The comments say what every implementation must do, and the suite in blobtest tests it. The
// interface promises what AWS promises and nothing more.
package blob

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Bucket stores whole objects by key. It is safe for concurrent use.
//
// A key must be valid for CheckKey; for any other key a method returns ErrKey and does nothing. A
// key and a longer key that continues it after a slash ("a" and "a/b") must not both be used,
// because a folder cannot contain both.
//
// If the context is done before a call begins, the call returns the context's error and does
// nothing. Any other error that is not named here leaves the outcome of a Put or Delete unknown: it
// may have happened, or may happen later.
type Bucket interface {
	// Put stores an object and returns its new tag. When it returns, the object is durable. If the
	// condition is not met, the error is ErrCondition and nothing was written. Of concurrent
	// writers whose conditions exclude each other, one succeeds.
	Put(ctx context.Context, key string, data []byte, c Cond) (Tag, error)

	// Get returns n bytes from offset off, fewer if the object ends before, and the tag of the
	// whole object. n < 0 means up to the end. If there is no object, the error is ErrNotExist. An
	// off beyond the end, and n == 0, return no bytes and the tag. The bytes come from a single Put
	// and are never nil.
	Get(ctx context.Context, key string, off, n int64) ([]byte, Tag, error)

	// Delete removes an object. Removing an object that does not exist is not an error. There is no
	// conditional form, because no emulator of S3 implements one reliably.
	Delete(ctx context.Context, key string) error

	// List yields the objects whose keys begin with prefix, in bytewise order of their keys; none
	// if there are no such keys. It may or may not yield objects that are put or deleted meanwhile,
	// even by the consumer. It ends with the first error. An object's Tag may be empty, because
	// List does not read objects to compute it.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
}

// A Tag identifies the contents of an object: equal tags mean equal bytes. It is opaque; for S3 it
// is the ETag.
type Tag string

// An Object is one result of a List.
type Object struct {
	Key      string
	Tag      Tag // may be empty
	Size     int64
	Modified time.Time

	// Changed is when the last change of the file became visible: of its contents, its name or
	// anything else about it, as far as the system reports that. Unlike Modified it cannot be set
	// back. It is zero for buckets that are not folders.
	Changed time.Time

	// Mark identifies the state of a file: if two marks of a key are equal, so are the bytes,
	// provided that the file was at rest when the first one was taken. It is opaque, and empty if a
	// List cannot determine it.
	//
	// A file is at rest when its Changed is older than one tick of its file system's clock; two
	// seconds are enough for all file systems. Two changes within one tick have the same mark. A
	// file that is not at rest must be read, and checked again later.
	Mark string

	// Foreign is set only by Walk. It means that there is no object: the file is not a plain file,
	// or its name, which is in Key, is not a valid key.
	Foreign bool
}

// A Cond is the condition of a Put. The zero value is Always.
type Cond struct {
	absent bool
	tag    Tag
}

// Always is the condition that is always met. IfAbsent is met if there is no object with the key.
var (
	Always   = Cond{}
	IfAbsent = Cond{absent: true}
)

// IfTag returns the condition that the object still has this tag. If there is no object, the
// condition is not met: the error is ErrCondition, not ErrNotExist. With the empty tag, which a
// List may yield, it is never met.
func IfTag(t Tag) Cond {
	return Cond{tag: cmp.Or(t, noTag)}
}

// noTag is a tag that no object has in any implementation.
const noTag Tag = "none"

// Absent reports whether the condition is IfAbsent.
func (c Cond) Absent() bool { return c.absent }

// Tag returns the tag that the object must have, or "" for other conditions.
func (c Cond) Tag() Tag { return c.tag }

// The errors of a Bucket with a definite outcome. Implementations wrap them.
var (
	ErrNotExist  = errors.New("no such object")
	ErrCondition = errors.New("the condition does not hold")
	ErrKey       = errors.New("not a key")

	// ErrForeign is returned only by folders, which other programs also write to: at the key, or on
	// the path to it, is something other than a plain file or a folder, such as a symbolic link. It
	// is not followed, read or replaced, and the call did nothing.
	ErrForeign = errors.New("not a plain file")
)

// A Taker is a Bucket that can remove an object conditionally. Buckets that keep versions implement
// it.
type Taker interface {
	Bucket

	// Take removes the object if it has tag t. If it has another tag by then, the error is
	// ErrCondition, and that object or a later one is there when Take returns; in between, there
	// may be none for a moment. It is not an error if there is no object.
	Take(ctx context.Context, key string, t Tag) error
}

// An Exchanger is a Bucket whose objects are files that people also edit, with any editor. Folders
// implement it. Its writes are atomic for readers of the file, but durable only after Sync.
type Exchanger interface {
	// Exchange writes data to key if the current contents equal want; a nil want means that there
	// must be no file, an empty one that the file must be empty. Otherwise nothing changes, and the
	// error is a *Found. The displaced file is compared after the exchange, so that a file which an
	// editor saved at the same moment is detected and put back. A reader may see data during that
	// moment.
	//
	// An editor may have the displaced file open and write to it later. Therefore the file is kept
	// hidden for a while, and a Displacer reports such writes.
	Exchange(ctx context.Context, key string, data, want []byte) error

	// Remove removes the file if its contents equal want; otherwise it fails as Exchange does.
	// Folders that become empty are removed too, including the root of a Sub, which the next write
	// creates again.
	Remove(ctx context.Context, key string, want []byte) error

	// Append writes data after the first n bytes of a file that only this program appends to, and
	// truncates what followed. With n == 0 the file is created if there is none. If the file is
	// missing or shorter than n, the error is ErrCondition. Append is not atomic, and durable only
	// after Sync.
	Append(ctx context.Context, key string, n int64, data []byte) error

	// Sync makes all exchanges, removals and appends at these keys durable.
	Sync(ctx context.Context, keys ...string) error
}

// A Found is the error of an Exchange or a Remove that found something other than expected.
type Found struct {
	Absent  bool   // there was no file
	Foreign bool   // there was something that is not a plain file, at the key or on the path to it; see ErrForeign
	Data    []byte // the contents of the file, not nil if there was one
}

// Error returns a message without the contents that were found, which only the caller may see.
func (f *Found) Error() string {
	switch {
	case f.Absent:
		return "the file is not there"
	case f.Foreign:
		return "a file that is not a regular file is in the way"
	}
	return "the file is not as expected"
}

// A Deleter is a Bucket that can remove many objects at a lower cost than with one Delete for each.
type Deleter interface {
	// DeleteAll removes objects as Delete does. If it returns no error, all of them are durably
	// removed. If it returns an error, the first `removed` of them are, and the outcome of the
	// others is unknown.
	DeleteAll(ctx context.Context, keys ...string) (removed int, err error)
}

// DeleteAll removes objects from any bucket. If b is a Deleter, or the Sub of one, it calls its
// DeleteAll, otherwise Delete for each key until one fails. The results are those of
// Deleter.DeleteAll.
func DeleteAll(ctx context.Context, b Bucket, keys ...string) (removed int, err error) {
	switch b := b.(type) {
	case interface {
		deleteAll(ctx context.Context, keys []string) (int, error)
	}:
		return b.deleteAll(ctx, keys)
	case Deleter:
		return b.DeleteAll(ctx, keys...)
	}
	for i, key := range keys {
		if err := b.Delete(ctx, key); err != nil {
			return i, err
		}
	}
	return len(keys), nil
}

// deleteAll is DeleteAll for a Sub.
func (s sub) deleteAll(ctx context.Context, keys []string) (int, error) {
	whole := make([]string, 0, len(keys))
	for _, key := range keys {
		key, err := s.key(key)
		if err != nil {
			return 0, err
		}
		whole = append(whole, key)
	}
	return DeleteAll(ctx, s.bucket, whole...)
}

// MinExtended is the minimum Size of an Extension, in bytes: the minimum size of a part in an S3
// multipart upload, except for the last one.
const MinExtended = 5 << 20

// An Extension describes a new object: the first bytes of an existing object, followed by other
// bytes.
type Extension struct {
	From string // key of the existing object; may equal the key that is put
	Tag  Tag    // tag that the existing object must have
	Size int64  // number of its bytes to copy, at least MinExtended
	Data []byte // bytes that follow them; may be empty
}

// An Extender is a Bucket that can put an object which begins with the bytes of another one,
// without transferring these bytes.
type Extender interface {
	Bucket

	// Extend is Put with the bytes that an Extension describes. If there is no object e.From, or it
	// has another tag, the error is ErrCondition.
	Extend(ctx context.Context, key string, e Extension, c Cond) (Tag, error)
}

// Extend calls the Extend of a bucket that is an Extender or the Sub of one. For any other bucket
// the error wraps errors.ErrUnsupported.
func Extend(ctx context.Context, b Bucket, key string, e Extension, c Cond) (Tag, error) {
	switch b := b.(type) {
	case interface {
		extend(ctx context.Context, key string, e Extension, c Cond) (Tag, error)
	}:
		return b.extend(ctx, key, e, c)
	case Extender:
		return b.Extend(ctx, key, e, c)
	}
	return "", fmt.Errorf("extend an object: %w", errors.ErrUnsupported)
}

// extend is Extend for a Sub.
func (s sub) extend(ctx context.Context, key string, e Extension, c Cond) (Tag, error) {
	key, err := s.key(key)
	if err != nil {
		return "", err
	}
	if e.From, err = s.key(e.From); err != nil {
		return "", err
	}
	return Extend(ctx, s.bucket, key, e, c)
}

// Limits of a key: that of S3 for a key, and that of common file systems for a name.
const (
	MaxKey     = 1024 // bytes of a key
	MaxSegment = 255  // bytes between two slashes
)

// CheckKey returns nil if a key can name an object: 1 to MaxKey bytes of UTF-8 without control
// characters, in segments of 1 to MaxSegment bytes joined by "/", none of them "." or "..".
// Otherwise the error wraps ErrKey and says what is wrong, without the key itself.
func CheckKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrKey)
	case len(key) > MaxKey:
		return fmt.Errorf("%w: %d bytes are more than %d", ErrKey, len(key), MaxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: it is not UTF-8", ErrKey)
	case strings.ContainsFunc(key, unicode.IsControl):
		return fmt.Errorf("%w: it holds a control character", ErrKey)
	}
	for segment := range strings.SplitSeq(key, "/") {
		if err := checkSegment(segment); err != nil {
			return err
		}
	}
	return nil
}

// checkSegment checks one segment of a key.
func checkSegment(s string) error {
	switch {
	case s == "", s == ".", s == "..":
		return fmt.Errorf("%w: %q is not a valid segment", ErrKey, s)
	case len(s) > MaxSegment:
		return fmt.Errorf("%w: a segment of %d bytes is over %d", ErrKey, len(s), MaxSegment)
	}
	return nil
}

// A Rewriter is a Bucket that can replace an object by a changed copy of itself, without having it
// in memory.
type Rewriter interface {
	Bucket

	// Rewrite replaces an object durably and atomically by what copyTo writes. from has the first n
	// bytes of the object; all of them if n is negative. copyTo may be called twice. If it returns
	// an error, the object stays as it is, and the error is returned. If there is no object, or it
	// has fewer than n bytes, the error is ErrCondition. No other call may change the object
	// meanwhile.
	Rewrite(ctx context.Context, key string, n int64, copyTo func(to io.Writer, from io.Reader) error) error
}

// Rewrite calls the Rewrite of a bucket that is a Rewriter or the Sub of one. Any other bucket
// reads and puts the whole object.
func Rewrite(
	ctx context.Context, b Bucket, key string, n int64, copyTo func(to io.Writer, from io.Reader) error,
) error {
	switch b := b.(type) {
	case interface {
		rewrite(ctx context.Context, key string, n int64, copyTo func(to io.Writer, from io.Reader) error) error
	}:
		return b.rewrite(ctx, key, n, copyTo)
	case Rewriter:
		return b.Rewrite(ctx, key, n, copyTo)
	}
	data, _, err := b.Get(ctx, key, 0, n)
	switch {
	case errors.Is(err, ErrNotExist), err == nil && int64(len(data)) < n:
		return ErrCondition
	case err != nil:
		return err
	}
	var next bytes.Buffer
	next.Grow(len(data))
	if err := copyTo(&next, bytes.NewReader(data)); err != nil {
		return err
	}
	_, err = b.Put(ctx, key, next.Bytes(), Always)
	return err
}

// rewrite is Rewrite for a Sub.
func (s sub) rewrite(
	ctx context.Context, key string, n int64, copyTo func(to io.Writer, from io.Reader) error,
) error {
	key, err := s.key(key)
	if err != nil {
		return err
	}
	return Rewrite(ctx, s.bucket, key, n, copyTo)
}
