package watch

import (
	"os"
	"path"
	"slices"
)

// A watchSet contains the watched folders of a tree. It must be used by one goroutine: that of
// Open, and then the worker.
type watchSet struct {
	t       *Tree
	enter   func(string) bool
	rules   rules
	folders map[string]*folder  // by slash path
	names   map[identity]string // by identity: the path under which a folder is watched
	devices map[uint64]bool     // devices that were checked by checkDevice
	entries int                 // number of entries in all watched folders, if it is limited
}

// A folder is a folder that enter admits. It is watched unless it has a reason in degraded.
type folder struct {
	id      identity
	inside  map[string]bool // names of the folders in it that enter admits
	entries int             // number, if it is limited
}

// newWatchSet returns an empty watchSet.
func newWatchSet(t *Tree, enter func(string) bool, r rules) *watchSet {
	if !r.below {
		t.degraded.setReason(reasonRootOnly)
	}
	return &watchSet{
		t: t, enter: enter, rules: r, folders: map[string]*folder{},
		names: map[identity]string{}, devices: map[uint64]bool{},
	}
}

// rewatch replaces the watches at and below a path after it changed, and reports the path and
// everything below it.
//
// A folder is dropped even if it seems to be the same, because the watcher would go on reporting
// it under the path by which it was added.
func (g *watchSet) rewatch(name string) {
	g.t.degraded.hold()
	defer g.t.release()
	// Deferred calls run in reverse order: the path is added before the hold ends.
	defer g.t.changes.add(name)
	g.drop(name)
	if g.rules.below && g.folders[folderOf(name)] != nil {
		g.watchTree(name, true) // otherwise its folder has changed too, and has an event
	}
}

// watchRoot watches the tree without reporting changes. If the root cannot be watched because it
// was lost meanwhile, the tree is not Whole.
func (g *watchSet) watchRoot() {
	g.watchTree("", false)
	if !g.hasRoot() && !g.t.closing() {
		g.t.degraded.setReason(reasonMoved)
	}
}

// hasRoot reports whether the root is in the set.
func (g *watchSet) hasRoot() bool { return g.folders[""] != nil }

// drop ends the watches at and below a path.
func (g *watchSet) drop(name string) {
	f := g.folders[name]
	if f == nil {
		return
	}
	for inside := range f.inside {
		g.drop(path.Join(name, inside))
	}
	g.entries -= f.entries
	delete(g.folders, name)
	g.t.degraded.clearPart(name)
	// The folder above must not drop it again.
	if in := g.folders[folderOf(name)]; in != nil {
		delete(in.inside, path.Base(name))
	}
	// The folder can be watched under another path by now.
	if g.names[f.id] == name {
		delete(g.names, f.id)
	}
	// An error means that the folder is gone or was never watched; either way it is not watched
	// now.
	_ = g.t.watcher.Remove(g.t.root.abs(name))
}

// watchTree watches a folder that enter admits, and all folders below it. If tell is set, it
// reports everything in them. Each folder is watched before it is listed, so that files created
// in between are found.
func (g *watchSet) watchTree(name string, tell bool) {
	if g.t.closing() {
		return
	}
	info, err := g.t.root.stat(name)
	if err != nil || !info.IsDir() || name != "" && !g.enter(name) {
		return // it is gone, or in a folder without read permission
	}
	f := &folder{id: identityOf(info), inside: map[string]bool{}}
	// The folder is watched under its real spelling.
	if g.misspelled(name, f) {
		return
	}
	// The folder is added even if it cannot be watched, so that drop finds and removes its
	// reason.
	reason := g.claim(name, f)
	g.add(name, f)
	if reason == "" {
		reason = g.watch(name, f)
	}
	if reason == "" {
		reason = g.list(name, tell)
	}
	if reason != "" {
		g.fail(name, reason, tell)
	}
	if tell {
		g.t.changes.add(name)
	}
}

// fail records why a folder is not watched. If tell is set, it reports that anything can have
// changed, because changes can have been missed already.
func (g *watchSet) fail(name, reason string, tell bool) {
	g.t.degraded.setPartReason(name, reason)
	if tell {
		g.t.changes.addEverything()
	}
}

