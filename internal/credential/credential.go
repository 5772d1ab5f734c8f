// Package credential stores the logins of a person: a token for each server, in the keyring of the
// machine or in a file that only this person can read, and the default server of commands (CONTRACT
// §7).
//
// In the directory of a Store, credentials.json lists the servers and where the token of each is,
// so that a keyring is only asked for tokens that it contains; config.yaml names the default
// server. Processes that change the files at the same time wait for each other, and a file is
// always replaced as a whole.
package credential

import (
	"context"
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A Place is where a token is stored.
type Place string

// The places.
const (
	Keyring Place = "keyring" // the keyring of the machine
	File    Place = "file"    // credentials.json, with mode 0600
)

// String returns the name of the place in messages.
func (p Place) String() string {
	if p == File {
		return tokensFile
	}
	return "the keyring"
}

// A Store contains the credentials in a directory. It is safe for concurrent use, also by several
// processes. Its errors are faults; they contain neither tokens nor absolute paths.
type Store struct {
	Dir       string // of the files; created with mode 0700 by the first write
	NoKeyring bool   // store tokens in the file, and never use the keyring
}

// Put stores the token of a server, replacing any other, and returns where: in the keyring or, if
// that is not available or refuses the token, in the file.
func (s Store) Put(ctx context.Context, o Origin, token string) (in Place, err error) {
	err = s.locked(ctx, func() error {
		all, err := s.read()
		if err != nil {
			return err
		}
		// The keyring is written before the file, so that the file never refers to a token that is
		// not there.
		before := all[o].In
		in, all[o] = File, record{In: File, Token: token}
		if !s.NoKeyring && setInKeyring(ctx, o, token) == nil {
			in, all[o] = Keyring, record{In: Keyring}
		}
		err = s.write(all)
		if err != nil && in == Keyring || err == nil && in == File && before == Keyring {
			_ = removeFromKeyring(ctx, o) // what remains in the keyring is never read
		}
		return err
	})
	return in, err
}

// Token returns the stored token of a server, and where it is. Both are empty if there is none. If
// the keyring does not return the token, the error is UNAVAILABLE and in is Keyring.
func (s Store) Token(ctx context.Context, o Origin) (token string, in Place, err error) {
	all, err := s.read()
	if err != nil || all[o].In != Keyring {
		return all[o].Token, all[o].In, err
	}
	if s.NoKeyring {
		return "", Keyring, closed(o)
	}
	token, err = fromKeyring(ctx, o)
	if err != nil {
		return "", Keyring, closed(o).Because(err)
	}
	return token, Keyring, nil
}

// Servers returns the servers with a stored token, sorted.
func (s Store) Servers() ([]Origin, error) {
	all, err := s.read()
	return slices.Sorted(maps.Keys(all)), err
}

// Remove deletes the token of a server, and reports whether there was one. If the keyring fails to
// delete it, Remove returns an error and deletes nothing.
func (s Store) Remove(ctx context.Context, o Origin) (was bool, err error) {
	err = s.locked(ctx, func() error {
		all, err := s.read()
		if err != nil {
			return err
		}
		kept, ok := all[o]
		if was = ok; !ok {
			return nil
		}
		// The keyring comes first: if it fails, the file still says that there is a token.
		if kept.In == Keyring {
			if err := s.removeInKeyring(ctx, o); err != nil {
				return err
			}
		}
		delete(all, o)
		return s.write(all)
	})
	return was, err
}

// removeInKeyring deletes the token of a server from the keyring.
func (s Store) removeInKeyring(ctx context.Context, o Origin) error {
	if s.NoKeyring {
		return closed(o)
	}
	if err := removeFromKeyring(ctx, o); err != nil {
		return closed(o).Because(err)
	}
	return nil
}

// closed returns the UNAVAILABLE error of a keyring that does not return or delete a token.
func closed(o Origin) *fault.Fault {
	return fault.New(fault.Unavailable, "the token for %s is in the keyring, which does not open", o).
		Fix("unlock the keyring, or give the token: ROOKERY_TOKEN").
		Fix("or log in again: rookery login --server %s --token -", o)
}
