package repo

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"rookery/internal/fault"
)

// A Call is what a log needs to know of a call that writes to it.
type Call struct {
	Who         Who
	Tool        string
	Key         string // its idempotency key; empty: none
	Request     []byte // the digest of the request, which the key is bound to
	IfVersion   uint64 // what it touches must not have changed after; 0: whatever
	DryRun      bool   // run the function, and write nothing
	Revives     bool   // may write to a log that is not active
	Cause       string // of a call that takes in what was changed outside: what changed it, if that is known
	Outside     bool   // takes in what was changed outside: the files are not to be as the log says
	Unprotected bool   // may change what the vault's configuration protects: protected_prefixes
	Prefix      string // the paths of all notes that it changes begin so; empty: it may change every one

	Began time.Time // zero: nobody says

	// Untold says that no event tells of the call: it reads files for the first time, and what is in them
	// is as old as they are (reference/raven.md §6.9).
	Untold bool
}

// A Draft is a commit in the making. The function of an Update fills it; ids, times and the state
// come from here, so that the function is pure and may run again (log.md §2.5).
type Draft[S any] struct {
	call    Call
	commit  Commit
	at      Place
	durable S // as it is in the log
	before  S // with the drafts of the same run that come before
	after   S
	stale   bool // after lacks something that was staged and is no note: all of it is folded again
	latest  uint64
	status  Status
	earlier []*Draft[S] // of the same run
	fold    func(S, *Commit, Place) S
	step    func(S, *Commit, []int, Place) S // see LogOptions.Step; nil: there is none
	ids     int                              // that it has made; see ID

	places map[string]int // of the notes in the commit, by path
	fresh  []int          // notes that were staged and that after lacks
	folds  int            // of the steps in which after was made
	again  bool           // some note was staged more than once
}

// Seq is the number that the commit will have.
func (d *Draft[S]) Seq() uint64 { return d.commit.Seq }

// Now is the time of the commit. It never goes back from one commit to the next.
func (d *Draft[S]) Now() time.Time { return d.commit.Time }

// DryRun reports whether nothing will be written.
func (d *Draft[S]) DryRun() bool { return d.call.DryRun }

// State is the state as it will be, with what the draft holds so far. It folds only the notes that
// were staged since it was asked for last.
func (d *Draft[S]) State() S {
	switch {
	case d.stale, len(d.fresh) > 0 && d.step == nil:
		d.whole()
	case len(d.fresh) > 0:
		d.after = d.step(d.after, &d.commit, d.fresh, d.at)
		d.fresh, d.folds = nil, d.folds+1
	}
	return d.after
}

// whole folds all that the draft holds in one step, as who reads the log does.
func (d *Draft[S]) whole() {
	d.after, d.stale = d.fold(d.before, &d.commit, d.at), false
	d.fresh, d.folds = nil, 1
}

// Before is the state that the commit builds on.
func (d *Draft[S]) Before() S { return d.before }

// Durable is the state that is in the log; Before may hold drafts that are not yet.
func (d *Draft[S]) Durable() S { return d.durable }

// Record stages a record. A nil value takes the thing away.
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

// SetStatus stages a change of the log's status.
func (d *Draft[S]) SetStatus(s Status) { d.commit.Status, d.stale = s, true }

// Touch says that the call changes something that the commit `changed` changed last. It is CONFLICT
// if the call builds on an older version.
func (d *Draft[S]) Touch(changed uint64) error {
	v := d.call.IfVersion
	if v == 0 || changed <= v && v <= d.latest {
		return nil
	}
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

// put stages a note in place of what was staged for the same path before.
func (d *Draft[S]) put(n Note) {
	i, again := d.places[n.Path]
	if again {
		d.again = true
		was := &d.commit.Notes[i]
		if n.From == "" && !n.Deleted {
			n.From = was.From // it has moved, whatever becomes of its text
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
	if !slices.Contains(d.fresh, i) {
		d.fresh = append(d.fresh, i)
	}
}

// staged is the text that the draft holds for a path, if it holds one.
func (d *Draft[S]) staged(path string) (n Note, ok bool) {
	i, ok := d.places[path]
	if !ok {
		return Note{}, false
	}
	return d.commit.Notes[i], true
}

// pending is the text of a note, or the value of an item, that an earlier draft of the same run holds.
func (d *Draft[S]) pending(at Place) ([]byte, bool) {
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

// fits is a fault if no run can hold the draft.
func (d *Draft[S]) fits() error {
	if d.size() <= maxPayload/2 && d.header() <= oneHeader {
		return nil
	}
	return fault.New(fault.BatchTooLarge, "the call changes too much at once: %d notes, %d bytes",
		len(d.commit.Notes), d.size()).Fix("change less in one call")
}

// header is about how many bytes the draft adds to the header of a run.
func (d *Draft[S]) header() int {
	c := &d.commit
	n := 256 + 48*(len(c.Notes)+len(c.Items)+2)
	return n + len(c.Tool) + c.Who.size()
}

// itemOverhead is about how many bytes the head of an item has.
const itemOverhead = 64

// size is about how many bytes the draft adds to a run.
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

// sameKey reports whether the draft's commit used this idempotency key.
func (d *Draft[S]) sameKey(hash []byte) bool {
	return d.commit.Key != nil && bytes.Equal(d.commit.Key.Hash, hash)
}
