package casefoldfs

import (
	"os"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mount mounts an empty file system until the test ends, and returns its path. It skips the test if
// no file system can be mounted. The test must close all files in it before it ends.
func Mount(t testing.TB, o Options) (dir string) {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("there is no /dev/fuse, so no file system can be mounted that folds case: ", err)
	}
	f, err := newFileSystem(t.TempDir(), o)
	if err != nil {
		t.Fatal("open the folder that keeps the files: ", err)
	}
	dir = t.TempDir()
	server, err := fuse.NewServer(f, dir, &fuse.MountOptions{
		FsName: "casefold", Name: "casefold", DirectMount: true, DisableXAttrs: true,
		DisableReadDirPlus: true, MaxWrite: 1 << 17,
	})
	if err != nil {
		f.nodes.close()
		t.Skip("no file system can be mounted here, so none that folds case: ", err)
	}
	t.Cleanup(func() { unmount(t, dir, server, f) })
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		t.Fatal("serve the file system: ", err)
	}
	return dir
}

func unmount(t testing.TB, dir string, server *fuse.Server, f *fileSystem) {
	t.Helper()
	if err := server.Unmount(); err != nil {
		_ = syscall.Unmount(dir, syscall.MNT_DETACH) // otherwise the folder of the test could not be removed
		t.Error("unmount the file system, of which something may still be open: ", err)
		return
	}
	f.nodes.close()
}
