package bolttable

import (
	"errors"
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"
)

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
