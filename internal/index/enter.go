package index

import "rookery/internal/vault"

// swap puts a file in the place of another in all lookups; nil is none. The ids of the traits of the
// one that goes are released before.
func (d *draft) swap(old, now *File) {
	if old != nil {
		d.files.Delete(old.Path)
		d.folded.Delete(key(vault.Fold(old.Path), old.Path))
	}
	if now != nil {
		d.files.Set(now.Path, now)
		d.folded.Set(key(vault.Fold(now.Path), now.Path), struct{}{})
	}
	was, is := noteOf(old), noteOf(now)
	exchange(&d.broken, was.ifSo(was.quarantined()), is.ifSo(is.quarantined()))
	exchange(&d.untyped, was.ifSo(was.isUntyped()), is.ifSo(is.isUntyped()))
	exchange(&d.created, was.createdKeys(), is.createdKeys())
	exchange(&d.modified, was.modifiedKeys(), is.modifiedKeys())
	exchange(&d.byType, was.typeKeys(), is.typeKeys())
	exchange(&d.declared, was.declaredKeys(), is.declaredKeys())
	exchange(&d.names, was.nameKeys(), is.nameKeys())
	exchange(&d.traits, was.traitKeys(), is.traitKeys())
	exchange(&d.traitValues, was.valueKeys(), is.valueKeys())
	exchange(&d.dates, was.dayKeys(), is.dayKeys())
	exchange(&d.refs, was.refKeys(), is.refKeys())
	exchange(&d.tags, was.tagKeys(), is.tagKeys())
	d.count(was, -1)
	d.count(is, 1)
	if is != nil {
		for _, t := range is.Annotations {
			d.traitIDs.Set(t.ID, t)
		}
	}
}

// noteOf is the note that a file is, nil if it is none. The methods that give keys may be called on
// nil.
func noteOf(f *File) *Note {
	if f == nil {
		return nil
	}
	return f.Note
}

// exchange takes keys out of a tree and puts others in. Of those that are in both the value changes.
func exchange[V any](t *tree[V], was, is map[string]V) {
	for k := range was {
		if _, stays := is[k]; !stays {
			t.Delete(k)
		}
	}
	for k, v := range is {
		t.Set(k, v)
	}
}

// ifSo is the note by its path, if something holds for it.
func (n *Note) ifSo(holds bool) map[string]*Note {
	if !holds {
		return nil
	}
	return map[string]*Note{n.Path: n}
}

func (n *Note) quarantined() bool { return n != nil && n.Quarantine != nil }

// isUntyped reports whether the note says no type and is no daily note.
func (n *Note) isUntyped() bool {
	return n != nil && n.DeclaredType == "" && n.Type != vault.Daily
}

func (n *Note) createdKeys() map[string]*Note {
	if n == nil {
		return nil
	}
	return map[string]*Note{key(timeKey(n.Created), n.Path): n}
}

func (n *Note) modifiedKeys() map[string]*Note {
	if n == nil {
		return nil
	}
	return map[string]*Note{key(timeKey(n.Modified), n.Path): n}
}

// typeKeys are the note and what is embedded in it, by type.
func (n *Note) typeKeys() map[string]Object {
	if n == nil {
		return nil
	}
	keys := map[string]Object{}
	for o := range n.typed {
		keys[key(o.Type(), o.Spot().key())] = o
	}
	return keys
}

// typed yields the note and the objects in it that are no plain sections.
func (n *Note) typed(yield func(Object) bool) {
	for i := -1; i < len(n.Sections); i++ {
		if o := n.Object(i); o.Type() != vault.Section && !yield(o) {
			return
		}
	}
}

// declaredKeys are the note by the types that it and the objects in it say.
func (n *Note) declaredKeys() map[string]*Note {
	if n == nil {
		return nil
	}
	keys := map[string]*Note{}
	if n.DeclaredType != "" {
		keys[key(n.DeclaredType, n.Path)] = n
	}
	for _, s := range n.Sections {
		if s.DeclaredType != "" {
			keys[key(s.DeclaredType, n.Path)] = n
		}
	}
	return keys
}

// traitKeys are the note by the types of its annotations.
func (n *Note) traitKeys() map[string]*Note {
	if n == nil || len(n.Annotations) == 0 {
		return nil
	}
	keys, last := map[string]*Note{}, ""
	for _, t := range n.Annotations {
		if t.Type != last {
			last = t.Type
			keys[key(t.Type, n.Path)] = n
		}
	}
	return keys
}

// valueKeys are the note by the types and values of its annotations.
func (n *Note) valueKeys() map[string]*Note {
	if n == nil || len(n.Annotations) == 0 {
		return nil
	}
	keys := make(map[string]*Note, len(n.Annotations))
	for _, t := range n.Annotations {
		keys[key(t.Type, key(t.key(), n.Path))] = n
	}
	return keys
}

func (n *Note) dayKeys() map[string]*Note {
	if n == nil || len(n.days) == 0 {
		return nil
	}
	keys := make(map[string]*Note, len(n.days))
	for _, day := range n.days {
		keys[key(string(day), n.Path)] = n
	}
	return keys
}

func (n *Note) tagKeys() map[string]TaggedIn {
	if n == nil || len(n.Tags) == 0 {
		return nil
	}
	keys := make(map[string]TaggedIn, len(n.Tags))
	for _, t := range n.Tags {
		keys[key(t.Name, n.Path)] = TaggedIn{n, t}
	}
	return keys
}

// refKeys are the positions of the note's references, by bucket.
func (n *Note) refKeys() map[string][]int32 {
	if n == nil || len(n.Refs) == 0 {
		return nil
	}
	keys, buckets := map[string][]int32{}, map[string]string{}
	for i, r := range n.Refs {
		k, known := buckets[r.Target]
		if !known {
			k = key(bucketOf(r.Target), n.Path)
			buckets[r.Target] = k
		}
		keys[k] = append(keys[k], int32(i))
	}
	return keys
}

// count adds a note to the sums, or takes it off.
func (d *draft) count(n *Note, by int) {
	if n == nil {
		return
	}
	d.totals.Notes += by
	d.totals.Sections += by * len(n.Sections)
	d.totals.Refs += by * len(n.Refs)
	d.totals.Bytes += int64(by * n.Size)
	if n.Quarantine != nil {
		d.totals.Quarantined += by
	}
	types, traits := map[string]int{}, map[string]int{}
	for i := -1; i < len(n.Sections); i++ {
		types[n.Object(i).Type()] += by
	}
	for t := range n.Traits() {
		traits[t.Type] += by
		d.totals.Traits += by
	}
	add(&d.counts, types)
	add(&d.traitCounts, traits)
	for _, t := range n.Tags {
		add(&d.tagCounts, map[string]int{t.Name: by})
	}
}

// add adds to the numbers of a tree, which holds none that is 0.
func add(t *tree[int], more map[string]int) {
	for k, by := range more {
		if sum, _ := t.Get(k); sum+by > 0 {
			t.Set(k, sum+by)
			continue
		}
		t.Delete(k)
	}
}
