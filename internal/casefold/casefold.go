// Package casefold mounts a file system that takes names for one which differ only by case or by
// Unicode normalization, as APFS on macOS and NTFS on Windows do: for tests of what keeps files.
//
// It promises:
//
//   - A name finds the entry whose name folds to the same (vault.Fold). An entry keeps the spelling
//     with which it was made, and no folder ever has two whose names fold to the same.
//   - To make an entry whose name is there in another spelling is EEXIST. To open a file with
//     O_CREAT but without O_EXCL opens the one that is there, and its spelling stays.
//   - A rename to another spelling of its own name changes the spelling. A rename over another
//     entry replaces it, and the spelling is then the one that the rename was given.
//   - RENAME_NOREPLACE is EEXIST where the new name is there in any spelling, also for what is to
//     be respelled. RENAME_EXCHANGE exchanges what two entries are; each name keeps its spelling.
//   - inotify tells of changes as it does elsewhere, with names as the caller of the change spelled
//     them. It tells a watch only of what was done through the folder's path in its own spelling,
//     or in the very spelling that the watch was set with.
//
// What it does not do: fsync makes nothing durable, extended attributes are not kept, no file can
// be mapped shared into memory, and each file that the kernel knows costs a file descriptor. The
// test's own process serves the file system, so a test must not map one of its files privately,
// either: it would wait for itself.
package casefold

// Options say what a mounted file system can do.
type Options struct {
	// NoRenameFlags makes renameat2 with RENAME_NOREPLACE or RENAME_EXCHANGE EINVAL, as it is on
	// file systems that cannot do it.
	NoRenameFlags bool
}
