package index

import "iter"

// FolderPaths yields the paths of the folders after a path, each with a slash at the end, sorted
// bytewise. The vault is not among them. A folder exists if a note, or the file of a folder, is in
// it or below it.
func (x *Index) FolderPaths(after string) iter.Seq[string] {
	return func(yield func(string) bool) {
		x.folderVersions.Ascend(after, func(dir string, _ uint64) bool {
			return dir == after || dir == "" || yield(dir)
		})
	}
}
