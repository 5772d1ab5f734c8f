package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A RollbackResult is the result of Rollback, for the operator.
type RollbackResult struct {
	Version  string `json:"version"`  // of the log
	Written  int    `json:"written"`  // files that were written or removed
	Kept     int    `json:"kept"`     // texts that the log does not have, which were moved to .trash/
	Segments int    `json:"segments"` // segments that were deleted
}

// Rollback rolls the bucket back to the log of a vault after the table was restored to an earlier
// time: its segments (see repo.Vault.Rollback), and the files of all notes. A file with another
// text than its note is copied to .trash/rollback-TIME/ first, where it is not a note, so that no
// text is lost and none returns as an edit. Meanwhile no other process may write the vault or
// ingest its files. A second call does nothing.
func (i *Ingester) Rollback(ctx context.Context, n Name) (done RollbackResult, err error) {
	err = i.with(ctx, n, func(_ tenant.FollowedVault, v Vault) error {
		done, err = v.rollback(ctx)
		return err
	})
	return done, err
}

// rollback implements Rollback. It first makes the segments of the log consistent with the table,
// and then writes every file as it is in the newest version, several files at once. The copies of
// other texts are below one folder of the trash, named after the time. It can be called again after
// a failure: the files that are right already are skipped. The counts are valid also if it returns
// an error.
func (v Vault) rollback(ctx context.Context) (done RollbackResult, err error) {
	if done.Segments, err = v.Vault.Rollback(ctx); err != nil {
		return done, err
	}
	idx, err := v.Vault.Read(ctx)
	if err != nil {
		return done, err
	}
	done.Version = eventlog.Version(idx.Version())
	b := &rollback{Vault: v, idx: idx,
		below: vault.Trash + "rollback-" + v.Now().UTC().Format("20060102T150405Z") + "/"}
	paths, err := b.paths(ctx)
	if err != nil {
		return done, err
	}
	b.written, b.kept = make([]bool, len(paths)), make([]bool, len(paths))
	err = forEach(indices(paths), func(i int) error { return b.file(ctx, i, paths[i]) })
	for i := range paths {
		done.Written += count(b.written[i])
		done.Kept += count(b.kept[i])
	}
	return done, err
}

// A rollback writes files as they are in an index. Files are handled concurrently; each has its own
// places in written and kept.
type rollback struct {
	Vault
	idx           *index.Index
	below         string // the folder for texts that the log does not have
	written, kept []bool // by the index of the file
}

// paths returns the paths of all files and notes of the vault, each once: the files in the bucket,
// and the notes without one. Audit logs are left out.
func (b *rollback) paths(ctx context.Context) ([]string, error) {
	var all []string
	there := map[string]bool{}
	for o, err := range b.Notes.List(ctx, "") {
		if err != nil {
			return nil, fmt.Errorf("list files: %w", err)
		}
		if _, place := intake.PlaceOf(b.idx, o.Key); place == intake.NotOurs {
			continue
		}
		there[o.Key] = true
		all = append(all, o.Key)
	}
	for f := range b.idx.Files() {
		if vault.Path(f.Path).Kind() != vault.KindAudit && !there[f.Path] {
			all = append(all, f.Path)
		}
	}
	return all, nil
}

// file writes the i-th file as it is in the index. It copies another text to b.below first; a copy
// that exists already is from an earlier call that was interrupted.
func (b *rollback) file(ctx context.Context, i int, path string) error {
	text, tag, err := b.Notes.Get(ctx, path, 0, -1)
	gone := errors.Is(err, blob.ErrNotExist)
	if err != nil && !gone {
		return fmt.Errorf("read a file: %w", err)
	}
	want, note := b.idx.File(path)
	if gone == !note && (gone || index.DigestOf(text) == want.Digest) {
		return nil
	}
	if !gone {
		_, err := b.Notes.Put(ctx, b.below+path, text, blob.IfAbsent)
		if err != nil && !errors.Is(err, blob.ErrCondition) {
			return fmt.Errorf("keep a file: %w", err)
		}
		b.kept[i] = true
	}
	var restored []byte // nil: remove the file
	if note {
		if restored, err = b.textOf(ctx, want); err != nil {
			return err
		}
	}
	if err := stream.Replace(ctx, b.Notes, path, stream.FileState{Tag: tag, There: !gone}, restored); err != nil {
		return fmt.Errorf("write a file again: %w", err)
	}
	b.written[i] = true
	return nil
}

// count returns 1 for true and 0 for false.
func count(one bool) int {
	if one {
		return 1
	}
	return 0
}
