package index

import (
	"cmp"
	"time"

	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/vault"
)

// With returns the index after one more commit. It does not change x. It takes time in proportion
// to the changes of the commit. A change of the settings processes only the notes that it affects,
// and parses no texts.
func (x *Index) With(c Commit) *Index {
	d := newDraft(x)
	d.prepares = true
	d.apply(parseCommit(c))
	d.applyLookups()
	return d.Index
}

// clone returns a copy whose trees can be changed, because they are copied on write. Copy writes to
// the tree on which it is called. It is called on the trees of the copy, so several goroutines can
// clone x at once.
func (x *Index) clone() *Index {
	y := *x
	y.files = *y.files.Copy()
	y.entries = y.entries.clone()
	y.traitIDs = y.traitIDs.clone()
	y.uids = y.uids.clone()
	y.folderVersions = *y.folderVersions.Copy()
	y.pins = *y.pins.Copy()
	y.importedTimes = *y.importedTimes.Copy()
	y.counts = *y.counts.Copy()
	y.rows = *y.rows.Copy()
	return &y
}

// A draft is a private, mutable index. Its files, pins and importedTimes are current. Its other
// lookups are those before the pending changes until applyLookups is called.
//
// It collects changes by path or id in maps and writes them at once, because each write to a tree
// copies nodes. A reader of pending ids must look in these maps first; see ownerOf.
type draft struct {
	*Index
	contestedPins map[string]bool   // ids whose owner may have to change, for assignPins
	moved         map[string]*File  // files that the commit moves, before the move, by their old path
	changed       map[string]*File  // changed files, by path, as the lookups have them; nil if new
	ids           map[string]string // pending changes of traitIDs: the path, "" if the id becomes free
	nodeIDs       map[string]string // pending changes of uids, by the key of the UID, likewise
	entryNames    map[term]string
	traitValues   map[traitValueKey]*TraitValue
	mentions      map[Mention]*Mention
	folders       map[string]bool // cache of excludes, for folders
	hidden        map[string]bool // cache of hides, for folders
	ownsMemories  bool            // memories is a private copy
	prepares      bool            // apply prepares large commits; see prepare
}

// A traitValueKey is the text of an annotation or a checkbox, as a key: equal ones share a
// TraitValue.
type traitValueKey struct {
	typ, raw string
	task     bool
}

// newDraft returns a draft that starts as a copy of x.
func newDraft(x *Index) *draft {
	return &draft{
		Index: x.clone(), contestedPins: map[string]bool{}, changed: map[string]*File{},
		ids: map[string]string{}, nodeIDs: map[string]string{}, entryNames: map[term]string{},
		traitValues: map[traitValueKey]*TraitValue{},
		mentions:    map[Mention]*Mention{}, folders: map[string]bool{},
		hidden: map[string]bool{},
	}
}

// apply applies a commit: first its changes of settings, because they determine the rest, then its
// other changes. It parses nothing. The order of its steps matters: pins are settled after all
// files, and audit logs are imported before them, so that new notes get the times in the logs.
func (d *draft) apply(r *parsedCommit) {
	d.version, d.time = r.Seq, r.Time.UTC()
	d.moved = map[string]*File{}
	before, texts := d.settings, d.texts
	for _, ch := range r.Changes {
		// The settings of the commit apply to all its changes, wherever they are in the list.
		texts = texts.with(ch)
		if f, ok := d.files.Get(ch.From); ok && ch.From != "" {
			d.moved[ch.From] = f
		}
	}
	if texts != before.texts {
		d.applyLookups()
		clear(d.traitValues)
		d.settings = before.read(texts)
		d.reapplySettings(before)
	}
	if logs := auditLogs(r.Changes); len(logs) > 0 {
		d.importTimes(logs)
	}
	ready := d.prepare(r)
	for i, ch := range r.Changes {
		d.applyChange(ch, r.files[i], ready.of(i))
	}
	// Only now are all claims of the commit known.
	d.assignPins()
	d.applyItems(r)
	if r.Erases {
		d.touchAll()
	}
}

// applyItems applies the changes of memories.
func (d *draft) applyItems(r *parsedCommit) {
	if len(r.Items) == 0 {
		return
	}
	if !d.ownsMemories {
		d.memories, d.ownsMemories = d.memories.Clone(), true
	}
	d.memories.Apply(memory.Commit{Seq: r.Seq, Time: r.Time.UnixMilli(), Changes: r.Items})
}

// applyChange applies the change of one file. f is the parsed file, nil if it is deleted. The old
// note gives up its claims first, so that the new one can have the same ids. ready is what was
// prepared for the change, nil if nothing was.
func (d *draft) applyChange(ch Change, f *File, ready *preparedNote) {
	old, _ := d.files.Get(ch.Path)
	d.unclaim(noteOf(old))
	if ch.Deleted {
		if d.swap(old, nil); old != nil {
			d.touchFolders(ch.Path, false, true)
		}
		d.importedTimes.Delete(vault.Path(ch.Path).ID()) // a later note with this path is another one
		return
	}
	d.touchFolders(ch.Path, old == nil, false)
	if f.parsed() != nil {
		was := d.previousNote(ch, old)
		// Of several changes of one path, only the first is prepared for the note that it replaces.
		if ready == nil || ready.was != was {
			ready = d.prepareNote(f, old, was)
		}
		d.setIdentity(f.parsed(), ready, ch)
		ch.Times.restore(f.parsed())
	}
	if f.Folder != nil {
		d.setFolderIdentity(f, cmp.Or(old, d.moved[ch.From]), ch)
	}
	d.swap(old, f)
}

// previousNote returns the note that a change replaces or moves; nil for a new note.
func (d *draft) previousNote(ch Change, old *File) *Note {
	if n := old.parsed(); n != nil {
		return n
	}
	return d.moved[ch.From].parsed()
}

// setIdentity sets the times and ids of a note and of everything in it. The times of a new note come
// from the commit and from audit logs. It must run before the note is in the lookups.
func (d *draft) setIdentity(n *Note, ready *preparedNote, ch Change) {
	was := ready.was
	d.assignUIDs(n, was, ch.Nodes)
	if was != nil {
		n.Created, n.Modified = was.Created, d.time
		n.dateSections(was, d.time)
		d.identify(n, identity{ready.traits, ch.TraitIDs, d.time})
		return
	}
	came := d.time
	if !ch.Since.IsZero() && ch.Since.Before(came) {
		came = ch.Since.UTC()
	}
	told, ok := d.importedTimes.Get(n.ID)
	if !ok {
		told.span = span{came, came}
	}
	n.Created, n.Modified = told.backdate(d.time, d.time)
	told.dateSections(n, came)
	d.identify(n, identity{matchTraits(n, told.prevTraits(n.ID, came)), ch.TraitIDs, came})
}

// dateSections sets the times of the sections. A section with the same slug as before is the same
// section, and its time of change stays if its own text does.
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
		case w.ownDigest == s.ownDigest:
			s.Times = w.Times
		default:
			s.Times = &Times{w.Created, now}
		}
	}
}

// isNote reports whether the file at a path is a note, by its path alone.
func isNote(path string) bool {
	return vault.Path(path).Kind() == vault.KindNote && path[0] != '.'
}
