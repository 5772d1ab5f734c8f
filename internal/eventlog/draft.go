package eventlog

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A Call describes a call that writes to a log.
type Call struct {
	// Who and Tool are recorded in the commit.
	Who           Who
	Tool          string
	Key           string // its idempotency key; empty: none
	Request       []byte // the digest of the request that the key is bound to
	IfVersion     uint64 // fail if a changed note or item is newer than this; 0: no check; for v0, VersionZero
	DryRun        bool   // run the function, but write nothing
	AllowInactive bool   // may write to a log that is not active
	Cause         string // of a call that ingests outside edits: the program that made them, if known
	Outside       bool   // the call ingests outside edits, so files may differ from the log
	Unprotected   bool   // may change paths that the vault's configuration protects
	Prefix        string // the call may only change notes under this prefix; empty: all notes

	Began time.Time // when the call began; zero: not known

	// Silent suppresses the audit events of the call. It is set when files are read for the first
	// time: their contents are as old as the files (reference/raven.md §6.9).
	Silent bool
}

// VersionZero is the IfVersion of a call that is based on version v0, the state before the first
// commit: it may only add things. It is not the seq of a commit.
const VersionZero = 1 << 63

// A Draft is a commit under construction. The function of an Update fills it. Ids, times and the
// state come from the Draft, so that the function has no other input and may run again (log.md
// §2.5). It is valid only during the function, and not safe for concurrent use.
//
// The state with the changes so far is computed only when State is called. With Options.Step, a
// change of some notes costs a step for these notes alone; every other change makes the state
// stale, and the whole commit is applied to the state before it again. Several steps may lead to a
// state that differs from that of a single one, for example in the ids that were assigned. Readers
// of the log apply a commit in a single step, so Settle must be called before a commit with several
// steps is appended.
type Draft[S any] struct {
	call    Call
	commit  Commit
	at      PartRef
	durable S      // the state in the log
	before  S      // durable with the earlier drafts of the same run
	after   S      // before with this draft, as far as it is applied
	stale   bool   // after lacks staged changes other than notes: it must be computed again
	latest  uint64 // the seq of the commit before
	status  Status
	earlier []*Draft[S] // earlier drafts of the same run
	fold    func(S, *Commit, PartRef) S
	step    func(S, *Commit, []int, PartRef) S // see Options.Step; nil: there is none
	adopt   func(S, *Note)                     // see Options.Adopt; set if step is

	places map[string]int // indices into the commit's notes, by path
	items  map[itemID]int // indices into the commit's items
	fresh  []int          // indices of notes that after does not reflect yet; see freshNotes
	folds  int            // how many steps after was computed in
	again  bool           // some note was staged more than once
}

// An itemID identifies an item of a vault.
type itemID struct{ kind, id string }

// Call returns the call that the draft is of.
func (d *Draft[S]) Call() Call { return d.call }

// Commit returns the commit under construction. The caller may change the fields of its notes that
// the state is not derived from; other changes are made by the methods of the Draft.
func (d *Draft[S]) Commit() *Commit { return &d.commit }

// At returns the position that the first part of the commit will have.
func (d *Draft[S]) At() PartRef { return d.at }

// Earlier yields the commits that are drafted before this one for the same run, oldest first, each
// with the position of its first part. They are not in the log yet.
func (d *Draft[S]) Earlier() iter.Seq2[*Commit, PartRef] {
	return func(yield func(*Commit, PartRef) bool) {
		for _, e := range d.earlier {
			if !yield(&e.commit, e.at) {
				return
			}
		}
	}
}

// Status returns the status of the log that the commit is based on.
func (d *Draft[S]) Status() Status { return d.status }

// Seq returns the number that the commit will have.
func (d *Draft[S]) Seq() uint64 { return d.commit.Seq }

// Now returns the time of the commit. Times never decrease from one commit to the next. It is in
// UTC, in whole milliseconds.
func (d *Draft[S]) Now() time.Time { return d.commit.Time }

// DryRun reports whether nothing will be written.
func (d *Draft[S]) DryRun() bool { return d.call.DryRun }

// State returns the state with the changes of the draft so far. It applies only the notes that were
// staged since the last call of State, if the log has a Step function and that saves work.
func (d *Draft[S]) State() S {
	fresh := d.freshNotes()
	switch {
	// Records, items and status changes are only applied by Apply, not by Step.
	case d.stale, len(fresh) > 0 && (d.step == nil || d.savesSettling()):
		d.adoptIDs()
		d.whole()
	case len(fresh) > 0:
		d.after = d.step(d.after, &d.commit, fresh, d.at)
		d.fresh = nil
		d.folds++
	}
	return d.after
}

