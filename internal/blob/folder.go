package blob

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// A Folder is a Bucket whose objects are files in a folder of the operating system, which people have
// open in their editors and file managers.
//
// Some file systems take names that differ only by case, or by the normalization of their characters,
// for one. There two keys may name one file, and a caller must know four things:
//
//   - Get, Look and every condition find the file by any of its spellings. Only List and Walk tell how
//     the folder spells it.
//   - What is put or exchanged over a file may leave its spelling as it was.
//   - So a file gets another spelling in two steps, in this order: it is removed under the old one, and
//     made under the new one. The other order finds the file itself in the way: a *Found, or
//     ErrCondition.
//   - Two calls for two spellings of one file are not kept apart as two for one key are. Nothing is
//     lost by it, but one may see for a moment what the other takes back.
type Folder interface {
	Bucket
	Exchanger
	Walker
	Looker
	Keeper
}

// A Walker lists what others have put into a folder, too, and goes on where something cannot be read.
type Walker interface {
	// Walk is List, with three differences. It descends only into the folders for which enter is true;
	// a nil enter is true for all. It is asked for each folder that is met, by its key without a slash
	// at the end, also for one that has the name of a file or nothing in it.
	//
	// It also yields what is no plain file or has a name that is no key, with Foreign set.
	//
	// And it does not end with a folder that cannot be read: it yields a *WalkError and goes on beside
	// it. What lies below that folder is unknown, which is not to say that there is nothing. Every
	// other error is the last.
	Walk(ctx context.Context, prefix string, enter func(folder string) bool) iter.Seq2[Object, error]
}

// A WalkError says that a folder could not be read.
type WalkError struct {
	Folder string // as a key without a slash at the end; empty for that of the bucket itself
	Err    error
}

func (e *WalkError) Error() string {
	if e.Folder == "" {
		return fmt.Sprintf("read the folder: %v", e.Err)
	}
	return fmt.Sprintf("read the folder %s: %v", e.Folder, e.Err)
}

// Unwrap is why.
func (e *WalkError) Unwrap() error { return e.Err }

// A Looker tells of one object what a List would, and of one that is gone since when that may be.
type Looker interface {
	// Look is ErrNotExist and ErrForeign as Get is.
	Look(ctx context.Context, key string) (Object, error)

	// Touched returns when a name came into the folder that a key is in, or left it last; of a folder that
	// is gone, that of the nearest one on the way to it. It is the zero time where the system does not
	// tell, and never before the change.
	Touched(ctx context.Context, key string) (time.Time, error)
}

// A Keeper is an Exchanger that keeps what it displaced for a while, because an editor may still
// write into it: such text would be seen by nobody.
//
// A displaced file is looked at when its time is over. If it is the text that was expected, it is
// removed. Otherwise it is somebody's loss, and is kept until it is settled.
type Keeper interface {
	// Displaced yields all losses there are by now, in no order, also before their time. It ends with
	// the first error.
	Displaced(ctx context.Context) iter.Seq2[Displaced, error]

	// Due looks at those files whose time is over, and yields the losses among them, and again those of
	// earlier calls that were not settled. What it costs depends on their number alone: to call it often
	// when there is nothing to do costs nothing. It ends with the first error.
	Due(ctx context.Context) iter.Seq2[Displaced, error]

	// Settle tells that a loss has been taken care of. If the file was written to since it was yielded,
	// it stays one, and the error is a *Found. One that is gone is settled. The file goes as well, but
	// not while an editor seems to have it open: then its time begins anew, and what is settled is the
	// text that it has.
	Settle(ctx context.Context, d Displaced) error
}

// A Displaced is a text that somebody saved at a key and that is there no more, though nobody who
// wrote through the bucket had been told to replace it. It comes about
//
//   - when the process is killed between an exchange and the comparison of what it displaced,
//   - when an editor writes into a file that it had opened before the file was displaced,
//   - when somebody saves twice within the moment that an exchange takes: this is the earlier save.
//
// Whoever owns the key merges the text, or finds that it is an old one after all, and settles it.
type Displaced struct {
	Key     string
	Data    []byte
	Written time.Time // when somebody wrote it last: what is newer cannot be what they began with
	Foreign bool      // it is no plain file, and has no Data
	File    string    // tells it from others of the key; opaque
}
