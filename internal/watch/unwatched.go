package watch

// Unwatched returns the folders that are not watched because the system allows no more watches or
// open files, and whether there are any. "" is the root.
func (t *Tree) Unwatched() (folders []string, some bool) { return t.degraded.limitedFolders() }

// limitedFolders returns the folders whose reason is reasonFull.
func (f *degraded) limitedFolders() (folders []string, some bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tree == reasonFull {
		return []string{""}, true
	}
	for folder, reason := range f.parts {
		if reason == reasonFull {
			folders = append(folders, folder)
		}
	}
	return folders, len(folders) > 0
}
