//go:build linux

package casefoldfs_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestInotify has a watch of a folder tell of what is done in it, under the names that were used.
func TestInotify(t *testing.T) {
	d := mount(t)
	d.mkdir("folder")
	d.write("folder/old.md", "")
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	require.NoError(t, err)
	defer unix.Close(fd)
	const all = unix.IN_CREATE | unix.IN_CLOSE_WRITE | unix.IN_MOVE | unix.IN_DELETE
	_, err = unix.InotifyAddWatch(fd, d.path("folder"), all)
	require.NoError(t, err)

	d.write("folder/new.md", "one")
	require.Equal(t,
		[]event{{unix.IN_CREATE, "new.md"}, {unix.IN_CLOSE_WRITE, "new.md"}}, events(t, fd))
	d.write("folder/NEW.md", "two")
	require.Equal(t, []event{{unix.IN_CLOSE_WRITE, "NEW.md"}}, events(t, fd))
	require.NoError(t, d.rename("folder/new.md", "folder/New.md"))
	require.Equal(t,
		[]event{{unix.IN_MOVED_FROM, "new.md"}, {unix.IN_MOVED_TO, "New.md"}}, events(t, fd))
	require.NoError(t, os.Remove(d.path("folder/OLD.md")))
	require.Equal(t, []event{{unix.IN_DELETE, "OLD.md"}}, events(t, fd))

	// What comes through another spelling of the folder is told of no watch but its own.
	d.write("FOLDER/unseen.md", "")
	d.write("folder/seen.md", "")
	require.Equal(t, []event{{unix.IN_CREATE, "seen.md"}, {unix.IN_CLOSE_WRITE, "seen.md"}},
		events(t, fd))
}

// An event is one of inotify.
type event struct {
	what uint32
	name string
}

// events are those that wait to be read, at least one.
func events(t *testing.T, fd int) (all []event) {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := unix.Read(fd, buf)
	require.NoError(t, err)
	for buf = buf[:n]; len(buf) > 0; {
		name := buf[unix.SizeofInotifyEvent:]
		size := binary.NativeEndian.Uint32(buf[12:])
		all = append(all, event{
			binary.NativeEndian.Uint32(buf[4:]), string(bytes.TrimRight(name[:size], "\x00")),
		})
		buf = name[size:]
	}
	return all
}
