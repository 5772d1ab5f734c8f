// Package folder ties a person's folder of notes to the state that is kept of it elsewhere, and
// claims both for one process (reference/log.md §5).
//
// The database of a served folder lies in the user's state directory, for a cloud drive may
// synchronize the folder itself. Into the folder this package writes `.rookery/id` and nothing
// else: 128 random bits, which name the state. What folder a state is of stands beside the
// database: its path, and which directory of the disk it was when it was last served. So a folder
// with an id is one of these:
//
//   - Known: the path that its state names leads to it.
//   - Moved: at that path is no folder with its id any more. One whose disk is away for a while
//     loses its state to another with its id; when it comes back, it is the copy. Nothing is lost
//     by that: either folder has all its notes, and the history is in one of the states.
//   - Copied: at that path still is one. This one gets an id and a state of its own, and another
//     history begins. That the path counts and not the directory is so because devices have other
//     numbers after a restart.
//   - New: its id has no state on this machine. It was synchronized from another one, or the state
//     was removed.
//
// A folder without an id is new, unless a state names its path and this very directory: then the id
// was lost, and is written again. The same holds for a folder that nothing can be written to, or
// that was only read so far; its id stands in the state alone until it can be written. A copy that was given the id of its original
// again, as a version control may do it, also is what it was.
package folder

import (
	"os"
	"path/filepath"
)

// A Folder is a folder of notes that this process has claimed.
type Folder struct {
	Path     string // absolute, without links
	State    string // the directory of its state; Find leaves it empty where Open would make one
	Vault    string // the name of its vault: that which it had when its state was made
	ReadOnly bool   // nothing can be written to the folder
	Origin   Origin
	From     string // the path of the folder that it was moved or copied from; else empty

	locks []*os.File
}

// An Origin is what a person is to be told of how a folder came to its place.
type Origin int

// The origins of a folder.
const (
	Known  Origin = iota // it is as it was the last time
	New                  // nothing is kept of it here yet
	Moved                // it was at another path, where it is no more
	Copied               // the other one is still there, and keeps its history
)

// String is the word for it.
func (o Origin) String() string {
	return [...]string{"known", "new", "moved", "copied"}[o]
}

// Open claims a folder for this process, until it is closed. The states of all folders lie in home,
// one directory for each.
//
// While another process has the folder, or its state, the error is an *InUse where its state is one
// of home, and else UNAVAILABLE. That holds for processes of one machine on any system but Windows.
//
// What cannot be a folder of notes is refused: what is no directory, a data directory or a part of
// one, what home or the user's own home lies in, and what lies in home.
func Open(dir, home string) (*Folder, error) { return open(dir, home, false) }

// OpenToRead is Open for one who will change nothing: it writes nothing into the folder. The id of a folder that has
// none, or that of another, is in the state alone, as for a folder that cannot be written, until Open writes it.
func OpenToRead(dir, home string) (*Folder, error) { return open(dir, home, true) }

func open(dir, home string, untouched bool) (*Folder, error) {
	t, err := enter(dir, home)
	if err != nil {
		return nil, err
	}
	defer t.close()
	c := &claim{top: t, untouched: untouched}
	f, err := c.take()
	if err != nil {
		release(c.held)
		return nil, err
	}
	return f, nil
}

// Find says what Open would find, and changes nothing. It claims nothing either: the folder may be
// another process's. It does not try whether the folder can be written.
func Find(dir, home string) (*Folder, error) {
	t, err := enter(dir, home)
	if err != nil {
		return nil, err
	}
	defer t.close()
	return t.look()
}

// look is Find.
func (t *top) look() (*Folder, error) {
	v, err := t.decide()
	if err != nil {
		return nil, err
	}
	f := &Folder{Path: t.path, Vault: v.vault(), Origin: v.origin, From: v.from}
	if v.known != nil {
		f.State = t.states.dir(v.id)
	}
	return f, nil
}

// Close lets other processes have the folder.
func (f *Folder) Close() error {
	release(f.locks)
	f.locks = nil
	return nil
}

// release gives locks back. A lock ends with its file, whatever closing it says.
func release(locks []*os.File) {
	for _, file := range locks {
		file.Close()
	}
}

// id is the id of a folder that has a state.
func (f *Folder) id() string { return filepath.Base(f.State) }
