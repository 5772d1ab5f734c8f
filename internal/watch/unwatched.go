package watch

// Unwatched returns the folders that are not watched because the system allows no more watches or open files, "" for
// the root, and whether there are any.
func (t *Tree) Unwatched() (folders []string, some bool) { return t.flaws.full() }

// full returns the folders whose flaw is that the system allows no more.
func (f *degraded) full() (folders []string, some bool) {
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
