// Package fileblob implements blob.Folder with a folder of the operating system: each object is a
// plain file at its key.
//
// People and other programs may read and edit the folder while a Bucket writes to it. A Bucket
// promises:
//
//   - An acknowledged Put or Delete survives a killed process, and a power loss as far as fsync
//     guarantees it. An object is never visible half written.
//   - It follows no symbolic link below the folder, neither as a file nor on the path to one.
//   - It destroys no text that it was not told to expect, except in Delete and in Put with
//     blob.Always. An Exchange displaces the current file, compares it, and puts back a file that
//     it was not told to replace. A file that cannot be put back is kept, and Displaced returns it.
//
// Its own files are in ".rookery" in the folder, which is therefore not a valid beginning of a key,
// or in another directory (Options.Work). "tmp" contains files that are being written. "displaced"
// contains files that were displaced, for at least a minute and until later calls remove them, and
// losses that are not settled.
//
// The layers of the package, from the bottom: dir is an open directory, with an implementation for
// each kind of system; folder adds its path and the seam of tests; nameInDir is a name in a folder.
// stagedFile and displacedFile are files in the bucket's own directories, before and after they are at a key.
// store.go manages these directories, exchange.go replaces files, displaced.go and displaceddue.go handle
// what was displaced, and bucket.go, append.go, list.go, deleteall.go and erase.go implement the
// methods of blob.
//
// Every path is opened relative to a directory that is open already, and never through a link, so
// that a program which replaces a folder by a link cannot make the bucket write elsewhere.
//
// What survives a crash is decided by three rules. A new file is synced before it gets its key, and
// its folder after that. A file that is displaced is moved under a name that describes what to do
// with it, before or at the moment it leaves its key. And a folder is known to be durable only
// after its entry in its parent was synced, which is remembered until the folder is pruned. Tests
// replace every system call by one that records it (Seam), and replay the states that a power loss
// could leave.
package fileblob

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
)

// A Bucket stores objects as the files of one folder. It implements blob.Folder and is safe for
// concurrent use. A tag is the SHA-256 of the content, so that equal bytes have the same tag in
// every bucket.
//
// In addition to the keys that blob.CheckKey refuses, blob.ErrKey is the error for keys that begin
// with ".rookery", in any case, and for those that are not valid file names on the operating
// system.
//
// Calls for one key exclude each other, and a read excludes a change, by one of the mutexes in
// keys; these are locked before folders. Other programs do not know these locks, so every step also
// expects that the file has changed meanwhile.
type Bucket struct {
	top      dir  // the folder
	work     dir  // Options.Work; its File is nil if there is none
	readOnly bool // nothing may be changed
	modes    modes
	leaps    bool // the system can open a folder by its path in one call
	seam     Seam // nil except in tests

	store  atomic.Pointer[store] // the current one; nil if the bucket is read only
	closed atomic.Bool           // the stores are closed: writes fail, and no folder of a store is in use
	stores []*store              // all that were opened
	moves  sync.Mutex            // held while stores is changed
	grace  time.Duration         // how long displaced files are kept; displacedLife except in tests

	seed    maphash.Seed
	keys    [256]sync.RWMutex // held while a key is changed or read, by the hash of the key
	folders sync.RWMutex      // held for writing while folders are removed
	durable sync.Map          // paths of folders whose entries in their parents are known to be durable
	tags    *tagCache
	hashers hashers
	later   queue              // displaced files to examine later
	losses  set[displacedPath] // displaced files that were found to be losses

	// settled are the folders from which files that belonged to their keys were removed, and which
	// must be synced.
	settled set[string]
}

var _ blob.Folder = (*Bucket)(nil)

// ErrReadOnly is the error of every change of a bucket that was opened read only.
var ErrReadOnly = errors.New("the folder is open to be read")

// Options configure a Bucket. The zero value is for a folder that only this program writes to.
type Options struct {
	// Work is a directory outside the folder, used by this bucket alone, for the bucket's own
	// files, so that none are in the folder. It is created with mode 0700 if necessary.
	//
	// It must be on the folder's file system. If the first change that moves a file between the two
	// finds that it is not, the bucket uses ".rookery" in the folder instead; Close, or the next
	// Open after a kill, removes its empty folders. Open looks in both for files that the last
	// process left, because a disk may have been mounted elsewhere since.
	Work string

	// ReadOnly opens an existing folder for reading only. Nothing in it is changed; changing
	// methods return ErrReadOnly. Other processes may have the folder open and change it.
	ReadOnly bool

	// Private creates files with mode 0600 and folders with 0700, so that other users cannot read
	// them. Otherwise the modes are 0644 and 0755, subject to the umask. A file that replaces
	// another one gets its mode.
	Private bool

	// Seam is for tests.
	Seam Seam
}

// A modes is the permissions of new files and folders.
type modes struct{ file, folder fs.FileMode }

