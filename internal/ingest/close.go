package ingest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
	"github.com/rookeryhq/rookery/internal/repo"
)

// Delays after which a batch is examined again.
const (
	// busyPause is how long a process waits while another one ingests edits.
	busyPause = 5 * time.Second

	// behindPause is how long edits wait while the files are far behind the log. The process that
	// follows the log catches up meanwhile.
	behindPause = 30 * time.Second

	// emptied is how long a file that was emptied waits for its new text, from when that was
	// noticed.
	emptied = time.Minute
)

// Close ingests the noticed edits that are due. It returns the time after which it must be called
// again; 0 if no edits are left. If another process ingests edits, or takes the lease over, it
// returns busyPause and no error.
func (v Vault) Close(ctx context.Context) (again time.Duration, err error) {
	l, err := v.lease(ctx)
	if errors.Is(err, errBusy) {
		return busyPause, nil
	}
	if err != nil {
		return 0, err
	}
	defer l.release(ctx)
	b := &batch{Vault: v, lease: l}
	err = b.close(ctx)
	if errors.Is(err, errLost) {
		return busyPause, nil
	}
	return b.again, err
}

// Reindex ingests all noticed edits without waiting. t.Pending is the decision about the held
// batch, if there is one. With t.DryRun it changes nothing, and returns the planned result. It
// returns UNAVAILABLE while another process ingests edits of the vault.
func (v Vault) Reindex(ctx context.Context, t checkout.IngestOptions) (checkout.IngestResult, error) {
	if t.Pending != "" && t.Prefix != "" {
		return checkout.IngestResult{}, eventlog.OutsidePrefix(t.Prefix)
	}
	b := &batch{Vault: v, decision: t.Pending, who: t.Who, asked: true}
	if t.DryRun {
		return b.done, b.tryOut(ctx)
	}
	var err error
	if b.lease, err = v.lease(ctx); errors.Is(err, errBusy) {
		return b.done, fault.New(fault.Unavailable, "outside changes are being synced now").
			After(busyPause)
	}
	if err != nil {
		return b.done, err
	}
	defer b.lease.release(ctx)
	err = b.close(ctx)
	return b.done, err
}

// A batch is a set of edits that are ingested together.
//
// Its steps are gather, which reads the files and fills found, waits and left; guard, which moves
// edits from found to held; commit, for each piece of found; track, which counts removals; and
// finish, which writes the result to the items and the control item. The items of the edits are
// removed at the end of finish, so a process that takes over after a crash repeats all steps. A
// repeated commit finds the files as in the log.
type batch struct {
	Vault
	lease    *lease
	decision checkout.Pending // the decision about the held batch; empty if there is none
	who      eventlog.Who     // the author of the decision
	asked    bool             // a caller is waiting for the result

	idx     *index.Index
	control repo.Control // at the beginning
	edits   map[string]*edit
	whole   bool                   // edits contains all of the held batch
	found   []*intake.Found        // the outside edits
	held    []*intake.Found        // those that need confirmation
	skipped map[string]skippedFile // skipped files
	rewrite []string               // files that must be written again
	waits   []*edit                // edits that are not due
	again   time.Duration
	done    intake.Taken
}

// close ingests the edits that are due. A large batch is divided into pieces, and a piece that is
// too large for a commit into halves; the lease is renewed before each piece. It returns errLost if
// the lease was lost.
func (b *batch) close(ctx context.Context) error {
	if err := b.gather(ctx); err != nil {
		return err
	}
	if b.decision == checkout.Discard {
		if err := b.discard(ctx); err != nil {
			return err
		}
		return b.finish(ctx)
	}
	if err := b.guard(ctx); err != nil {
		return err
	}
	for _, piece := range intake.Pieces(b.found) {
		if err := b.lease.renew(ctx); err != nil {
			return err
		}
		err := intake.InHalves(piece, func(part []*intake.Found) error { return b.commit(ctx, part) })
		if err != nil {
			return err
		}
	}
	if err := b.track(ctx); err != nil {
		return err
	}
	return b.finish(ctx)
}