// freshNotes returns the indices of the notes that after does not reflect yet, sorted and distinct.
// Until it is called, fresh has the index of a note once for each time that it was staged.
func (d *Draft[S]) freshNotes() []int {
	slices.Sort(d.fresh)
	d.fresh = slices.Compact(d.fresh)
	return d.fresh
}

// manyFresh is the number of staged notes from which State may apply the draft as a whole.
const manyFresh = 32

// savesSettling reports whether the whole draft should be applied in place of the fresh notes
// alone: earlier steps have applied the other notes, and these are not the majority. That costs at
// most twice as much as another step, and Settle then need not apply everything again.
func (d *Draft[S]) savesSettling() bool {
	return d.folds > 0 && !d.again && len(d.fresh) >= manyFresh && 2*len(d.fresh) >= len(d.commit.Notes)
}

// adoptIDs calls Options.Adopt for the notes that earlier steps have applied.
func (d *Draft[S]) adoptIDs() {
	if d.folds == 0 || d.adopt == nil {
		return
	}
	fresh := d.freshNotes()
	for i := range d.commit.Notes {
		if _, lacks := slices.BinarySearch(fresh, i); !lacks {
			d.adopt(d.after, &d.commit.Notes[i])
		}
	}
}

// whole applies all that the draft contains in one step, as a reader of the log does.
func (d *Draft[S]) whole() {
	d.after, d.stale = d.fold(d.before, &d.commit, d.at), false
	d.fresh, d.folds = nil, 1
}

// forgetParsed drops what was parsed for the state, which is complete: the commit may be kept longer.
func (d *Draft[S]) forgetParsed() {
	for i := range d.commit.Notes {
		d.commit.Notes[i].Parsed = nil
	}
}

// Before returns the state that the commit is based on.
func (d *Draft[S]) Before() S { return d.before }

// Durable returns the state that is in the log. Before may include drafts that are not written yet.
func (d *Draft[S]) Durable() S { return d.durable }

// Record stages a record. A nil value removes the entry. It returns an error if the value cannot be
// encoded as JSON.
func (d *Draft[S]) Record(kind, id string, value any) error {
	r := Record{Kind: kind, ID: id}
	if value != nil {
		var err error
		if r.Value, err = json.Marshal(value); err != nil {
			return err
		}
	}
	d.commit.Records = append(d.commit.Records, r)
	d.stale = true
	return nil
}

// SetStatus stages a change of the status of the log. The new status applies to the calls after
// this one.
func (d *Draft[S]) SetStatus(s Status) { d.commit.Status, d.stale = s, true }

// Touch records that the call changes something that commit `changed` changed last. It returns
// CONFLICT if that is newer than the call's IfVersion, or if IfVersion is not in the log yet.
func (d *Draft[S]) Touch(changed uint64) error {
	v := d.call.IfVersion
	if v == 0 {
		return nil
	}
	if v == VersionZero {
		v = 0
	}
	if changed <= v && v <= d.latest {
		return nil
	}
	// A version ahead of the log is a CONFLICT too. The latest version is then that of the log.
	latest := changed
	if v > d.latest {
		latest = d.latest
	}
	return fault.New(fault.Conflict, "it changed after %s: the latest version is %s",
		Version(v), Version(latest)).
		With("latest_version", Version(latest)).
		Fix("read it again and repeat the call with if_version %q", Version(latest))
}

// empty reports whether the draft changes nothing.
func (d *Draft[S]) empty() bool {
	c := &d.commit
	return len(c.Notes) == 0 && len(c.Items) == 0 && len(c.Records) == 0 && c.Status == ""
}

// StageNote stages a note. It replaces a note staged for the same path.
func (d *Draft[S]) StageNote(n Note) {
	i, again := d.places[n.Path]
	if again {
		d.again = true
		was := &d.commit.Notes[i]
		if n.From == "" && !n.Deleted {
			n.From = was.From // the file stays moved, whatever its text is now
		}
		*was = n
	} else {
		if d.places == nil {
			d.places = map[string]int{}
		}
		i = len(d.commit.Notes)
		d.places[n.Path] = i
		d.commit.Notes = append(d.commit.Notes, n)
	}
	d.fresh = append(d.fresh, i)
}

