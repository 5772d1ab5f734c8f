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
// Its own files lie in ".rookery" in the folder, which therefore begins no key: "tmp" has files
// that are being written; "displaced" has those that were taken away for another text, for at least
// a minute and until later calls remove them, and those that somebody still has to look at.
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
	"time"

	"rookery/internal/blob"
)

const (
	reserved     = ".rookery"
	tmpDir       = reserved + "/tmp"
	displacedDir = reserved + "/displaced"
)

// A Bucket keeps objects as files of one folder. Tags are digests of the content: the same bytes
// have the same tag everywhere and always.
//
// Besides the keys that blob.CheckKey refuses, those that begin with ".rookery", in any case, are
// blob.ErrKey, and so are those that the operating system has no file for.
type Bucket struct {
	top   dir           // the folder
	seam  Seam          // nil but in tests
	tmp   *folder       // tmpDir
	aside *folder       // displacedDir
	swaps bool          // the file system can exchange two files
	leaps bool          // the system can reach a folder in one step
	grace time.Duration // keepFor

	seed    maphash.Seed
	keys    [256]sync.RWMutex // held by who changes or reads a key, by the hash of the key
	folders sync.RWMutex      // held for writing while folders are removed
	durable sync.Map          // paths of folders whose entries are known to be on disk
	tags    *memo
	later   queue    // displaced files that are to be looked at again
	settled unsynced // folders of displaced files that no longer belong to their keys
}

var (
	_ blob.Bucket    = (*Bucket)(nil)
	_ blob.Exchanger = (*Bucket)(nil)
)

// Open opens the folder, which it makes (0700) if there is none. It removes what a killed process
// left half written, and puts back what one had just moved aside; so the caller must know that no
// other process has the folder open.
func Open(dir string) (*Bucket, error) { return openBucket(dir, nil) }

func openBucket(dir string, s Seam) (*Bucket, error) {
	if err := Make(dir); err != nil {
		return nil, fmt.Errorf("make the folder: %w", err)
	}
	top, err := openTop(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder: %w", err)
	}
	b := &Bucket{
		top: top, seam: s, grace: keepFor, seed: maphash.MakeSeed(), tags: newMemo(),
	}
	if err := b.prepare(); err != nil {
		_ = b.Close() // the first error is the one to tell
		return nil, fmt.Errorf("prepare the folder: %w", err)
	}
	return b, nil
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

// prepare makes the folders of our own and settles what the last process left in them.
func (b *Bucket) prepare() error {
	err := b.mkdir(b.top, reserved, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if b.tmp, err = b.openOwn(tmpDir); err != nil {
		return err
	}
	if b.aside, err = b.openOwn(displacedDir); err != nil {
		return err
	}
	if err := b.clearTmp(); err != nil {
		return err
	}
	if b.swaps, err = b.canSwap(); err != nil {
		return err
	}
	b.leaps = b.canLeap()
	return b.resume()
}

// openOwn opens a folder of our own, for as long as the bucket is open.
func (b *Bucket) openOwn(dir string) (*folder, error) {
	f, err := b.open(dir, walk{make: true})
	if err == nil {
		f.kept = true
	}
	return f, err
}

// Close releases the folder. No other call may be running, and none may follow.
func (b *Bucket) Close() error {
	for _, own := range []*folder{b.tmp, b.aside} {
		if own != nil {
			_ = own.Close() // it was only read
		}
	}
	return b.top.Close()
}

// Put is blob.Bucket's. With blob.Always it replaces whatever file is there.
func (b *Bucket) Put(
	ctx context.Context, key string, data []byte, c blob.Cond,
) (blob.Tag, error) {
	if err := begin(ctx, key); err != nil {
		return "", err
	}
	if err := b.put(key, data, c); err != nil {
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
	if err := begin(ctx, key); err != nil {
		return err
	}
	defer b.lock(key)()
	err := b.at(key, walk{}, func(at spot) error { return at.remove() })
	if err == nil {
		err = b.prune(path.Dir(key), ".")
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
