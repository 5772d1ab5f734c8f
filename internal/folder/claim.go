package folder

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"rookery/internal/fault"
)

// How long to wait for what another process has, and how often to look.
const (
	// patience is for a process that has the folder: a command may be about to end.
	patience = 100 * time.Millisecond

	// longPatience is for one that has the state, but another folder: of two copies that are
	// opened at once, one has to see what the other becomes.
	longPatience = 2 * time.Second

	pause = 2 * time.Millisecond
)

// A claim is the way to a folder of one's own.
//
// The folder itself is locked first: so no process of the machine, of whatever user and with
// whatever home, comes between its id and its state. Then its state, for a folder that was at
// another path may still be served from there. Then the file of the id, which other machines see
// where the folder is one of a network.
type claim struct {
	*top
	held      []*os.File
	alone     bool // nobody else on this machine has the folder
	readOnly  bool
	untouched bool // nothing is written into the folder
}

func (c *claim) take() (*Folder, error) {
	if err := c.lockTop(); err != nil {
		return nil, err
	}
	if c.alone && !c.untouched {
		c.sweep()
	}
	v, err := c.settle()
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

// lockTop locks the folder.
func (c *claim) lockTop() error {
	file, err := c.root.Open(".")
	if err != nil {
		return c.unreadable(err)
	}
	c.alone, err = c.hold(file, lockWithin(file, patience))
	if errors.Is(err, errTaken) {
		return c.served()
	}
	return err
}

// served is the error for a folder that another process has.
func (c *claim) served() error {
	f, err := c.look()
	if err == nil && f.State != "" && c.states.taken(f.id()) {
		return &InUse{State: f.State}
	}
	return fault.New(fault.Unavailable, "another process serves the folder %s", c.typed).
		Fix("end that process, or wait until it has ended")
}

// settle gives the folder its id and locks the state of that id. While another process has the
// state, it may be making another thing of the folder; so it decides again until both stand still.
func (c *claim) settle() (verdict, error) {
	for start := time.Now(); ; time.Sleep(pause) {
		v, err := c.decide()
		if err == nil {
			v, err = c.identify(v)
		}
		if errors.Is(err, fs.ErrExist) {
			continue // an id came from elsewhere
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

// identify writes the id into the folder, if it has another or none. Where that is not permitted, or nothing is to be
// written, the record alone has it.
func (c *claim) identify(v verdict) (verdict, error) {
	if v.id == "" {
		v.id = newID()
	}
	if v.id == v.mark.id || c.untouched {
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

// lockState locks the state of a folder. It is false if another process has it, or has just had it
// and made another thing of it.
func (c *claim) lockState(v verdict) (bool, error) {
	file, err := c.states.make(v.id)
	if err != nil {
		return false, err
	}
	held := len(c.held)
	if _, err = c.hold(file, lock(file)); errors.Is(err, errTaken) {
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

// same reports whether two records, or none, say the same.
func same(a, b *record) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// occupied is the error for a state that another process has had for so long, if that is too long.
func (c *claim) occupied(v verdict, waited time.Duration) error {
	switch {
	case v.origin == Known && waited > patience:
		return &InUse{State: c.states.dir(v.id)}
	case waited > longPatience:
		return fault.New(fault.Unavailable, "another process serves a folder with the id of the "+
			"folder %s, which was at another path", c.typed).
			Fix("end that process, or wait until it has ended")
	}
	return nil
}