// tryOut computes the result of close for a dry run. It changes nothing, and needs no lease. With
// the word Discard it only counts the edits that would be restored. Otherwise it guards the batch
// like close and tries each piece of it against the vault; a piece that is too large for one commit
// is tried in halves.
func (b *batch) tryOut(ctx context.Context) error {
	if err := b.gather(ctx); err != nil {
		return err
	}
	if b.decision == checkout.Discard {
		b.done.Restored = len(b.keptOf(b.found))
		return nil
	}
	if err := b.guard(ctx); err != nil {
		return err
	}
	for _, piece := range intake.Pieces(b.found) {
		err := intake.InHalves(piece, func(part []*intake.Found) error {
			e, err := intake.Try(ctx, b.Vault.Vault, b.call(), part)
			b.done.Add(e.Taken)
			b.done.Restored += len(e.Stay)
			return err
		})
		if err != nil {
			return err
		}
	}
	b.done.Held = b.heldForControl(b.control)
	return nil
}

// gather reads the files of the edits that are due, and finds the outside edits among them. If the
// files are too far behind the log, it postpones all edits: an edit could not be distinguished from
// an old text. At the end, moves are paired, and earlier versions of the notes are looked up for
// edits that return to one.
func (b *batch) gather(ctx context.Context) error {
	all, err := b.noticed(ctx)
	if err != nil {
		return err
	}
	s, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	b.idx, b.control = s.idx, s.control
	take := all
	if !b.asked {
		take, b.again = due(all, b.Now())
	}
	if err := b.choose(ctx, all, take); err != nil || len(b.edits) == 0 {
		return err
	}
	var sights []*fileState
	for _, e := range b.edits {
		sights = append(sights, &fileState{path: e.path, gone: e.Gone})
	}
	slices.SortFunc(sights, func(x, y *fileState) int { return strings.Compare(x.path, y.path) })
	w, err := b.look(ctx, s, sights)
	if err != nil {
		return err
	}
	b.idx = w.idx
	if w.behind {
		b.again, b.waits, b.edits = behindPause, all, nil
		return nil
	}
	if err := b.date(ctx); err != nil {
		return err
	}
	for _, s := range w.all {
		b.add(s)
	}
	b.respell()
	intake.Pair(b.found)
	return intake.LookBack(ctx, b.Vault.Vault, b.found)
}

// choose chooses the edits of the batch: those that are due, and the held batch if one of them
// changes it, or if a caller waits. all are the noticed edits and take those that are due; the
// others wait. An edit of a file that was skipped before is bounded by the item of the skipped
// file, because the file has differed from the log since.
func (b *batch) choose(ctx context.Context, all, take []*edit) error {
	b.edits, b.skipped = make(map[string]*edit, len(take)), map[string]skippedFile{}
	for _, e := range take {
		b.edits[e.path] = e
	}
	for _, e := range all {
		if b.edits[e.path] == nil {
			b.waits = append(b.waits, e)
		}
	}
	if b.control.Held.Count() > 0 && (len(take) > 0 || b.asked) {
		if err := b.resume(ctx); err != nil {
			return err
		}
	}
	if b.control.Left == nil || len(take) == 0 {
		return nil
	}
	lefts, err := b.skippedFiles(ctx)
	if err != nil {
		return err
	}
	for path, f := range lefts {
		if e := b.edits[path]; e != nil {
			e.bound(f.Noticed)
		}
	}
	return nil
}

// resume adds the held batch, if it must be examined: if a caller waits for a decision or a result,
// or if a new edit is of a file in it. An edit of such a file is bounded by the held item.
func (b *batch) resume(ctx context.Context) error {
	held, err := b.heldEdits(ctx)
	if err != nil {
		return err
	}
	b.whole = b.asked
	for path, h := range held {
		if e := b.edits[path]; e != nil {
			e.held, b.whole = true, true
			e.bound(h.noticedItem)
		}
	}
	if !b.whole {
		return nil
	}
	for path, h := range held {
		if b.edits[path] == nil {
			b.edits[path] = h
		}
	}
	return nil
}

