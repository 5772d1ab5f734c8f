package memory

import (
	"iter"
	"slices"
	"strings"
)

// named yields the memories under a name, in its order.
func (x *Index) named(n name) iter.Seq[*Card] {
	return func(yield func(*Card) bool) {
		text := n.String()
		x.entries.Ascend(entry{name: text}, func(e entry) bool { return e.name == text && yield(e.card) })
	}
}

// newestFirst yields the memories under a name whose entries are sorted by age, the newest first.
func (x *Index) newestFirst(n name) iter.Seq[*Card] {
	return func(yield func(*Card) bool) {
		text := n.String()
		x.entries.Descend(entry{text, last}, func(e entry) bool { return e.name == text && yield(e.card) })
	}
}

// Newest yields all memories, the newest first.
func (x *Index) Newest() iter.Seq[*Card] { return x.newestFirst(name{allByAge, ""}) }

// Oldest yields all memories, the oldest first.
func (x *Index) Oldest() iter.Seq[*Card] { return x.named(name{allByAge, ""}) }

// NewestOf yields the memories of an agent, the newest first. With a session, those of the session.
func (x *Index) NewestOf(agent, session string) iter.Seq[*Card] {
	if session != "" && session != NoSession {
		return x.newestFirst(name{sessionByAge, agent + "\x00" + session})
	}
	all := x.newestFirst(name{agentByAge, agent})
	if session == "" {
		return all
	}
	return func(yield func(*Card) bool) {
		for c := range all {
			if c.Session == session && !yield(c) {
				return
			}
		}
	}
}

// ByKey is the memory that a principal stored under a key.
func (x *Index) ByKey(principal, key string) (*Card, bool) {
	for c := range x.named(name{byKey, principal + "\x00" + key}) {
		return c, true
	}
	return nil, false
}

// A Filter says which memories may be found. Its zero value lets all through.
type Filter struct {
	Agent, TaskType string
	Success         *bool
	Since, Before   int64 // Unix milliseconds, both inclusive; 0: whenever
	Tags            []string
}

// Has reports whether a memory may be found.
func (f *Filter) Has(c *Card) bool {
	switch {
	case f.Agent != "" && c.Agent != f.Agent,
		f.TaskType != "" && c.TaskType != f.TaskType,
		f.Success != nil && c.Outcome.Success != *f.Success,
		f.Since != 0 && c.Created < f.Since,
		f.Before != 0 && c.Created > f.Before:
		return false
	}
	for _, tag := range f.Tags {
		if !slices.Contains(c.Tags, tag) {
			return false
		}
	}
	return true
}

// Ranked yields the memories that pass a filter, the most important first, of those the newest.
func (x *Index) Ranked(f Filter) iter.Seq[*Card] {
	from := name{kind: byAll}
	switch {
	case f.Agent != "":
		from = name{kind: byAgent, text: f.Agent}
	case len(f.Tags) > 0:
		from = name{kind: byTag, text: f.Tags[0]}
	case f.TaskType != "":
		from = name{kind: byTask, text: f.TaskType}
	}
	return func(yield func(*Card) bool) {
		for c := range x.named(from) {
			if f.Has(c) && !yield(c) {
				return
			}
		}
	}
}

// A FileMatch is a memory that is found by a file.
type FileMatch struct {
	*Card
	Path  string  // of the memory's file that matches
	Exact bool    // the paths are the same
	Share float64 // of the longer path that the other one has in common with it, from its end; of a pattern 1
}

// OfFile are the memories of a file, in the order of their rank: those of the very path or, where exact is false,
// those of others that match (reference/memory.md §A4.4): a path that ends in the other one, all paths below a
// folder (`src/`), and those that a pattern with `*`, `**`, `?` or `[ ]` fits.
func (x *Index) OfFile(asked string, exact bool) []FileMatch {
	asked = CleanPath(asked)
	found := matches{x: x, seen: map[string]bool{}}
	if exact {
		found.add(asked, 1, true)
		return found.sorted()
	}
	switch p, isPattern := newPattern(asked); {
	case isPattern:
		for path := range x.paths(byFile, p.front) {
			if path != asked && p.fits(path) {
				found.add(path, 1, false)
			}
		}
	case strings.HasSuffix(asked, "/"):
		for path := range x.paths(byFile, asked) {
			found.add(path, 1, false)
		}
	default:
		x.alike(asked, &found)
	}
	return found.sorted()
}

// alike adds the memories of paths that end in one, and of those in which it ends.
func (x *Index) alike(asked string, found *matches) {
	depth := strings.Count(asked, "/") + 1
	rest := asked
	for shorter := depth - 1; shorter > 0; shorter-- {
		_, rest, _ = strings.Cut(rest, "/")
		if rest != "" {
			found.add(rest, share(shorter, depth), false)
		}
	}
	for end := range x.paths(byFileEnd, reversed(asked)) {
		path := strings.TrimSuffix(reversed(strings.TrimSuffix(end, "/")), "/")
		if longer := strings.Count(path, "/") + 1; longer > depth {
			found.add(path, share(depth, longer), false)
		}
	}
}

func share(shorter, longer int) float64 { return float64(shorter) / float64(longer) }

// paths yields the texts of a kind of names that begin with a text, each once, in order.
func (x *Index) paths(k kind, front string) iter.Seq[string] {
	return func(yield func(string) bool) {
		first := string([]byte{byte(k)})
		next := entry{name: first + front}
		for more := true; more; {
			more = false
			x.entries.Ascend(next, func(e entry) bool {
				if !strings.HasPrefix(e.name, first+front) {
					return false
				}
				more = yield(e.name[1:])
				next = entry{name: e.name + "\x00"}
				return false
			})
		}
	}
}

// matches are memories that are found by a file, each once: under the path that is shared most.
type matches struct {
	x    *Index
	all  []FileMatch
	seen map[string]bool
}

func (m *matches) add(path string, share float64, exact bool) {
	for c := range m.x.named(name{kind: byFile, text: path}) {
		if !m.seen[c.ID] {
			m.seen[c.ID] = true
			m.all = append(m.all, FileMatch{c, path, exact, share})
		}
	}
}

func (m *matches) sorted() []FileMatch {
	slices.SortFunc(m.all, func(a, b FileMatch) int { return ByRank(a.Card, b.Card) })
	return m.all
}
