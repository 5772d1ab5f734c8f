package ingest

import (
	"context"
	"crypto/md5" //nolint:gosec // S3 names a plain object by it
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/vault"
)

// SweepKind is the kind of the message that asks to compare the files of a vault with its log.
const SweepKind = "sweep"

// Times and sizes of a sweep.
const (
	// eventLag is the longest delay of the event of a file. For that long, a sweep leaves a changed
	// file to its event. The next sweep compares the files that were changed shortly before this
	// one.
	eventLag = 15 * time.Minute

	// writeLag is the longest delay with which a process may write the file of a note that the log
	// has removed.
	writeLag = 24 * time.Hour

	// groupSize is how many files of a sweep are read, compared or noticed as one group.
	groupSize = 1000
)

// Sweep compares all files that are up to date with the log, and notices files that differ and
// whose events were lost; ask is as in Notice. It restores a file with an earlier text of its note:
// either a process that was killed wrote it late, or the event of an outside edit was lost. It
// costs one LIST per 1,000 objects, and reads only texts that were changed since the last sweep. It
// may be repeated: the control item is changed at the end.
func (v Vault) Sweep(ctx context.Context, ask Ask) error {
	s := &sweep{Vault: v, began: v.Now().UTC(), stale: replaceable{}}
	if err := s.begin(ctx); err != nil {
		return err
	}
	if err := s.list(ctx); err != nil {
		return err
	}
	for group := range slices.Chunk(s.same, groupSize) {
		if err := s.compare(ctx, group); err != nil {
			return err
		}
	}
	for group := range slices.Chunk(s.differ, groupSize) {
		if err := s.judge(ctx, group); err != nil {
			return err
		}
	}
	if err := s.judgeNew(ctx); err != nil {
		return err
	}
	if _, err := v.restore(ctx, s.older, s.stale); err != nil {
		return err
	}
	for group := range slices.Chunk(s.news, groupSize) {
		if err := v.Notice(ctx, group, ask); err != nil {
			return err
		}
	}
	return s.end(ctx)
}

// A sweep is a running comparison of all files with the log. begin reads the known state, list
// sorts the files into the lists below by their metadata alone, and compare, judge and judgeNew
// read texts to decide about those that remain.
type sweep struct {
	Vault
	began   time.Time
	idx     *index.Index
	upTo    uint64                 // the version up to which the files were written
	last    repo.Sweep             // the last comparison; zero if there was none
	waits   map[string]bool        // paths of edits that are noticed or held already
	skipped map[string]skippedFile // skipped files
	same    []*pair                // files with the size of their notes
	differ  []*pair                // files whose text may differ from that of their notes
	absent  []*pair                // files without a note
	older   []string               // files that must be restored or removed
	stale   replaceable            // the texts of the files in older
	news    []Change               // files that must be noticed
}

// A pair is a file and its note in the log.
type pair struct {
	blob.Object
	note *index.File
}

// begin reads the vault, and the edits and skipped files that are already known. upTo is the
// version up to which every file must be as in the log, so a note that changed later is not
// compared.
func (s *sweep) begin(ctx context.Context) error {
	at, err := s.snapshot(ctx)
	if err != nil {
		return err
	}
	s.idx, s.upTo = at.idx, min(at.control.Cursors[repo.FilesCursor].Seq, at.idx.Version())
	if last := at.control.Sweep; last != nil && !last.Listed.IsZero() {
		s.last = *last
	}
	s.waits = map[string]bool{}
	if at.control.Noticed != nil {
		all, err := s.noticed(ctx)
		if err != nil {
			return err
		}
		for _, e := range all {
			s.waits[e.path] = true
		}
	}
	if at.control.Left != nil {
		if s.skipped, err = s.skippedFiles(ctx); err != nil {
			return err
		}
	}
	if at.control.Held.Count() == 0 {
		return nil
	}
	held, err := s.heldEdits(ctx)
	for path := range held {
		s.waits[path] = true
	}
	return err
}

