// Package casefoldfs mounts a file system that treats two names as one if they differ only by case or
// by Unicode normalization, as APFS on macOS and NTFS on Windows do. Tests of code that stores
// files use it.
//
// The file system guarantees:
//
//   - A name finds the entry whose name folds to the same text (vault.Fold). An entry keeps the
//     spelling with which it was created. No folder contains two entries whose names fold to the
//     same text.
//   - Creating an entry whose name exists in another spelling fails with EEXIST. Opening a file
//     with O_CREAT but without O_EXCL opens the existing one, which keeps its spelling.
//   - A rename to another spelling of its own name changes the spelling. A rename over another
//     entry replaces it, and the result has the spelling of the rename.
//   - RENAME_NOREPLACE fails with EEXIST if the new name exists in any spelling, also if only the
//     spelling of an entry would change. RENAME_EXCHANGE exchanges the contents of two entries;
//     each name keeps its spelling.
//   - inotify reports changes as it does elsewhere, with names as the caller of the change spelled
//     them. A watch receives only changes made through the path of the folder in its own spelling,
//     or in the spelling with which the watch was set.
//
// It does not support some features: fsync makes nothing durable, there are no extended attributes,
// a file cannot be mapped shared into memory, and each file that the kernel knows costs a file
// descriptor. The process of the test serves the file system, so a test must not map one of its
// files privately either: it would deadlock.
package casefoldfs

// Options are the features of a mounted file system.
type Options struct {
	// NoRenameFlags makes renameat2 with RENAME_NOREPLACE or RENAME_EXCHANGE fail with EINVAL, as
	// on file systems that do not support these flags.
	NoRenameFlags bool
}
