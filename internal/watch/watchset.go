package watch

import (
	"os"
	"path"
	"slices"
)

// A watchSet is the folders that are watched. Only one goroutine uses it.
type watchSet struct {
	t       *Tree
	enter   func(string) bool
	rules   rules
	folders map[string]*folder
	names   map[identity]string // under which name a folder is watched
	devices map[uint64]bool     // those that were looked at
	entries int                 // in all watched folders, where that is limited
}

// A folder is one that is to be watched. It is not if it has a flaw.
type folder struct {
	id      identity
	inside  map[string]bool // the folders in it that are to be watched, by name
	entries int
}

func newGrove(t *Tree, enter func(string) bool, r rules) *watchSet {
	if !r.below {
		t.flaws.spoil(reasonRootOnly)
	}
	return &watchSet{
		t: t, enter: enter, rules: r, folders: map[string]*folder{},
		names: map[identity]string{}, devices: map[uint64]bool{},
	}
}

// renew makes the watches at a name right after something happened to it, and tells the name and
// all that lies under it now.
//
// A folder that was there is dropped even if it seems to be the same: the watcher knows it by the
// name that it had when it was added, under which it would go on reporting.
func (g *watchSet) renew(name string) {
	g.t.flaws.hold()
	defer g.t.release()
	defer g.t.news.add(name)
	g.drop(name)
	if g.rules.below && g.folders[folderOf(name)] != nil {
		g.watchTree(name, true) // or else the folder that it is in was changed, and has an event, too
	}
}

// plantRoot watches the tree, and tells nothing. It may be that the root was lost just now.
func (g *watchSet) plantRoot() {
	g.watchTree("", false)
	if !g.planted() && !g.t.closing() {
		g.t.flaws.spoil(reasonMoved)
	}
}

// planted tells whether the root is watched, or is to be.
func (g *watchSet) planted() bool { return g.folders[""] != nil }

// drop ends the watches at and under a name.
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
	g.t.flaws.mend(name)
	if in := g.folders[folderOf(name)]; in != nil {
		delete(in.inside, path.Base(name))
	}
	if g.names[f.id] == name {
		delete(g.names, f.id)
	}
	// It fails when the folder is gone, or was never watched: either way it is not watched now.
	_ = g.t.watcher.Remove(g.t.root.abs(name))
}

// watchTree watches a folder and all in it, if there is one that is to be watched, and tells what lies
// in it. Each is watched first and listed then, so that what is made in between is found.
func (g *watchSet) watchTree(name string, tell bool) {
	if g.t.closing() {
		return
	}
	info, err := g.t.root.stat(name)
	if err != nil || !info.IsDir() || name != "" && !g.enter(name) {
		return // what cannot be looked at is gone, or in a folder that may not be read
	}
	f := &folder{id: identityOf(info), inside: map[string]bool{}}
	if g.misspelled(name, f) {
		return
	}
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
		g.t.news.add(name)
	}
}

// fail says why a folder is not watched. Changes in it may have been missed already.
func (g *watchSet) fail(name, reason string, tell bool) {
	g.t.flaws.spoilPart(name, reason)
	if tell {
		g.t.news.addEverything()
	}
}

// claim gives a name to a folder that was known by another one. The system has one watch for a
// folder, however it is called, and the watcher one name for it: it would ignore the new name, and
// drop the watch with the old one.
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
	g.t.news.add(other)
	return ""
}

// misspelled tells that a name leads to a folder that is watched, but is not how it is spelled:
// where names fold case, a former spelling still finds it.
func (g *watchSet) misspelled(name string, f *folder) bool {
	other, known := g.names[f.id]
	return known && other != name && !g.listed(name)
}

// listed tells whether a name stands in its folder in this very spelling.
func (g *watchSet) listed(name string) bool {
	entries, err := os.ReadDir(g.t.root.abs(folderOf(name)))
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() == path.Base(name)
	})
}

// add records a folder.
func (g *watchSet) add(name string, f *folder) {
	g.folders[name] = f
	if in := g.folders[folderOf(name)]; in != nil && name != "" {
		in.inside[path.Base(name)] = true
	}
}

// watch asks the system for a watch. A folder that is another one afterwards than it was before is
// given up: it was changed meanwhile, and the event that says so is on its way.
func (g *watchSet) watch(name string, f *folder) (reason string) {
	where := g.t.root.abs(name)
	if reason := g.count(where, f); reason != "" {
		return reason
	}
	g.lookAtDevice(where, f.id.device)
	err := g.t.watcher.Add(where)
	if err != nil && !gone(err) {
		return partReason(err)
	}
	info, again := g.t.root.stat(name)
	if err != nil || again != nil || !info.IsDir() || identityOf(info) != f.id {
		g.drop(name)
		return ""
	}
	g.names[f.id] = name
	return ""
}

// lookAtDevice tells of a file system that is first seen whether it can be watched.
func (g *watchSet) lookAtDevice(where string, device uint64) {
	if g.devices[device] {
		return
	}
	g.devices[device] = true
	if remote(where) {
		g.t.flaws.spoil(reasonRemote)
	}
}

// list looks into a folder that is watched.
func (g *watchSet) list(name string, tell bool) (reason string) {
	if g.folders[name] == nil {
		return "" // given up
	}
	entries, err := os.ReadDir(g.t.root.abs(name))
	for _, e := range entries {
		if tell {
			g.t.news.add(path.Join(name, e.Name()))
		}
		if e.IsDir() && g.rules.below {
			g.watchTree(path.Join(name, e.Name()), tell)
		}
	}
	if err != nil && !gone(err) {
		return partReason(err)
	}
	return ""
}

// count adds up the entries of a folder where they are limited, before each takes a descriptor.
func (g *watchSet) count(where string, f *folder) (reason string) {
	if g.rules.entries == 0 {
		return ""
	}
	entries, err := os.ReadDir(where)
	if err != nil {
		return "" // the watch will fail, too, and tell why
	}
	if g.entries+len(entries) > g.rules.entries {
		return reasonGreat
	}
	f.entries = len(entries)
	g.entries += f.entries
	return ""
}

// crowded counts an entry that was made in a folder, and tells whether there may be too many now.
// Removals are not counted: who finds too many counts anew.
func (g *watchSet) crowded(name string) bool {
	f := g.folders[name]
	if f == nil || g.rules.entries == 0 || g.t.flaws.has(name) {
		return false
	}
	f.entries++
	g.entries++
	return g.entries > g.rules.entries
}