// list lists the files, and sorts those that must be examined into the lists of the sweep. A note
// without a file, which the files should have by now, is a removal. Files with a waiting edit are
// left to it.
func (s *sweep) list(ctx context.Context) error {
	there := map[string]bool{}
	for o, err := range s.Notes.List(ctx, "") {
		if err != nil {
			return fmt.Errorf("list files: %w", err)
		}
		there[o.Key] = true
		if !s.waits[o.Key] {
			s.file(o)
		}
	}
	for f := range s.idx.Files() {
		isFile := vault.Path(f.Path).Kind() != vault.KindAudit && f.Version <= s.upTo
		if isFile && !there[f.Path] && !s.waits[f.Path] {
			s.news = append(s.news, Change{Path: f.Path, Gone: true})
		}
	}
	return nil
}

// file decides whether a file must be examined. A file that neither the log nor an edit has changed
// since the last sweep is as it was then. A file that the log changed after the cursor of the files
// is written later.
func (s *sweep) file(o blob.Object) {
	path, place := intake.PlaceOf(s.idx, o.Key)
	if place == intake.NotOurs {
		return
	}
	// The last sweep left files that were changed shortly before it to their events, so these count
	// as touched.
	untouched := o.Modified.Before(s.last.Listed.Add(-eventLag))
	f, note := s.idx.File(path)
	switch {
	case untouched && (!note || f.Version <= s.last.Version):
	case place == intake.Misnamed, path != o.Key:
		s.news = append(s.news, Change{Path: o.Key, At: o.Modified})
	case !note:
		s.absent = append(s.absent, &pair{o, nil})
	case f.Version > s.upTo:
	case o.Size != int64(f.Size), sumOf(o.Tag) == "":
		s.differ = append(s.differ, &pair{o, f})
	default:
		s.same = append(s.same, &pair{o, f})
	}
}

// mayHaveEvent reports whether the event of a file may still arrive.
func (s *sweep) mayHaveEvent(o blob.Object) bool { return s.began.Sub(o.Modified) < eventLag }

// sumOf returns the MD5 sum in a tag of S3, in hexadecimal digits; empty if the tag has another
// form, such as that of an object that was uploaded in parts. The tag of an object that S3 encrypts
// with a customer's key has the same form, but is not an MD5 sum; its file is read.
func sumOf(t blob.Tag) string {
	sum := strings.Trim(string(t), `"`)
	if data, err := hex.DecodeString(sum); err != nil || len(data) != md5.Size {
		return ""
	}
	return sum
}

// compare compares files by their tags with the texts of the log. It reads no file: the tag of an
// object in S3 is usually the MD5 sum of its text. A file whose sum differs may still have the
// right text, so it is read by judge.
func (s *sweep) compare(ctx context.Context, group []*pair) error {
	var bodies []index.Body
	for _, p := range group {
		bodies = append(bodies, p.note.Body)
	}
	s.Vault.Vault.Prefetch(ctx, bodies)
	for _, p := range group {
		text, err := s.Vault.Vault.Text(ctx, p.note.Body)
		if err != nil {
			return err
		}
		sum := md5.Sum(text) //nolint:gosec // see above
		if hex.EncodeToString(sum[:]) != sumOf(p.Tag) {
			s.differ = append(s.differ, p)
		}
	}
	return nil
}

// texts reads the files whose events cannot arrive any more, and returns them with their contents,
// in the same order. A file that is gone has no text.
func (s *sweep) texts(ctx context.Context, group []*pair) (settled []*pair, sights []*fileState, err error) {
	settled = slices.DeleteFunc(slices.Clone(group), func(p *pair) bool { return s.mayHaveEvent(p.Object) })
	for _, p := range settled {
		sights = append(sights, &fileState{path: p.Key})
	}
	return settled, sights, forEach(sights, func(f *fileState) error { return s.read(ctx, s.idx, f) })
}

