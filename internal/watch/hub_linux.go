package watch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// A queue is an inotify instance that all trees of a Hub share. Package fsnotify would open one
// for each watcher, of which a user can have only 128 by default, and it cannot watch a folder
// for removals only, as member.awaitEnd needs. So fsnotify watches only on other systems; here
// only its type of events is used.
//
// The kernel has one watch for a folder, whichever paths it was added by. Hub.mu guards all
// fields here and in shared and member.
type queue struct {
	hub     *Hub
	file    *os.File
	members map[*member]bool
	watches map[int32]*shared // by watch descriptor
	done    chan struct{}     // closed when read has returned
}

// A shared is the watch of a folder. It contains the path by which each member added the folder,
// and the members that wait for removals in it.
type shared struct {
	names map[*member]string
	ends  map[*member]bool
}

// A member is the part of a tree in a queue.
type member struct {
	queue *queue
	tree  *Tree
	paths map[string]int32 // descriptors of its watches, by path
	base  string           // path of a root whose removal is awaited; "": none
	end   int32            // descriptor of the watch of the root's parent; nowhere: none
}

// The events that trees receive, and those that indicate the end of a root.
const (
	treeMask = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_DELETE | unix.IN_DELETE_SELF |
		unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_MOVE_SELF
	endMask = unix.IN_DELETE
)

// nowhere is the descriptor that stands for no watch.
const nowhere = -1

// join adds a tree to the queue. It opens the queue if there is none.
func (h *Hub) join(t *Tree) (*member, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.queue == nil {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
		if err != nil {
			return nil, err
		}
		h.queue = &queue{
			hub: h, file: os.NewFile(uintptr(fd), "inotify"), members: map[*member]bool{},
			watches: map[int32]*shared{}, done: make(chan struct{}),
		}
		go h.queue.read()
	}
	m := &member{queue: h.queue, tree: t, paths: map[string]int32{}, end: nowhere}
	h.queue.members[m] = true
	return m, nil
}

// Add watches the folder at a path.
func (m *member) Add(path string) error {
	m.queue.hub.mu.Lock()
	defer m.queue.hub.mu.Unlock()
	s, wd, err := m.queue.add(path, treeMask)
	if err != nil {
		return err
	}
	m.paths[path] = wd
	// A second path of the same folder does not replace the first one: events have only one path
	// for each member.
	if _, known := s.names[m]; !known {
		s.names[m] = path
	}
	return nil
}

// Remove ends the watch of the folder that was added by this path. It never fails.
func (m *member) Remove(path string) error {
	m.queue.hub.mu.Lock()
	defer m.queue.hub.mu.Unlock()
	if wd, ok := m.paths[path]; ok {
		m.queue.drop(m, path, wd)
	}
	return nil
}

// awaitEnd makes the tree check whether its root is lost after each removal in the parent of the
// root. It is needed because the open descriptor of the root delays the event of its own removal.
func (m *member) awaitEnd(base string) {
	m.base = base
	m.follow()
}

// follow watches the present parent of the root and checks whether the root is lost, because the
// watch can be too late. If the parent cannot be watched, the loss is noticed only when Reason or
// Lost is called.
func (m *member) follow() {
	if m.base == "" {
		return
	}
	m.watchEnd()
	m.tree.reportIfLost()
}

// watchEnd replaces the watch of the parent.
func (m *member) watchEnd() {
	m.queue.hub.mu.Lock()
	defer m.queue.hub.mu.Unlock()
	m.dropEnd()
	if s, wd, err := m.queue.add(m.base+"/..", endMask); err == nil {
		m.end, s.ends[m] = wd, true
	}
}

// dropEnd ends the watch of the parent. The caller must hold hub.mu.
func (m *member) dropEnd() {
	if s := m.queue.watches[m.end]; s != nil {
		delete(s.ends, m)
		m.queue.dropUnused(m.end, s)
	}
	m.end = nowhere
}

// Close ends all watches of the tree. With the last tree it closes the queue, and waits for read.
//
// It returns the error of closing the inotify instance.
func (m *member) Close() error {
	// The lock is released before waiting for read, which takes it for each batch of events.
	q := m.queue
	q.hub.mu.Lock()
	m.dropEnd()
	for path, wd := range m.paths {
		q.drop(m, path, wd)
	}
	delete(q.members, m)
	// A tree that is opened from now on gets a new queue.
	last := len(q.members) == 0 && q.hub.queue == q
	if last {
		q.hub.queue = nil
	}
	q.hub.mu.Unlock()
	if !last {
		return nil
	}
	err := q.file.Close() // ends the read
	<-q.done
	return err
}

// add adds a watch of the events in mask, in addition to those for which the folder is watched
// already. It fails for anything but a folder.
func (q *queue) add(path string, mask uint32) (s *shared, wd int32, err error) {
	var got int
	err = q.control(func(fd int) (err error) {
		got, err = unix.InotifyAddWatch(fd, path, mask|unix.IN_ONLYDIR|unix.IN_MASK_ADD)
		return err
	})
	if err != nil {
		return nil, nowhere, err
	}
	wd = int32(got) //nolint:gosec // the system's descriptors are that small
	if s = q.watches[wd]; s == nil {
		s = &shared{map[*member]string{}, map[*member]bool{}}
		q.watches[wd] = s
	}
	return s, wd, nil
}

