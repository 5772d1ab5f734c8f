package index

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/vault"
)

// resettle puts each note that has another meaning by the new settings in its place again.
func (d *draft) resettle(before settings) {
	paths := map[string]bool{}
	for declared := range d.entries.names(byDeclared) {
		if before.meaning(declared) != d.meaning(declared) {
			d.collect(paths, byDeclared, declared)
		}
	}
	for typ := range changed(typeMeanings(before.schema), typeMeanings(d.schema)) {
		d.collect(paths, byType, typ)
	}
	for trait := range changed(traitMeanings(before.schema), traitMeanings(d.schema)) {
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
	for path := range d.HiddenPaths() { // these have no entries that tell whether they mean something else
		paths[path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		n, _ := d.Kept(path)
		d.renew(n)
	}
}

// collect adds the paths of the notes that go by a name.
func (x *Index) collect(paths map[string]bool, k kind, name string) {
	for path := range x.entries.paths(k.name(name), "") {
		paths[path] = true
	}
}

// collectMoved adds the notes that have another type, or are templates now or no longer, because of the folder that
// they are in. It asks about every note, which only a change of the folders does.
func (d *draft) collectMoved(paths map[string]bool, before settings) {
	for n := range d.Notes("") {
		if before.typeOf(n) != d.typeOf(n) || n.isTemplate(before.config) != n.isTemplate(d.config) {
			paths[n.Path] = true
		}
	}
}

// collectExcluded adds the notes that are left out by the patterns now and were not, or were and are not. It asks
// about every note, which only a change of the patterns does.
func (d *draft) collectExcluded(paths map[string]bool) {
	for n := range d.Notes("") {
		if d.excludes(n.Path) != n.Excluded || d.hides(n.Path) {
			paths[n.Path] = true
		}
	}
}

// typeMeanings say of each type what notes of it are settled by: the name field, and which fields are
// references, times, and traits.
func typeMeanings(s *vault.Schema) map[string]string {
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

// traitMeanings say of each trait what annotations of it are settled by: its type and its default.
func traitMeanings(s *vault.Schema) map[string]string {
	all := map[string]string{}
	for _, t := range s.Traits {
		all[t.Name] = fmt.Sprintf("%s %v %#v", t.Type, t.HasDefault, t.Default)
	}
	return all
}

// changed are the names that mean something else in the second map than in the first.
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
