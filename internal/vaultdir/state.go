package vaultdir

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A states is the directory that contains the states of all folders, each in a directory named by
// its id.
type states string

// dir returns the directory of the state of a folder.
func (s states) dir(id string) string { return filepath.Join(string(s), id) }

// The files of a state that belong to this package.
const (
	recordFile = "folder.json"
	lockFile   = "lock"
)

// recordFormat is the format of the records that this release writes.
const recordFormat = 1

// A record identifies the folder of a state. It is stored as JSON in folder.json, beside the
// database of the state.
type record struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	Path   string `json:"path"`
	Node   string `json:"node"` // see nodeOf
	Vault  string `json:"vault"`
}

// read returns the record of a state, or nil if there is none. A record of a newer release is
// INDEX_INCOMPATIBLE, a damaged one FILE_ERROR.
func (s states) read(id string) (*record, error) {
	data, err := os.ReadFile(filepath.Join(s.dir(id), recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.FileError, "the state of the folder cannot be read: %v",
			system(err)).Because(err)
	}
	var r record
	err = json.Unmarshal(data, &r)
	switch {
	case err == nil && r.Format > recordFormat:
		return nil, fault.New(fault.IndexIncompatible, "%s of the state %s is of a newer release",
			recordFile, id).Fix("run that release, or a newer one")
	case err != nil || r.ID != id || r.Path == "" || vault.CheckName(r.Vault) != nil:
		return nil, fault.New(fault.FileError, "%s of the state %s is damaged", recordFile, id).
			Fix("remove the file: it will be created again, and nothing is lost")
	}
	return &r, nil
}

// forFolder returns the record of the state whose path leads to t and that records the same directory of
// the disk, or nil. It skips the id except, and records that cannot be read. If there are several,
// it returns the one that was written last. It reads the records of all states, so it is used only
// for a folder without a valid id.
func (s states) forFolder(t *servedDir, except string) (*record, error) {
	entries, err := os.ReadDir(string(s))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.FileError, "the states of folders cannot be read: %v",
			system(err)).Because(err)
	}
	var found *record
	var since time.Time
	for _, e := range entries {
		if !isID(e.Name()) || e.Name() == except {
			continue
		}
		r, err := s.read(e.Name())
		if err != nil || r == nil || r.Node != t.node() || !t.is(r.Path) {
			continue // an unreadable record must not affect other folders
		}
		if at := s.written(r.ID); found == nil || at.After(since) {
			found, since = r, at
		}
	}
	return found, nil
}

// isID reports whether a name has the form of an id.
func isID(name string) bool {
	return len(name) == idLength && strings.Trim(name, idDigits) == ""
}

// written returns when a record was written; the zero time if that is unknown.
func (s states) written(id string) time.Time {
	info, err := os.Stat(filepath.Join(s.dir(id), recordFile))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// write replaces the record of a state, atomically and durably. The caller has the lock of the
// state, so the name of the temporary file need not be unique. The error is FILE_ERROR if the
// record cannot be written.
func (s states) write(r record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	dir, err := os.OpenRoot(s.dir(r.ID))
	if err != nil {
		return fmt.Errorf("open the state of the folder: %w", err)
	}
	defer dir.Close()
	const staged = recordFile + ".new"
	err = writeSynced(dir, staged, append(data, '\n'))
	if err == nil {
		err = dir.Rename(staged, recordFile)
	}
	if err == nil {
		err = syncRoot(dir)
	}
	if err != nil {
		return fault.New(fault.FileError, "the state of the folder cannot be written: %v",
			system(err)).Because(err)
	}
	return nil
}

// writeSynced writes a file and syncs it to the disk.
func writeSynced(dir *os.Root, name string, data []byte) error {
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// make creates the directory of a state if needed, and opens its lock file. The caller closes the
// file.
func (s states) make(id string) (*os.File, error) {
	err := fileblob.Make(s.dir(id))
	if err == nil {
		var file *os.File
		file, err = os.OpenFile(filepath.Join(s.dir(id), lockFile), os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil {
			return file, nil
		}
	}
	return nil, fault.New(fault.FileError, "the state directory of the folder cannot be made: %v",
		system(err)).Because(err)
}

// isLocked reports whether a process has the lock of a state. It takes the lock itself for a moment if
// no process has it. A state without a lock file is not taken.
func (s states) isLocked(id string) bool {
	file, err := os.Open(filepath.Join(s.dir(id), lockFile))
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(lock(file), errLocked)
}

// putMark writes the id of the folder, atomically and durably: to a temporary file, which is synced
// and then renamed. If replace is false and another process has written an id meanwhile, the error
// is fs.ErrExist.
func (t *servedDir) putMark(id string, replace bool) error {
	err := t.root.Mkdir(ownDir, 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %s: %w", ownDir, err)
	}
	if err := syncEntries(t.self); err != nil {
		return fmt.Errorf("sync the folder: %w", err)
	}
	own, err := t.own()
	if err != nil {
		return err
	}
	defer own.Close()
	name, err := stage(own, id+"\n")
	if err == nil {
		err = place(own, name, replace)
		_ = own.Remove(name) // after the rename it does not exist; otherwise it is useless
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", idPath, err)
	}
	return syncRoot(own)
}

// stagedName returns the name of a temporary file beside the id.
func stagedName(unique string) string { return idFile + "." + unique + ".new" }

// stage writes a temporary file and syncs it. It returns its name, which is unique. On an error it
// removes the file.
func stage(own *os.Root, text string) (name string, err error) {
	name = stagedName(rand.Text())
	file, err := own.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = own.Remove(name) // the caller needs the first error
		return "", err
	}
	return name, nil
}

// place renames a staged file to the id file. If replace is false, it fails with fs.ErrExist if
// there is one. On a file system without hard links, an id that another machine writes at the same
// moment may be replaced nevertheless.
func place(own *os.Root, name string, replace bool) error {
	if !replace {
		err := own.Link(name, idFile)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		_, err = own.Lstat(idFile)
		if err == nil {
			return fs.ErrExist
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return own.Rename(name, idFile)
}

// sweep removes temporary files of processes that were killed. The caller has the lock of the
// folder, so no other process is writing one. Errors are ignored, because the files do no harm.
func (t *servedDir) sweep() {
	own, err := t.own()
	if err != nil {
		return
	}
	defer own.Close()
	entries, err := fs.ReadDir(own.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if staged, err := path.Match(stagedName("*"), e.Name()); err == nil && staged {
			_ = own.Remove(e.Name()) // the next process tries again
		}
	}
}

// syncRoot makes the entries of a directory durable, such as a renamed file.
func syncRoot(dir *os.Root) error {
	self, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer self.Close()
	return syncEntries(self)
}
