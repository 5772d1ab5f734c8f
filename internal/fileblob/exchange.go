package fileblob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/rookeryhq/rookery/internal/blob"
)

// Exchange implements blob.Exchanger. The new file has the permissions of the old one. The
// displaced file is kept hidden for a minute; if an editor has written to it by then, Displaced and
// Due yield it. A nil want creates the file.
//
// The new content is visible when Exchange returns, and durable after a Sync of the key.
func (b *Bucket) Exchange(ctx context.Context, key string, data, want []byte) error {
	if err := b.beginWrite(ctx, key); err != nil {
		return err
	}
	b.examineSome()
	err := b.withMove(func() error { return b.exchangeFile(key, data, want) })
	if err != nil {
		return fmt.Errorf("exchange %s: %w", key, asFound(err))
	}
	return nil
}

// exchangeFile makes one attempt of an exchange. The file is staged before the key is locked, so
// that other calls do not wait for the write.
func (b *Bucket) exchangeFile(key string, data, want []byte) error {
	s, err := b.stage(false, data)
	if err != nil {
		return err
	}
	defer s.drop()
	defer b.lock(key)()
	if want == nil {
		return b.withName(key, walk{make: true}, func(to nameInDir) error { return createAt(s, to) })
	}
	return b.withName(key, walk{}, func(to nameInDir) error { return b.exchange(key, to, s, tagOf(want)) })
}

