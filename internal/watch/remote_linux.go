package watch

import "golang.org/x/sys/unix"

// remote tells whether a folder lies on a file system that others can change behind the kernel's
// back: a network's, a host's, or that of a program.
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

// The folders that virtual machines share with their host, as statfs(2) names them.
const (
	virtualBoxMagic = 0x786f4256
	vmwareMagic     = 0xbacbacbc
)
