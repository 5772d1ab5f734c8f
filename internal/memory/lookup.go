package memory

import (
	"iter"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// named yields the memories under a name, in the order of its kind.
func (x *Index) named(n name) iter.Seq[*Card] {
	return func(yield func(*Card) bool) {
		text := n.String()
		x.entries.Ascend(entry{name: text}, func(e entry) bool { return e.name == text && yield(e.card) })
	}
}

// newestFirst yields the memories under a name, the newest first. The kind of the name must be
// sorted by age.
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

// NewestOf yields the memories of an agent, the newest first; if session is not empty, only those
// of the session.
//
// For NoSession it reads all memories of the agent.
func (x *Index) NewestOf(agent, session string) iter.Seq[*Card] {
	if session != "" && session != NoSession {
		return x.newestFirst(name{sessionByAge, agent + "\x00" + session})
	}
	// Memories of NoSession have no entries by session; see Card.names.
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

// ByKey returns the memory that a principal stored under a key; false if there is none.
func (x *Index) ByKey(principal, key string) (*Card, bool) {
	for c := range x.named(name{byKey, principal + "\x00" + key}) {
		return c, true
	}
	return nil, false
}

// A Filter selects memories. Its zero value selects all.
type Filter struct {
	Agent         string
	TaskType      TaskType
	Success       *bool
	Since, Before int64    // range of Created in Unix milliseconds, both inclusive; 0: no limit
	Tags          []string // a memory must have all of them
}

// Has reports whether the filter selects a memory.
func (f *Filter) Has(c *Card) bool {
	switch {
	case f.Agent != "" && c.Agent != f.Agent,
		f.TaskType != "" && c.TaskType != f.TaskType,
		f.Success != nil && c.Outcome.Success != *f.Success,
		f.Since != 0 && c.Created < f.Since,
		f.Before != 0 && c.Created > f.Before:
		return false
	}
	return HasTags(c.Tags, f.Tags)
}

// Ranked yields the memories that a filter selects, the most important first, then the newest.
//
// It begins with the entries of the agent, the first tag or the kind of work, and filters these. So
// a filter by time or success alone can read all memories.
func (x *Index) Ranked(f Filter) iter.Seq[*Card] {
	// Begin with the entries that the filter reduces most, as a rule, and filter the rest.
	from := name{kind: byAll}
	switch {
	case f.Agent != "":
		from = name{kind: byAgent, text: f.Agent}
	case len(f.Tags) > 0:
		from = name{kind: byTag, text: f.Tags[0]}
	case f.TaskType != "":
		from = name{kind: byTask, text: string(f.TaskType)}
	}
	return func(yield func(*Card) bool) {
		for c := range x.named(from) {
			if f.Has(c) && !yield(c) {
				return
			}
		}
	}
}

// A FileMatch is a memory that was found by a file.
type FileMatch struct {
	*Card
	Path  string  // the path in the memory that matched
	Exact bool    // the path is equal to the one that was looked up
	Share float64 // common segments from the end / those of the longer path; 1: pattern, folder
}

// OfFile returns the memories of a file, in the order of ByRank. If exact is set, these are the
// memories with the same path. Otherwise they are those with another path that matches
// (reference/memory.md §A4.4): one path is the end of the other; the path is below a folder, if
// asked ends with a slash; or it matches asked as a pattern with `*`, `**`, `?` or `[ ]`.
//
// For asked "src/auth.go" and not exact, the paths "auth.go" (share 1/2) and "app/src/auth.go"
// (share 2/3) match, but "src/auth.go" does not: call OfFile with exact for it.
func (x *Index) OfFile(asked string, exact bool) []FileMatch {
	asked = CleanPath(asked)
	found := matches{x: x, seen: map[string]int{}}
	if exact {
		found.add(asked, 1, true)
		return found.sorted()
	}
	switch p, isPattern := newPattern(asked); {
	case isPattern:
		for path := range x.paths(byFile, p.front) {
			// The same path is an exact match, which the caller asks for separately.
			if path != asked && p.matches(path) {
				found.add(path, 1, false)
			}
		}
	case strings.HasSuffix(asked, "/"):
		for path := range x.paths(byFile, asked) {
			found.add(path, 1, false)
		}
	default:
		x.addBySuffix(asked, &found)
	}
	return found.sorted()
}

// addBySuffix adds the memories with a path that ends with asked, or that asked ends with.
func (x *Index) addBySuffix(asked string, found *matches) {
	depth := strings.Count(asked, "/") + 1
	rest := asked
	for shorter := depth - 1; shorter > 0; shorter-- {
		// Paths that are the end of the path asked for, the longest first.
		_, rest, _ = strings.Cut(rest, "/")
		if rest != "" {
			found.add(rest, share(shorter, depth), false)
		}
	}
	// Paths that the path asked for is the end of.
	for end := range x.paths(byFileEnd, reversed(asked)) {
		path := strings.TrimSuffix(reversed(strings.TrimSuffix(end, "/")), "/")
		if longer := strings.Count(path, "/") + 1; longer > depth {
			found.add(path, share(depth, longer), false)
		}
	}
}

// share returns the ratio of the numbers of segments of two paths.
func share(shorter, longer int) float64 { return float64(shorter) / float64(longer) }

// paths yields the texts of names of a kind that begin with front, in order and without
// duplicates.
//
// It seeks from name to name, and does not read the other entries of a name.
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
				// Skip the other entries with the same name.
				next = entry{name: e.name + "\x00"}
				return false
			})
		}
	}
}

// matches collects memories that are found by a file. A memory with several matching paths occurs
// once, with the path that has the largest share; with the first of them, if several have.
type matches struct {
	x    *Index
	all  []FileMatch
	seen map[string]int // positions in all, by id
}

// add adds the memories with a path.
func (m *matches) add(path string, share float64, exact bool) {
	for c := range m.x.named(name{kind: byFile, text: path}) {
		at, seen := m.seen[c.ID]
		switch {
		case !seen:
			m.seen[c.ID] = len(m.all)
			m.all = append(m.all, FileMatch{c, path, exact, share})
		case share > m.all[at].Share:
			m.all[at].Path, m.all[at].Share = path, share
		}
	}
}

// sorted returns the matches in the order of ByRank.
func (m *matches) sorted() []FileMatch {
	slices.SortFunc(m.all, func(a, b FileMatch) int { return ByRank(a.Card, b.Card) })
	return m.all
}

// A pattern is a path with `*`, `**`, `?` or `[ ]`.
type pattern struct{ text, front string } // front is the part before the first wildcard

// newPattern returns the pattern for a text; false if the text has no wildcard or is not a valid
// pattern.
func newPattern(text string) (pattern, bool) {
	i := strings.IndexAny(text, "*?[")
	if i < 0 || !doublestar.ValidatePattern(text) {
		return pattern{}, false
	}
	return pattern{text, text[:i]}, true
}

// matches reports whether the pattern matches a path.
//
// `*` and `?` do not match a slash; `**` matches any number of folders.
func (p pattern) matches(path string) bool { return doublestar.MatchUnvalidated(p.text, path) }