// modesOf returns the modes for Options.Private.
func modesOf(private bool) modes {
	if private {
		return modes{file: 0o600, folder: 0o700}
	}
	return modes{file: 0o644, folder: 0o755}
}

// Open is OpenWith with the zero Options.
func Open(dir string) (*Bucket, error) { return OpenWith(dir, Options{}) }

// Look opens an existing folder read only, as OpenWith with Options.ReadOnly. It is for the doctor
// and for commands that run beside a server.
func Look(dir string) (*Bucket, error) { return OpenWith(dir, Options{ReadOnly: true}) }

// OpenWith opens a folder, and creates it with mode 0700 if necessary. It removes files that a
// killed process left half written, and puts back files that one had moved aside. Therefore no
// other process may have the folder open for writing; the caller ensures that, with a lock file for
// example. If the folder is moved while it is open, the Bucket continues in the moved folder.
//
// With Options.ReadOnly it changes nothing, and a missing folder is an error.
func OpenWith(dir string, o Options) (*Bucket, error) {
	b := &Bucket{
		readOnly: o.ReadOnly, modes: modesOf(o.Private), seam: o.Seam, grace: displacedLife, seed: maphash.MakeSeed(),
		tags: newTagCache(),
	}
	err := b.openDirs(dir, o.Work)
	if err == nil && !b.readOnly {
		err = b.prepare()
	}
	if err != nil {
		_ = b.Close() // report only the first error
		return nil, fmt.Errorf("open the folder: %w", err)
	}
	return b, nil
}

