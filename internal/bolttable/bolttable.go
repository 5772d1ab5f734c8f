// Package bolttable is the table port on one bbolt file: a B+tree in a file, written by one
// process.
//
// A Commit is durable when it returns: bbolt writes its pages beside the old ones, syncs them, and
// only then syncs the page that makes them the state, so that a process may be killed and a machine
// may lose power at any moment. A sync costs milliseconds; so one goroutine writes for all: what
// arrives while one transaction is synced goes into the next one, together.
//
// # Layout
//
// The bucket "item" holds every item under the length of its Part (two bytes), Part and Sort: a
// partition is one run of keys, sorted as the port wants it. The value is Count and Expires as
// varints, then Data. The bucket "expiry" holds, for each item that expires, the second (eight
// bytes) and the item's key, so that what has expired is found without looking at what has not.
// The bucket "meta" holds the number of this format.
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

	"rookery/internal/table"
)

// What Open and a Table answer beside the errors of the port. Where one of them is the answer,
// nothing was done.
var (
	ErrLocked = errors.New("another process holds the database")
	ErrFormat = errors.New("the database has a format that this program does not know")
	ErrClosed = errors.New("the database is closed")
)

// Options are the optional values of Open.
type Options struct {
	Now         func() time.Time // says what has expired; nil is time.Now
	LockTimeout time.Duration    // how long to wait for another process; 0: not at all
}

// A Table is a table.Table on one file, which it holds until Close.
type Table struct {
	path  string
	db    atomic.Pointer[bolt.DB] // Compact puts another in its place
	now   func() time.Time
	queue queue

	copying sync.Mutex // held by who copies the file, or puts another in its place; taken before writing
	writing sync.Mutex // held by who writes a transaction, or compacts
	closes  bool       // Compact closes the old file first: one that is open cannot be replaced here

	done chan struct{} // closed when everything that was queued is written

	closing  sync.Once
	closeErr error
}

var _ table.Table = (*Table)(nil)

// Open opens the database at path and makes it where there is none, in a folder that is there. It
// is ErrLocked while another process, or another Table, holds it, ErrFormat where it is of a later
// program or not of this one, and ErrDamaged where the file is no database, or is cut off. An empty
// file is none yet. A read that meets a damaged page later is ErrDamaged, too. Close ends it.
func Open(path string, o Options) (*Table, error) {
	db, err := openWhole(path, settings(o))
	if errors.Is(err, ErrLocked) || errors.Is(err, ErrDamaged) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := prepare(db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return start(path, db, o), nil
}

// start makes a Table of an open database.
func start(path string, db *bolt.DB, o Options) *Table {
	t := &Table{path: path, now: o.Now, done: make(chan struct{}), closes: runtime.GOOS == "windows"}
	t.db.Store(db)
	if t.now == nil {
		t.now = time.Now
	}
	t.queue.wake = make(chan struct{}, 1)
	go t.write()
	return t
}

// settings are the options of bbolt.
//
// The list of free pages is a map, for the default, a sorted array, is worked through from the
// start for every page that is taken. It is also stored with each transaction: without it, every
// Open would have to read the whole file, and every command of a shell is an Open. The mapping
// starts small and doubles: to grow it waits for readers, and ours are short.
func settings(o Options) *bolt.Options {
	// To bbolt 0 means to wait for ever; a nanosecond means to try once.
	return &bolt.Options{
		Timeout:      max(o.LockTimeout, time.Nanosecond),
		FreelistType: bolt.FreelistMapType,
		NoStatistics: true,
	}
}

var (
	itemBucket   = []byte("item")
	expiryBucket = []byte("expiry")
	metaBucket   = []byte("meta")
	formatKey    = []byte("format")
	format       = []byte("1")
)

// prepare makes a new database ready, or says whether an older one can be used.
func prepare(db *bolt.DB) error {
	// What a process left that was killed while it compacted, or copied.
	for _, path := range []string{beside(db.Path()), snapshotOf(db.Path())} {
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

func create(tx *bolt.Tx) error {
	for _, name := range [][]byte{itemBucket, expiryBucket, metaBucket} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	return tx.Bucket(metaBucket).Put(formatKey, format)
}

// syncDir makes the name of a new file durable; bbolt syncs only what is in it. Windows cannot sync
// a folder, and needs not.
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

// Close writes what was queued, then lets go of the file. It waits for reads that are under way,
// but not for the body of a loop over a Query, whose next page is ErrClosed. Calls after it are
// ErrClosed; a second Close answers as the first.
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

// Get implements table.Table.
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

// view runs fn on a short read transaction.
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

// replaced reports whether another database is in the place of one that is closed. It waits for a Compact, which on some
// systems closes the old one before it opens the new one.
func (t *Table) replaced(db *bolt.DB) bool {
	t.writing.Lock()
	defer t.writing.Unlock()
	return t.db.Load() != db
}

// read runs fn on a read transaction. At a page that is not what it should be bbolt panics, in whatever
// goroutine reads it: that is ErrDamaged, for the rest of the database can be read.
func read(db *bolt.DB, fn func(*bolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	return db.View(fn)
}
