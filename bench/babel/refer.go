package babel

import (
	"maps"
	"slices"
)

// leads is a reference that leads to what goes by a name.
func (w *world) leads(target, name string) Reference {
	ids := w.goes[name]
	if len(ids) == 1 {
		return Reference{Target: target, ID: ids[0]}
	}
	return Reference{Target: target, Matches: ids}
}

// other is any note but a daily one.
func (w *world) other() *plan {
	for {
		if p := one(w, w.plans); !p.day {
			return p
		}
	}
}

// byPath, byFile, byLoudPath and bySuffix are the ways to write a path.
func (g *page) byPath() Reference {
	p := g.other()
	return Reference{Target: p.id, ID: p.id}
}

func (g *page) byFile() Reference {
	p := g.other()
	return Reference{Target: p.id + ".md", ID: p.id}
}

func (g *page) byLoudPath() Reference {
	p := g.other()
	return Reference{Target: p.shout(p.id), ID: p.id}
}

func (g *page) bySuffix() Reference {
	p := g.other()
	return Reference{Target: p.folder + "/" + p.short, ID: p.id}
}

// named is a note, and a name that it goes by.
func (g *page) named() (p *plan, name string) {
	p = g.other()
	names := []string{p.short}
	if p.name != "" {
		names = append(names, p.name, p.alias)
	}
	return p, one(g.world, names)
}

// known is a name: of a file, of a person, or an alias.
func (g *page) known() Reference {
	_, name := g.named()
	return g.leads(name, name)
}

// loud is a name in capital letters.
func (g *page) loud() Reference {
	p, name := g.named()
	return g.leads(p.shout(name), name)
}

// bySlug is a name in the letters of addresses.
func (g *page) bySlug() Reference {
	_, name := g.named()
	return g.leads(slug(name), name)
}

// shared is a name that several things go by.
func (g *page) shared() Reference {
	for _, name := range g.shuffled() {
		if len(g.goes[name]) > 1 {
			return g.leads(name, name)
		}
	}
	panic("no name is shared: the vault is too small")
}

// shuffled are all names in an order that depends on the seed alone.
func (w *world) shuffled() []string {
	names := slices.Sorted(maps.Keys(w.goes))
	w.rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// inSection and sectionName lead to a section, the first by the path of its note.
func (g *page) inSection() Reference {
	p := g.other()
	return Reference{Target: p.id + "#" + p.heading, ID: p.id + "#" + section(p.heading)}
}

func (g *page) sectionName() Reference {
	p := g.other()
	return g.leads(section(p.heading), p.heading)
}

// byDay leads to a day, which need not have a note.
func (g *page) byDay() Reference {
	day := one(g.world, []string{"2026-03-01", "2026-03-02", "2031-12-24"})
	target := one(g.world, []string{day, "daily/" + day})
	return Reference{Target: target, ID: "daily/" + day}
}

// noWord, noPath and noSection lead to nothing.
func (g *page) noWord() Reference { return Reference{Target: g.fresh(g.language)} }

func (g *page) noPath() Reference {
	p := g.other()
	return Reference{Target: p.code + "/" + g.fresh(p.language) + "/" + p.short}
}

func (g *page) noSection() Reference {
	p := g.other()
	return Reference{Target: p.id + "#" + g.fresh(p.language)}
}
