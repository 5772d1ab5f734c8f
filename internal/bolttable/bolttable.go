// Package bolttable implements table.Table with one bbolt file: a B+tree that is written by one
// process.
//
// A Commit is durable when it returns. bbolt writes new pages next to the old ones, syncs them, and
// then writes and syncs the page that makes them current, so the process may be killed or the
// machine may lose power at any time. A sync takes milliseconds. Therefore one goroutine writes for
// all callers: the commits that arrive during a sync go into the next transaction together.
//
// # Layout
//
// The bucket "item" contains every item. Its key is the length of Part (two bytes, big endian),
// Part and Sort, so that a partition is one contiguous range of keys in the order of Sort. Its
// value is Count and Expires as varints, followed by Data. The bucket "expiry" contains a key for
// each item that expires: the second (eight bytes, big endian) and the item's key. It is used to
// find expired items without reading the others. The bucket "meta" contains the version of this
// format.
//
// # Concurrency
//
// Reads are short transactions on a snapshot of the tree; they wait neither for each other nor for
// a commit. A Query reads page by page, so it is no snapshot. One goroutine, write, owns all write
// transactions. Compact replaces the file under readers, which then repeat their read on the new
// one.
//
// bbolt reports a malformed page by a panic, or by a fault of the memory mapping. Both become
// ErrDamaged in this package, so that a damaged file does not end the process.
package bolttable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/rookeryhq/rookery/internal/table"
)

// Errors of Open and of a Table, in addition to those of package table. When one of them is
// returned, nothing was done.
var (
	ErrLocked = errors.New("another process holds the database")
	ErrFormat = errors.New("the database has a format that this program does not know")
	ErrClosed = errors.New("the database is closed")
)

// Options configure Open. The zero value works.
type Options struct {
	Now         func() time.Time // clock for expiry; nil: time.Now
	LockTimeout time.Duration    // maximum time to wait for another process to close the database; 0: try once
}

// A Table is a table.Table in one file. It has the file locked until Close. It is safe for
// concurrent use. Of its mutexes, copying is locked before writing; readers lock neither, except to
// find out whether the database was replaced.
type Table struct {
	path  string
	db    atomic.Pointer[bolt.DB] // replaced by Compact
	now   func() time.Time
	queue queue

	copying sync.Mutex // held while the file is copied or replaced; locked before writing
	writing sync.Mutex // held while a transaction is written, and by Compact
	closes  bool       // Compact must close the old file first, because an open file cannot be replaced here

	done chan struct{} // closed when everything queued is written

	closing  sync.Once
	closeErr error
}

var _ table.Table = (*Table)(nil)

// Open opens the database at path, and creates it if there is none; its folder must exist. An empty
// file counts as none. The error is ErrLocked if another process, or another Table, has it open;
// ErrFormat if it was written by a later version or by another program; and ErrDamaged if the file
// is not a database or is truncated. A later read of a damaged page also returns ErrDamaged. Close
// must be called when the Table is no longer used.
func Open(path string, o Options) (*Table, error) {
	db, err := openComplete(path, settings(o))
	if errors.Is(err, ErrLocked) || errors.Is(err, ErrDamaged) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := prepare(db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return newTable(path, db, o), nil
}

// newTable returns a Table for an open database and starts its writer.
func newTable(path string, db *bolt.DB, o Options) *Table {
	t := &Table{path: path, now: o.Now, done: make(chan struct{}), closes: runtime.GOOS == "windows"}
	t.db.Store(db)
	if t.now == nil {
		t.now = time.Now
	}
	t.queue.wake = make(chan struct{}, 1)
	go t.write()
	return t
}

// settings returns the options of bbolt.
//
// The list of free pages is a map: the default, a sorted array, is searched from its start for each
// allocated page. The list is stored with each transaction, otherwise every Open would have to read
// the whole file, and each shell command opens the database. The memory mapping starts small and
// doubles: growing it waits for readers, and read transactions are short.
func settings(o Options) *bolt.Options {
	// For bbolt 0 means to wait forever; one nanosecond means to try once.
	return &bolt.Options{
		Timeout:      max(o.LockTimeout, time.Nanosecond),
		FreelistType: bolt.FreelistMapType,
		NoStatistics: true,
	}
}

// The names of the buckets, and the key and the value of the format's version.
var (
	itemBucket   = []byte("item")
	expiryBucket = []byte("expiry")
	metaBucket   = []byte("meta")
	formatKey    = []byte("format")
	format       = []byte("1")
)

// prepare initializes a new database, or checks the format of an existing one. An empty database is
// one in which a process died before it could create the buckets. The name of the file is synced
// before the first commit, so that no acknowledged commit is in a file that a power loss can
// remove.
func prepare(db *bolt.DB) error {
	// Remove the files of a Compact or a Snapshot that was interrupted.
	for _, path := range []string{compactPath(db.Path()), snapshotOf(db.Path())} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove a database that was not completed: %w", err)
		}
	}
	var fresh bool
	err := read(db, func(tx *bolt.Tx) error {
		first, _ := tx.Cursor().First()
		fresh = first == nil
		if fresh {
			return nil
		}
		return checkFormat(tx)
	})
	if err != nil || !fresh {
		return err
	}
	if err := syncDir(filepath.Dir(db.Path())); err != nil {
		return err
	}
	if err := db.Update(create); err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	return nil
}

