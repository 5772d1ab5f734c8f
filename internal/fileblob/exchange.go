package fileblob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"rookery/internal/blob"
)

// Exchange is blob.Exchanger's. The new file has the permissions of the old one. What was displaced
// stays out of sight for a minute; if an editor has written into it by then, Displaced and Due tell of
// it.
func (b *Bucket) Exchange(ctx context.Context, key string, data, want []byte) error {
	if err := b.beginWrite(ctx, key); err != nil {
		return err
	}
	b.tidy()
	err := b.moving(func() error { return b.exchangeFile(key, data, want) })
	if err != nil {
		return fmt.Errorf("exchange %s: %w", key, asFound(err))
	}
	return nil
}

func (b *Bucket) exchangeFile(key string, data, want []byte) error {
	s, err := b.stage(data, false)
	if err != nil {
		return err
	}
	defer s.drop()
	defer b.lock(key)()
	if want == nil {
		return b.at(key, walk{make: true}, func(to spot) error { return createAt(s, to) })
	}
	return b.at(key, walk{}, func(to spot) error { return b.exchange(key, to, s, tagOf(want)) })
}

// createAt puts a staged file where nothing is; a *Found says what is there instead.
func createAt(s *staged, to spot) error {
	for {
		err := s.create(to)
		if errors.Is(err, fs.ErrNotExist) {
			return errMoved
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		// What was in the way may be gone when it is looked at: then nothing is.
		if _, err := to.expect(""); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// exchange puts a staged file in the place of one whose tag is want. What else is there is left: a
// *Found, fs.ErrNotExist or blob.ErrForeign. Who calls it holds the key.
func (b *Bucket) exchange(key string, to spot, s *staged, want blob.Tag) error {
	info, err := to.expect(want)
	if err != nil {
		return err
	}
	if err := s.like(info); err != nil {
		return err
	}
	if b.store.Load().swaps {
		return b.exchangeBySwap(key, to, s, want)
	}
	return b.exchangeByMove(key, to, s, want)
}

// expect reports as an error what else than the file of that tag there is.
func (s spot) expect(want blob.Tag) (fs.FileInfo, error) {
	c, err := s.read(0, -1)
	if err != nil {
		return nil, err
	}
	if c.tag != want {
		return nil, &blob.Found{Data: c.data}
	}
	return c.info, nil
}

// exchangeBySwap lays the new file aside under the name that the displaced one will have, so that
// whatever is displaced has, from the first moment, a name that tells where it came from.
func (b *Bucket) exchangeBySwap(key string, to spot, s *staged, want blob.Tag) error {
	n := asideName{stage: swapped, key: key, want: want, mark: inode(s.info)}
	a, err := b.newAside(n, walk{})
	if err != nil {
		return err
	}
	defer a.close()
	if err := s.moved(move(s.spot, a.spot)); err != nil {
		return err
	}
	if err := swap(a.spot, to); err != nil {
		return undone(err, a.remove())
	}
	if _, err := a.expect(want); err != nil {
		return undone(err, a.restore(to, s.tag))
	}
	return nil
}

// undone is why an exchange was taken back, unless that did not succeed.
func undone(why, undo error) error {
	if undo != nil {
		//nolint:errorlint // not wrapped: a *Found in it would say that nothing changed
		return fmt.Errorf("take back an exchange: %v", undo)
	}
	return why
}

// restore puts back what an exchange should not have displaced. If something else than was placed
// there last comes out for it, then an editor has saved in between, and its text is put back in
// turn: the latest save stays in the place, each earlier one in Displaced.
func (a *aside) restore(to spot, placed blob.Tag) error {
	if err := a.rename(restoring, string(short(placed))); err != nil {
		return err
	}
	for {
		held := a.tag()
		err := swap(a.spot, to)
		switch {
		case errors.Is(err, fs.ErrNotExist): // somebody deleted what was placed there
			if err := moveNew(a.spot, to); !errors.Is(err, fs.ErrExist) {
				return err
			}
		case err != nil:
			return err
		case a.tag() == placed:
			return nil
		default:
			placed = held
		}
	}
}

// exchangeByMove is for file systems that cannot swap: for a moment there is no file at the key.
func (b *Bucket) exchangeByMove(key string, to spot, s *staged, want blob.Tag) error {
	// The file must be found aside after a loss of power: it may not be replaced yet.
	a, err := b.moveAside(asideName{key: key, want: want}, to, walk{keep: true})
	if err != nil {
		return err
	}
	defer a.close()
	if err := createAt(s, to); err != nil {
		return undone(err, a.putBack(to))
	}
	// Until the new file is durable, the old one must go back if it is missing.
	if err := to.folder.sync(); err != nil {
		return err
	}
	return a.rename(settled, "")
}

// Remove is blob.Exchanger's. The file stays out of sight for a minute, as with Exchange.
func (b *Bucket) Remove(ctx context.Context, key string, want []byte) error {
	if err := b.beginWrite(ctx, key); err != nil {
		return err
	}
	b.tidy()
	defer b.lock(key)()
	err := b.moving(func() error { return b.removeFile(key, want) })
	if err != nil {
		return fmt.Errorf("remove %s: %w", key, err)
	}
	return nil
}

func (b *Bucket) removeFile(key string, want []byte) error {
	if want == nil {
		return b.expectNothing(key)
	}
	err := b.at(key, walk{}, func(from spot) error {
		if _, err := from.expect(tagOf(want)); err != nil {
			return err
		}
		a, err := b.moveAside(asideName{key: key, want: tagOf(want)}, from, walk{})
		if err != nil {
			return err
		}
		defer a.close()
		return a.rename(settled, "")
	})
	if err != nil {
		return asFound(err)
	}
	return b.prune(path.Dir(key))
}

// expectNothing is a *Found if there is something at the key.
func (b *Bucket) expectNothing(key string) error {
	err := b.at(key, walk{}, func(from spot) error {
		_, err := from.expect("")
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return asFound(err)
}

// moveAside takes a file whose tag is n.want from its place. What else comes is put back.
func (b *Bucket) moveAside(n asideName, from spot, w walk) (*aside, error) {
	want := n.want
	n.stage = moved
	a, err := b.newAside(n, w)
	if err != nil {
		return nil, err
	}
	err = move(from, a.spot)
	if err == nil {
		if _, err = a.expect(want); err != nil {
			err = undone(err, a.putBack(from))
		}
	}
	if err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// putBack puts back what was moved. If there is something newer in its place, it stays aside.
func (a *aside) putBack(to spot) error {
	err := moveNew(a.spot, to)
	if errors.Is(err, fs.ErrExist) {
		return a.rename(settled, "")
	}
	if err == nil {
		a.bucket.settled.add(path.Dir(a.path()))
	}
	return err
}

// Sync is blob.Exchanger's. Each folder is synced once.
func (b *Bucket) Sync(ctx context.Context, keys ...string) error {
	if b.readOnly {
		return ErrReadOnly
	}
	folders := map[string]bool{}
	for _, key := range keys {
		if err := begin(ctx, key); err != nil {
			return err
		}
		if err := b.syncFile(key); err != nil {
			return fmt.Errorf("sync %s: %w", key, err)
		}
		folders[path.Dir(key)] = true
	}
	return b.syncFolders(folders)
}

func (b *Bucket) syncFile(key string) error {
	err := b.in(key, walk{}, spot.sync)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, blob.ErrForeign) {
		return nil
	}
	return err
}

// asFound turns what says that something else is there into a *Found.
func asFound(err error) error {
	var found *blob.Found
	switch {
	case errors.As(err, &found):
		return found
	case errors.Is(err, fs.ErrNotExist):
		return &blob.Found{Absent: true}
	case errors.Is(err, blob.ErrForeign):
		return &blob.Found{Foreign: true}
	}
	return err
}
