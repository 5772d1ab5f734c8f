package index

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/rookeryhq/rookery/internal/vault"
)

// swap replaces the file old by now, at the same path. A nil old adds now, and a nil now deletes
// old; with both nil it does nothing. The lookups see the change only after applyLookups. Of
// several changes of a path in between, the first old file counts, because the lookups have its
// entries.
func (d *draft) swap(old, now *File) {
	switch {
	case now != nil:
		d.files.Set(now.Path, now)
	case old != nil:
		d.files.Delete(old.Path)
	default:
		return
	}
	path := cmp.Or(now, old).Path
	if _, changed := d.changed[path]; !changed {
		d.changed[path] = old
	}
	d.swapIDs(noteOf(old), noteOf(now))
	d.swapNodes(old, now)
}

// noteOf returns the note of f; nil if f is nil or is not a note.
func noteOf(f *File) *Note {
	if f == nil {
		return nil
	}
	return f.Note
}

// applyLookups updates the lookups to match the files. It writes only entries that were added or
// removed since the last call.
//
// A commit usually changes little of a note, and a note has many names. So the names of the file
// before and after are computed and compared, and the entries that both have are not touched. The
// counts are collected in the same pass. It is called at the end of With, once at the end of a
// Builder, and before the settings change, because reapplySettings finds notes by entries.
func (d *draft) applyLookups() {
	// Changes of several files can cancel each other, so all are collected before anything is
	// written.
	wait := d.startDiffing()
	for path, old := range d.changed {
		now, _ := d.files.Get(path)
		d.totals.add(noteOf(old), -1)
		d.totals.add(noteOf(now), 1)
		d.replaceRow(noteOf(old), noteOf(now))
		d.fileBytes += now.size() - old.size()
	}
	diff := wait()
	// The trees of ids and UIDs are independent of the entries and counts, which this goroutine
	// writes.
	var ids sync.WaitGroup
	if len(d.changed) > parseAhead { // for fewer files, another goroutine costs more than it saves
		ids.Go(d.flushIDs)
		ids.Go(d.flushNodes)
	} else {
		d.flushIDs()
		d.flushNodes()
	}
	d.entries.change(diff.removed, diff.added)
	for name, by := range diff.sums {
		d.sum(name, by)
	}
	for t, by := range diff.tallied {
		switch {
		case by == 0: // added and removed equally often
		case t.kind == inFolder:
			d.sumFolder(t.name, by)
		default:
			d.sum(d.entryName(t.kind, t.name), by)
		}
	}
	ids.Wait()
	clear(d.changed)
	// The spelling depends on the folders that contain notes, which the counts above have changed.
	d.findDailyFolder()
}

// startDiffing compares the entries of the changed files before and after, and returns a function
// that waits for the result. If there are many files, other goroutines compare them.
func (d *draft) startDiffing() (wait func() *entryDiff) {
	paths := slices.Collect(maps.Keys(d.changed))
	if len(paths) < manyChanges {
		diff := newEntryDiff(d)
		for _, path := range paths {
			diff.addFile(d, path)
		}
		return func() *entryDiff { return diff }
	}
	// The names of a file depend on nothing but the file and the cache, and this one is not shared.
	newPart := func() *entryDiff { return newEntryDiff(&draft{entryNames: map[term]string{}}) }
	var parts []*entryDiff
	var running sync.WaitGroup
	running.Go(func() {
		parts = inStrides(len(paths), newPart, func(part *entryDiff, i int) { part.addFile(d, paths[i]) })
	})
	return func() *entryDiff {
		running.Wait()
		for _, part := range parts[1:] {
			parts[0].join(part)
		}
		return parts[0]
	}
}

// names returns the names of all entries of a file, in no particular order; nil for a nil file. A
// name occurs once for each thing in the file that has it.
func (d *draft) names(f *File) []string {
	if f == nil {
		return nil
	}
	var all []string
	if fold := vault.Fold(f.Path); fold != f.Path {
		all = append(all, byFold.name(fold))
	}
	if f.Note != nil {
		all = d.noteNames(all, f.Note)
	}
	if f.Hidden != nil {
		all = append(all, isHidden.name(""))
	}
	return all
}

