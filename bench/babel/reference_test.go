package babel_test

import (
	"maps"
	"slices"
)

// leads returns a reference by name with its target: a file of the name, otherwise a person,
// otherwise a note with the alias; among several, the one in the folder of the page.
func (g *page) leads(target, name string) Reference {
	best := 3
	for _, by := range g.goes[name] {
		best = min(best, by.tier)
	}
	var all, own []string
	for _, by := range g.goes[name] {
		if by.tier != best {
			continue
		}
		all = append(all, by.plan.id)
		if by.plan.beside(g.plan) && !g.day {
			own = append(own, by.plan.id)
		}
	}
	r := Reference{Target: target, Elsewhere: leading(all)}
	here := r.Elsewhere
	if len(own) > 0 {
		here = leading(own)
	}
	r.ID, r.Matches = here.ID, here.Matches
	return r
}

// leading returns the result for a reference with these possible targets.
func leading(ids []string) Leading {
	if len(ids) == 1 {
		return Leading{ID: ids[0]}
	}
	return Leading{Matches: slices.Sorted(slices.Values(ids))}
}

// certain returns a reference with exactly one target, wherever it is.
func certain(target, id string) Reference {
	return Reference{Target: target, ID: id, Elsewhere: Leading{ID: id}}
}

// other returns a random note that is not a daily note.
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
	return certain(p.id, p.id)
}

func (g *page) byFile() Reference {
	p := g.other()
	return certain(p.id+".md", p.id)
}

func (g *page) byLoudPath() Reference {
	p := g.other()
	return certain(p.shout(p.id), p.id)
}

func (g *page) bySuffix() Reference {
	p := g.other()
	return certain(p.folder+"/"+p.short, p.id)
}

// named returns a random note with one of its names.
func (g *page) named() (p *plan, name string) {
	p = g.other()
	names := []string{p.short}
	if p.name != "" {
		names = append(names, p.name, p.alias)
	}
	return p, one(g.world, names)
}

// known returns a reference by a name: of a file, of a person, or an alias.
func (g *page) known() Reference {
	_, name := g.named()
	return g.leads(name, name)
}

// loud returns a reference by a name in capital letters.
func (g *page) loud() Reference {
	p, name := g.named()
	return g.leads(p.shout(name), name)
}

// bySlug returns a reference by a name in the letters of addresses.
func (g *page) bySlug() Reference {
	_, name := g.named()
	return g.leads(slug(name), name)
}

// shared returns a reference by a name that several notes have.
func (g *page) shared() Reference {
	for _, name := range g.shuffled() {
		if len(g.goes[name]) > 1 {
			return g.leads(name, name)
		}
	}
	panic("no name is shared: the vault is too small")
}

// shuffled returns all names in an order that depends only on the seed.
func (w *world) shuffled() []string {
	names := slices.Sorted(maps.Keys(w.goes))
	w.rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// inSection returns a reference to a section by the path of its note. The name of a section alone
// resolves to it only if the caller asks for it.
func (g *page) inSection() Reference {
	p := g.other()
	return certain(p.id+"#"+p.heading, p.id+"#"+section(p.heading))
}

func (g *page) sectionName() Reference {
	p := g.other()
	return Reference{
		Target: section(p.heading), Elsewhere: Leading{ID: p.id + "#" + section(p.heading)},
	}
}

// byDay returns a reference to a day, which need not have a note.
func (g *page) byDay() Reference {
	day := one(g.world, []string{"2026-03-01", "2026-03-02", "2031-12-24"})
	target := one(g.world, []string{day, "daily/" + day})
	return certain(target, "daily/"+day)
}

// noWord and noPath lead to nothing, noSection to the note that has no such section.
func (g *page) noWord() Reference { return Reference{Target: g.fresh(g.language)} }

func (g *page) noPath() Reference {
	p := g.other()
	return Reference{Target: p.code + "/" + g.fresh(p.language) + "/" + p.short}
}

func (g *page) noSection() Reference {
	p := g.other()
	return Reference{Target: p.id + "#" + g.fresh(p.language), ID: p.id}
}
