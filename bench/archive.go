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
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An archive is the log of a vault on the storage engines of the server, in this process and
// without a folder of notes. Its clock can be set, so that a year passes in seconds.
type archive struct {
	table  table.Table
	bucket *stopwatch
	texts  []corpus.File // the notes as they are imported

	clock atomic.Pointer[time.Time]
	close func() error
}

// The parameters of an archive, like those of a server with its defaults.
const (
	archivePart  = vaultName + "/1"
	archiveTexts = 64 << 20
)

// newArchive creates an archive in a folder that does not exist yet.
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

// now returns the time of the clock: the one that was set, or else the real time.
func (a *archive) now() time.Time {
	if t := a.clock.Load(); t != nil {
		return *t
	}
	return time.Now()
}

// set stops the clock at a time.
func (a *archive) set(t time.Time) { a.clock.Store(&t) }

// open returns the vault as a new process sees it: nothing of it is read yet.
func (a *archive) open() (*repo.Vault, error) { return a.openOn(a.table) }

// openOn returns the vault on another table, like open.
func (a *archive) openOn(t table.Table) (*repo.Vault, error) {
	return repo.NewVault(repo.VaultOptions{
		Name: vaultName, Part: archivePart, Table: t, Bucket: a.bucket,
		Texts: repo.NewTexts(archiveTexts), Now: a.now,
	})
}

// bring creates the vault and writes all notes, in commits of the size of an import.
func (a *archive) bring(ctx context.Context, v *repo.Vault) error {
	if err := v.Create(ctx, eventlog.Call{Tool: "team_vault_create"}, nil); err != nil {
		return err
	}
	for part := range slices.Chunk(a.texts, maxNotes) {
		if err := a.write(ctx, v, part...); err != nil {
			return err
		}
	}
	return nil
}

// edit writes a note with a new line at its end. Different i edit different notes.
func (a *archive) edit(ctx context.Context, v *repo.Vault, i int) error {
	f := a.texts[1+i*stride%(len(a.texts)-1)] // the first is the schema
	return a.write(ctx, v, corpus.File{
		Path: f.Path, Text: fmt.Sprintf("%s\nEdit %d.\n", f.Text, i),
	})
}

// write writes the files in one commit.
func (a *archive) write(ctx context.Context, v *repo.Vault, files ...corpus.File) error {
	_, err := v.Update(ctx, eventlog.Call{Tool: "raven_edit"},
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

// dropImages deletes all images, so that a start must replay the log.
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

// A stopwatch is a bucket that records when it last stored a segment and an image, and the size of
// that image in bytes.
type stopwatch struct {
	blob.Bucket
	segment, image time.Time
	size           int
}

// Put stores an object. Only one compaction runs at a time, so the records need no lock.
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
