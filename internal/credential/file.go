package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"

	"github.com/rookeryhq/rookery/internal/fault"
)

// The files of a Store.
const (
	tokensFile = "credentials.json"
	lockFile   = "credentials.lock" // locked by a process that changes a file
	usualFile  = "config.yaml"
)

// place is the directory of a Store in messages: the real path would reveal the name of the user.
const place = `${XDG_CONFIG_HOME:-$HOME/.config}/rookery`

// A record is the entry of one server in the file.
type record struct {
	In    Place  `json:"in"`
	Token string `json:"token,omitempty"` // empty: the token is in the keyring
}

// A records is the content of the file.
type records struct {
	Servers map[Origin]record `json:"servers"`
}

// read reads the file of tokens; without a file there are none. It returns an error if others can
// read the file or replace it, because then the tokens may not be secret, or not ours.
func (s Store) read() (map[Origin]record, error) {
	f, err := os.Open(filepath.Join(s.Dir, tokensFile))
	if errors.Is(err, fs.ErrNotExist) {
		return map[Origin]record{}, nil
	}
	if err != nil {
		return nil, unreadable(tokensFile, err)
	}
	defer func() { _ = f.Close() }() // only read, so errors of Close do not matter
	if err := s.closedToOthers(f); err != nil {
		return nil, err
	}
	all := records{}
	if err := json.NewDecoder(f).Decode(&all); err != nil {
		return nil, fault.New(fault.FileError, "%s in %s is damaged", tokensFile, place).
			Fix(`rm "%s/%s" and log in again`, place, tokensFile)
	}
	if all.Servers == nil {
		all.Servers = map[Origin]record{}
	}
	return all.Servers, nil
}

// closedToOthers returns an error if others can read the file of tokens or change its directory.
func (s Store) closedToOthers(f *os.File) error {
	if runtime.GOOS == "windows" {
		return nil // modes do not express access on Windows; user profiles are private
	}
	file, err := f.Stat()
	if err != nil {
		return unreadable(tokensFile, err)
	}
	// A user that can change the directory can replace the file.
	dir, err := os.Stat(s.Dir)
	if err != nil {
		return unreadable(tokensFile, err)
	}
	switch {
	case file.Mode().Perm()&0o077 != 0:
		return fault.New(fault.FileError, "%s can be read by others", tokensFile).
			Fix(`if they did not read it: chmod 600 "%s/%s"`, place, tokensFile).
			Fix("else log in with a new token, and revoke the old one")
	case dir.Mode().Perm()&0o022 != 0:
		return fault.New(fault.FileError, "the directory of %s can be changed by others", tokensFile).
			Fix(`chmod 700 "%s"`, place)
	}
	return nil
}

// write replaces the file of tokens.
func (s Store) write(all map[Origin]record) error {
	data, err := json.MarshalIndent(records{all}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the credentials: %w", err)
	}
	return s.replace(tokensFile, append(data, '\n'))
}

// replace replaces a file atomically and durably, with mode 0600.
func (s Store) replace(name string, data []byte) error {
	f, err := os.CreateTemp(s.Dir, "."+name+"-*")
	if err != nil {
		return unwritable(name, err)
	}
	// os.CreateTemp creates the file with mode 0600.
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.Dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is returned
		return unwritable(name, err)
	}
	return nil
}

// locked creates the directory, and calls do while no other process changes the files. It returns
// UNAVAILABLE if another process holds the lock for too long.
func (s Store) locked(ctx context.Context, do func() error) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return unwritable(tokensFile, err)
	}
	lock := flock.New(filepath.Join(s.Dir, lockFile), flock.SetPermissions(0o600))
	// The process that holds the lock may be waiting for a keyring, so this waits longer than
	// keyringTimeout.
	ctx, cancel := context.WithTimeout(ctx, 2*keyringTimeout)
	defer cancel()
	held, err := lock.TryLockContext(ctx, 10*time.Millisecond)
	switch {
	case ctx.Err() != nil:
		return fault.New(fault.Unavailable, "another process is changing the credentials").
			Fix("wait until it has ended").Because(ctx.Err())
	case err != nil || !held:
		return unwritable(lockFile, err)
	}
	return errors.Join(do(), lock.Close())
}

// unreadable returns the FILE_ERROR of a file that cannot be read.
func unreadable(name string, err error) error {
	return fault.New(fault.FileError, "%s in %s cannot be read", name, place).Because(err)
}

// unwritable returns the FILE_ERROR of a file that cannot be written.
func unwritable(name string, err error) error {
	return fault.New(fault.FileError, "%s in %s cannot be written", name, place).
		Fix("name another directory: XDG_CONFIG_HOME=DIR").Because(err)
}
