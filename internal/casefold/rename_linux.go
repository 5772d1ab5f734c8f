package casefold

import (
	"errors"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Rename is asked after the kernel has looked both names up.
func (f *fileSystem) Rename(_ <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	if in.Flags != 0 && f.o.NoRenameFlags {
		return fuse.EINVAL
	}
	f.names.Lock()
	defer f.names.Unlock()
	one, err := f.find(spot{in.NodeId, from})
	if err != nil {
		return fuse.ToStatus(err)
	}
	two, err := f.find(spot{in.Newdir, to})
	absent := errors.Is(err, unix.ENOENT)
	if err != nil && !absent {
		return fuse.ToStatus(err)
	}
	switch in.Flags {
	case 0:
		err = replace(one, two, to)
	case unix.RENAME_NOREPLACE:
		err = unix.EEXIST
		if absent {
			err = one.rename(two.folder, to)
		}
	case unix.RENAME_EXCHANGE:
		err = unix.Renameat2(one.folder.fd, one.name, two.folder.fd, two.name, unix.RENAME_EXCHANGE)
	default:
		err = unix.EINVAL
	}
	return fuse.ToStatus(err)
}

// replace renames an entry to a name under which there may be another, or itself. The other is
// respelled first, so that the one call that replaces it also tells whether it may be replaced.
func replace(one, two entry, to string) error {
	if two.name == to {
		return one.rename(two.folder, to)
	}
	err := two.rename(two.folder, to)
	if err != nil || one.folder.same(two.folder) && one.name == two.name {
		return err
	}
	err = one.rename(two.folder, to)
	if err != nil {
		_ = entry{two.folder, to}.rename(two.folder, two.name) // the first error is the one to tell
	}
	return err
}

func (e entry) rename(folder *node, name string) error {
	return unix.Renameat(e.folder.fd, e.name, folder.fd, name)
}
