package repo

import (
	"cmp"
	"iter"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/search"
)

// A searched describes the kind of documents in a search index: the notes of a vault, or its
// memories. Each document is identified by a key.
type searched struct {
	profile search.Profile
	changed func(*eventlog.Commit) iter.Seq[string]         // keys that a commit changed
	all     func(*index.Index) []string                     // all keys of an index
	find    func(*index.Index, string) (searchChange, bool) // false: there is no document with the key
}

// A searchChange is a change of one document of a search index.
type searchChange struct {
	key  string
	gone bool                               // the document does not exist
	at   eventlog.PartRef                   // of its text; zero if gone, so that it sorts first
	size int                                // about how many bytes the text has
	note func([]byte) (*search.Note, error) // returns the document from its text
}

// searchedNotes describes the notes of a vault; the keys are paths. It includes notes that the
// configuration excludes: searches filter them out, so that a change of the patterns does not
// change the search index.
var searchedNotes = searched{
	profile: search.Notes(),
	changed: func(c *eventlog.Commit) iter.Seq[string] {
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
		// Kept also returns notes that the configuration excludes.
		n, ok := idx.Kept(path)
		if !ok {
			return searchChange{}, false
		}
		return searchChange{at: eventlog.PartRef(n.Body), size: n.Size, note: func(text []byte) (*search.Note, error) {
			return SearchNote(n, text), nil
		}}, true
	},
}

// usualMemory is about how many bytes the value of a memory has.
const usualMemory = 2 << 10

// searchedMemories describes the memories of a vault; the keys are ids.
var searchedMemories = searched{
	profile: search.Memories(),
	changed: func(c *eventlog.Commit) iter.Seq[string] {
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
		at := eventlog.PartRef(c.Place)
		return searchChange{at: at, size: usualMemory, note: func(value []byte) (*search.Note, error) {
			m, err := readMemory(value)
			if err != nil {
				return nil, err
			}
			return SearchMemory(c, m), nil
		}}, true
	},
}

// SearchMemory returns the document of a memory in the search index: its text, its tags and files,
// its persons, and its position in the work of its agent.
func SearchMemory(c *memory.Card, m *memory.Memory) *search.Note {
	n := &search.Note{Text: []byte(m.Text()), Memory: &search.MemoryFields{
		Name: c.Goal, Facts: c.Outcome.Learnings, Author: c.Agent, Persons: personsOf(c),
		Thread: threadOf(c), Date: time.UnixMilli(c.Created), Seq: c.Birth, Record: isRecord(c), Merit: c.Importance,
	}}
	n.Keywords = append(n.Keywords, c.Tags...)
	n.Keywords = append(n.Keywords, string(c.TaskType))
	for _, f := range c.Files {
		n.Keywords = append(n.Keywords, f.Path)
	}
	return n
}

// isRecord reports whether a memory is the record of some work: whether it has a goal, and a
// summary or failure reason that differs from the goal. An imported turn of a conversation is not a
// record: it has one text, as its goal or as its summary.
func isRecord(c *memory.Card) bool {
	o := &c.Outcome
	cameOfIt := cmp.Or(o.Summary, o.FailureReason)
	return c.Goal != "" && cameOfIt != "" && cameOfIt != c.Goal
}

// threadOf returns the name of the thread of a memory: its agent and session; "" if the session has
// no name.
func threadOf(c *memory.Card) string {
	if c.Session == memory.NoSession || c.Session == "" {
		return ""
	}
	return c.Agent + "\x00" + c.Session
}

// personTags are the prefixes of tags that name a person.
var personTags = []string{"person:", "about:"}

// personsOf returns the persons of a memory: its agent, and those that its tags name. Generated
// agent ids name no person.
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
