// Package fileblob is the blob port on a folder: every object is a plain file at its key.
//
// The folder may be read and edited by people with any tool while a Bucket writes to it. A Bucket
// keeps three promises about it:
//
//   - An acknowledged Put or Delete survives a killed process, and a loss of power as far as fsync
//     can tell. No object is ever seen half written.
//   - It follows no symbolic link below the folder, neither as a file nor on the way to one.
//   - It destroys no text that it was not told to expect, but for Delete and for Put with
//     blob.Always. An Exchange displaces what is there, compares, and puts back what is not the text
//     that it was to replace; what cannot be put back is kept, and told by Displaced.
//
// Its own files lie in ".rookery" in the folder, which therefore begins no key, or in another
// directory (Options.Work): "tmp" has files that are being written; "displaced" has those that were
// taken away for another text, for at least a minute and until later calls remove them, and those that
// somebody still has to look at.
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

	"rookery/internal/blob"
)

// A Bucket keeps objects as files of one folder. Tags are digests of the content: the same bytes
// have the same tag everywhere and always.
//
// Besides the keys that blob.CheckKey refuses, those that begin with ".rookery", in any case, are
// blob.ErrKey, and so are those that the operating system has no file for.
type Bucket struct {
	top      dir  // the folder
	work     dir  // Options.Work; without a File if there is none
	readOnly bool // nothing is ever changed
	modes    modes
	leaps    bool // the system can reach a folder in one step
	seam     Seam // nil but in tests

	store  atomic.Pointer[store] // the one in use; nil if nothing is ever changed
	stores []*store              // all that were in use
	moves  sync.Mutex            // held by who changes them
	grace  time.Duration         // keepFor

	seed    maphash.Seed
	keys    [256]sync.RWMutex // held by who changes or reads a key, by the hash of the key
	folders sync.RWMutex      // held for writing while folders are removed
	durable sync.Map          // paths of folders whose entries are known to be on disk
	tags    *memo
	later   queue          // displaced files that are to be looked at again
	losses  set[asideName] // those that were found to be somebody's loss
	settled set[string]    // folders of displaced files that no longer belong to their keys
}

var _ blob.Folder = (*Bucket)(nil)

// ErrReadOnly is the answer to every change of a folder that was opened to be read.
var ErrReadOnly = errors.New("the folder is open to be read")

// Options say how a folder is opened. The zero value is that of a folder which is all ours.
type Options struct {
	// Work is a directory of this bucket alone, elsewhere, that has the files of our own, so that none
	// lie in the folder. It is made (0700) if there is none.
	//
	// It must be on the file system of the folder. Where it turns out not to be, by the first change
	// that would move a file between the two, ".rookery" in the folder has them after all; what of it
	// is empty goes with Close, or with the next Open after a kill. Both are looked at for what the last
	// process left, for a disk may have been mounted elsewhere since.
	Work string

	// ReadOnly opens a folder only to be read. There must be one. Nothing in it is changed, nor tried to
	// be: what would is ErrReadOnly. Nobody needs to have the folder for that; what another process
	// changes meanwhile is seen before or after.
	ReadOnly bool

	// Private makes new files 0600 and new folders 0700: no other user of the machine reads them. Else
	// they are 0644 and 0755, within the umask. A file that replaces another one has the mode of that.
	Private bool

	// Seam is for tests.
	Seam Seam
}

// modes are the permissions of what a bucket makes.
type modes struct{ file, folder fs.FileMode }

func modesOf(private bool) modes {
	if private {
		return modes{file: 0o600, folder: 0o700}
	}
	return modes{file: 0o644, folder: 0o755}
}

// Open is OpenWith without options.
func Open(dir string) (*Bucket, error) { return OpenWith(dir, Options{}) }

// Look opens a folder to read from it.
func Look(dir string) (*Bucket, error) { return OpenWith(dir, Options{ReadOnly: true}) }

// OpenWith opens the folder, which it makes (0700) if there is none. It removes what a killed process
// left half written, and puts back what one had just moved aside; so the caller must know that no
// other process has the folder open. If the folder is moved while it is open, all goes on in the moved
// one.
func OpenWith(dir string, o Options) (*Bucket, error) {
	b := &Bucket{
		readOnly: o.ReadOnly, modes: modesOf(o.Private), seam: o.Seam, grace: keepFor, seed: maphash.MakeSeed(),
		tags: newMemo(),
	}
	err := b.openDirs(dir, o.Work)
	if err == nil && !b.readOnly {
		err = b.prepare()
	}
	if err != nil {
		_ = b.Close() // the first error is the one to tell
		return nil, fmt.Errorf("open the folder: %w", err)
	}
	return b, nil
}

