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

// maxCompact bounds the transactions by which Compact writes, in bytes.
const maxCompact = 16 << 20

// beside is where Compact writes the database anew.
func beside(path string) string { return path + ".compact" }

// Compact writes the database anew and puts that file in the place of the old one. bbolt never clears a
// page that it has freed, so until then what was removed or replaced can still be read in the file.
// Commits wait meanwhile; reads do not. A process that is killed in it has the old file or the new one,
// which say the same.
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
	next, err := rewrite(old, beside(t.path))
	if err != nil {
		return fmt.Errorf("compact the database: %w", closedIs(err))
	}
	if t.closes {
		return t.replaceClosed(old, next)
	}
	// Both files stay locked until the new one has the name. A process that waits for the old one finds
	// that it has none any more.
	if err := os.Rename(beside(t.path), t.path); err != nil {
		return errors.Join(fmt.Errorf("put the compacted database in place: %w", err), discard(next))
	}
	err = syncDir(filepath.Dir(t.path))
	t.db.Store(next)
	return errors.Join(err, old.Close())
}

// rewrite writes everything that a database holds into a new one.
func rewrite(from *bolt.DB, path string) (*bolt.DB, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	to, err := bolt.Open(path, 0o600, settings(Options{}))
	if err != nil {
		return nil, err
	}
	to.NoSync = true // until all of it is there
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

// discard removes a database that nobody uses.
func discard(db *bolt.DB) error {
	return errors.Join(db.Close(), os.Remove(db.Path()))
}

// replaceClosed puts the new file in place where a file that is open cannot be replaced. Reads wait.
func (t *Table) replaceClosed(old, next *bolt.DB) error {
	path := beside(t.path)
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

// open opens the database that has a name now. One that lost it, while it was waited for, is held by the
// process that put another in its place: that is ErrLocked. bbolt reads pages in memory where the file
// should be: those of one that is cut off are no memory, or no pages, and end the program if nobody looks
// out. That is ErrDamaged; what bbolt mapped then stays mapped, and the file may stay locked with it, until
// the process ends.
func open(path string, s *bolt.Options) (db *bolt.DB, err error) {
	var file *os.File
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("%w: it cannot be opened: %v", ErrDamaged, p)
			_ = file.Close() // the first error is the one to tell
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
	if err := named(file, path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// named is ErrLocked if an open file is not the one at a path.
func named(file *os.File, path string) error {
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

// closedIs says in the words of this package that a database is closed.
func closedIs(err error) error {
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}
