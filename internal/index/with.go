package index

import (
	"time"

	"rookery/internal/vault"
)

// With is the index after one more commit. The old one stays as it is. It takes time in proportion
// to what the commit changes; a change of the settings looks only at the notes whose type has
// another meaning now, and reads no text for it.
func (x *Index) With(c Commit) *Index {
	y := x.clone()
	y.apply(c)
	return y
}

// clone is a copy whose trees may be changed: they are copied on write. Copy marks the tree that it
// is called on, so it is called on the clone's, and x can be cloned by many at once.
func (x *Index) clone() *Index {
	y := *x
	y.files = *y.files.Copy()
	y.folded = *y.folded.Copy()
	y.byType = *y.byType.Copy()
	y.declared = *y.declared.Copy()
	y.counts = *y.counts.Copy()
	y.broken = *y.broken.Copy()
	y.seeds = *y.seeds.Copy()
	return &y
}

// apply takes a commit in. Only With and Build call it, on an index that nobody else has.
func (x *Index) apply(c Commit) {
	x.version, x.time = c.Seq, c.Time.UTC()
	before, texts := x.settings, x.texts
	var audit []byte
	for _, ch := range c.Changes {
		x.change(ch)
		texts = texts.with(ch)
		if ch.Path == vault.AuditLog {
			audit = ch.Text
		}
	}
	if texts != before.texts {
		x.settings = before.read(texts)
		x.retype(before)
	}
	if audit != nil {
		x.seed(audit)
	}
}

// change takes one file in.
func (x *Index) change(ch Change) {
	old, existed := x.files.Get(ch.Path)
	if existed {
		x.drop(old)
	}
	if ch.Deleted {
		x.seeds.Delete(vault.Path(ch.Path).ID()) // who comes next under this name is another
		return
	}
	f := &File{
		Path: ch.Path, Size: len(ch.Text), Digest: DigestOf(ch.Text), Body: ch.Body,
		Version: x.version,
	}
	if isNote(f.Path) {
		f.Note = newNote(f, ch.Text)
		f.Note.Type = x.typeOf(f.Note)
		f.Note.Created, f.Note.Modified = x.times(f.Note.ID, old)
	}
	x.enter(f)
}

// times are when a note was made and changed, if this commit changes it.
func (x *Index) times(id string, old *File) (created, modified time.Time) {
	if old != nil && old.Note != nil {
		return old.Note.Created, x.time
	}
	if told, ok := x.seeds.Get(id); ok {
		return told.before(x.time, x.time)
	}
	return x.time, x.time
}

// isNote reports whether the file of a path is a note.
func isNote(path string) bool {
	return vault.Path(path).Kind() == vault.KindNote && path[0] != '.'
}

// enter enters a file into the lookups.
func (x *Index) enter(f *File) {
	x.files.Set(f.Path, f)
	x.folded.Set(key(vault.Fold(f.Path), f.Path), struct{}{})
	n := f.Note
	if n == nil {
		return
	}
	x.byType.Set(key(n.Type, n.Path), n)
	if n.DeclaredType != "" {
		x.declared.Set(key(n.DeclaredType, n.Path), n)
	}
	if n.Quarantine != nil {
		x.broken.Set(n.Path, n)
	}
	x.count(n, 1)
}

// drop takes a file out of the lookups.
func (x *Index) drop(f *File) {
	x.files.Delete(f.Path)
	x.folded.Delete(key(vault.Fold(f.Path), f.Path))
	n := f.Note
	if n == nil {
		return
	}
	x.byType.Delete(key(n.Type, n.Path))
	x.declared.Delete(key(n.DeclaredType, n.Path))
	x.broken.Delete(n.Path)
	x.count(n, -1)
}

// replace puts a note that differs in what the index says of it in the place of the old one.
func (x *Index) replace(old *Note, by Note) {
	f := *old.File
	by.File, f.Note = &f, &by
	x.drop(old.File)
	x.enter(&f)
}

// count adds a note to the sums, or takes it off.
func (x *Index) count(n *Note, by int) {
	x.totals.Notes += by
	x.totals.Sections += by * len(n.Sections)
	x.totals.Bytes += int64(by * n.Size)
	if n.Quarantine != nil {
		x.totals.Quarantined += by
	}
	if sum, _ := x.counts.Get(n.Type); sum+by > 0 {
		x.counts.Set(n.Type, sum+by)
		return
	}
	x.counts.Delete(n.Type)
}
