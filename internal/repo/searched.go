package repo

import (
	"iter"
	"strings"
	"time"

	"rookery/internal/index"
	"rookery/internal/memory"
	"rookery/internal/search"
)

// A searched is what a searcher keeps a search index of: the notes of a vault, or its memories. Each thing goes by a
// key.
type searched struct {
	profile search.Profile
	changed func(*Commit) iter.Seq[string]                  // by a commit
	all     func(*index.Index) []string                     // of an index
	find    func(*index.Index, string) (searchChange, bool) // false: there is nothing of the key
}

// A searchChange is a thing that is to be searched anew.
type searchChange struct {
	key  string
	gone bool                               // there is no such thing any more, or never was
	at   Place                              // of its text; of what is gone, before all others
	size int                                // about how many bytes that has
	note func([]byte) (*search.Note, error) // what is searched of it, by its text
}

// searchedNotes are the notes of a vault, by path. Those are among them that exclude makes mere files: who searches
// leaves them out, so a change of the patterns costs a search nothing.
var searchedNotes = searched{
	profile: search.Notes(),
	changed: func(c *Commit) iter.Seq[string] {
		return func(yield func(string) bool) {
			for _, n := range c.Notes {
				if !n.Erased && !yield(n.Path) {
					return
				}
			}
		}
	},
	all: pathsOf,
	find: func(idx *index.Index, path string) (searchChange, bool) {
		n, ok := idx.Kept(path)
		if !ok {
			return searchChange{}, false
		}
		return searchChange{at: Place(n.Body), size: n.Size, note: func(text []byte) (*search.Note, error) {
			return SearchNote(n, text), nil
		}}, true
	},
}

// usualMemory is about how many bytes a memory has.
const usualMemory = 2 << 10

// searchedMemories are the memories of a vault, by id.
var searchedMemories = searched{
	profile: search.Memories(),
	changed: func(c *Commit) iter.Seq[string] {
		return func(yield func(string) bool) {
			for _, i := range c.Items {
				if !i.Erased && i.Kind == memory.KindMemory && !yield(i.ID) {
					return
				}
			}
		}
	},
	all: func(idx *index.Index) []string {
		var ids []string
		for c := range idx.Memories().Cards("") {
			ids = append(ids, c.ID)
		}
		return ids
	},
	find: func(idx *index.Index, id string) (searchChange, bool) {
		c, ok := idx.Memories().Card(id)
		if !ok {
			return searchChange{}, false
		}
		return searchChange{at: Place(c.Place), size: usualMemory, note: func(value []byte) (*search.Note, error) {
			m, err := readMemory(value)
			if err != nil {
				return nil, err
			}
			return SearchMemory(c, m), nil
		}}, true
	},
}

// SearchMemory is what is searched of a memory: all that is said in it, by which words it goes too, whose it is, and
// where it is in the work of its agent.
func SearchMemory(c *memory.Card, m *memory.Memory) *search.Note {
	n := &search.Note{Text: []byte(m.Text()), Memory: &search.MemoryFields{
		Name: c.Goal, Facts: c.Outcome.Learnings, Author: c.Agent, Persons: personsOf(c),
		Thread: threadOf(c), Date: time.UnixMilli(c.Created), Seq: c.Birth,
	}}
	n.Also = append(n.Also, c.Tags...)
	n.Also = append(n.Also, c.TaskType)
	for _, f := range c.Files {
		n.Also = append(n.Also, f.Path)
	}
	return n
}

// threadOf is the thread of a memory: those of one agent in one session that has a name.
func threadOf(c *memory.Card) string {
	if c.Session == memory.NoSession || c.Session == "" {
		return ""
	}
	return c.Agent + "\x00" + c.Session
}

// personTags are the beginnings of tags that say whose a memory is.
var personTags = []string{"person:", "about:"}

// personsOf are the persons of a memory: its agent, and those that its tags name. An id that was made for an agent
// names nobody.
func personsOf(c *memory.Card) []search.Person {
	var all []search.Person
	if user, isUser := strings.CutPrefix(c.Agent, "user:"); isUser {
		name, _, _ := strings.Cut(user, "@")
		all = append(all, search.Person{Name: name})
	} else if !strings.HasPrefix(c.Agent, memory.PrefixAgent) {
		all = append(all, search.Person{Name: c.Agent, Whole: true})
	}
	for _, tag := range c.Tags {
		for _, front := range personTags {
			if name, ok := strings.CutPrefix(tag, front); ok {
				all = append(all, search.Person{Name: name})
			}
		}
	}
	return all
}
