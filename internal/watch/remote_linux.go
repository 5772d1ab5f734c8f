package watch

import "golang.org/x/sys/unix"

// remote reports whether a folder is on a file system that can change without the kernel noticing
// it: a network file system, a folder shared by the host of a virtual machine, or FUSE.
func remote(folder string) bool {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return false
	}
	switch uint32(s.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC,
		unix.SMB2_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC,
		unix.AFS_FS_MAGIC, unix.CODA_SUPER_MAGIC, unix.V9FS_MAGIC, unix.FUSE_SUPER_MAGIC,
		virtualBoxMagic, vmwareMagic:
		return true
	}
	return false
}

// The magic numbers of folders that virtual machines share with their host; see statfs(2).
const (
	virtualBoxMagic = 0x786f4256
	vmwareMagic     = 0xbacbacbc
)
