package ingest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/table"
)

// maxLag bounds the part of the log that files may be behind while outside edits can still be
// recognised: the texts of these commits are compared with the files, so they must be read.
var maxLag = eventlog.Most{Commits: 10_000, Bytes: 64 << 20}

// A view is the content of some files, and the state of the log. The index is not older than the
// files. ours is set for each file, unless behind is.
type view struct {
	idx    *index.Index
	cursor uint64 // the version up to which the files were written before they were read
	all    []*fileState
	behind bool // the files are so far behind the log that outside edits cannot be recognised
}

// A fileState is the content of a file, or its absence, together with the result of comparing it
// with the log.
type fileState struct {
	path     string
	gone     bool        // there is no file
	text     []byte      // only the beginning of a file that is too large
	why      repo.Reason // why it is skipped; empty if it is not
	upToDate bool        // it is as in the log, or an earlier state that will be updated
	before   *index.File // the file in the log; nil if there is none
}

// A snapshot is the state of the vault before files are examined.
type snapshot struct {
	idx     *index.Index
	control repo.Control
}

// snapshot reads the state of the vault.
func (v Vault) snapshot(ctx context.Context) (s snapshot, err error) {
	s.idx, s.control, err = v.Vault.ReadControl(ctx)
	return s, err
}

// look reads files, and compares them with the log. It reads each file once. If one is not as in
// the log, it makes two more Queries.
//
// The index must not be older than the files, or a text that was just written from the log would
// look like an outside edit. So the index is read again after the files, and only if a file
// differs. Texts of the commits after the cursor are compared last.
func (v Vault) look(ctx context.Context, s snapshot, all []*fileState) (*view, error) {
	w := &view{idx: s.idx, cursor: s.control.Cursors[repo.FilesCursor].Seq, all: all}
	// The index is from before the files were read. If every file is as in it, nothing else is
	// needed, which is the usual case.
	err := forEach(all, func(s *fileState) error { return v.read(ctx, w.idx, s) })
	if err != nil || w.compare() {
		return w, err
	}
	if w.idx, err = v.Vault.Read(ctx); err != nil { // the files that were read may be newer
		return w, err
	}
	if w.compare() || w.cursor >= w.idx.Version() {
		return w, nil
	}
	stretch, err := v.Vault.CommitsAfter(ctx, w.cursor, maxLag)
	if err != nil {
		return w, err
	}
	known, err := stream.KnownIn(ctx, v.Vault, stretch)
	if err != nil {
		return w, err
	}
	w.behind = !stretch.Ended
	for _, s := range all {
		s.upToDate = s.upToDate || known.Contains(s.path, s.text, !s.gone)
	}
	return w, nil
}

// read reads a file, up to one byte more than a note can have, so that a longer one is recognized.
// It does not read the text of a file that the vault cannot have. It sets s.gone and s.text. A key
// that is not valid stays as the event reported it.
func (v Vault) read(ctx context.Context, idx *index.Index, s *fileState) error {
	most := int64(repo.MaxNote + 1)
	switch path, p := intake.PlaceOf(idx, s.path); {
	case p == intake.NotOurs:
		return nil
	case p == intake.Misnamed, path != s.path:
		most = 0
	}
	text, _, err := v.Notes.Get(ctx, s.path, 0, most)
	switch {
	case errors.Is(err, blob.ErrKey): // keep the state that the event reported
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

// compare compares all files with the index, and reports whether all are the same.
func (w *view) compare() bool {
	same := true
	for _, s := range w.all {
		s.compare(w.idx)
		same = same && s.upToDate
	}
	return same
}

// compare compares a file with the index, and sets why, ours and before. ours reports that there is
// nothing to ingest: the file is not part of the vault, or it is as in the index. why is the reason
// why the file cannot be ingested, or "". before is the note at that path in the index, if there is
// one.
func (s *fileState) compare(idx *index.Index) {
	s.why, s.before = "", nil
	path, p := intake.PlaceOf(idx, s.path)
	if p == intake.NotOurs {
		s.upToDate = true
		return
	}
	if p == intake.Misnamed || path != s.path { // in a bucket, a name has only one spelling
		s.why, s.upToDate = repo.LeftName, s.gone
		return
	}
	f, note := idx.File(s.path)
	if note {
		s.before = f
	}
	s.upToDate = s.gone != note && (s.gone || index.DigestOf(s.text) == f.Digest)
	if !s.gone {
		s.why = intake.Unfit(s.text)
	}
}

// leaseLife is how long a lease lasts that is not released or renewed.
const leaseLife = 5 * time.Minute

// errBusy is the error if another process ingests edits of the vault.
var errBusy = errors.New("another process has the files")

// errLost is the error if the lease ended before the work did, so that another process may have it.
var errLost = errors.New("the lease of the files has ended")

// A lease is the right to ingest edits of a vault. Without it, two processes could ingest the same
// edits at once, which loses nothing, but writes a second conflict copy of a text that cannot be
// merged. It is an item with a random text that expires, so the lease of a process that was killed
// ends after leaseLife.
type lease struct {
	v  Vault
	it table.Item
}

// lease acquires the lease of the files. It returns errBusy if another process has it.
func (v Vault) lease(ctx context.Context) (*lease, error) {
	l := &lease{v: v, it: table.Item{
		Key: v.key(leaseKey), Data: []byte(rand.Text()), Expires: v.Now().Add(leaseLife),
	}}
	err := v.Table.Commit(ctx, table.Create(l.it))
	var taken *table.Conflict
	switch {
	case errors.As(err, &taken):
		return nil, errBusy
	case err != nil:
		return nil, writeError(err)
	}
	return l, nil
}

// renew extends the lease if half of its time is over. It returns errLost if another process has
// the lease. It is called before each piece of work, so a piece must take less than half of
// leaseLife.
func (l *lease) renew(ctx context.Context) error {
	now := l.v.Now()
	if l.it.Expires.Sub(now) > leaseLife/2 {
		return nil
	}
	next := l.it
	next.Expires = now.Add(leaseLife)
	err := l.v.Table.Commit(ctx, table.Replace(l.it, next))
	var taken *table.Conflict
	switch {
	case errors.As(err, &taken):
		return errLost
	case err != nil:
		return writeError(err)
	}
	l.it = next
	return nil
}

// release releases the lease. It keeps a lease that may have expired, because another process may
// have it.
func (l *lease) release(ctx context.Context) {
	if l.v.Now().Before(l.it.Expires.Add(-leaseLife / 10)) {
		_ = l.v.remove(context.WithoutCancel(ctx), []string{leaseKey}) // if it fails, the lease expires
	}
}
