package vaultdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// hold keeps a file whose lock attempt returned locked, if that is nil; otherwise it closes the
// file. It reports whether the file is locked. A file system without locks is not an error: the
// database has a lock of its own. The error wraps errLocked if another process has the lock.
func (c *claim) hold(file *os.File, locked error) (bool, error) {
	if locked == nil {
		c.held = append(c.held, file)
		return true, nil
	}
	file.Close()
	if errors.Is(locked, errors.ErrUnsupported) {
		return false, nil
	}
	return false, fmt.Errorf("lock the folder: %w", locked)
}

// lockMark locks the file of the id, if it can be opened. This excludes processes on other
// machines, if the file system supports that. The error is UNAVAILABLE if another process has the
// lock.
func (c *claim) lockMark() error {
	own, err := c.own()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer own.Close()
	file, err := openID(own, os.O_RDWR) // network file systems may lock only files that are open for writing
	if err != nil {
		file, err = openID(own, os.O_RDONLY)
	}
	if err != nil {
		return nil
	}
	_, err = c.hold(file, lockWithin(file, lockTimeout))
	if errors.Is(err, errLocked) {
		return fault.New(fault.Unavailable, "another process, perhaps on another machine, serves the "+
			"folder %s", c.typed).Fix("end that process, or wait until it has ended")
	}
	return err
}

// errLocked is the error of lock if another process has the lock.
var errLocked = errors.New("it is locked")

// lockWithin tries to lock a file until limit has passed; then it returns errLocked.
func lockWithin(file *os.File, limit time.Duration) error {
	for start := time.Now(); ; time.Sleep(pause) {
		err := lock(file)
		if !errors.Is(err, errLocked) || time.Since(start) > limit {
			return err
		}
	}
}

// An InUse is the error for a folder that another process serves, with a state in the home of the
// caller. The address of its server may be in that state.
type InUse struct {
	State string // directory of the state
}

// Error returns the message of the fault.
func (e *InUse) Error() string { return e.Fault().Message }

// Fault returns the UNAVAILABLE error, with a hint.
func (e *InUse) Fault() *fault.Fault {
	return fault.New(fault.Unavailable, "another process serves the folder").
		Fix("end that process, or wait until it has ended")
}

// Unwrap returns the fault, so that fault.Of finds it.
func (e *InUse) Unwrap() error { return e.Fault() }
