package crashdisk_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/fileblob"
)

// childVariable makes the test binary serve disks instead of running tests.
const childVariable = "ROOKERY_POWERCUT_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	serveDisks(os.Stdin, os.Stdout)
}

// A forgetful is a machine whose whole data directory lies on a disk that forgets.
type forgetful struct {
	t   *testing.T
	dir string
	n   int // lives so far
	in  io.Writer
	out *bufio.Scanner
}

// newForgetful skips the test where no file system can be served.
func newForgetful(t *testing.T) machine {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("there is no /dev/fuse, so no file system can be made that forgets: ", err)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	m := &forgetful{t: t, dir: t.TempDir(), in: in, out: bufio.NewScanner(out)}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	})
	if said := m.ask("mount", m.mountpoint()); said != "ok" {
		t.Skip("no file system can be mounted here, so none can be made that forgets: ", said)
	}
	return m
}

// mountpoint is where the disk of this life is.
func (m *forgetful) mountpoint() string {
	dir := filepath.Join(m.dir, fmt.Sprint("disk", m.n))
	require.NoError(m.t, os.MkdirAll(dir, 0o700))
	return dir
}

// folder is a data directory that nobody has made yet.
func (m *forgetful) folder() string { return filepath.Join(m.mountpoint(), "share", "rookery") }

// ask says something to the child, and returns its answer.
func (m *forgetful) ask(what ...any) string {
	m.t.Helper()
	_, err := fmt.Fprintln(m.in, what...)
	require.NoError(m.t, err)
	return m.hear()
}

func (m *forgetful) hear() string {
	m.t.Helper()
	require.True(m.t, m.out.Scan(), "the child has ended")
	return m.out.Text()
}

func (m *forgetful) open() (*store, error) {
	if err := fileblob.Make(m.folder()); err != nil {
		return nil, err
	}
	db, err := bolttable.Open(filepath.Join(m.folder(), "rookery.db"), bolttable.Options{})
	if err != nil {
		return nil, err
	}
	b, err := fileblob.Open(m.folder())
	return &store{db, b, db.Close}, err
}

func (m *forgetful) cutAfter(changes int, seed uint64) {
	dir := m.mountpoint()
	m.n++
	next := m.mountpoint()
	m.n--
	require.Equal(m.t, "ok", m.ask("cut", dir, changes, seed, next))
}

func (m *forgetful) wait() { require.Equal(m.t, "ok", m.hear()) }

func (m *forgetful) reboot() {
	require.Equal(m.t, "ok", m.ask("unmount", m.mountpoint()))
	m.n++
}

func (m *forgetful) stop() { require.Equal(m.t, "ok", m.ask("unmount", m.mountpoint())) }