// openDirs opens the folder, and work if there is one.
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

// Make makes a folder (0700), and those on the way to it, where there is none. What it made is there
// also after a loss of power.
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

// Close releases the folder. No other call may be running, and none may follow.
func (b *Bucket) Close() error {
	err := b.closeStores()
	for _, d := range []dir{b.work, b.top} {
		if d.File != nil {
			err = errors.Join(err, d.Close())
		}
	}
	return err
}

// Put is blob.Bucket's. With blob.Always it replaces whatever file is there.
func (b *Bucket) Put(
	ctx context.Context, key string, data []byte, c blob.Cond,
) (blob.Tag, error) {
	if err := b.beginWrite(ctx, key); err != nil {
		return "", err
	}
	err := b.moving(func() error { return b.put(key, data, c) })
	if err == nil {
		err = b.syncSettled() // an older text that was moved aside must not come back
	}
	if err != nil {
		return "", fmt.Errorf("put %s: %w", key, err)
	}
	return tagOf(data), nil
}

func (b *Bucket) put(key string, data []byte, c blob.Cond) error {
	s, err := b.stage(data, true)
	if err != nil {
		return err
	}
	defer s.drop()
	if c.Tag() != "" {
		return b.putIfTag(key, s, c.Tag())
	}
	defer b.lock(key)()
	return b.at(key, walk{make: true, keep: true}, func(to spot) error {
		if c.Absent() {
			err = s.create(to)
		} else {
			err = s.replace(to)
		}
		// A file that is in the way may not be on disk itself yet. Who is refused will rely on it.
		if synced := to.folder.sync(); synced != nil {
			return synced
		}
		if errors.Is(err, fs.ErrExist) {
			return refusal(to)
		}
		return err
	})
}

// refusal says what keeps a file from being created.
func refusal(to spot) error {
	if info, err := to.stat(); err == nil && !info.Mode().IsRegular() {
		return blob.ErrForeign
	}
	return blob.ErrCondition
}

func (b *Bucket) putIfTag(key string, s *staged, want blob.Tag) error {
	b.tidy()
	defer b.lock(key)()
	err := b.at(key, walk{keep: true}, func(to spot) error {
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

// Get is blob.Bucket's. It reads the whole file, whatever part is asked for, since the tag is a
// digest of all of it; but not where a part was read before, and the file has not changed.
func (b *Bucket) Get(
	ctx context.Context, key string, off, n int64,
) (data []byte, tag blob.Tag, err error) {
	if err := begin(ctx, key); err != nil {
		return nil, "", err
	}
	m := b.mutex(key)
	m.RLock()
	defer m.RUnlock()
	err = b.in(key, walk{}, func(from spot) error {
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

// read is n bytes of a file, from off on, and its tag.
func (b *Bucket) read(from spot, key string, off, n int64) (content, error) {
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
		b.tags.learn(key, c)
	}
	return c, err
}

// Delete is blob.Bucket's. Folders that become empty by it are removed as well.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := b.beginWrite(ctx, key); err != nil {
		return err
	}
	defer b.lock(key)()
	err := b.at(key, walk{}, func(at spot) error { return at.remove() })
	if err == nil {
		err = b.prune(path.Dir(key))
	}
	// The file may be gone because a process was killed before it could sync the removal.
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

// begin is what every call does first.
func begin(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return checkKey(key)
}

// beginWrite is what every change does first.
func (b *Bucket) beginWrite(ctx context.Context, key string) error {
	if err := begin(ctx, key); err != nil {
		return err
	}
	if b.readOnly {
		return ErrReadOnly
	}
	return nil
}

func checkKey(key string) error {
	if err := blob.CheckKey(key); err != nil {
		return err
	}
	// File systems that fold case take ".Rookery" for ours.
	if first, _, _ := strings.Cut(key, "/"); strings.EqualFold(first, reserved) {
		return fmt.Errorf("%w: %s is reserved", blob.ErrKey, reserved)
	}
	if _, err := filepath.Localize(key); err != nil {
		return fmt.Errorf("%w: no file can have this name here", blob.ErrKey)
	}
	return nil
}

// lock keeps others of this process from reading and changing the key until the result is called:
// so they do not see a file that an exchange puts in place and takes away again.
func (b *Bucket) lock(key string) (unlock func()) {
	m := b.mutex(key)
	m.Lock()
	return m.Unlock
}

func (b *Bucket) mutex(key string) *sync.RWMutex {
	return &b.keys[maphash.String(b.seed, key)%uint64(len(b.keys))]
}
