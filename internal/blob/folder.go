package blob

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"
)

// A Folder is a Bucket whose objects are files in a folder of the operating system, which people
// open in editors and file managers.
//
// Some file systems treat names that differ only in case or in Unicode normalization as the same.
// On these, two keys may name one file, with four consequences:
//
//   - Get, Look and all conditions find the file by any of its spellings. Only List and Walk return
//     the spelling in the folder.
//   - A file that is put or exchanged over another may keep the spelling of that one.
//   - Therefore a file is renamed to another spelling in two steps: it is removed under the old
//     spelling, and then created under the new one. In the other order the file itself is in the
//     way, and the error is a *Found or ErrCondition.
//   - Concurrent calls for two spellings of one file are not isolated from each other as those for
//     one key are. No data is lost, but a call may see for a moment what the other one takes back.
type Folder interface {
	Bucket
	Exchanger
	Walker
	Looker
	Displacer
}

// A Walker lists all files in a folder, including those of other programs, and continues if
// something cannot be read.
type Walker interface {
	// Walk is List with three differences. First, it descends only into folders for which enter
	// returns true; a nil enter descends into all. enter is called for each folder found, with its
	// key without a trailing slash, even if the folder is empty or has a name that looks like a
	// file's.
	//
	// Second, it also yields files that are not plain files or whose names are not keys, with
	// Foreign set.
	//
	// Third, it does not end at a folder that cannot be read: it yields a *WalkError and continues
	// with the next one. The contents of that folder are unknown; it must not be taken for empty.
	// Any other error ends the walk.
	Walk(ctx context.Context, prefix string, enter func(folder string) bool) iter.Seq2[Object, error]
}

// A WalkError is the error of a folder that could not be read.
type WalkError struct {
	Folder string // as a key without a trailing slash; empty: the root of the bucket
	Err    error
}

// Error returns a message with the folder and the cause.
func (e *WalkError) Error() string {
	if e.Folder == "" {
		return fmt.Sprintf("read the folder: %v", e.Err)
	}
	return fmt.Sprintf("read the folder %s: %v", e.Folder, e.Err)
}

// Unwrap returns the cause.
func (e *WalkError) Unwrap() error { return e.Err }

// A Looker returns the metadata of single objects.
type Looker interface {
	// Look returns the Object at a key as List would. It returns ErrNotExist and ErrForeign as Get
	// does.
	Look(ctx context.Context, key string) (Object, error)

	// Touched returns when a name was last added to or removed from the folder of a key; if the
	// folder is gone, from its nearest existing parent. It is never earlier than the change. It is
	// the zero time if the system does not report it.
	Touched(ctx context.Context, key string) (time.Time, error)
}

// A Displacer is an Exchanger that keeps displaced files for a while, because an editor may still
// write to them, and nobody would see that text.
//
// When its time is over, a displaced file is examined. If it has the text that the exchange
// expected, it is removed. Otherwise it is a loss: text of a person that would be lost. A loss is
// kept until it is settled.
type Displacer interface {
	// Displaced yields all current losses in no particular order, including files whose time is not
	// over. It ends with the first error.
	Displaced(ctx context.Context) iter.Seq2[Displaced, error]

	// Due examines the files whose time is over, and yields the losses among them, and again all
	// earlier losses that are not settled. Its cost depends only on the number of these files, so
	// that frequent calls are cheap. It ends with the first error.
	Due(ctx context.Context) iter.Seq2[Displaced, error]

	// Settle reports that a loss has been handled, and removes the file. If the file was written to
	// since it was yielded, it stays a loss, which had the yielded text, and the error is a *Found. A
	// file that is gone is settled. A file that an editor seems to have open is not removed yet: its time starts again,
	// and its current text counts as expected.
	Settle(ctx context.Context, d Displaced) error
}

// A Displaced is a text that was saved at a key and is no longer there, although no writer through
// the bucket had been told to replace it. This happens
//
//   - if the process is killed between an exchange and the comparison of the displaced file,
//   - if an editor writes to a file that it opened before the file was displaced,
//   - if a person saves twice during one exchange: this is the earlier save.
//
// The owner of the key merges the text, or finds that it is outdated, and settles it.
type Displaced struct {
	Key     string
	Data    []byte
	Written time.Time // when it was last written; anything newer is not based on it
	Foreign bool      // it is not a plain file, and Data is nil
	File    string    // opaque; distinguishes displaced texts with the same key, and changes with Had

	// Had is the digest of the text that the file had when it was displaced or last settled: the
	// first 32 hexadecimal digits of its SHA-256. It is empty if that is unknown.
	Had string
}

// A Watch reports changes in a Folder until it is closed. It is safe for concurrent use.
type Watch interface {
	io.Closer

	// C returns a channel that receives a value after something has changed, and when all changes
	// are reported again after a gap. One value may stand for many changes, and Take may return
	// none after it. Close does not close the channel.
	C() <-chan struct{}

	// Take returns the changes since the last Take.
	Take() Changes

	// Reason returns, in words for a person, why some changes are not reported. It is empty if all
	// are.
	Reason() string

	// Lost reports whether the folder was removed or replaced, so that a new Watch is needed.
	Lost() bool
}

// Changes are the paths in a Folder that may have changed.
type Changes struct {
	// Paths are files and folders relative to the root, with slashes, in no particular order. A
	// folder stands for everything that is or was below it.
	Paths []string

	// Everything says that paths not in Paths may have changed too.
	Everything bool
}
