package bolttable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// maxCompact is the maximum size, in bytes, of the transactions that Compact writes.
const maxCompact = 16 << 20

// compactPath returns the path of the new file that Compact writes.
func compactPath(path string) string { return path + ".compact" }

// Compact copies the database to a new file and replaces the old one by it. bbolt does not clear
// freed pages, so deleted or replaced data can be read in the file until then. Commits wait
// meanwhile; reads do not. If the process is killed, either the old or the new file is in place;
// both have the same contents.
func (t *Table) Compact(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.copying.Lock()
	defer t.copying.Unlock()
	t.writing.Lock()
	defer t.writing.Unlock()
	old := t.db.Load()
	if old.IsReadOnly() {
		return errors.New("compact the database: it is open for reading only")
	}
	next, err := rewrite(old, compactPath(t.path))
	if err != nil {
		return fmt.Errorf("compact the database: %w", asErrClosed(err))
	}
	if t.closes {
		return t.replaceClosed(old, next)
	}
	// Both files stay locked until the new one has the name. A process that waited for the old one
	// then finds that the path is another file.
	if err := os.Rename(compactPath(t.path), t.path); err != nil {
		return errors.Join(fmt.Errorf("put the compacted database in place: %w", err), discard(next))
	}
	err = syncDir(filepath.Dir(t.path))
	t.db.Store(next)
	return errors.Join(err, old.Close())
}

// rewrite copies the contents of a database to a new one at path, and replaces a file that an
// interrupted call left there. The new file is synced once, at the end; until it has the name of
// the database, its loss does no harm. On an error it is removed.
func rewrite(from *bolt.DB, path string) (*bolt.DB, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	to, err := bolt.Open(path, 0o600, settings(Options{}))
	if err != nil {
		return nil, err
	}
	to.NoSync = true // sync once at the end
	err = bolt.Compact(to, from, maxCompact)
	to.NoSync = false
	if err == nil {
		err = to.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, discard(to))
	}
	return to, nil
}

// discard closes and removes a database.
func discard(db *bolt.DB) error {
	return errors.Join(db.Close(), os.Remove(db.Path()))
}

// replaceClosed is the last part of Compact where an open file cannot be replaced. Reads wait
// meanwhile. If the rename fails, the old database is opened again and stays in use. If opening
// fails, the Table is unusable: every later call returns ErrClosed.
func (t *Table) replaceClosed(old, next *bolt.DB) error {
	path := compactPath(t.path)
	if err := errors.Join(next.Close(), old.Close()); err != nil {
		return fmt.Errorf("compact the database: %w", err)
	}
	renamed := os.Rename(path, t.path)
	db, err := open(t.path, settings(Options{}))
	if err != nil {
		return errors.Join(renamed, fmt.Errorf("open the compacted database: %w", err))
	}
	t.db.Store(db)
	return renamed
}

// open opens the database file at a path. If another process replaced the file while open waited
// for the lock, the error is ErrLocked. bbolt reads pages through a memory mapping; in a truncated
// file these reads fault or return garbage, and would crash the program. Here they return
// ErrDamaged; the mapping, and possibly the lock, then remain until the process ends.
func open(path string, s *bolt.Options) (db *bolt.DB, err error) {
	var file *os.File
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("%w: it cannot be opened: %v", ErrDamaged, p)
			_ = file.Close() // report only the first error
		}
	}()
	s.OpenFile = func(name string, flag int, perm os.FileMode) (*os.File, error) {
		f, err := os.OpenFile(name, flag, perm)
		file = f
		return f, err
	}
	db, err = bolt.Open(path, 0o600, s)
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, err
	}
	if err := checkSamePath(file, path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// checkSamePath returns ErrLocked if an open file is no longer the one at a path: another process has
// compacted the database while this one waited for the lock, and the locked file has no name any
// more.
func checkSamePath(file *os.File, path string) error {
	held, err := file.Stat()
	if err != nil {
		return err
	}
	at, err := os.Stat(path)
	if err == nil && !os.SameFile(held, at) || errors.Is(err, os.ErrNotExist) {
		return ErrLocked
	}
	return err
}

// asErrClosed converts bbolt's error for a closed database to ErrClosed.
func asErrClosed(err error) error {
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}
