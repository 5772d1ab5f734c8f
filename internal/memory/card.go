package memory

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unsafe"
)

// A Place is where the value of an item is kept in the log: the run, and the part of it.
type Place struct {
	Run  uint64
	Part int
}

// An origin is where the value of an item is, and the commit that changed it last.
type origin struct {
	Place   Place
	Version uint64
}

// A Card is what the index holds of a memory. It does not change.
type Card struct {
	origin

	ID    string
	Birth uint64 // grows with each memory that comes: the commit it came with, and the position in that

	Agent, By, Principal, Session, Key string
	Created, Updated                   int64 // Unix milliseconds
	Goal, TaskType                     string
	Outcome                            Outcome
	Tags                               []string
	Files                              []FileUse
	Importance                         float64
	Times                              int
	Imported                           bool
}

// birthBits is how many bits of a Birth are the position in a commit.
const birthBits = 20

func birthOf(version uint64, position int) uint64 {
	return version<<birthBits | uint64(position)&(1<<birthBits-1) //nolint:gosec // it is a position
}

// newCard reads the value of a memory.
func newCard(id string, value []byte, at origin, birth uint64) (*Card, error) {
	var m Memory
	if err := json.Unmarshal(value, &m); err != nil {
		return nil, fmt.Errorf("read a memory: %w", err)
	}
	return m.card(id, at, birth), nil
}

func (m *Memory) card(id string, at origin, birth uint64) *Card {
	return &Card{
		origin: at, ID: id, Birth: birth,
		Agent: m.Agent, By: m.By, Principal: m.Principal, Session: m.Session, Key: m.Key,
		Created: m.Created, Updated: m.Updated, Goal: m.Intent.Goal, TaskType: m.Intent.TaskType,
		Outcome: m.Outcome, Tags: m.Tags, Files: m.Files(), Importance: m.Importance, Times: m.Times,
		Imported: m.Imported,
	}
}

// ByAge compares two memories: the older one comes first, of those of a time the one that came first
// (reference/memory-build.md §2.17).
func ByAge(a, b *Card) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Birth, b.Birth), cmp.Compare(a.ID, b.ID))
}

// ByRank compares two memories: the more important one comes first, of those the newer.
func ByRank(a, b *Card) int { return cmp.Or(cmp.Compare(b.Importance, a.Importance), ByAge(b, a)) }

// Rank is a text by which memories are sorted as ByRank does.
func (c *Card) Rank() string {
	b := binary.BigEndian.AppendUint64(nil, ^math.Float64bits(max(c.Importance, 0)))
	return string(b) + c.Recency()
}

// Recency is a text by which memories are sorted the newest first.
func (c *Card) Recency() string {
	b := binary.BigEndian.AppendUint64(nil, ^uint64(c.Created)) //nolint:gosec // only the order counts
	b = binary.BigEndian.AppendUint64(b, ^c.Birth)
	for i := range len(c.ID) {
		b = append(b, ^c.ID[i])
	}
	return string(b)
}

// failed reports whether the memory is one of a failure.
func (c *Card) failed() bool { return !c.Outcome.Success }

// size is about how many bytes of memory a card holds, with what finds it.
func (c *Card) size() int64 {
	n := int(unsafe.Sizeof(*c)) + len(c.ID) + len(c.Goal) + len(c.Outcome.Summary) +
		len(c.Outcome.FailureReason) + len(c.Agent) + len(c.Session) + len(c.Key)
	for _, list := range [][]string{c.Tags, c.Outcome.Learnings, c.Outcome.FollowUpNeeded} {
		for _, text := range list {
			n += len(text) + 16
		}
	}
	for _, f := range c.Files {
		n += 3*len(f.Path) + 24
	}
	return int64(n + len(c.names())*entrySize)
}

// entrySize is about what an entry takes in a tree whose nodes are not full.
const entrySize = 36

// names are the names of the entries that find the card.
func (c *Card) names() []name {
	all := []name{
		{byAll, ""}, {byAgent, c.Agent}, {byTask, c.TaskType},
		{allByAge, ""}, {agentByAge, c.Agent},
	}
	if c.Session != NoSession {
		all = append(all, name{sessionByAge, c.Agent + "\x00" + c.Session})
	}
	seen := map[string]bool{}
	for _, tag := range c.Tags {
		if !seen[tag] {
			seen[tag] = true
			all = append(all, name{byTag, tag})
		}
	}
	clear(seen)
	for _, f := range c.Files {
		path := CleanPath(f.Path)
		if path != "" && !seen[path] {
			seen[path] = true
			all = append(all, name{byFile, path}, name{byFileEnd, reversed(path)})
		}
	}
	if c.Key != "" {
		all = append(all, name{byKey, c.Principal + "\x00" + c.Key})
	}
	return all
}

// A name is what an entry is found by: a kind, and a text.
type name struct {
	kind kind
	text string
}

// entry is the entry of a card under a name.
func (n name) entry(c *Card) entry { return entry{n.String(), c} }

// String is the name of the entry.
func (n name) String() string { return string([]byte{byte(n.kind)}) + n.text }

// CleanPath is a path as files are compared: with slashes, and without `./` in front.
func CleanPath(path string) string {
	path = strings.ReplaceAll(strings.TrimSpace(path), `\`, "/")
	for strings.HasPrefix(path, "./") {
		path = strings.TrimLeft(path[2:], "/")
	}
	return path
}

// reversed is a path with its segments in the other order, each with a slash behind it: so the paths that end
// alike stand together.
func reversed(path string) string {
	segments := strings.Split(path, "/")
	var b strings.Builder
	for i := len(segments) - 1; i >= 0; i-- {
		b.WriteString(segments[i])
		b.WriteByte('/')
	}
	return b.String()
}