// createAt moves a staged file to a spot. If there is something, the error is a *Found or
// blob.ErrForeign; if the folder of the spot is gone, errMoved. Never replaces a file.
func createAt(s *stagedFile, to nameInDir) error {
	for {
		err := s.create(to)
		if errors.Is(err, fs.ErrNotExist) {
			return errMoved
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		// The file that was in the way may be gone by now. Then try again.
		if _, err := to.expect(""); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// exchange replaces the file whose tag is want by a staged file. Anything else at the spot is left
// unchanged, and the error is a *Found, fs.ErrNotExist or blob.ErrForeign. The caller must hold the
// lock of the key.
//
// It compares the file first, which finds most conflicts without moving anything. An editor may
// still save between this comparison and the exchange; then the displaced file is not the expected
// one, and is put back.
func (b *Bucket) exchange(key string, to nameInDir, s *stagedFile, want blob.Tag) error {
	info, err := to.expect(want)
	if err != nil {
		return err
	}
	if err := s.copyMode(info); err != nil {
		return err
	}
	if b.store.Load().swaps {
		return b.exchangeBySwap(key, to, s, want)
	}
	return b.exchangeByMove(key, to, s, want)
}

// expect returns nil if the file at the spot has the tag want. Otherwise the error describes what
// is there: a *Found, fs.ErrNotExist or blob.ErrForeign. The file is in memory only for a *Found.
func (s nameInDir) expect(want blob.Tag) (fs.FileInfo, error) {
	if tag, info, err := s.hash(); err == nil && tag == want {
		return info, nil
	}
	c, err := s.read(0, -1)
	if err != nil {
		return nil, err
	}
	if c.tag != want {
		return nil, &blob.Found{Data: c.data}
	}
	return c.info, nil
}

// exchangeBySwap exchanges two files atomically. There is a file at the key at all times, and each
// file has a name that records where it came from, so that it can be handled after a crash:
//
//  1. The new file is moved from tmp to the place of the displaced one, at stage swapped.
//  2. The two files are swapped. The displaced one now has that name.
//  3. The displaced file is compared with the expected text. If it differs, restore puts it back.
//
// After a crash, the name of the file says what it is. Before step 2 it is the new file, which its
// inode shows, and can be removed. After step 2 it is the displaced file: with the expected text it
// is removed when its time is over, and with any other text it is a loss, because it was not put
// back.
func (b *Bucket) exchangeBySwap(key string, to nameInDir, s *stagedFile, want blob.Tag) error {
	n := displacedPath{stage: swapped, key: key, want: want, mark: inode(s.info)}
	a, err := b.newDisplaced(n, walk{})
	if err != nil {
		return err
	}
	defer a.close()
	if err := s.recordMove(move(s.nameInDir, a.nameInDir)); err != nil {
		return err
	}
	if err := swap(a.nameInDir, to); err != nil {
		return rollbackError(err, a.remove())
	}
	if _, err := a.expect(want); err != nil {
		return rollbackError(err, a.restore(to, s.tag))
	}
	return nil
}

// rollbackError returns the error why, for which an exchange was taken back, or an error if taking it back
// failed. In the latter case the state of the key is unknown to the caller, and the displaced file
// is found by Displaced.
func rollbackError(why, undo error) error {
	if undo != nil {
		//nolint:errorlint // not wrapped: a *Found in it would say that nothing changed
		return fmt.Errorf("take back an exchange: %v", undo)
	}
	return why
}

// restore puts back a file that an exchange should not have displaced. If that displaces another
// file than the one placed there last, an editor has saved in between, and that file is put back in
// turn. In the end the latest save is in place, and each earlier one is in Displaced.
//
// The stage restoring, with the digest of the file that must leave the key, is recorded before the
// first swap. So a crash between two swaps leaves either that file, which can be removed, or an
// editor's text, which is a loss.
func (a *displacedFile) restore(to nameInDir, placed blob.Tag) error {
	if err := a.rename(restoring, string(shortTag(placed))); err != nil {
		return err
	}
	for {
		held := a.tag()
		err := swap(a.nameInDir, to)
		switch {
		case errors.Is(err, fs.ErrNotExist): // the placed file was deleted
			if err := moveNew(a.nameInDir, to); !errors.Is(err, fs.ErrExist) {
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

// exchangeByMove is exchange for file systems that cannot swap files. For a moment there is no file
// at the key:
//
//  1. The old file is moved aside, at stage moved, and compared with the expected text.
//  2. The new file is moved to the key. If there is a file by then, the old one is put back, if
//     possible.
//  3. When that is durable, the old file gets the stage settled.
//
// After a crash before the last step, Open puts the old file back if there is none at the key.
func (b *Bucket) exchangeByMove(key string, to nameInDir, s *stagedFile, want blob.Tag) error {
	// The moved file must be found after a power loss, because it may not have been replaced yet.
	a, err := b.moveAside(displacedPath{key: key, want: want}, to, walk{keep: true})
	if err != nil {
		return err
	}
	defer a.close()
	if err := createAt(s, to); err != nil {
		return rollbackError(err, a.putBack(to))
	}
	// Until the new file is durable, the old one must be restored if the new one is missing.
	if err := to.folder.sync(); err != nil {
		return err
	}
	return a.rename(settled, "")
}

// Remove implements blob.Exchanger. The file is kept hidden for a minute, as by Exchange. Folders
// that become empty are removed too. A nil want expects that there is no file, and changes nothing.
// The removal is durable after a Sync of the key.
func (b *Bucket) Remove(ctx context.Context, key string, want []byte) error {
	if err := b.beginWrite(ctx, key); err != nil {
		return err
	}
	b.examineSome()
	defer b.lock(key)()
	err := b.withMove(func() error { return b.removeFile(key, want) })
	if err != nil {
		return fmt.Errorf("remove %s: %w", key, err)
	}
	return nil
}

// removeFile makes one attempt of a removal.
func (b *Bucket) removeFile(key string, want []byte) error {
	if want == nil {
		return b.expectNothing(key)
	}
	err := b.withName(key, walk{}, func(from nameInDir) error {
		if _, err := from.expect(tagOf(want)); err != nil {
			return err
		}
		a, err := b.moveAside(displacedPath{key: key, want: tagOf(want)}, from, walk{})
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

// expectNothing returns a *Found if there is something at the key, and nil if there is not.
func (b *Bucket) expectNothing(key string) error {
	err := b.withName(key, walk{}, func(from nameInDir) error {
		_, err := from.expect("")
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return asFound(err)
}

// moveAside moves the file whose tag is n.want aside, at stage moved. If it moved another file, it
// puts that back and returns an error. The caller must close the aside.
func (b *Bucket) moveAside(n displacedPath, from nameInDir, w walk) (*displacedFile, error) {
	want := n.want
	n.stage = moved
	a, err := b.newDisplaced(n, w)
	if err != nil {
		return nil, err
	}
	err = move(from, a.nameInDir)
	if err == nil {
		if _, err = a.expect(want); err != nil {
			err = rollbackError(err, a.putBack(from))
		}
	}
	if err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// putBack puts back a file that was moved aside. If there is a newer one in its place, the file
// stays aside, settled, where the examination finds its text if it is a loss. After it, the folder
// of asides must be synced before the key is changed again; see settled in Bucket.
func (a *displacedFile) putBack(to nameInDir) error {
	err := moveNew(a.nameInDir, to)
	if errors.Is(err, fs.ErrExist) {
		return a.rename(settled, "")
	}
	if err == nil {
		a.bucket.settled.add(path.Dir(a.path()))
	}
	return err
}

// Sync implements blob.Exchanger. Each folder is synced once, after the files in it. A key without
// a file is not an error: its folder, or the nearest existing parent, is synced, so that a removal
// becomes durable.
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

// syncFile makes the contents of a file durable. If there is no plain file, it does nothing.
func (b *Bucket) syncFile(key string) error {
	err := b.withNameToRead(key, walk{}, nameInDir.sync)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, blob.ErrForeign) {
		return nil
	}
	return err
}

// asFound converts an error to a *Found if it reports that a key has other contents, no file, or
// something that is not a plain file. Other errors are returned unchanged.
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
