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

// A Place is the position of an item's value in the log: the run, and the part of the run.
type Place struct {
	Run  uint64
	Part int
}

// An origin is the position of an item's value and the commit that last changed the item.
//
// Version is a sequence number of the log.
type origin struct {
	Place   Place
	Version uint64
}

// A Card contains the fields of a memory that lookups and short answers need. It is immutable.
// Later memories have a greater Birth.
type Card struct {
	origin

	ID    string
	Birth uint64 // the commit that created it, and its position in that commit

	// By is the agent that stored the memory, if it is not Agent, the owner.
	Agent, By, Principal, Session, Key string
	Created, Updated                   int64 // Unix milliseconds
	Goal                               string
	TaskType                           TaskType
	Outcome                            Outcome
	Tags                               []string
	Files                              []FileUse
	Importance                         float64 // from 0 to 1
	Times                              int     // how often it was stored under its key; 0: once
	Imported                           bool
}

// birthBits is the number of low bits of a Birth that contain the position in a commit.
const birthBits = 20

// birthOf returns the Birth for a position in the commit with sequence number version.
func birthOf(version uint64, position int) uint64 {
	return version<<birthBits | uint64(position)&(1<<birthBits-1) //nolint:gosec // it is a position
}

// newCard returns the card of the memory whose JSON is value.
//
// It fails only if the value is not JSON of a memory.
func newCard(id string, value []byte, at origin, birth uint64) (*Card, error) {
	var m Memory
	if err := json.Unmarshal(value, &m); err != nil {
		return nil, fmt.Errorf("read a memory: %w", err)
	}
	return m.card(id, at, birth), nil
}

// card returns the card of a memory.
func (m *Memory) card(id string, at origin, birth uint64) *Card {
	return &Card{
		origin: at, ID: id, Birth: birth,
		Agent: m.Agent, By: m.By, Principal: m.Principal, Session: m.Session, Key: m.Key,
		Created: m.Created, Updated: m.Updated, Goal: m.Intent.Goal, TaskType: m.Intent.TaskType,
		Outcome: m.Outcome, Tags: m.Tags, Files: m.Files(), Importance: m.Importance, Times: m.Times,
		Imported: m.Imported,
	}
}

// ByAge compares two memories by their time of creation, the oldest first, then by Birth
// (reference/memory-build.md §2.17).
func ByAge(a, b *Card) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Birth, b.Birth), cmp.Compare(a.ID, b.ID))
}

// ByRank compares two memories by descending importance, then the newest first.
func ByRank(a, b *Card) int { return cmp.Or(cmp.Compare(b.Importance, a.Importance), ByAge(b, a)) }

// Rank returns a string whose bytewise order is the order of ByRank. Negative importance counts
// as 0.
func (c *Card) Rank() string {
	b := binary.BigEndian.AppendUint64(nil, ^math.Float64bits(max(c.Importance, 0)))
	return string(b) + c.Recency()
}

// Recency returns a string whose bytewise order is by age, the newest first. It is the reverse of
// ByAge for times from 1970 on.
func (c *Card) Recency() string {
	b := binary.BigEndian.AppendUint64(nil, ^uint64(c.Created)) //nolint:gosec // only the order counts
	b = binary.BigEndian.AppendUint64(b, ^c.Birth)
	for i := range len(c.ID) {
		// Inverted bytes sort in descending order.
		b = append(b, ^c.ID[i])
	}
	return string(b)
}

// failed reports whether the outcome of the memory is a failure.
func (c *Card) failed() bool { return !c.Outcome.Success }

// size returns the approximate memory use of a card and its entries, in bytes.
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

// entrySize is the approximate size, in bytes, of an entry in a tree with partly filled nodes.
const entrySize = 36

// names returns the names of the entries of the card, except those of links.
//
// The entries of links have names of their own, because links change without their memories.
func (c *Card) names() []name {
	// Every memory has these entries; the first three are sorted by rank, the others by age.
	all := []name{
		{byAll, ""}, {byAgent, c.Agent}, {byTask, string(c.TaskType)},
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
		// Two paths of a memory can be equal after cleaning.
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

// A name is what entries are looked up by: a kind, and a text.
type name struct {
	kind kind
	text string
}

// entry returns the entry of a card under a name.
func (n name) entry(c *Card) entry { return entry{n.String(), c} }

// String returns the name as a string, which begins with the kind.
func (n name) String() string { return string([]byte{byte(n.kind)}) + n.text }

// CleanPath returns a path in the form in which paths are compared: with slashes, and without
// white space around it and `./` in front.
func CleanPath(path string) string {
	path = strings.ReplaceAll(strings.TrimSpace(path), `\`, "/")
	for strings.HasPrefix(path, "./") {
		path = strings.TrimLeft(path[2:], "/")
	}
	return path
}

// reversed returns a path with its segments in reverse order, each followed by a slash. So paths
// with a common end are adjacent in sorted order.
func reversed(path string) string {
	segments := strings.Split(path, "/")
	var b strings.Builder
	for i := len(segments) - 1; i >= 0; i-- {
		b.WriteString(segments[i])
		b.WriteByte('/')
	}
	return b.String()
}
