package casefoldfs

import (
	"fmt"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// A node is the object that the kernel knows by a number: an underlying file, as reached by one
// spelling.
//
// Each other spelling of a file has a node of its own. If all were one node, a rename to another
// spelling would be a rename of a file to itself, which the kernel skips without a request; and a
// folder would be in two places at once, which the kernel does not allow.
type node struct {
	nodeKey
	fd      int // an O_PATH descriptor of the underlying file
	lookups uint64
}

// A nodeKey is the key of a node.
type nodeKey struct {
	dev, ino uint64
	spelling string // how the file was reached; empty if by its own spelling all the way
}

// nodes contains the nodes that the kernel knows, by their numbers. A number is never used again.
type nodes struct {
	mu   sync.Mutex
	byID map[uint64]*node
	ids  map[nodeKey]uint64
	last uint64
}

// openNodes returns nodes that contain only the root, which is the folder at a path.
func openNodes(root string) (*nodes, error) {
	n := &nodes{byID: map[uint64]*node{}, ids: map[nodeKey]uint64{}}
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	n.add(fd, nodeKey{dev: stat.Dev, ino: stat.Ino}) // the first number is fuse.FUSE_ROOT_ID
	return n, nil
}

// add counts a lookup of a thing and returns its node number. It takes over the descriptor.
func (n *nodes) add(fd int, t nodeKey) (id uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, known := n.ids[t]
	if known {
		_ = unix.Close(fd)
	} else {
		n.last++
		id = n.last
		n.ids[t], n.byID[id] = id, &node{nodeKey: t, fd: fd}
	}
	n.byID[id].lookups++
	return id
}

// get returns a node that the kernel has not forgotten. The kernel asks for no other.
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
	delete(n.ids, gone.nodeKey)
	_ = unix.Close(gone.fd)
}

func (n *nodes) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, known := range n.byID {
		_ = unix.Close(known.fd)
	}
}

// path returns a path to the underlying file, which stays valid when the file is renamed.
func (n *node) path() string { return fmt.Sprintf("/proc/self/fd/%d", n.fd) }

func (n *node) attr(out *fuse.Attr) error {
	var stat syscall.Stat_t
	if err := syscall.Fstat(n.fd, &stat); err != nil {
		return err
	}
	out.FromStat(&stat)
	return nil
}

// same reports whether two nodes are the same file, however they were reached.
func (n *node) same(other *node) bool { return n.dev == other.dev && n.ino == other.ino }