// add adds the outside edit of a file to the batch, unless the file is as in the log, is skipped or
// must wait. A file that was just emptied waits, unless a caller asked, because many programs empty
// a file before they write it.
func (b *batch) add(s *fileState) {
	e := b.edits[s.path]
	switch {
	case s.upToDate:
	case s.why != "":
		b.skipped[s.path] = skippedFile{repo.LeftFile{Path: s.path, Why: s.why}, e.noticedItem}
	case !b.asked && !s.gone && len(s.text) == 0 && s.before != nil && s.before.Size > 0 &&
		age(e.At, b.Now()) < emptied: // most likely by a program that will write it next
		b.postpone(e, busyPause)
	default:
		b.found = append(b.found, e.found(s))
	}
}

// postpone removes an edit from the batch. It is examined again after a time. Its items stay,
// because forget removes only those of b.edits.
func (b *batch) postpone(e *edit, after time.Duration) {
	delete(b.edits, e.path)
	b.waits = append(b.waits, e)
	if b.again == 0 || after < b.again {
		b.again = after
	}
}

// seenAfter is how long a text of the log must have been in a file before an older text that
// replaces it counts as a decision to return to that text. It is twice as long as in a folder,
// because files are some seconds behind the log.
const seenAfter = time.Minute

// found returns the edit with the content of the file, for package intake. UpTo is the last version
// that the author can have seen: for a text, the version when the edit was noticed; for a removal,
// only the version that was certainly in the file. Seen reports whether a revision was in the file
// long enough to have been seen.
func (e *edit) found(s *fileState) *intake.Found {
	f := &intake.Found{
		Path: s.path, Before: s.before, UpTo: max(e.Head, 1), At: e.At, Modified: e.Saved, Kept: e.held,
	}
	if f.Modified.IsZero() {
		f.Modified = e.At
	}
	// An older text that returns is an undo by the author if the file had the newer text long
	// enough, and otherwise most likely a program that wrote an old copy of the text.
	f.Seen = func(r repo.Revision) bool { return r.Seq <= e.Cursor && f.Modified.Sub(r.Time) >= seenAfter }
	if s.gone { // an author cannot have decided about a text that the file may not have had yet
		f.UpTo = max(e.Cursor, 1)
		return f
	}
	f.Text, f.Digest = s.text, index.DigestOf(s.text)
	return f
}

// respell finds the files that only have another spelling of their names: one is gone, and the
// other exists. Such a pair is a move, even if the text changed as well. The name of a file in a
// bucket is not folded, so both can exist at once; then they are not a pair.
func (b *batch) respell() {
	gone := map[string]*intake.Found{}
	for _, f := range b.found {
		if f.Gone() {
			gone[f.Path] = f
		}
	}
	for _, f := range b.found {
		if f.Gone() || f.Before != nil {
			continue
		}
		if other, folds := b.idx.Folded(f.Path); folds && gone[other] != nil {
			gone[other].To = f.Path
		}
	}
}

// call returns the call that ingests edits. Its author is Outside, or the person who decided about
// the held batch.
func (b *batch) call() eventlog.Call {
	c := eventlog.Call{Who: eventlog.Who{Principal: Principal}, Tool: intake.Tool, Outside: true}
	if b.decision != "" {
		c.Who = b.who
	}
	return c
}

// commit ingests a part of the batch, and adds the result to b.done, b.left and b.stay.
func (b *batch) commit(ctx context.Context, part []*intake.Found) error {
	e, err := intake.Commit(ctx, b.Vault.Vault, b.call(), part)
	if err != nil {
		return err
	}
	b.done.Add(e.Taken)
	for path, f := range e.Left {
		b.skipped[path] = skippedFile{f, b.edits[path].noticedItem}
	}
	for _, f := range e.Stay {
		b.rewrite = append(b.rewrite, f.Path)
	}
	return nil
}
