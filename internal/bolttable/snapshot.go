package bolttable

import (
	"errors"
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"
)

// snapshotOf is where Snapshot writes a copy of the database.
func snapshotOf(path string) string { return path + ".snapshot" }

// Snapshot writes a copy of the database beside it, as it is at one moment, and returns the path of the copy, which the
// caller removes. While frozen runs no commit does: what lies beside the database is not behind the copy then, and
// whatever a process still does to it is what a crash at that moment might have left. Reads go on, and commits do while
// the copy is written. What a process leaves that is killed in it, the next Open removes. An error of frozen is
// returned as it is.
func (t *Table) Snapshot(frozen func() error) (path string, err error) {
	t.copying.Lock() // Compact would put another file under the name that bbolt reads
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

// freeze begins a transaction that reads, and calls frozen before anything is committed after it.
func (t *Table) freeze(frozen func() error) (*bolt.Tx, error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	tx, err := t.db.Load().Begin(false)
	if err != nil {
		return nil, fmt.Errorf("copy the database: %w", closedIs(err))
	}
	if err := frozen(); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}

// copyTo writes what a transaction reads to a new file, durably.
func copyTo(path string, tx *bolt.Tx) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = tx.WriteTo(f)
	return errors.Join(err, f.Sync(), f.Close())
}
