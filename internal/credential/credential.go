// Package credential keeps what a person logged in with: a token for each server, in the keyring of the
// machine or in a file that only this person can read, and the server that commands go to (CONTRACT §7).
//
// In its directory credentials.json says which servers there are and where the token of each is, so that
// no keyring is asked for one that it cannot have; config.yaml names the usual server. Processes that
// change them at the same time wait for one another, and a file is replaced whole.
package credential

import (
	"context"
	"maps"
	"slices"

	"rookery/internal/fault"
)

// A Place is where a token is kept.
type Place string

// The places.
const (
	Keyring Place = "keyring" // that of the machine
	File    Place = "file"    // credentials.json, with mode 0600
)

// String is the place as messages name it.
func (p Place) String() string {
	if p == File {
		return tokensFile
	}
	return "the keyring"
}

// A Store is the credentials in a directory. It is safe for concurrent use, also by several processes.
// Its errors are faults; none holds a token or an absolute path.
type Store struct {
	Dir       string // of the two files; made with mode 0700 once there is something to write
	NoKeyring bool   // tokens go into the file, and no keyring is asked for one
}

// Put keeps the token of a server, in place of any other, and answers where: in the keyring or, where
// none answers or it takes no such token, in the file.
func (s Store) Put(ctx context.Context, o Origin, token string) (in Place, err error) {
	err = s.locked(ctx, func() error {
		all, err := s.read()
		if err != nil {
			return err
		}
		before := all[o].In
		in, all[o] = File, record{In: File, Token: token}
		if !s.NoKeyring && setInKeyring(ctx, o, token) == nil {
			in, all[o] = Keyring, record{In: Keyring}
		}
		err = s.write(all)
		if err != nil && in == Keyring || err == nil && in == File && before == Keyring {
			_ = removeFromKeyring(ctx, o) // what is left there is never asked for
		}
		return err
	})
	return in, err
}

// Token returns the token that is kept for a server, and where; both are empty if there is none. No other
// server's is looked at.
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

// Servers are those that a token is kept for, in order.
func (s Store) Servers() ([]Origin, error) {
	all, err := s.read()
	return slices.Sorted(maps.Keys(all)), err
}

// Remove forgets the token of a server, and reports whether there was one. Where the keyring keeps it
// from being removed, that is the error, and nothing is forgotten.
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

func (s Store) removeInKeyring(ctx context.Context, o Origin) error {
	if s.NoKeyring {
		return closed(o)
	}
	if err := removeFromKeyring(ctx, o); err != nil {
		return closed(o).Because(err)
	}
	return nil
}

// closed is the fault of a keyring that does not give what is in it.
func closed(o Origin) *fault.Fault {
	return fault.New(fault.Unavailable, "the token for %s is in the keyring, which does not open", o).
		Fix("unlock the keyring, or give the token: ROOKERY_TOKEN").
		Fix("or log in again: rookery login --server %s --token -", o)
}
