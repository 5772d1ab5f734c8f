package index

import (
	"cmp"
	"time"

	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/vault"
)

// With is the index after one more commit. The old one stays as it is. It takes time in proportion
// to what the commit changes; a change of the settings looks only at the notes that have another
// meaning by it, and reads no text for it.
func (x *Index) With(c Commit) *Index {
	d := newDraft(x)
	d.apply(read(c))
	d.applyLookups()
	return d.Index
}

// clone is a copy whose trees may be changed: they are copied on write. Copy marks the tree that it
// is called on, so it is called on the clone's, and x can be cloned by many at once.
func (x *Index) clone() *Index {
	y := *x
	y.files = *y.files.Copy()
	y.entries = y.entries.copied()
	y.traitIDs = y.traitIDs.copied()
	y.uids = y.uids.copied()
	y.folderVersions = *y.folderVersions.Copy()
	y.pins = *y.pins.Copy()
	y.seeds = *y.seeds.Copy()
	y.counts = *y.counts.Copy()
	y.rows = *y.rows.Copy()
	return &y
}

// A draft is an index that nobody else has yet, and that may be changed. The files, the pins and the
// seeds are as the last commit left them; of the rest the tree knows only what enter has brought in.
type draft struct {
	*Index
	contested map[string]bool   // ids over which a change may have decided
	moved     map[string]*File  // by the path that they leave, as they were
	entered   map[string]*File  // by path, what the lookups still have there; nil: nothing
	ids       map[string]string // of traits, over traitIDs: the path, "" where the id is free now
	nodeIDs   map[string]string // of nodes, by the key of their UID, over uids: likewise
	words     map[term]string
	sayings   map[said]*TraitValue
	mentions  map[Mention]*Mention
	folders   map[string]bool // of those that were asked about, whether the exclusion has them
	hidden    map[string]bool // likewise, whether hiding has them
	remembers bool            // its memories are a copy of its own
}

// said is how something is written: the type of an annotation, its value, and whether it is a checkbox.
type said struct {
	typ, raw string
	task     bool
}

// newDraft is a draft that begins as an index.
func newDraft(x *Index) *draft {
	return &draft{
		Index: x.clone(), contested: map[string]bool{}, entered: map[string]*File{},
		ids: map[string]string{}, nodeIDs: map[string]string{}, words: map[term]string{}, sayings: map[said]*TraitValue{},
		mentions: map[Mention]*Mention{}, folders: map[string]bool{},
		hidden: map[string]bool{},
	}
}

// apply takes a commit in: the settings first, by which the rest is read.
func (d *draft) apply(r *reading) {
	d.version, d.time = r.Seq, r.Time.UTC()
	d.moved = map[string]*File{}
	before, texts := d.settings, d.texts
	for _, ch := range r.Changes {
		texts = texts.with(ch)
		if f, ok := d.files.Get(ch.From); ok && ch.From != "" {
			d.moved[ch.From] = f
		}
	}
	if texts != before.texts {
		d.applyLookups()
		clear(d.sayings)
		d.settings = before.read(texts)
		d.resettle(before)
	}
	if logs := auditLogs(r.Changes); len(logs) > 0 {
		d.seed(logs)
	}
	for i, ch := range r.Changes {
		d.change(ch, r.files[i])
	}
	d.settlePins()
	d.takeItems(r)
	if r.Erases {
		d.touchAll()
	}
}

// takeItems takes in what became of memories.
func (d *draft) takeItems(r *reading) {
	if len(r.Items) == 0 {
		return
	}
	if !d.remembers {
		d.memories, d.remembers = d.memories.Clone(), true
	}
	d.memories.Apply(memory.Commit{Seq: r.Seq, Time: r.Time.UnixMilli(), Changes: r.Items})
}

// change takes one file in, as it was read.
func (d *draft) change(ch Change, f *File) {
	old, _ := d.files.Get(ch.Path)
	d.unclaim(noteOf(old))
	if ch.Deleted {
		if d.swap(old, nil); old != nil {
			d.touchFolders(ch.Path, false, true)
		}
		d.seeds.Delete(vault.Path(ch.Path).ID()) // who comes next under this name is another
		return
	}
	d.touchFolders(ch.Path, old == nil, false)
	if f.Note != nil {
		if d.hides(f.Path) {
			f.Hidden, f.Note = f.Note, nil
		}
		n := f.parsed()
		d.remember(noteOf(old))
		d.applySchema(n)
		d.recognise(n, d.before(ch, old), ch)
		ch.Past.restore(n)
	}
	if f.Folder != nil {
		d.settleFolder(f, cmp.Or(old, d.moved[ch.From]), ch)
	}
	d.swap(old, f)
}

// before is the note that a change makes another of; nil if it makes a new one.
func (d *draft) before(ch Change, old *File) *Note {
	if n := old.parsed(); n != nil {
		return n
	}
	return d.moved[ch.From].parsed()
}

// recognise gives a note and what is in it their times and ids, by what it was before.
func (d *draft) recognise(n, was *Note, ch Change) {
	d.nameNodes(n, was, ch.Nodes)
	if was != nil {
		n.Created, n.Modified = was.Created, d.time
		n.dateSections(was, d.time)
		d.identify(n, identity{formerOf(was), ch.TraitIDs, d.time})
		return
	}
	came := d.time
	if !ch.Since.IsZero() && ch.Since.Before(came) {
		came = ch.Since.UTC()
	}
	told, ok := d.seeds.Get(n.ID)
	if !ok {
		told.span = span{came, came}
	}
	n.Created, n.Modified = told.before(d.time, d.time)
	told.dateSections(n, came)
	d.identify(n, identity{told.formers(n.ID, came), ch.TraitIDs, came})
}

// dateSections gives the sections their times. One that goes by the same slug as before is the same.
func (n *Note) dateSections(was *Note, now time.Time) {
	old := make(map[string]*Section, len(was.Sections))
	for i := range was.Sections {
		old[was.Sections[i].Slug] = &was.Sections[i]
	}
	fresh := &Times{now, now}
	for i := range n.Sections {
		s := &n.Sections[i]
		w := old[s.Slug]
		switch {
		case w == nil:
			s.Times = fresh
		case w.own == s.own:
			s.Times = w.Times
		default:
			s.Times = &Times{w.Created, now}
		}
	}
}

// isNote reports whether the file of a path is a note.
func isNote(path string) bool {
	return vault.Path(path).Kind() == vault.KindNote && path[0] != '.'
}
