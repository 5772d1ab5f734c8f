package index

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/vault"
)

// reapplySettings applies the new settings to each note for which they make a difference. before
// has the old settings; d has the new ones.
//
// It must be called before the other changes of the commit are applied. The entries find the notes
// that are affected: each declared type that has another meaning, and each type and trait whose
// definition changed. A change of folders or of patterns goes through all notes. The notes are
// renewed in the order of their paths, so that ids that become free or are new are the same in
// every process.
func (d *draft) reapplySettings(before settings) {
	paths := map[string]bool{}
	for declared := range d.entries.names(byDeclared) {
		if before.schemaType(declared) != d.schemaType(declared) {
			d.collect(paths, byDeclared, declared)
		}
	}
	for typ := range changed(typeFingerprints(before.schema), typeFingerprints(d.schema)) {
		d.collect(paths, byType, typ)
	}
	for trait := range changed(traitFingerprints(before.schema), traitFingerprints(d.schema)) {
		d.collect(paths, byTrait, trait)
	}
	if before.config.DailyDirectory != d.config.DailyDirectory || before.config.Directories != d.config.Directories {
		d.collectMoved(paths, before)
	}
	if !slices.Equal(before.config.Exclude, d.config.Exclude) ||
		before.config.Deletion.TrashDir != d.config.Deletion.TrashDir {
		clear(d.folders)
		clear(d.hidden)
		d.collectExcluded(paths)
	}
	for path := range d.HiddenPaths() { // hidden notes have no entries to find them by
		paths[path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		n, _ := d.Kept(path)
		d.reapply(n)
	}
}

// collect adds the paths of the notes with a name.
func (x *Index) collect(paths map[string]bool, k kind, name string) {
	for path := range x.entries.paths(k.name(name), "") {
		paths[path] = true
	}
}

// collectMoved adds the notes that have another type, or become or cease to be templates, because
// of their folder. It goes through all notes; it is called only for a change of the folders.
func (d *draft) collectMoved(paths map[string]bool, before settings) {
	for n := range d.Notes("") {
		if before.typeOf(n) != d.typeOf(n) || n.isTemplate(before.config) != n.isTemplate(d.config) {
			paths[n.Path] = true
		}
	}
}

// collectExcluded adds the notes that become or cease to be excluded, and those that are hidden
// now. It goes through all notes; it is called only for a change of the patterns.
func (d *draft) collectExcluded(paths map[string]bool) {
	for n := range d.Notes("") {
		if d.excludes(n.Path) != n.Excluded || d.hides(n.Path) {
			paths[n.Path] = true
		}
	}
}

// typeFingerprints returns, for each type, a text with everything in it that affects notes of the
// type: the name field, and the fields that are references, times or traits. Two schemas with the
// same text for a type give its notes the same index, so a change of a description or of a default
// of a field renews nothing.
func typeFingerprints(s *vault.Schema) map[string]string {
	all := map[string]string{}
	for _, t := range s.Types {
		var b strings.Builder
		fmt.Fprintf(&b, "%q %q", t.NameField(), t.TraitNames())
		for _, name := range slices.Concat(t.FieldNames(), t.TraitNames()) {
			f, ok := t.Field(name)
			if ok && (f.IsRef() || f.IsTime()) {
				fmt.Fprintf(&b, " %q:%s", name, f.Type)
			}
		}
		all[t.Name] = b.String()
	}
	return all
}

// traitFingerprints returns, for each trait, a text with everything in it that affects annotations:
// its type and its default. The default counts because it is the value of a bare annotation.
func traitFingerprints(s *vault.Schema) map[string]string {
	all := map[string]string{}
	for _, t := range s.Traits {
		all[t.Name] = fmt.Sprintf("%s %v %#v", t.Type, t.HasDefault, t.Default)
	}
	return all
}

// changed returns the names with different meanings in the two maps, or with a meaning in only one
// of them.
func changed(was, is map[string]string) map[string]bool {
	names := map[string]bool{}
	for name, meaning := range is {
		if old, ok := was[name]; !ok || old != meaning {
			names[name] = true
		}
	}
	for name := range was {
		if _, ok := is[name]; !ok {
			names[name] = true
		}
	}
	return names
}
