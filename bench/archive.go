package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An archive is the log of a vault on the engines of the server, in this process and without a folder
// of notes. Its clock stands where it is set, so that a year passes in seconds.
type archive struct {
	table  table.Table
	bucket *stopwatch
	texts  []corpus.File // the notes as they are written first

	clock atomic.Pointer[time.Time]
	close func() error
}

// Sizes of what an archive is made with, as those of a server with its defaults.
const (
	archivePart  = vaultName + "/1"
	archiveTexts = 64 << 20
)

// newArchive makes one in a folder that is not there yet.
func newArchive(dir string, texts []corpus.File) (*archive, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a folder to measure in: %w", err)
	}
	if err := fileblob.Make(filepath.Join(dir, "objects")); err != nil {
		return nil, err
	}
	bucket, err := fileblob.Open(filepath.Join(dir, "objects"))
	if err != nil {
		return nil, err
	}
	a := &archive{bucket: &stopwatch{Bucket: bucket}, texts: texts}
	t, err := bolttable.Open(filepath.Join(dir, "log.db"), bolttable.Options{Now: a.now})
	if err != nil {
		return nil, errors.Join(err, bucket.Close())
	}
	a.table = t
	a.close = func() error { return errors.Join(t.Close(), bucket.Close()) }
	return a, nil
}

// now is what the clock shows, and set sets it.
func (a *archive) now() time.Time {
	if t := a.clock.Load(); t != nil {
		return *t
	}
	return time.Now()
}

func (a *archive) set(t time.Time) { a.clock.Store(&t) }

// open is the vault as a process sees it that has just been started: nothing of it is read yet.
func (a *archive) open() (*repo.Vault, error) { return a.openOn(a.table) }

// openOn is the same on another table.
func (a *archive) openOn(t table.Table) (*repo.Vault, error) {
	return repo.NewVault(repo.VaultOptions{
		Name: vaultName, Part: archivePart, Table: t, Bucket: a.bucket,
		Texts: repo.NewTexts(archiveTexts), Now: a.now,
	})
}

// bring writes all notes, in commits as an import makes them.
func (a *archive) bring(ctx context.Context, v *repo.Vault) error {
	if err := v.Create(ctx, repo.Call{Tool: "team_vault_create"}, nil); err != nil {
		return err
	}
	for part := range slices.Chunk(a.texts, maxNotes) {
		if err := a.write(ctx, v, part...); err != nil {
			return err
		}
	}
	return nil
}

// edit writes a note anew, another one for every i, with a line that it has not had.
func (a *archive) edit(ctx context.Context, v *repo.Vault, i int) error {
	f := a.texts[1+i*stride%(len(a.texts)-1)] // the first is the schema
	return a.write(ctx, v, corpus.File{
		Path: f.Path, Text: fmt.Sprintf("%s\nEdit %d.\n", f.Text, i),
	})
}

// write makes one commit of these files.
func (a *archive) write(ctx context.Context, v *repo.Vault, files ...corpus.File) error {
	_, err := v.Update(ctx, repo.Call{Tool: "raven_edit"},
		func(ctx context.Context, tx *repo.Tx) (any, error) {
			for _, f := range files {
				if err := tx.Put(ctx, vault.Path(f.Path), []byte(f.Text)); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
	return err
}

// dropImages takes all images away, as if none had ever been made.
func (a *archive) dropImages(ctx context.Context) error {
	for o, err := range a.bucket.List(ctx, "image/") {
		if err != nil {
			return err
		}
		if err := a.bucket.Delete(ctx, o.Key); err != nil {
			return err
		}
	}
	return nil
}

// A stopwatch is a bucket that remembers when it last put a segment and an image, and how large that
// was.
type stopwatch struct {
	blob.Bucket
	segment, image time.Time
	size           int
}

// Put puts an object. There is one pass of folding at a time, so nothing else writes what it notes.
func (s *stopwatch) Put(
	ctx context.Context, key string, data []byte, c blob.Cond,
) (blob.Tag, error) {
	tag, err := s.Bucket.Put(ctx, key, data, c)
	switch {
	case strings.HasPrefix(key, "segment/"):
		s.segment = time.Now()
	case strings.HasPrefix(key, "image/"):
		s.image, s.size = time.Now(), len(data)
	}
	return tag, err
}
