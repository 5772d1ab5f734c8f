package watch

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// An ending waits for removals in the folder that a held root lies in. It has an inotify of its
// own to ask for removals only: whatever else happens there, in a home directory say, would wake
// us for nothing.
type ending struct {
	base   string
	call   func()
	queue  *os.File
	parent int // the watch
	ended  sync.WaitGroup
}

// awaitEnd calls a function after each removal beside the root. It is nil where the system does
// not let us.
func awaitEnd(base string, call func()) *ending {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	e := &ending{base: base, call: call, queue: os.NewFile(uintptr(fd), "inotify"), parent: -1}
	e.ended.Go(e.wait)
	e.follow()
	return e
}

// follow watches the parent that the root has now, and calls, for it may be too late.
func (e *ending) follow() {
	if e == nil {
		return
	}
	control, err := e.queue.SyscallConn()
	if err != nil {
		return
	}
	_ = control.Control(func(fd uintptr) { // it fails when closed: nobody waits then
		if e.parent >= 0 {
			_, _ = unix.InotifyRmWatch(int(fd), uint32(e.parent)) // gone already if it fails
		}
		e.parent, _ = unix.InotifyAddWatch(int(fd), e.base+"/..", unix.IN_DELETE|unix.IN_ONLYDIR)
	})
	e.call()
}

func (e *ending) wait() {
	buf := make([]byte, 4096)
	for {
		if _, err := e.queue.Read(buf); err != nil {
			return
		}
		e.call()
	}
}

func (e *ending) close() {
	if e != nil {
		e.queue.Close() // ends the read
		e.ended.Wait()
	}
}