// checkFormat returns ErrFormat if the database has another format.
func checkFormat(tx *bolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		return fmt.Errorf("%w: it says none", ErrFormat)
	}
	if found := meta.Get(formatKey); string(found) != string(format) {
		return fmt.Errorf("%w: %q, not %q", ErrFormat, found, format)
	}
	return nil
}

// create creates the buckets of a new database.
func create(tx *bolt.Tx) error {
	for _, name := range [][]byte{itemBucket, expiryBucket, metaBucket} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	return tx.Bucket(metaBucket).Put(formatKey, format)
}

// syncDir makes the name of a new file durable; bbolt syncs only the contents. Windows cannot sync
// a folder and does not need to.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the folder of the database: %w", err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("sync the folder of the database: %w", err)
	}
	return nil
}

// Close writes the queued commits and closes the file. It waits for reads in progress, but not for
// the loop body of a Query, whose next page is ErrClosed. Later calls of other methods return
// ErrClosed. A second Close returns the result of the first. The file can be opened by another
// process when it returns.
func (t *Table) Close() error {
	t.closing.Do(func() {
		t.queue.close()
		<-t.done
		t.writing.Lock()
		defer t.writing.Unlock()
		if err := t.db.Load().Close(); err != nil {
			t.closeErr = fmt.Errorf("close the database: %w", err)
		}
	})
	return t.closeErr
}

// Get implements table.Table. It is one read transaction. An item that has expired is not found,
// even if it is still in the file.
func (t *Table) Get(ctx context.Context, k table.Key) (table.Item, error) {
	if err := errors.Join(ctx.Err(), table.CheckKey(k)); err != nil {
		return table.Item{}, err
	}
	var it table.Item
	found := false
	err := t.view(func(tx *bolt.Tx) (err error) {
		it, found, err = t.state(tx).live(k)
		return err
	})
	if err == nil && !found {
		err = table.ErrNotFound
	}
	return it, err
}

// view calls fn with a short read transaction, again if Compact has replaced the database
// meanwhile.
func (t *Table) view(fn func(*bolt.Tx) error) error {
	for {
		db := t.db.Load()
		err := read(db, fn)
		if !errors.Is(err, berrors.ErrDatabaseNotOpen) {
			return err
		}
		if !t.replaced(db) {
			return ErrClosed
		}
	}
}

// replaced reports whether db was closed because another database replaced it. It waits for a
// running Compact, which on some systems closes the old database before it opens the new one.
func (t *Table) replaced(db *bolt.DB) bool {
	t.writing.Lock()
	defer t.writing.Unlock()
	return t.db.Load() != db
}

// read calls fn with a read transaction. bbolt panics in the reading goroutine if a page is
// malformed; read turns this into ErrDamaged, because the rest of the database can still be read.
func read(db *bolt.DB, fn func(*bolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	return db.View(fn)
}

// snapshotOf returns the path of the copy that Snapshot writes.
func snapshotOf(path string) string { return path + ".snapshot" }

// Snapshot writes a consistent copy of the database next to it and returns its path. The caller
// must remove the copy. No commit runs while frozen is called: files outside the database are then
// at least as new as the copy, and later changes to them are like those that a crash at that moment
// would leave. frozen should be short, because commits wait for it. Reads continue, and commits
// continue while the copy is written; pages that these free are not reused until the copy is
// complete, so the file may grow. If the process is killed, the next Open removes the copy. An
// error of frozen is returned unchanged.
func (t *Table) Snapshot(frozen func() error) (path string, err error) {
	t.copying.Lock() // Compact would replace the file from which bbolt reads
	defer t.copying.Unlock()
	tx, err := t.freeze(frozen)
	if err != nil {
		return "", err
	}
	path = snapshotOf(t.path)
	err = errors.Join(copyTo(path, tx), tx.Rollback())
	if err != nil {
		_ = os.Remove(path)
		return "", fmt.Errorf("copy the database: %w", err)
	}
	return path, nil
}

// freeze begins a read transaction, and calls frozen before anything more is committed.
func (t *Table) freeze(frozen func() error) (*bolt.Tx, error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	tx, err := t.db.Load().Begin(false)
	if err != nil {
		return nil, fmt.Errorf("copy the database: %w", asErrClosed(err))
	}
	if err := frozen(); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}

// copyTo writes the database of a transaction to a new file and syncs it.
func copyTo(path string, tx *bolt.Tx) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = tx.WriteTo(f)
	return errors.Join(err, f.Sync(), f.Close())
}
