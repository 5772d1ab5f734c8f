package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/klauspost/compress/s2"

	"rookery/internal/index"
)

// largeRun is the size of a payload, in bytes, from which the changes in it are cached: to read one of
// them costs as much as to read all, so the notes of an import would else be unpacked for each history.
const largeRun = 64 << 10

// changes caches what commits made of files: all but the texts, packed. The one that was used longest ago
// goes first. It is bounded by bytes, and safe for concurrent use.
type changes struct {
	mu     sync.Mutex
	lru    *simplelru.LRU[changeKey, *change]
	held   int64
	most   int64
	erases map[string]int // by tenant and part, how often something was forgotten there
}

// A changeKey names a change of a file in a log of a deployment.
type changeKey struct {
	tenant, part string
	seq          uint64
	path         string
}

// A change is what a commit made of a file.
type change struct {
	commit *Commit // without notes, records and key
	at     Place
	head   []byte // of the note, as JSON, packed
	digest index.Digest
	path   string // of the file before; see Commit.earlier
	seq    uint64
}

// changeOverhead is about what an entry costs beside what it points to.
const changeOverhead = 384

func (c *change) size() int64 { return int64(len(c.head)) + changeOverhead }

func newChanges(most int64) *changes {
	c := &changes{most: most, erases: map[string]int{}}
	lru, err := simplelru.NewLRU(1<<30, func(_ changeKey, gone *change) { c.held -= gone.size() })
	if err != nil {
		panic(err) // never: the size is positive
	}
	c.lru = lru
	return c
}

func (c *changes) get(k changeKey) (*change, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(k)
}

// state counts what was forgotten of a log: what was read before is not added behind it.
func (c *changes) state(k changeKey) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.erases[k.tenant+"/"+k.part]
}

// add takes a change that was read when the log had a state.
func (c *changes) add(k changeKey, state int, made *change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.erases[k.tenant+"/"+k.part] != state || c.lru.Contains(k) {
		return
	}
	c.lru.Add(k, made)
	c.held += made.size()
	for c.held > c.most && c.lru.Len() > 1 {
		c.lru.RemoveOldest()
	}
}

// dropAll forgets all changes of a log.
func (c *changes) dropAll(tenant, part string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erases[tenant+"/"+part]++
	for _, k := range c.lru.Keys() {
		if k.tenant == tenant && k.part == part {
			c.lru.Remove(k)
		}
	}
}

// revision is what a commit made of a file, without the text if it was cached, and what the file was
// before it.
func (v *Vault) revision(ctx context.Context, path string, seq uint64) (Revision, *change, error) {
	k := changeKey{v.texts.tenant, v.part, seq, path}
	if c, ok := v.texts.changes.get(k); ok {
		r, err := c.revision()
		return r, c, err
	}
	state := v.texts.changes.state(k)
	run, err := v.log.runWith(ctx, seq)
	if err != nil {
		return Revision{}, nil, err
	}
	commits, err := run.commits()
	if err != nil {
		return Revision{}, nil, damaged(run.First, err)
	}
	var found *change
	var text []byte
	keep := run.Size >= largeRun && int64(run.Size) <= packs*v.texts.changes.most
	for n, in := range run.notes(commits) {
		wanted := in.commit.Seq == seq && n.Path == path
		if !wanted && (!keep || n.Erased) {
			continue
		}
		made, err := run.change(in.commit, n, in.at)
		if err != nil {
			return Revision{}, nil, damaged(run.First, err)
		}
		if wanted {
			found, text = made, n.Text
		}
		if keep {
			v.texts.changes.add(changeKey{k.tenant, k.part, in.commit.Seq, n.Path}, state, made)
		}
	}
	if found == nil {
		return Revision{}, nil, damaged(seq, fmt.Errorf("commit %d is none of the file's", seq))
	}
	r, err := found.revision()
	r.Text = text
	return r, found, err
}

// packs is how many times as large as its packed changes a run is, at least.
const packs = 4

// A spot is where a note is in a run.
type spot struct {
	commit *Commit
	at     Place
}

// notes yields the notes of the commits of a run.
func (r *run) notes(commits []*Commit) iter.Seq2[*Note, spot] {
	return func(yield func(*Note, spot) bool) {
		at := Place{Run: r.First}
		for i, c := range commits {
			for j := range c.Notes {
				if !yield(&c.Notes[j], spot{c, Place{at.Run, at.Part + j}}) {
					return
				}
			}
			at.Part += len(r.Commits[i].Parts)
		}
	}
}

// change is what a commit of a run made of a note, which is the part at a place.
func (r *run) change(c *Commit, n *Note, at Place) (*change, error) {
	head, err := noteHeadIn(r.parts[at.Part].data)
	if err != nil {
		return nil, err
	}
	made := &change{
		commit: &Commit{
			Seq: c.Seq, Call: c.Call, Time: c.Time, Who: c.Who, Tool: c.Tool, Status: c.Status, Took: c.Took,
		},
		at: at, head: bytes.Clone(s2.Encode(nil, head)), digest: index.DigestOf(n.Text),
	}
	made.path, made.seq = c.earlier(*n)
	return made, nil
}

// noteHeadIn is the head of a note as its part holds it.
func noteHeadIn(part []byte) ([]byte, error) {
	if len(part) == 0 || part[0] != partNote {
		return nil, fmt.Errorf("a part is no note")
	}
	head, _, err := splitNote(part[1:])
	return head, err
}

// revision unpacks a change.
func (c *change) revision() (Revision, error) {
	head, err := s2.Decode(nil, c.head)
	if err != nil {
		return Revision{}, fmt.Errorf("unpack a note's head: %w", err)
	}
	var h noteHead
	if err := json.Unmarshal(head, &h); err != nil {
		return Revision{}, fmt.Errorf("decode a note's head: %w", err)
	}
	return Revision{Commit: c.commit, Digest: c.digest, at: c.at, Note: h.note()}, nil
}

// Fill loads the text of a revision, if it has one and it is not loaded yet. Nil will do.
func (v *Vault) Fill(ctx context.Context, r *Revision) error {
	if r == nil || r.Deleted || r.Erased || r.Text != nil {
		return nil
	}
	text, err := v.Text(ctx, index.Body(r.at))
	if err != nil {
		return err
	}
	r.Text = text
	return nil
}