// judge reads files, and separates those with an earlier text of their notes from those with
// outside edits. The former are restored, the latter noticed.
func (s *sweep) judge(ctx context.Context, group []*pair) error {
	group, sights, err := s.texts(ctx, group)
	if err != nil {
		return err
	}
	// The file may have been written since it was listed: if it has the text of its note now,
	// nothing is left to do.
	from, texts := map[string]uint64{}, map[string]index.Digest{}
	for i, f := range sights {
		if d := index.DigestOf(f.text); !f.gone && d != group[i].note.Digest {
			from[f.path], texts[f.path] = group[i].note.Version, d
		}
	}
	if len(from) == 0 {
		return nil
	}
	if err := s.lookBack(ctx, from, texts); err != nil {
		return err
	}
	for _, p := range group {
		if from[p.Key] > 0 && s.stale[p.Key] == nil {
			s.news = append(s.news, Change{Path: p.Key, At: p.Modified})
		}
	}
	return nil
}

// lookBack finds the files whose text is an earlier one of their notes, or was ingested from them.
// from has the version of each note from which to look back, and texts the digest of each file. At
// most intake.MaxEarlier revisions of a note are read.
func (s *sweep) lookBack(ctx context.Context, from map[string]uint64, texts map[string]index.Digest) error {
	looked := map[string]int{}
	err := s.Vault.Vault.Trail(ctx, from, func(path string, r repo.Revision) bool {
		was := !r.Deleted && !r.Erased && r.Digest == texts[path]
		if was || r.Theirs != nil && index.DigestOf(r.Theirs) == texts[path] {
			s.addOutdated(path, texts[path])
			return false
		}
		looked[path]++
		return looked[path] < intake.MaxEarlier
	})
	if fault.Is(err, fault.IndexError) {
		return nil // the log cannot be read further back
	}
	return err
}

// judgeNew separates the files without notes into those whose notes were removed since one day
// before the last sweep, and new ones. The former were written late, after the removal, and are
// removed again; the latter are noticed.
func (s *sweep) judgeNew(ctx context.Context) error {
	absent, sights, err := s.texts(ctx, s.absent)
	if err != nil || len(absent) == 0 {
		return err
	}
	from := uint64(0)
	if !s.last.Listed.IsZero() {
		if from, err = s.Vault.Vault.VersionAt(ctx, s.last.Listed.Add(-writeLag)); err != nil {
			return err
		}
	}
	stretch, err := s.Vault.Vault.CommitsAfter(ctx, from, maxLag)
	if err != nil {
		return err
	}
	known, err := stream.KnownIn(ctx, s.Vault.Vault, stretch)
	if err != nil {
		return err
	}
	for i, f := range sights {
		if !f.gone && known.Contains(f.path, f.text, true) {
			s.addOutdated(f.path, index.DigestOf(f.text))
		} else {
			s.news = append(s.news, Change{Path: f.path, At: absent[i].Modified})
		}
	}
	return nil
}

// addOutdated adds a file that must be restored, unless it is a skipped file. text is the digest of
// its present text, which alone may be overwritten.
func (s *sweep) addOutdated(path string, text index.Digest) {
	if _, left := s.skipped[path]; left {
		return
	}
	s.stale[path] = map[index.Digest]bool{text: true}
	s.older = append(s.older, path)
}

// end records in the control item that all files were compared, and up to which version. A later
// sweep that has ended before is not overwritten.
func (s *sweep) end(ctx context.Context) error {
	return s.Vault.Vault.Change(ctx, func(c *repo.Control) bool {
		if c.Sweep != nil && !c.Sweep.Listed.Before(s.began) {
			return false
		}
		c.Sweep = &repo.Sweep{At: s.Now().UTC(), Version: s.upTo, Listed: s.began}
		return true
	})
}
