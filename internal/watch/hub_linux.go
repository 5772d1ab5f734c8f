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

// A queue is an inotify instance. Package fsnotify has one for each watcher, of which a system allows a user 128, and
// cannot watch a folder for removals alone, as the end of a root needs it. So it is used on other systems only, and its
// events are those of all.
//
// The system has one watch for a folder, whoever asks for it by whatever name. Hub.mu guards what is here.
type queue struct {
	hub     *Hub
	file    *os.File
	members map[*member]bool
	watches map[int32]*shared // by descriptor
	done    chan struct{}     // closed when nothing is read any more
}

// A shared is the watch of a folder, with the names by which members know it, and those that await removals in it.
type shared struct {
	names map[*member]string
	ends  map[*member]bool
}

// A member is what a tree has of a queue.
type member struct {
	queue *queue
	tree  *Tree
	paths map[string]int32 // what is watched, by name
	base  string           // of a root whose end is awaited; empty: of none
	end   int32            // the watch of its parent
}

// What a tree is told of, and what an end.
const (
	treeMask = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_DELETE | unix.IN_DELETE_SELF |
		unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_MOVE_SELF
	endMask = unix.IN_DELETE
)

// nowhere is the descriptor of no watch.
const nowhere = -1

// join adds a tree to the queue, which is opened if there is none.
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

// Add watches a folder by a name.
func (m *member) Add(path string) error {
	m.queue.hub.mu.Lock()
	defer m.queue.hub.mu.Unlock()
	s, wd, err := m.queue.add(path, treeMask)
	if err != nil {
		return err
	}
	m.paths[path] = wd
	if _, known := s.names[m]; !known {
		s.names[m] = path
	}
	return nil
}

// Remove ends the watch of a folder that was added by this name.
func (m *member) Remove(path string) error {
	m.queue.hub.mu.Lock()
	defer m.queue.hub.mu.Unlock()
	if wd, ok := m.paths[path]; ok {
		m.queue.drop(m, path, wd)
	}
	return nil
}

// awaitEnd has the tree look whether its root is lost after each removal beside it. The descriptor that holds a root
// delays what the system says of the folder itself.
func (m *member) awaitEnd(base string) {
	m.base = base
	m.follow()
}

// follow watches the parent that the root has now, and has the tree look, for it may be too late. A parent that cannot
// be watched is none: then the end is known when it is asked for.
func (m *member) follow() {
	if m.base == "" {
		return
	}
	m.watchEnd()
	m.tree.tellIfLost()
}

func (m *member) watchEnd() {
	m.queue.hub.mu.Lock()
	defer m.queue.hub.mu.Unlock()
	m.dropEnd()
	if s, wd, err := m.queue.add(m.base+"/..", endMask); err == nil {
		m.end, s.ends[m] = wd, true
	}
}

// dropEnd ends the watch of the parent. The caller holds the hub's mu.
func (m *member) dropEnd() {
	if s := m.queue.watches[m.end]; s != nil {
		delete(s.ends, m)
		m.queue.tidy(m.end, s)
	}
	m.end = nowhere
}

// Close ends all watches of the tree. The queue ends with its last tree.
func (m *member) Close() error {
	q := m.queue
	q.hub.mu.Lock()
	m.dropEnd()
	for path, wd := range m.paths {
		q.drop(m, path, wd)
	}
	delete(q.members, m)
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

// add asks the system for a watch, on top of what the folder is watched for already.
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

// drop ends what a member has of a watch by a name.
func (q *queue) drop(m *member, path string, wd int32) {
	delete(m.paths, path)
	if s := q.watches[wd]; s != nil && s.names[m] == path {
		delete(s.names, m)
		q.tidy(wd, s)
	}
}

// tidy ends a watch that nobody needs.
func (q *queue) tidy(wd int32, s *shared) {
	if len(s.names)+len(s.ends) > 0 {
		return
	}
	delete(q.watches, wd)
	_ = q.control(func(fd int) error { // it fails when the folder is gone, and the watch with it
		_, err := unix.InotifyRmWatch(fd, uint32(wd)) //nolint:gosec // as add got it
		return err
	})
}

// control calls a function with the descriptor of the queue; it fails when that is closed.
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

// read reads events until the queue is closed.
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
		for _, end := range q.tell(buf[:n]) {
			end.tree.tellIfLost()
		}
	}
}

// fail tells all trees that nothing more will be told.
func (q *queue) fail(err error) {
	q.hub.mu.Lock()
	defer q.hub.mu.Unlock()
	for m := range q.members {
		m.tree.flaws.spoil(partReason(err))
		m.tree.news.addEverything()
	}
}

// tell gives events to those whose folders they are of. It returns the members whose roots may be gone.
func (q *queue) tell(events []byte) (ends []*member) {
	q.hub.mu.Lock()
	defer q.hub.mu.Unlock()
	asked := map[*member]bool{}
	for len(events) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(events)) //nolint:gosec // it is signed there
		mask := binary.NativeEndian.Uint32(events[4:])
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

// event gives one event. It returns the members that await an end in its folder.
func (q *queue) event(wd int32, mask uint32, name string) (ends []*member) {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		for m := range q.members {
			m.tree.inbox.lose()
			ends = append(ends, m)
		}
		return ends
	}
	s := q.watches[wd]
	if s == nil {
		return nil // nobody has it any more
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
	if mask&unix.IN_MOVE_SELF != 0 { // its names lead elsewhere now
		for m, folder := range s.names {
			q.drop(m, folder, wd)
		}
	}
	return ends
}

// forget forgets a watch that the system has ended. What was unmounted may have been in the way of other folders.
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

// put gives an event to the tree. That a folder is gone is told by the one that it was in, if that is watched.
func (m *member) put(folder, name string, mask uint32) {
	if _, above := m.paths[filepath.Dir(folder)]; above && mask&unix.IN_DELETE_SELF != 0 {
		return
	}
	if op := opOf(mask); op != 0 {
		m.tree.inbox.put(fsnotify.Event{Name: within(folder, name), Op: op})
	}
}

// opOf is what happened.
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
