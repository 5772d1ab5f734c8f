package crashdisk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/table"
)

// A seam is a folder with a Disk beside it, which sees everything that a bucket does to the folder.
// Every file that was ever made has a second name in attic, so that it can be given back with its
// inode.
type seam struct {
	t          *testing.T
	dir, attic string
	mu         sync.Mutex
	disk       *Disk
	image      <-chan *Disk  // of the cut that is awaited
	found      *Disk         // after it
	gone       chan struct{} // is closed by it
}

// newSeam fills a folder with what is on a disk.
func newSeam(t *testing.T, dir, attic string, d *Disk) *seam {
	t.Helper()
	s := &seam{t: t, dir: dir, attic: attic, disk: d, gone: make(chan struct{})}
	require.NoError(t, os.MkdirAll(attic, 0o700))
	s.fill(dir, Root)
	return s
}

// fill makes what a folder of the disk has.
func (s *seam) fill(dir string, id uint64) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(dir, 0o700))
	names, nodes := s.disk.Names(id)
	for i, name := range names {
		at := filepath.Join(dir, name)
		info, err := s.disk.Stat(nodes[i])
		require.NoError(s.t, err)
		if info.Folder {
			s.fill(at, nodes[i])
			continue
		}
		data := make([]byte, info.Size)
		s.disk.Read(nodes[i], data, 0)
		require.NoError(s.t, os.Link(s.second(nodes[i]), at))
		require.NoError(s.t, os.WriteFile(at, data, 0o600))
	}
}

// second is the second name of a file.
func (s *seam) second(id uint64) string { return filepath.Join(s.attic, fmt.Sprint(id)) }

var errPower = errors.New("the power is gone")

// do is a fileblob.Seam. Nothing is really synced, for the machine that the test runs on stays up.
func (s *seam) do(c fileblob.Change, call func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found != nil {
		return errPower
	}
	if c.Op != fileblob.SyncFile && c.Op != fileblob.SyncFolder {
		if err := call(); err != nil {
			return err
		}
	}
	if err := s.note(c); err != nil {
		s.t.Errorf("%+v: %v", c, err)
	}
	select {
	case s.found = <-s.image:
		close(s.gone)
		return errPower
	default:
		return nil
	}
}

// note does to the disk what was done to the folder.
func (s *seam) note(c fileblob.Change) error {
	folder, name, err := s.find(c.Path)
	if err != nil {
		return err
	}
	switch c.Op {
	case fileblob.Create, fileblob.MakeFolder:
		return s.made(c, folder, name)
	case fileblob.Remove, fileblob.RemoveFolder:
		return s.disk.Remove(folder, name)
	case fileblob.Rename, fileblob.Swap:
		toFolder, to, err := s.find(c.To)
		if err == nil && c.Op == fileblob.Rename {
			return s.disk.Rename(folder, name, toFolder, to)
		}
		return errors.Join(err, s.disk.Swap(folder, name, toFolder, to))
	}
	id := folder
	if name != "." {
		if id, err = s.disk.Lookup(folder, name); err != nil {
			return err
		}
	}
	switch c.Op {
	case fileblob.Write:
		return s.disk.Write(id, c.Data, c.Size)
	case fileblob.Truncate:
		return s.disk.Truncate(id, c.Size)
	}
	return s.disk.Sync(id)
}

func (s *seam) made(c fileblob.Change, folder uint64, name string) error {
	id, err := s.disk.Make(folder, name, c.Op == fileblob.MakeFolder, 0o700)
	if err != nil || c.Op == fileblob.MakeFolder {
		return err
	}
	return os.Link(filepath.Join(s.dir, filepath.FromSlash(c.Path)), s.second(id))
}

// find finds the folder that a path is in. The top is in itself.
func (s *seam) find(at string) (folder uint64, name string, err error) {
	folder = Root
	dir, name := path.Split(at)
	for part := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if part == "" {
			continue
		}
		if folder, err = s.disk.Lookup(folder, part); err != nil {
			return 0, "", err
		}
	}
	return folder, name, nil
}

// cutAfter lets the power go after so many changes of the folder.
func (s *seam) cutAfter(changes int, seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.image = s.disk.CutAfter(changes, seed)
}

// A seamed is a machine whose folder forgets, and whose database does not.
type seamed struct {
	t    *testing.T
	dir  string // of everything
	n    int    // lives so far
	seam *seam
	gate *gate
}

func newSeamed(t *testing.T) *seamed {
	t.Helper()
	m := &seamed{t: t, dir: t.TempDir()}
	m.seam = newSeam(t, m.at("files"), filepath.Join(m.dir, "attic"), New())
	return m
}

// at is a path that belongs to this life alone.
func (m *seamed) at(name string) string { return filepath.Join(m.dir, fmt.Sprint(name, m.n)) }

func (m *seamed) folder() string { return m.at("files") }

func (m *seamed) open() (*store, error) {
	db, err := bolttable.Open(m.at("database"), bolttable.Options{})
	if err != nil {
		return nil, err
	}
	m.gate = &gate{Table: db}
	b, err := fileblob.OpenWith(m.at("files"), fileblob.Options{Seam: m.seam.do})
	return &store{m.gate, b, db.Close}, err
}

func (m *seamed) cutAfter(changes int, seed uint64) { m.seam.cutAfter(changes, seed) }

// wait takes the database as it is when the folder changes no more: what is written to it later was
// told by nobody of what the power cut kept from the folder.
func (m *seamed) wait() {
	<-m.seam.gone
	m.gate.mu.Lock()
	defer m.gate.mu.Unlock()
	data, err := os.ReadFile(m.at("database"))
	require.NoError(m.t, err)
	m.n++
	require.NoError(m.t, os.WriteFile(m.at("database"), data, 0o600))
}

// reboot comes when the life that ended has let go of everything.
func (m *seamed) reboot() {
	m.seam = newSeam(m.t, m.at("files"), m.seam.attic, m.seam.found)
}

func (m *seamed) stop() {}

// A gate is a table that can be stopped between two commits.
type gate struct {
	table.Table
	mu sync.RWMutex
}

func (g *gate) Commit(ctx context.Context, ops ...table.Op) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.Table.Commit(ctx, ops...)
}
