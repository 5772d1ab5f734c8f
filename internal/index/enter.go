package index

import "rookery/internal/vault"

// enter enters a file into the lookups.
func (d *draft) enter(f *File) {
	d.files.Set(f.Path, f)
	d.folded.Set(key(vault.Fold(f.Path), f.Path), struct{}{})
	n := f.Note
	if n == nil {
		return
	}
	if n.Quarantine != nil {
		d.broken.Set(n.Path, n)
	}
	if n.untyped() {
		d.untyped.Set(n.Path, n)
	}
	d.created.Set(key(timeKey(n.Created), n.Path), n)
	d.modified.Set(key(timeKey(n.Modified), n.Path), n)
	d.enterObjects(n)
	d.enterTraits(n)
	d.enterRefs(n)
	d.enterTags(n)
	d.count(n, 1)
}

// drop takes a file out of the lookups.
func (d *draft) drop(f *File) {
	d.files.Delete(f.Path)
	d.folded.Delete(key(vault.Fold(f.Path), f.Path))
	n := f.Note
	if n == nil {
		return
	}
	d.broken.Delete(n.Path)
	d.untyped.Delete(n.Path)
	d.created.Delete(key(timeKey(n.Created), n.Path))
	d.modified.Delete(key(timeKey(n.Modified), n.Path))
	d.dropObjects(n)
	d.dropTraits(n)
	d.dropRefs(n)
	d.dropTags(n)
	d.count(n, -1)
}

// untyped reports whether the note says no type and is no daily note.
func (n *Note) untyped() bool { return n.DeclaredType == "" && n.Type != vault.Daily }

// enterObjects enters the note and what is embedded in it by type, and all that is in it by name.
func (d *draft) enterObjects(n *Note) {
	for o := range n.typed {
		d.byType.Set(key(o.Type(), o.Spot().key()), o)
	}
	for declared := range n.declared {
		d.declared.Set(key(declared, n.Path), n)
	}
	n.entries(func(k string, o Object) { d.names.Set(k, o) })
}

func (d *draft) dropObjects(n *Note) {
	for o := range n.typed {
		d.byType.Delete(key(o.Type(), o.Spot().key()))
	}
	for declared := range n.declared {
		d.declared.Delete(key(declared, n.Path))
	}
	n.entries(func(k string, _ Object) { d.names.Delete(k) })
}

// typed yields the note and the objects in it that are no plain sections.
func (n *Note) typed(yield func(Object) bool) {
	for i := -1; i < len(n.Sections); i++ {
		if o := n.Object(i); o.Type() != vault.Section && !yield(o) {
			return
		}
	}
}

// declared yields the types that the note and the objects in it say.
func (n *Note) declared(yield func(string) bool) {
	if n.DeclaredType != "" && !yield(n.DeclaredType) {
		return
	}
	for _, s := range n.Sections {
		if s.DeclaredType != "" && !yield(s.DeclaredType) {
			return
		}
	}
}

func (d *draft) enterTraits(n *Note) {
	for _, t := range n.Annotations {
		d.traitIDs.Set(t.ID, t)
	}
	types, values := n.traitKeys()
	for k := range types {
		d.traits.Set(k, n)
	}
	for k := range values {
		d.traitValues.Set(k, n)
	}
	for _, day := range n.days {
		d.dates.Set(key(string(day), n.Path), n)
	}
}

func (d *draft) dropTraits(n *Note) {
	for _, t := range n.Annotations {
		d.release(t)
	}
	types, values := n.traitKeys()
	for k := range types {
		d.traits.Delete(k)
	}
	for k := range values {
		d.traitValues.Delete(k)
	}
	for _, day := range n.days {
		d.dates.Delete(key(string(day), n.Path))
	}
}

// traitKeys are the keys of the note among the traits, by type and by value.
func (n *Note) traitKeys() (types, values map[string]bool) {
	if len(n.Annotations) == 0 {
		return nil, nil
	}
	type kind struct{ typ, by string }
	seen := map[kind]bool{}
	types, values = map[string]bool{}, map[string]bool{}
	for _, t := range n.Annotations {
		k := kind{t.Type, t.key()}
		if seen[k] {
			continue
		}
		seen[k] = true
		types[key(t.Type, n.Path)] = true
		values[key(t.Type, key(k.by, n.Path))] = true
	}
	return types, values
}

func (d *draft) enterTags(n *Note) {
	for _, t := range n.Tags {
		d.tags.Set(key(t.Name, n.Path), TaggedIn{n, t})
	}
}

func (d *draft) dropTags(n *Note) {
	for _, t := range n.Tags {
		d.tags.Delete(key(t.Name, n.Path))
	}
}

// count adds a note to the sums, or takes it off.
func (d *draft) count(n *Note, by int) {
	d.totals.Notes += by
	d.totals.Sections += by * len(n.Sections)
	d.totals.Bytes += int64(by * n.Size)
	if n.Quarantine != nil {
		d.totals.Quarantined += by
	}
	for i := -1; i < len(n.Sections); i++ {
		add(&d.counts, n.Object(i).Type(), by)
	}
	for t := range n.Traits() {
		add(&d.traitCounts, t.Type, by)
		d.totals.Traits += by
	}
	for _, t := range n.Tags {
		add(&d.tagCounts, t.Name, by)
	}
}

// add adds to a number of a tree, which holds none that is 0.
func add(t *tree[int], key string, by int) {
	if sum, _ := t.Get(key); sum+by > 0 {
		t.Set(key, sum+by)
		return
	}
	t.Delete(key)
}