// StageItem stages an item. It replaces a change staged for the same item.
func (d *Draft[S]) StageItem(i Item) {
	d.stale = true
	key := itemID{i.Kind, i.ID}
	if at, again := d.items[key]; again {
		d.commit.Items[at] = i
		return
	}
	if d.items == nil {
		d.items = map[itemID]int{}
	}
	d.items[key] = len(d.commit.Items)
	d.commit.Items = append(d.commit.Items, i)
}

// StagedNote returns the note that the draft contains for a path; ok is false if there is none.
func (d *Draft[S]) StagedNote(path string) (n Note, ok bool) {
	i, ok := d.places[path]
	if !ok {
		return Note{}, false
	}
	return d.commit.Notes[i], true
}

// StagedText returns the text of a note, or the value of an item, in this draft or an earlier one
// of the same run. ok is false if no draft has a part at this position.
func (d *Draft[S]) StagedText(at PartRef) (text []byte, ok bool) {
	for _, e := range append(d.earlier, d) {
		i := at.Part - e.at.Part
		if at.Run == e.at.Run && i >= 0 && i < len(e.commit.Notes) {
			return e.commit.Notes[i].Text, true
		}
		if i -= len(e.commit.Notes); at.Run == e.at.Run && i >= 0 && i < len(e.commit.Items) {
			return e.commit.Items[i].Value, true
		}
	}
	return nil, false
}

// Mark returns a copy of the draft that is independent of later changes to the draft. Assigning it
// to the draft discards these changes.
func (d *Draft[S]) Mark() Draft[S] {
	m := *d
	m.commit.Notes = slices.Clone(d.commit.Notes)
	m.commit.Items = slices.Clone(d.commit.Items)
	m.commit.Records = slices.Clone(d.commit.Records)
	m.places, m.items = maps.Clone(d.places), maps.Clone(d.items)
	m.fresh = slices.Clone(d.fresh)
	return m
}

// Settle makes the commit the one that a single step would have made. It recomputes the state from
// the commit alone, and drops the notes for which same returns true, if some note was staged more
// than once. The notes keep the ids that the steps assigned; see Options.Adopt. It does nothing if
// the state was computed in one step.
func (d *Draft[S]) Settle(same func(Note) bool) {
	d.State()
	if !d.again && d.folds <= 1 {
		return
	}
	d.adoptIDs()
	if d.again {
		d.commit.Notes = slices.DeleteFunc(d.commit.Notes, same)
		if len(d.commit.Notes) == 0 {
			d.commit.Notes = nil // as in a commit that is read from the log
		}
		d.places = make(map[string]int, len(d.commit.Notes))
		for i, n := range d.commit.Notes {
			d.places[n.Path] = i
		}
	}
	d.whole()
}

// fits returns BATCH_TOO_LARGE if the draft is too large for a run of its own: if its payload would
// have more than half of maxPayload, or its entry in the header more than oneHeader bytes.
func (d *Draft[S]) fits() error {
	if d.size() <= maxPayload/2 && d.header() <= oneHeader {
		return nil
	}
	return fault.New(fault.BatchTooLarge, "the call changes too much at once: %d notes, %d bytes",
		len(d.commit.Notes), d.size()).Fix("change less in one call")
}

// header returns about how many bytes the draft adds to the header of a run.
func (d *Draft[S]) header() int {
	c := &d.commit
	n := 256 + 48*(len(c.Notes)+len(c.Items)+2)
	return n + len(c.Tool) + c.Who.size()
}

// itemOverhead is about how many bytes the head of an item takes.
const itemOverhead = 64

// size returns about how many bytes the draft adds to the payload of a run.
func (d *Draft[S]) size() int {
	n := 0
	for _, note := range d.commit.Notes {
		n += len(note.Text) + len(note.Theirs) + len(note.Events) + len(note.Path)
	}
	for _, i := range d.commit.Items {
		n += len(i.Value) + len(i.Kind) + len(i.ID) + itemOverhead
	}
	for _, r := range d.commit.Records {
		n += len(r.Value)
	}
	if d.commit.Key != nil {
		n += len(d.commit.Key.Answer)
	}
	return n
}

// sameKey reports whether the commit of the draft uses this idempotency key.
func (d *Draft[S]) sameKey(hash []byte) bool {
	return d.commit.Key != nil && bytes.Equal(d.commit.Key.Hash, hash)
}
