package casefoldfs

import (
	"errors"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Rename renames an entry. The kernel has looked up both names before.
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

// replace renames an entry to a name that another entry may have, or the entry itself. It first
// changes the spelling of the other entry. Then one rename replaces it, which also fails if it
// cannot be replaced.
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
		_ = entry{two.folder, to}.rename(two.folder, two.name) // the caller needs the first error
	}
	return err
}

func (e entry) rename(folder *node, name string) error {
	return unix.Renameat(e.folder.fd, e.name, folder.fd, name)
}