// An entryDiff collects the entries that are added to and removed from the index, over several
// files. came and went are in no particular order.
type entryDiff struct {
	added, removed []entry
	sums           map[string]int // by name: the change of its count
	tallied        map[term]int   // the changes of the counts of tally
	names          *draft         // has the cache of names
}

// newEntryDiff returns an empty entryDiff that uses the cache of names of a draft.
func newEntryDiff(names *draft) *entryDiff {
	return &entryDiff{sums: map[string]int{}, tallied: map[term]int{}, names: names}
}

// addFile adds the differences of one of the changed files of a draft, which it only reads.
func (r *entryDiff) addFile(d *draft, path string) {
	old := d.changed[path]
	now, _ := d.files.Get(path)
	r.add(path, r.names.names(old), r.names.names(now))
	tally(r.tallied, noteOf(old), -1)
	tally(r.tallied, noteOf(now), 1)
}

// join adds the differences of other files.
func (r *entryDiff) join(other *entryDiff) {
	r.added = append(r.added, other.added...)
	r.removed = append(r.removed, other.removed...)
	for name, by := range other.sums {
		r.sums[name] += by
	}
	for t, by := range other.tallied {
		r.tallied[t] += by
	}
}

// add compares the names that one file had with those that it has now. The lists can contain a name
// several times; add sorts them.
func (r *entryDiff) add(path string, had, has []string) {
	had, has = differing(had, has)
	slices.Sort(had)
	slices.Sort(has)
	// A merge of two sorted lists. Names are handled in order, each with all its occurrences.
	for len(had)+len(has) > 0 {
		name := firstName(had, has)
		before, now := repeats(had, name), repeats(has, name)
		had, has = had[before:], has[now:]
		switch {
		// The entries of a file are a set: only the first and the last occurrence of a name change
		// them.
		case before == 0:
			r.added = append(r.added, entry{name, path})
		case now == 0:
			r.removed = append(r.removed, entry{name, path})
		}
		if before != now && kind(name[0]).isCounted() {
			r.sums[name] += now - before
		}
	}
}

// fewNames is the largest number of places at which differing compares two lists any further.
const fewNames = 8

// differing returns those names of two lists whose counts may differ, each as often as the list has
// it. After most changes of a note its list has the same length, and other names in a few places;
// only the names there are returned then. Otherwise it returns both lists.
func differing(had, has []string) (before, now []string) {
	if len(had) != len(has) {
		return had, has
	}
	var places []int
	for i := range had {
		if had[i] == has[i] {
			continue
		}
		if places = append(places, i); len(places) > fewNames {
			return had, has
		}
	}
	var names []string
	for _, i := range places {
		names = append(names, had[i], has[i])
	}
	slices.Sort(names)
	// The names may also be in other places, and their counts must be complete.
	for _, name := range slices.Compact(names) {
		before = appendEqual(before, had, name)
		now = appendEqual(now, has, name)
	}
	return before, now
}

// appendEqual appends each element of names that is equal to name.
func appendEqual(all, names []string, name string) []string {
	for _, n := range names {
		if n == name {
			all = append(all, name)
		}
	}
	return all
}

// firstName returns the smallest name of two sorted lists, of which at most one is empty.
func firstName(a, b []string) string {
	if len(b) == 0 || len(a) > 0 && a[0] < b[0] {
		return a[0]
	}
	return b[0]
}

// repeats returns how many elements at the beginning of names are equal to name.
func repeats(names []string, name string) int {
	n := 0
	for n < len(names) && names[n] == name {
		n++
	}
	return n
}

// noteNames appends to all the names of the entries of a note, in no particular order. It is the
// list of everything by which a note can be found. A change of it changes the entries in images;
// see ImageFormat.
func (d *draft) noteNames(all []string, n *Note) []string {
	all = slices.Grow(all, 16+2*len(n.names)+len(n.Annotations)+len(n.Refs))
	add := func(k kind, name string) { all = append(all, d.entryName(k, name)) }
	all = append(all, byCreated.name(timeKey(n.Created)), byModified.name(timeKey(n.Modified)))
	if n.Quarantine() != nil {
		add(isBroken, "")
	}
	if n.Unindexed() > 0 {
		add(isUnindexed, "")
	}
	if n.DeclaredType == "" && n.Type != vault.Daily {
		add(isUntyped, "")
	}
	all = append(append(all, n.names...), n.fieldNames...)
	n.objectNames(add)
	n.usedFields(add)
	for i, t := range n.EachAnnotation {
		if all = append(all, t.entry); i == 0 || n.Annotations[i-1].Type != t.Type {
			add(byTrait, t.Type)
		}
		for _, day := range t.days {
			add(byDay, string(day))
		}
	}
	for i := range n.Refs {
		all = append(all, n.Refs[i].name)
	}
	for _, key := range n.tagKeys() {
		add(byTag, key)
	}
	for _, day := range n.fieldDays.all() {
		add(byDay, string(day))
	}
	return all
}

