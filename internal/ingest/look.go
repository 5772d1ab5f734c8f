package ingest

import (
	"context"
	"errors"
	"fmt"

	"rookery/internal/blob"
	"rookery/internal/index"
	"rookery/internal/intake"
	"rookery/internal/repo"
	"rookery/internal/stream"
)

// furthest bounds the stretch of the log that files may be behind for it to be known which of them others changed.
var furthest = repo.Most{Commits: 10_000, Bytes: 64 << 20}

// A view is what is in some files, and what the log says of them. The index is not older than the files.
type view struct {
	idx    *index.Index
	cursor uint64 // up to which the files were in step before they were read
	all    []*sight
	behind bool // the files are so far behind the log that it is not known which texts are from there
}

// A sight is what is at the place of a file.
type sight struct {
	path   string
	gone   bool        // there is none
	text   []byte      // of one that is too large, the beginning
	why    repo.Reason // it cannot be taken in; empty: it can
	ours   bool        // it is as the log says, or will be when the files are in step
	before *index.File // what the log has; nil: nothing
}

// A snapshot is the vault as it is before files are looked at.
type snapshot struct {
	idx     *index.Index
	control repo.Control
}

func (v Vault) snapshot(ctx context.Context) (s snapshot, err error) {
	s.idx, s.control, err = v.Vault.ReadControl(ctx)
	return s, err
}

// look reads files, and compares them with the log. For files that are as the log says that is one read each; if one is
// not, two Queries more.
func (v Vault) look(ctx context.Context, s snapshot, all []*sight) (*view, error) {
	w := &view{idx: s.idx, cursor: s.control.Cursors[repo.FilesCursor].Seq, all: all}
	err := together(all, func(s *sight) error { return v.read(ctx, w.idx, s) })
	if err != nil || w.judge() {
		return w, err
	}
	if w.idx, err = v.Vault.Read(ctx); err != nil { // what was read may be newer
		return w, err
	}
	if w.judge() || w.cursor >= w.idx.Version() {
		return w, nil
	}
	stretch, err := v.Vault.Behind(ctx, w.cursor, furthest)
	if err != nil {
		return w, err
	}
	known, err := stream.KnownIn(ctx, v.Vault, stretch)
	if err != nil {
		return w, err
	}
	w.behind = !stretch.Ended
	for _, s := range all {
		s.ours = s.ours || known.Ours(s.path, s.text, !s.gone)
	}
	return w, nil
}

// read reads a file: as much as a note can have, and a byte more. What the vault cannot have is not read.
func (v Vault) read(ctx context.Context, idx *index.Index, s *sight) error {
	most := int64(repo.MaxNote + 1)
	switch path, p := intake.PlaceOf(idx, s.path); {
	case p == intake.NotOurs:
		return nil
	case p == intake.Misnamed, path != s.path:
		most = 0
	}
	text, _, err := v.Notes.Get(ctx, s.path, 0, most)
	switch {
	case errors.Is(err, blob.ErrKey): // what was told of it stands
		return nil
	case errors.Is(err, blob.ErrNotExist):
		s.gone, s.text = true, nil
		return nil
	case err != nil:
		return fmt.Errorf("read a file: %w", err)
	}
	s.gone, s.text = false, text
	return nil
}

// judge compares all files with the index, and reports whether all are as it says.
func (w *view) judge() bool {
	same := true
	for _, s := range w.all {
		s.judge(w.idx)
		same = same && s.ours
	}
	return same
}

// judge compares a file with the index.
func (s *sight) judge(idx *index.Index) {
	s.why, s.before = "", nil
	path, p := intake.PlaceOf(idx, s.path)
	if p == intake.NotOurs {
		s.ours = true
		return
	}
	if p == intake.Misnamed || path != s.path { // in a bucket a name has one spelling
		s.why, s.ours = repo.LeftName, s.gone
		return
	}
	f, note := idx.File(s.path)
	if note {
		s.before = f
	}
	s.ours = s.gone != note && (s.gone || index.DigestOf(s.text) == f.Digest)
	if !s.gone {
		s.why = intake.Unfit(s.text)
	}
}