// openDirs opens the folder, and work unless it is "".
func (b *Bucket) openDirs(folder, work string) (err error) {
	if !b.readOnly {
		if err := Make(folder); err != nil {
			return err
		}
	}
	if b.top, err = openTop(folder); err != nil {
		return err
	}
	b.leaps = b.canLeap()
	if work == "" {
		return nil
	}
	if !b.readOnly {
		if err := Make(work); err != nil {
			return err
		}
	}
	b.work, err = openTop(work)
	if b.readOnly && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Make creates a folder and its parents with mode 0700, where they do not exist. New folders are
// durable when it returns. An existing folder, also one behind a link, is left as it is.
func Make(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := Make(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	made, err := os.Open(parent)
	if err != nil {
		return err
	}
	return errors.Join(syncEntries(made), made.Close())
}

// Close closes the bucket, and removes the empty folders of a store that was used because of the
// file system; see Options.Work. No other method may be running, or be called afterwards. Displaced
// files stay for the next process.
func (b *Bucket) Close() error {
	err := b.closeStores()
	for _, d := range []dir{b.work, b.top} {
		if d.File != nil {
			err = errors.Join(err, d.Close())
		}
	}
	return err
}

// Put implements blob.Bucket. With blob.Always it replaces any plain file.
func (b *Bucket) Put(
	ctx context.Context, key string, data []byte, c blob.Cond,
) (blob.Tag, error) {
	return b.PutPieces(ctx, key, blob.Pieces{data}, c)
}

// PutPieces implements blob.PiecePutter.
func (b *Bucket) PutPieces(
	ctx context.Context, key string, data blob.Pieces, c blob.Cond,
) (blob.Tag, error) {
	if err := b.beginWrite(ctx, key); err != nil {
		return "", err
	}
	var tag blob.Tag
	err := b.withMove(func() (err error) {
		tag, err = b.put(key, data, c)
		return err
	})
	if err == nil {
		err = b.syncSettled() // an older text that was moved aside must not be restored
	}
	if err != nil {
		return "", fmt.Errorf("put %s: %w", key, err)
	}
	return tag, nil
}

// put writes a file, moves it to its key, and returns its tag. The file is synced before it is moved,
// and its folder after that, so that after a power loss the key has either its old or its new
// content. For a condition on a tag, it exchanges the files instead: a rename would replace whatever
// is there.
func (b *Bucket) put(key string, data blob.Pieces, c blob.Cond) (blob.Tag, error) {
	s, err := b.stage(true, data...)
	if err != nil {
		return "", err
	}
	defer s.drop()
	if c.Tag() != "" {
		return s.tag, b.putIfTag(key, s, c.Tag())
	}
	return s.tag, b.putStaged(key, s, c)
}

// putStaged moves a staged file to its key, with a condition that is not on a tag.
func (b *Bucket) putStaged(key string, s *stagedFile, c blob.Cond) (err error) {
	defer b.lock(key)()
	return b.withName(key, walk{make: true, keep: true}, func(to nameInDir) error {
		if c.Absent() {
			err = s.create(to)
		} else {
			err = s.replace(to)
		}
		// Sync even if the file was not created: the file that is in the way may not be durable
		// yet, and the caller will rely on it.
		if synced := to.folder.sync(); synced != nil {
			return synced
		}
		if errors.Is(err, fs.ErrExist) {
			return createError(to)
		}
		if err == nil {
			b.tags.put(key, s) // before another call can put a file
		}
		return err
	})
}

// createError returns the error for a file that cannot be created because something is in the way:
// blob.ErrForeign if that is not a plain file, otherwise blob.ErrCondition.
func createError(to nameInDir) error {
	if info, err := to.stat(); err == nil && !info.Mode().IsRegular() {
		return blob.ErrForeign
	}
	return blob.ErrCondition
}

// putIfTag exchanges a staged file with the one that has the tag want. The errors of an exchange
// become those of a Put: blob.ErrForeign, or blob.ErrCondition if the file is missing or has
// another tag.
func (b *Bucket) putIfTag(key string, s *stagedFile, want blob.Tag) error {
	b.examineSome()
	defer b.lock(key)()
	err := b.withName(key, walk{keep: true}, func(to nameInDir) error {
		if err := b.exchange(key, to, s, want); err != nil {
			return err
		}
		return to.folder.sync()
	})
	var found *blob.Found
	switch {
	case errors.As(err, &found) && found.Foreign:
		return blob.ErrForeign
	case found != nil, errors.Is(err, fs.ErrNotExist):
		return blob.ErrCondition
	}
	return err
}

// Get implements blob.Bucket. It reads the whole file even for a part, because the tag is a digest
// of the whole file, unless a part was read before and the file has not changed since.
func (b *Bucket) Get(
	ctx context.Context, key string, off, n int64,
) (data []byte, tag blob.Tag, err error) {
	if err := begin(ctx, key); err != nil {
		return nil, "", err
	}
	m := b.mutex(key)
	m.RLock()
	defer m.RUnlock()
	err = b.withNameToRead(key, walk{}, func(from nameInDir) error {
		c, err := b.read(from, key, off, n)
		data, tag = c.data, c.tag
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errFolder) {
		err = blob.ErrNotExist
	}
	if err != nil {
		return nil, "", fmt.Errorf("get %s: %w", key, err)
	}
	return data, tag, nil
}

// read reads n bytes of a file from offset off, and the tag of the file. For a part of a file, it
// uses a cached tag if there is one, and otherwise reads the whole file once to compute it.
func (b *Bucket) read(from nameInDir, key string, off, n int64) (content, error) {
	if n < 0 {
		return from.read(off, n)
	}
	c, err := from.part(off, n, func(info fs.FileInfo) (blob.Tag, bool) {
		return b.tags.find(key, info)
	})
	if !errors.Is(err, errNoTag) {
		return c, err
	}
	if c, err = from.read(off, n); err == nil {
		b.tags.add(key, c)
	}
	return c, err
}

// Delete implements blob.Bucket. Folders that become empty are removed too. The removal is durable
// when it returns, also if the file was gone already.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := b.beginWrite(ctx, key); err != nil {
		return err
	}
	defer b.lock(key)()
	err := b.withName(key, walk{}, func(at nameInDir) error { return at.remove() })
	if err == nil {
		err = b.prune(path.Dir(key))
	}
	// Sync also if the file is gone: a killed process may have removed it without syncing that.
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errFolder) {
		if err = b.syncSettled(); err == nil {
			err = b.syncFolder(path.Dir(key))
		}
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// begin makes the checks that every method begins with.
func begin(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return checkKey(key)
}

// beginWrite makes the checks that every change begins with, and forgets the tag of the file.
func (b *Bucket) beginWrite(ctx context.Context, key string) error {
	if err := begin(ctx, key); err != nil {
		return err
	}
	if b.readOnly {
		return ErrReadOnly
	}
	b.tags.forget(key)
	return nil
}

// checkKey returns an error that wraps blob.ErrKey if key is not valid in a Bucket. On Windows,
// that includes the names of devices, and names with characters that the system refuses.
func checkKey(key string) error {
	if err := blob.CheckKey(key); err != nil {
		return err
	}
	// Case is ignored, because some file systems treat ".Rookery" as the same name.
	if first, _, _ := strings.Cut(key, "/"); strings.EqualFold(first, reserved) {
		return fmt.Errorf("%w: %s is reserved", blob.ErrKey, reserved)
	}
	if _, err := filepath.Localize(key); err != nil {
		return fmt.Errorf("%w: no file can have this name here", blob.ErrKey)
	}
	return nil
}

// lock prevents other calls of this process from reading or changing the key until unlock is
// called. So they do not see a file that an exchange puts in place and takes back.
func (b *Bucket) lock(key string) (unlock func()) {
	m := b.mutex(key)
	m.Lock()
	return m.Unlock
}

// mutex returns the lock of a key. Several keys may share one.
func (b *Bucket) mutex(key string) *sync.RWMutex {
	return &b.keys[maphash.String(b.seed, key)%uint64(len(b.keys))]
}
