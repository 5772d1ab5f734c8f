package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"rookery/internal/fault"
)

// hold keeps a file that could be locked. A file system that has no locks is no error: what is left
// is the database's own.
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

// lockMark locks the file of the id, where it can be opened.
func (c *claim) lockMark() error {
	own, err := c.own()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer own.Close()
	file, err := openID(own, os.O_RDWR) // a file system of a network locks no other
	if err != nil {
		file, err = openID(own, os.O_RDONLY)
	}
	if err != nil {
		return nil
	}
	_, err = c.hold(file, lockWithin(file, patience))
	if errors.Is(err, errTaken) {
		return fault.New(fault.Unavailable, "another process, perhaps on another machine, serves the "+
			"folder %s", c.typed).Fix("end that process, or wait until it has ended")
	}
	return err
}

// errTaken says that another process has a lock.
var errTaken = errors.New("it is locked")

// lockWithin locks a file, if that can be had in time.
func lockWithin(file *os.File, limit time.Duration) error {
	for start := time.Now(); ; time.Sleep(pause) {
		err := lock(file)
		if !errors.Is(err, errTaken) || time.Since(start) > limit {
			return err
		}
	}
}
