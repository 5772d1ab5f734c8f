package vaultdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// How long to wait for a lock of another process, and how often to try. They are short, because a
// person waits, and another process usually has a lock either for a moment or as long as it runs.
const (
	// lockTimeout is for a process that has the folder, because a command may be about to end.
	lockTimeout = 100 * time.Millisecond

	// stateLockTimeout is for a process that has the state, but another folder. If two copies of a
	// folder are opened at once, one must wait until the other has its own id.
	stateLockTimeout = 2 * time.Second

	pause = 2 * time.Millisecond
)

// A claim is an attempt to get exclusive use of a folder. It takes up to three locks, in this
// order:
//
//   - The folder itself. Then no other process of this machine, of any user and with any home, can
//     come between the id of the folder and its state.
//   - The state, because the folder may still be served from another path where it was before.
//   - The file of the id, which processes on other machines see if the folder is on a network.
//
// The locks that were taken are in held, in this order. They are released together, by Folder.Close
// or if the claim fails.
type claim struct {
	*servedDir
	held     []*os.File
	alone    bool // no other process on this machine has the folder
	readOnly bool
	noWrites bool // nothing is written into the folder
}

// take makes the claim, and returns the claimed folder. On an error, the caller releases c.held. It
// locks the folder, decides which state belongs to it, writes the id and locks the state, locks the
// id file, and records the folder in the state if the record has changed.
func (c *claim) take() (*Folder, error) {
	if err := c.lockTop(); err != nil {
		return nil, err
	}
	if c.alone && !c.noWrites {
		c.sweep()
	}
	v, err := c.claimState()
	if err != nil {
		return nil, err
	}
	if err := c.lockMark(); err != nil {
		return nil, err
	}
	r := v.record(c.node())
	if v.known == nil || *v.known != r {
		if err := c.states.write(r); err != nil {
			return nil, err
		}
	}
	return &Folder{
		Path: c.path, State: c.states.dir(v.id), Vault: r.Vault, Origin: v.origin, From: v.from,
		ReadOnly: c.readOnly || c.unwritable(), locks: c.held,
	}, nil
}

// lockTop locks the folder. If another process has the lock, the error is that of served. c.alone
// stays false on a file system without locks.
func (c *claim) lockTop() error {
	file, err := c.root.Open(".")
	if err != nil {
		return c.unreadable(err)
	}
	c.alone, err = c.hold(file, lockWithin(file, lockTimeout))
	if errors.Is(err, errLocked) {
		return c.served()
	}
	return err
}

// served returns the error for a folder that another process has locked: an *InUse if the state of
// the folder is one of c.states, otherwise UNAVAILABLE. The process can have another home, whose
// states are not known here.
func (c *claim) served() error {
	f, err := c.look()
	if err == nil && f.State != "" && c.states.isLocked(f.id()) {
		return &InUse{State: f.State}
	}
	return fault.New(fault.Unavailable, "another process serves the folder %s", c.typed).
		Fix("end that process, or wait until it has ended")
}

// claimState gives the folder its id and locks the state of that id. A process that has the state may
// be about to change the verdict on this folder, so settle decides again until it gets the lock, or
// until occupied gives up.
func (c *claim) claimState() (verdict, error) {
	for start := time.Now(); ; time.Sleep(pause) {
		v, err := c.decide()
		if err == nil {
			v, err = c.identify(v)
		}
		if errors.Is(err, fs.ErrExist) {
			continue // another process has just written an id
		}
		if err != nil {
			return verdict{}, err
		}
		ok, err := c.lockState(v)
		if err != nil || ok {
			return v, err
		}
		if err := c.occupied(v, time.Since(start)); err != nil {
			return verdict{}, err
		}
	}
}

// identify writes the id into the folder, if the folder has another id or none. If that is not
// permitted, or nothing may be written, only the record contains the id. It sets readOnly if the
// folder cannot be written at all. The error is fs.ErrExist if another process has just written an
// id.
func (c *claim) identify(v verdict) (verdict, error) {
	if v.id == "" {
		v.id = newID()
	}
	if v.id == v.mark.id || c.noWrites {
		return v, nil
	}
	err := c.putMark(v.id, v.mark != mark{})
	var known *fault.Fault
	switch {
	case err == nil, errors.Is(err, fs.ErrExist), errors.As(err, &known):
		return v, err
	case errors.Is(err, syscall.EROFS):
		c.readOnly = true
		return v, nil
	case errors.Is(err, fs.ErrPermission):
		_, err := c.root.Lstat(ownDir)
		c.readOnly = errors.Is(err, fs.ErrNotExist)
		return v, nil
	}
	return v, c.fail("written", idPath, err)
}

// lockState locks the state of a folder. It returns false if another process has the lock, or has
// just had it and changed the record: then the verdict may be wrong, and the lock is released
// again. The directory of the state is created if needed.
func (c *claim) lockState(v verdict) (bool, error) {
	file, err := c.states.make(v.id)
	if err != nil {
		return false, err
	}
	held := len(c.held)
	if _, err = c.hold(file, lock(file)); errors.Is(err, errLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	now, err := c.states.read(v.id)
	if err == nil && same(now, v.known) {
		return true, nil
	}
	release(c.held[held:])
	c.held = c.held[:held]
	return false, err
}

// same reports whether two records are equal; nil equals only nil.
func same(a, b *record) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// occupied returns the error for a state that another process has had for too long, and nil while
// waiting may still help. A folder at its known path waits for lockTimeout, any other for
// stateLockTimeout.
func (c *claim) occupied(v verdict, waited time.Duration) error {
	switch {
	case v.origin == Known && waited > lockTimeout:
		return &InUse{State: c.states.dir(v.id)}
	case waited > stateLockTimeout:
		return fault.New(fault.Unavailable, "another process serves a folder with the id of the "+
			"folder %s, which was at another path", c.typed).
			Fix("end that process, or wait until it has ended")
	}
	return nil
}

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
