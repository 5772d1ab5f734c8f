// Package vaultdir connects a person's folder of notes with the state that is stored for it
// elsewhere, and claims both for one process (reference/log.md §5).
//
// The database of a served folder is in the user's state directory, because a cloud drive may
// synchronize the folder itself. This package writes only `.rookery/id` into the folder: 128 random
// bits, which name the state. Beside the database, a record names the folder of the state: its
// path, and the directory of the disk that it was when it was last served. A folder with an id is
// one of these:
//
//   - Known: the path in the record leads to it.
//   - Moved: the path in the record no longer leads to a folder with its id. A folder whose disk is
//     away for a while loses its state to another folder with its id, and counts as the copy when
//     it comes back. No note and no history is lost: each folder has all its notes, and one of the
//     states has the history.
//   - Copied: the path in the record leads to another folder with its id. This folder gets an id
//     and a state of its own, with a new history. The path decides, not the directory, because
//     devices may have other numbers after a restart.
//   - New: its id has no state on this machine. It was synchronized from another machine, or the
//     state was removed.
//
// A folder without an id is new, unless a record names its path and this directory of the disk.
// Then the id was lost, and is written again. The same is true of a folder that cannot be written,
// or that was only read so far; its id is only in the state until it can be written. It is also
// true of a copy that was given the id of its original again, for example by version control.
package vaultdir

import (
	"os"
	"path/filepath"
)

// A Folder is a folder of notes that this process has claimed.
type Folder struct {
	Path     string // absolute, without symbolic links
	State    string // directory of its state; Find leaves it empty if Open would create one
	Vault    string // name of its vault, which was chosen when its state was created
	ReadOnly bool   // the folder cannot be written
	Origin   Origin
	From     string // the path that the folder was moved or copied from; otherwise empty

	locks []*os.File
}

// An Origin says how a folder came to its path, as far as a person should know.
type Origin int

// The origins of a folder.
const (
	Known  Origin = iota // it is as it was the last time
	New                  // it has no state here yet
	Moved                // it was at another path, and is not there any more
	Copied               // the original is still at its path, and keeps its history
)

// String returns the name of the origin in lower case. It panics for a value that is not one of
// these.
func (o Origin) String() string {
	return [...]string{"known", "new", "moved", "copied"}[o]
}

// Open claims a folder for this process, until Close. home contains the states of all folders, one
// directory for each.
//
// If another process has the folder or its state, the error is an *InUse if that state is in home,
// and otherwise UNAVAILABLE. This works for processes of one machine, except on Windows.
//
// Open refuses a directory that cannot be a folder of notes: a file, a data directory or a part of
// one, a directory that contains home or the user's home directory, and one inside home.
func Open(dir, home string) (*Folder, error) { return open(dir, home, false) }

// OpenToRead is Open for a process that will change nothing: it writes nothing into the folder. If
// the folder has no id, or that of another folder, its id is only in the state until Open writes
// it, as for a folder that cannot be written.
func OpenToRead(dir, home string) (*Folder, error) { return open(dir, home, true) }

// open is Open, or OpenToRead if untouched is set.
func open(dir, home string, untouched bool) (*Folder, error) {
	t, err := openDir(dir, home)
	if err != nil {
		return nil, err
	}
	defer t.close()
	c := &claim{servedDir: t, noWrites: untouched}
	f, err := c.take()
	if err != nil {
		release(c.held)
		return nil, err
	}
	return f, nil
}

// Find returns the Folder that Open would return, without a claim, and changes nothing. Another
// process may have the folder. It does not check whether the folder can be written, so ReadOnly is
// false.
func Find(dir, home string) (*Folder, error) {
	t, err := openDir(dir, home)
	if err != nil {
		return nil, err
	}
	defer t.close()
	return t.look()
}

// look is Find for an open folder.
func (t *servedDir) look() (*Folder, error) {
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

// Close releases the claim, so that other processes can open the folder. It always returns nil, and
// may be called more than once.
func (f *Folder) Close() error {
	release(f.locks)
	f.locks = nil
	return nil
}

// release releases locks. A lock ends when its file is closed, even if closing reports an error.
func release(locks []*os.File) {
	for _, file := range locks {
		file.Close()
	}
}

// id returns the id of a folder that has a state.
func (f *Folder) id() string { return filepath.Base(f.State) }
