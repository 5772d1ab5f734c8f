package bolttable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"

	bolt "go.etcd.io/bbolt"

	"rookery/internal/table"
)

var _ table.Checker = (*Table)(nil)

// ErrDamaged says that a file is no whole database.
var ErrDamaged = table.ErrDamaged

// Look opens a database to read from it, and changes nothing: a Commit fails. There must be one. It is
// ErrLocked while another process holds the database, unless that only looks, too; ErrFormat as in Open;
// and ErrDamaged where the file is no database, or is cut off. Close ends it.
func Look(path string, o Options) (*Table, error) {
	file, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if file.Size() == 0 { // bbolt would begin a new one
		return nil, fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	s := settings(o)
	s.ReadOnly = true
	db, err := openWhole(path, s)
	if err != nil {
		return nil, err
	}
	if err := read(db, checkFormat); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return start(path, db, o), nil
}

// openWhole opens a database whose file is as long as its pages need.
func openWhole(path string, s *bolt.Options) (*bolt.DB, error) {
	db, err := open(path, s)
	var system *fs.PathError
	switch {
	case errors.Is(err, ErrLocked), errors.Is(err, ErrDamaged), errors.As(err, &system):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := asLong(db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// asLong is ErrDamaged if the file of an open database is shorter than its pages need.
func asLong(db *bolt.DB) error {
	file, err := os.Stat(db.Path())
	if err != nil {
		return err
	}
	var needs int64
	err = db.View(func(tx *bolt.Tx) error {
		needs = tx.Size()
		return nil
	})
	if err == nil && file.Size() < needs {
		err = fmt.Errorf("%w: it is cut off at %d of %d bytes", ErrDamaged, file.Size(), needs)
	}
	return err
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
