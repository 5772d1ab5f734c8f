package casefold

import (
	"fmt"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// A node is what the kernel knows by a number: a thing below, as it was reached by one spelling.
//
// Each spelling that is not the thing's own is a node apart. Were they all one, then a rename to
// another spelling would be one of a thing over itself, which the kernel takes for done without
// asking; and a folder would be in two places at once, which the kernel does not bear.
type node struct {
	thing
	fd      int // of the thing, to go on from (O_PATH)
	lookups uint64
}

// A thing is what names a node.
type thing struct {
	dev, ino uint64
	way      string // how it was reached, if not by its own spelling all the way
}

// nodes are those that the kernel knows, by their numbers. No number is ever given twice.
type nodes struct {
	mu     sync.Mutex
	byID   map[uint64]*node
	things map[thing]uint64
	last   uint64
}

// openNodes knows the root, which is the folder at a path.
func openNodes(root string) (*nodes, error) {
	n := &nodes{byID: map[uint64]*node{}, things: map[thing]uint64{}}
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	n.add(fd, thing{dev: stat.Dev, ino: stat.Ino}) // the first number is fuse.FUSE_ROOT_ID
	return n, nil
}

// add counts a lookup of a thing, and owns its descriptor from then on.
func (n *nodes) add(fd int, t thing) (id uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, known := n.things[t]
	if known {
		_ = unix.Close(fd)
	} else {
		n.last++
		id = n.last
		n.things[t], n.byID[id] = id, &node{thing: t, fd: fd}
	}
	n.byID[id].lookups++
	return id
}

// get is a node that the kernel has not forgotten, and of that it does not ask.
func (n *nodes) get(id uint64) *node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byID[id]
}

func (n *nodes) forget(id, lookups uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	gone := n.byID[id]
	if gone.lookups -= lookups; gone.lookups > 0 {
		return
	}
	delete(n.byID, id)
	delete(n.things, gone.thing)
	_ = unix.Close(gone.fd)
}

func (n *nodes) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, known := range n.byID {
		_ = unix.Close(known.fd)
	}
}

// path is one to the thing itself, wherever it is by now.
func (n *node) path() string { return fmt.Sprintf("/proc/self/fd/%d", n.fd) }

func (n *node) attr(out *fuse.Attr) error {
	var stat syscall.Stat_t
	if err := syscall.Fstat(n.fd, &stat); err != nil {
		return err
	}
	out.FromStat(&stat)
	return nil
}

// same reports whether two nodes are one thing, however they were reached.
func (n *node) same(other *node) bool { return n.dev == other.dev && n.ino == other.ino }
