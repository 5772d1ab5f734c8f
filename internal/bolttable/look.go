package bolttable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/rookeryhq/rookery/internal/table"
)

var _ table.Checker = (*Table)(nil)

// ErrDamaged means that the file is not a complete database.
var ErrDamaged = table.ErrDamaged

// Look opens an existing database read only: every Commit fails, and the file is not changed. The
// error is ErrLocked if another process has the database open for writing; other readers do not
// matter. ErrFormat and ErrDamaged are as for Open. Close must be called when the Table is no
// longer used.
func Look(path string, o Options) (*Table, error) {
	file, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if file.Size() == 0 { // bbolt would initialize it
		return nil, fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	s := settings(o)
	s.ReadOnly = true
	db, err := openComplete(path, s)
	if err != nil {
		return nil, err
	}
	if err := read(db, checkFormat); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return newTable(path, db, o), nil
}

// openComplete opens a database and checks that its file is not truncated.
func openComplete(path string, s *bolt.Options) (*bolt.DB, error) {
	db, err := open(path, s)
	var system *fs.PathError
	switch {
	case errors.Is(err, ErrLocked), errors.Is(err, ErrDamaged), errors.As(err, &system):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := checkLength(db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// checkLength returns ErrDamaged if the file of an open database is shorter than its pages require, as
// after an incomplete copy. Reading a missing page later would be a fault.
func checkLength(db *bolt.DB) error {
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

// Check implements table.Checker. It checks that every page is either used once or free, and that
// all keys are in order. It reads the whole file in one transaction, so on a table that is written
// to, the file grows meanwhile. After the loop ends early, the rest is still read.
func (t *Table) Check(ctx context.Context) iter.Seq[error] {
	return func(yield func(error) bool) {
		more := true
		err := t.view(func(tx *bolt.Tx) error {
			for damage := range tx.Check() { // read to the end, otherwise the sender blocks
				more = more && ctx.Err() == nil && yield(damage)
			}
			return ctx.Err()
		})
		if err != nil && more {
			yield(err)
		}
	}
}
