package bolttable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"

	"rookery/internal/table"
)

var _ table.Checker = (*Table)(nil)

// ErrDamaged says that a file is no whole database.
var ErrDamaged = errors.New("the database is damaged")

// Look opens a database to read from it, and changes nothing: a Commit fails. There must be one. It is
// ErrLocked while another process holds the database, unless that only looks, too; ErrFormat as in Open;
// and ErrDamaged where the file is no database, or is cut off. Close ends it.
func Look(path string, o Options) (*Table, error) {
	s := settings(o)
	s.ReadOnly = true
	db, err := openWhole(path, s)
	if err != nil {
		return nil, err
	}
	if err := db.View(checkFormat); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return start(path, db, o), nil
}

// openWhole opens a database whose file is as long as its pages need. bbolt reads pages in memory
// where the file should be: those of one that is cut off are no memory, and end the program if nobody
// looks out.
func openWhole(path string, s *bolt.Options) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("%w: it cannot be opened: %v", ErrDamaged, p)
		}
	}()
	file, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if file.Size() == 0 { // bbolt would begin a new one
		return nil, fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	db, err = open(path, s)
	var system *fs.PathError
	switch {
	case errors.Is(err, ErrLocked), errors.As(err, &system):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var needs int64
	err = db.View(func(tx *bolt.Tx) error {
		needs = tx.Size()
		return nil
	})
	if err == nil && file.Size() < needs {
		err = fmt.Errorf("%w: it is cut off at %d of %d bytes", ErrDamaged, file.Size(), needs)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Check implements table.Checker: every page is used once or free, and every key is in its place.
func (t *Table) Check(ctx context.Context) iter.Seq[error] {
	return func(yield func(error) bool) {
		more := true
		err := t.view(func(tx *bolt.Tx) error {
			for damage := range tx.Check() { // to the end, for somebody sends
				more = more && ctx.Err() == nil && yield(damage)
			}
			return ctx.Err()
		})
		if err != nil && more {
			yield(err)
		}
	}
}