// objectNames calls add for the slug of each section, and for the type and the declared type of
// each object of a note.
func (n *Note) objectNames(add func(kind, string)) {
	for i := range n.Sections {
		add(bySection, clean(n.Sections[i].Slug))
	}
	for o := range n.typed {
		add(byType, o.Type())
	}
	if n.DeclaredType != "" {
		add(byDeclared, n.DeclaredType)
	}
	for _, s := range n.Sections {
		if s.DeclaredType() != "" {
			add(byDeclared, s.DeclaredType())
		}
	}
}

// usedFields calls add with the name of each field of the note and of the objects in it, with
// duplicates.
func (n *Note) usedFields(add func(kind, string)) {
	for i := -1; i < len(n.Sections); i++ {
		for _, f := range n.Object(i).Fields() {
			add(byField, clean(f.Name))
		}
	}
}

// typed yields the note, as an Object, and the objects in it. It skips plain sections.
func (n *Note) typed(yield func(Object) bool) {
	for i := -1; i < len(n.Sections); i++ {
		if o := n.Object(i); o.Type() != vault.Section && !yield(o) {
			return
		}
	}
}

// A term is the name of an entry, split into its kind and the rest. It is the key of maps that must
// not allocate the joined name for each lookup.
type term struct {
	kind kind
	name string
}

// entryName returns the name of an entry. Equal names share one string, to save memory. The cache
// belongs to the draft; names that are in the index already are not in it.
func (d *draft) entryName(k kind, name string) string {
	word, known := d.entryNames[term{k, name}]
	if !known {
		word = k.name(name)
		d.entryNames[term{k, word[1:]}] = word
	}
	return word
}

// tally adds by to the counts of the objects, traits, tags and facets of a note. by is 1 for a note
// that is added and -1 for one that is removed. A nil note changes nothing. These counts are not
// those of entries: an object in a note counts each time, but the note has one entry for its type.
func tally(sums map[term]int, n *Note, by int) {
	if n == nil {
		return
	}
	for i := -1; i < len(n.Sections); i++ {
		sums[term{byType, n.Object(i).Type()}] += by
	}
	for t := range n.Traits() {
		sums[term{byTrait, t.Type}] += by
	}
	for _, t := range n.Tags {
		sums[term{spelledTag, t.spelling()}] += by
	}
	for _, key := range n.tagKeys() {
		sums[term{byTag, key}] += by
	}
	tallyFacets(sums, n, by)
}

// sum adds by to the count of a name. Counts of zero are not stored.
func (d *draft) sum(name string, by int) {
	if by == 0 {
		return
	}
	if sum, _ := d.counts.Get(name); sum+by > 0 {
		d.counts.Set(name, sum+by)
		return
	}
	d.counts.Delete(name)
}

// add adds a note to the totals if by is 1, and subtracts it if by is -1. A nil note changes
// nothing.
func (t *Totals) add(n *Note, by int) {
	if n == nil {
		return
	}
	t.Notes += by
	t.Sections += by * len(n.Sections)
	t.Refs += by * len(n.Refs)
	t.Bytes += int64(by * n.Size)
	if n.Quarantine() != nil {
		t.Quarantined += by
	}
	t.Things += by * n.Things()
	if n.Unindexed() > 0 {
		t.Unindexed += by
	}
	for trait := range n.Traits() {
		if !trait.Task {
			t.Traits += by
		}
	}
	t.Counted.add(n, by)
}

// flushIDs writes the pending changes of d.ids to the tree of trait ids. It may run concurrently
// with changes of the entries and the counts, but not with other uses of d.ids.
func (d *draft) flushIDs() {
	d.traitIDs.change(d.ids)
	clear(d.ids)
}