// claim drops the path under which a folder was known before, so that the folder can be watched
// under a new path. The system has one watch for a folder, and the watcher one path for it: it
// would ignore the new path, and end the watch with the old one. If both paths exist, it returns
// a reason not to watch the new one.
func (g *watchSet) claim(name string, f *folder) (reason string) {
	other, known := g.names[f.id]
	if !known || other == name || f.id == (identity{}) {
		return ""
	}
	info, err := g.t.root.stat(other)
	if err == nil && identityOf(info) == f.id && g.listed(other) {
		return reasonTwoNames
	}
	g.drop(other)
	g.t.changes.add(other)
	return ""
}

// misspelled reports whether a path leads to a watched folder, but is not its spelling: on a file
// system that ignores case, a former spelling still finds the folder.
func (g *watchSet) misspelled(name string, f *folder) bool {
	other, known := g.names[f.id]
	return known && other != name && !g.listed(name)
}

// listed reports whether a folder contains the last element of a path in this exact spelling.
func (g *watchSet) listed(name string) bool {
	entries, err := os.ReadDir(g.t.root.abs(folderOf(name)))
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() == path.Base(name)
	})
}

// add adds a folder to the set.
func (g *watchSet) add(name string, f *folder) {
	g.folders[name] = f
	// folderOf("") is "": the root is not in itself.
	if in := g.folders[folderOf(name)]; in != nil && name != "" {
		in.inside[path.Base(name)] = true
	}
}

// watch adds a system watch for a folder. If the path leads to a different folder afterwards, it
// drops the folder: there is an event for the change, which will be processed later.
func (g *watchSet) watch(name string, f *folder) (reason string) {
	where := g.t.root.abs(name)
	if reason := g.count(where, f); reason != "" {
		return reason
	}
	g.checkDevice(where, f.id.device)
	err := g.t.watcher.Add(where)
	if err != nil && !isGone(err) {
		return partReason(err)
	}
	// The path can have changed between the first stat and the watch.
	info, again := g.t.root.stat(name)
	if err != nil || again != nil || !info.IsDir() || identityOf(info) != f.id {
		g.drop(name)
		return ""
	}
	g.names[f.id] = name
	return ""
}

// checkDevice checks whether changes on a device can be watched, when the first folder on it is
// watched.
func (g *watchSet) checkDevice(where string, device uint64) {
	if g.devices[device] {
		return
	}
	g.devices[device] = true
	if remote(where) {
		g.t.degraded.setReason(reasonRemote)
	}
}

// list watches the folders in a watched folder and, if tell is set, reports its entries.
//
// It returns the reason if the folder cannot be read completely.
func (g *watchSet) list(name string, tell bool) (reason string) {
	if g.folders[name] == nil {
		return "" // dropped by watch
	}
	entries, err := os.ReadDir(g.t.root.abs(name))
	for _, e := range entries {
		if tell {
			g.t.changes.add(path.Join(name, e.Name()))
		}
		if e.IsDir() && g.rules.below {
			g.watchTree(path.Join(name, e.Name()), tell)
		}
	}
	if err != nil && !isGone(err) {
		return partReason(err)
	}
	return ""
}

// count counts the entries of a folder, if they are limited. It runs before the watch, which
// needs a descriptor for each entry.
//
// It returns a reason if the folder would exceed the limit.
func (g *watchSet) count(where string, f *folder) (reason string) {
	if g.rules.entries == 0 {
		return ""
	}
	entries, err := os.ReadDir(where)
	if err != nil {
		return "" // the watch will fail too, with a reason
	}
	if g.entries+len(entries) > g.rules.entries {
		return reasonTooLarge
	}
	f.entries = len(entries)
	g.entries += f.entries
	return ""
}

// countEntry counts a new entry of a folder, and reports whether there can now be too many. It does
// not count removals; if the limit seems to be exceeded, the caller watches the tree again, which
// counts all entries.
func (g *watchSet) countEntry(name string) bool {
	f := g.folders[name]
	if f == nil || g.rules.entries == 0 || g.t.degraded.has(name) {
		return false
	}
	f.entries++
	g.entries++
	return g.entries > g.rules.entries
}
