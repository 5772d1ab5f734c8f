package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/klauspost/compress/s2"

	"rookery/internal/index"
)

// largeRun is the size of a payload, in bytes, from which what is read of it is cached: to find the change of a file in
// one costs as much as to unpack it, so an import would else be unpacked for each history.
const largeRun = 64 << 10

// changes caches what commits of large runs made of files, all but the texts, packed; and of such runs where in them
// the files are, so that the next one of a run costs a frame of it. What was used longest ago goes first. It is bounded
// by bytes, and safe for concurrent use.
type changes struct {
	mu     sync.Mutex
	lru    *simplelru.LRU[changeKey, sized]
	held   int64
	most   int64
	erases map[string]int // by tenant and part, how often something was forgotten there
}

// A sized says about how many bytes it holds.
type sized interface{ size() int64 }

// A changeKey names a change of a file in a log of a deployment. Without a path it names the places in the run that
// the commit is in.
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
	lru, err := simplelru.NewLRU(1<<30, func(_ changeKey, gone sized) { c.held -= gone.size() })
	if err != nil {
		panic(err) // never: the size is positive
	}
	c.lru = lru
	return c
}

// get is what is cached by a key; nil if nothing is.
func (c *changes) get(k changeKey) sized {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, _ := c.lru.Get(k)
	return found
}

// state counts what was forgotten of a log: what was read before is not added behind it.
func (c *changes) state(k changeKey) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.erases[k.tenant+"/"+k.part]
}

// add takes what was read when the log had a state.
func (c *changes) add(k changeKey, state int, made sized) {
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

// revision is what a commit made of a file, without the text if it is in a large run, and what the file was before it.
func (v *Vault) revision(ctx context.Context, path string, seq uint64) (Revision, *change, error) {
	k := changeKey{v.texts.tenant, v.part, seq, path}
	if c, ok := v.texts.changes.get(k).(*change); ok {
		r, err := c.revision()
		return r, c, err
	}
	state := v.texts.changes.state(k)
	found, text, err := v.findChange(ctx, k, state)
	if err != nil {
		return Revision{}, nil, err
	}
	if found == nil {
		return Revision{}, nil, damaged(seq, fmt.Errorf("commit %d is none of the file's", seq))
	}
	r, err := found.revision()
	r.Text = text
	return r, found, err
}

// findChange reads a change that is not cached; nil if the commit did not change the file. Text is that of a small run,
// which is at hand.
func (v *Vault) findChange(ctx context.Context, k changeKey, state int) (found *change, text []byte, err error) {
	p := pick{v: v}
	read := func(at Place) ([]byte, error) { return p.part(ctx, at) }
	in, _ := v.texts.changes.get(k.places()).(*notePlaces)
	if in == nil {
		run, err := v.log.runWith(ctx, k.seq)
		if err != nil {
			return nil, nil, err
		}
		if run.Size < largeRun {
			return run.findChange(k)
		}
		in, read = newNotePlaces(run), run.dataOf
		for _, c := range in.commits {
			v.texts.changes.add(changeKey{k.tenant, k.part, c.Seq, ""}, state, in)
		}
	}
	if found, err = in.change(k, read); found != nil {
		v.texts.changes.add(k, state, found)
	}
	return found, nil, err
}

// findChange is the change that a key names, and the text; nil if there is none.
func (r *run) findChange(k changeKey) (*change, []byte, error) {
	commits, err := r.commits()
	if err != nil {
		return nil, nil, damaged(r.First, err)
	}
	at := Place{Run: r.First}
	for i, c := range commits {
		for j := range c.Notes {
			n := &c.Notes[j]
			if c.Seq != k.seq || n.Path != k.path || n.Erased {
				continue
			}
			place := Place{at.Run, at.Part + j}
			made, err := newChange(c, r.parts[place.Part].data, place)
			if err != nil {
				return nil, nil, damaged(r.First, err)
			}
			made.path, made.seq = c.earlier(*n)
			return made, n.Text, nil
		}
		at.Part += len(r.Commits[i].Parts)
	}
	return nil, nil, nil
}

// newChange is what a commit made of the note that a part at a place holds, but for what the file was before.
func newChange(c *Commit, part []byte, at Place) (*change, error) {
	head, err := noteHeadIn(part)
	if err != nil {
		return nil, err
	}
	text, err := textOf(part, at)
	if err != nil {
		return nil, err
	}
	return &change{
		commit: c.bare(), at: at, head: bytes.Clone(s2.Encode(nil, head)), digest: index.DigestOf(text),
	}, nil
}

// bare is a commit without notes, records and key.
func (c *Commit) bare() *Commit {
	return &Commit{Seq: c.Seq, Call: c.Call, Time: c.Time, Who: c.Who, Tool: c.Tool, Status: c.Status, Took: c.Took}
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