// drop ends the watch of a member by a path.
func (q *queue) drop(m *member, path string, wd int32) {
	delete(m.paths, path)
	if s := q.watches[wd]; s != nil && s.names[m] == path {
		delete(s.names, m)
		q.dropUnused(wd, s)
	}
}

// dropUnused ends a watch that no member needs.
func (q *queue) dropUnused(wd int32, s *shared) {
	if len(s.names)+len(s.ends) > 0 {
		return
	}
	delete(q.watches, wd)
	_ = q.control(func(fd int) error { // fails if the folder, and so the watch, is gone
		_, err := unix.InotifyRmWatch(fd, uint32(wd)) //nolint:gosec // as add got it
		return err
	})
}

// control calls f with the file descriptor of the queue. It fails if the queue is closed.
func (q *queue) control(f func(fd int) error) error {
	c, err := q.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := c.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// read delivers events until the queue is closed or fails.
func (q *queue) read() {
	defer close(q.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := q.file.Read(buf)
		switch {
		case errors.Is(err, os.ErrClosed):
			return
		case err != nil:
			q.fail(err)
			return
		}
		// This runs without the lock, because it accesses files.
		for _, end := range q.dispatch(buf[:n]) {
			end.tree.reportIfLost()
		}
	}
}

// fail makes all trees report that changes can be missed from now on.
func (q *queue) fail(err error) {
	q.hub.mu.Lock()
	defer q.hub.mu.Unlock()
	for m := range q.members {
		m.tree.degraded.setReason(partReason(err))
		m.tree.changes.addEverything()
	}
}

// dispatch delivers the events in a buffer. It returns the members whose roots can have been removed.
func (q *queue) dispatch(events []byte) (ends []*member) {
	q.hub.mu.Lock()
	defer q.hub.mu.Unlock()
	// A batch often has many removals in one folder; each root is checked once.
	asked := map[*member]bool{}
	for len(events) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(events)) //nolint:gosec // it is signed there
		mask := binary.NativeEndian.Uint32(events[4:])
		// An event is a fixed header and a name, padded with zero bytes to the length in the
		// header.
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name := string(bytes.TrimRight(events[unix.SizeofInotifyEvent:end], "\x00"))
		events = events[end:]
		for _, m := range q.event(wd, mask, name) {
			if !asked[m] {
				asked[m], ends = true, append(ends, m)
			}
		}
	}
	return ends
}

// event delivers one event. It returns the members that wait for a removal in its folder.
func (q *queue) event(wd int32, mask uint32, name string) (ends []*member) {
	// The kernel has dropped events of any folder.
	if mask&unix.IN_Q_OVERFLOW != 0 {
		for m := range q.members {
			m.tree.inbox.lose()
			ends = append(ends, m)
		}
		return ends
	}
	s := q.watches[wd]
	if s == nil {
		return nil // it was removed
	}
	for m := range s.ends {
		ends = append(ends, m)
	}
	if mask&(unix.IN_IGNORED|unix.IN_UNMOUNT) != 0 {
		q.forget(wd, s, mask&unix.IN_UNMOUNT != 0)
		return ends
	}
	for m, folder := range s.names {
		m.put(folder, name, mask)
	}
	if mask&unix.IN_MOVE_SELF != 0 { // its paths are now wrong
		for m, folder := range s.names {
			q.drop(m, folder, wd)
		}
	}
	return ends
}

// forget removes a watch that the kernel has ended. After an unmount, events of other folders can
// have been lost, because the mount can have covered them.
func (q *queue) forget(wd int32, s *shared, unmounted bool) {
	delete(q.watches, wd)
	for m, folder := range s.names {
		delete(m.paths, folder)
		if unmounted {
			m.tree.inbox.lose()
		}
	}
	for m := range s.ends {
		m.end = nowhere
	}
}

// put passes an event to the inbox of the tree. It skips the removal of a folder itself if the
// parent is watched, which has an event for it too.
func (m *member) put(folder, name string, mask uint32) {
	// The event of the parent has the same path.
	if _, above := m.paths[filepath.Dir(folder)]; above && mask&unix.IN_DELETE_SELF != 0 {
		return
	}
	if op := opOf(mask); op != 0 {
		m.tree.inbox.put(fsnotify.Event{Name: within(folder, name), Op: op})
	}
}

// opOf returns the fsnotify operations of an inotify mask.
func opOf(mask uint32) (op fsnotify.Op) {
	for _, o := range []struct {
		mask uint32
		op   fsnotify.Op
	}{
		{unix.IN_CREATE | unix.IN_MOVED_TO, fsnotify.Create},
		{unix.IN_DELETE | unix.IN_DELETE_SELF, fsnotify.Remove},
		{unix.IN_MODIFY, fsnotify.Write},
		{unix.IN_MOVE_SELF | unix.IN_MOVED_FROM, fsnotify.Rename},
		{unix.IN_ATTRIB, fsnotify.Chmod},
	} {
		if mask&o.mask != 0 {
			op |= o.op
		}
	}
	return op
}
