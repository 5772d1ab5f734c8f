package repo

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/klauspost/compress/s2"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
)

// largeRun is the payload size, in bytes, from which results read from a run are cached. Finding
// an older change of a file in a run may require unpacking much of it, so without a cache an import
// would be unpacked once for each history that is read.
const largeRun = 64 << 10

// A changes caches the changes that the commits of large runs made to files, packed and without the
// texts. For such runs it also caches the places of the files, so that the next lookup in the run
// unpacks only one frame. The least recently used entries are evicted first. It is bounded by bytes
// and safe for concurrent use.
type changes struct {
	mu     sync.Mutex
	lru    *simplelru.LRU[changeKey, sized]
	held   int64          // bytes in use
	most   int64          // bytes allowed
	erases map[string]int // by tenant and part: how often dropAll was called
}

// A sized reports about how many bytes it takes.
type sized interface{ size() int64 }

// A changeKey identifies an entry of the changes cache in a log of the deployment: the change of
// the file at path by commit seq. With an empty path it identifies the notePlaces of the run that
// contains the commit or, if derived is set, the value that was derived from the commit.
type changeKey struct {
	tenant, part string
	seq          uint64
	path         string
	derived      bool
}

// A change is the change of one file by one commit.
type change struct {
	commit *eventlog.Commit // without notes, records and key
	at     eventlog.PartRef // of the note's part
	head   []byte           // the note's head in JSON, compressed with s2
	digest index.Digest
	path   string // of the file before this commit; see Commit.Earlier
	seq    uint64 // the commit that changed the file before; 0: none
}

// changeOverhead is about how many bytes an entry takes in addition to head.
const changeOverhead = 384

// size implements sized.
func (c *change) size() int64 { return int64(len(c.head)) + changeOverhead }

// newChanges returns an empty cache with a limit of most bytes.
func newChanges(most int64) *changes {
	c := &changes{most: most, erases: map[string]int{}}
	lru, err := simplelru.NewLRU(1<<30, func(_ changeKey, gone sized) { c.held -= gone.size() })
	if err != nil {
		panic(err) // never: the size is positive
	}
	c.lru = lru
	return c
}

// get returns the cached value for a key; nil if there is none. The value is immutable, and counts
// as used.
func (c *changes) get(k changeKey) sized {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, _ := c.lru.Get(k)
	return found
}

// state returns a counter for the log of the key that dropAll increments. It must be read before
// the log is, and passed to add.
func (c *changes) state(k changeKey) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.erases[k.tenant+"/"+k.part]
}

// add caches a value that was read when the log had this state. It does nothing if dropAll was
// called since, or the key is cached already.
func (c *changes) add(k changeKey, state int, made sized) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The value may contain data that was erased after it was read.
	if c.erases[k.tenant+"/"+k.part] != state || c.lru.Contains(k) {
		return
	}
	k.path = strings.Clone(k.path) // it may share memory with the image of an index
	c.lru.Add(k, made)
	c.held += made.size()
	for c.held > c.most && c.lru.Len() > 1 {
		c.lru.RemoveOldest()
	}
}

// dropAll removes all entries of a log, and makes add refuse values read before.
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

// revision returns the change of the file at path by commit seq, and the cached change with the
// previous path and commit of the file. The text of the Revision is nil if the commit is in a large
// run.
func (v *Vault) revision(ctx context.Context, path string, seq uint64) (Revision, *change, error) {
	k := changeKey{tenant: v.texts.tenant, part: v.part, seq: seq, path: path}
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
		return Revision{}, nil, eventlog.Damaged(seq, fmt.Errorf("commit %d does not concern the file", seq))
	}
	r, err := found.revision()
	r.Text = text
	return r, found, err
}

// findChange reads a change that is not cached. found is nil if the commit did not change the file.
// text is the text of the note if the run is small, and nil otherwise. Changes in small runs are
// not cached: decoding such a run costs little more than reading it. state is that of the cache
// before the call.
//
// In a large run, only the frame with the note is unpacked if its place is known, and otherwise
// those up to it that no lookup has unpacked yet. A run with a damaged payload is read as a whole,
// because a segment may have an intact copy.
func (v *Vault) findChange(ctx context.Context, k changeKey, state int) (found *change, text []byte, err error) {
	p := pick{v: v}
	in, _ := v.texts.changes.get(k.places()).(*notePlaces)
	if in == nil {
		run, err := p.runWith(ctx, k.seq)
		if err != nil {
			return nil, nil, err
		}
		if run.Size < largeRun {
			return findChangeIn(run, k)
		}
		in = newNotePlaces(run)
		for _, c := range in.commits {
			v.texts.changes.add(changeKey{tenant: k.tenant, part: k.part, seq: c.Seq}, state, in)
		}
	}
	found, err = in.change(ctx, k, v.indexedPart(k), &p)
	if fault.Is(err, fault.IndexError) {
		run, err := v.log.RunWith(ctx, k.seq)
		if err != nil {
			return nil, nil, err
		}
		found, _, err = findChangeIn(run, k)
		return found, nil, err
	}
	if found != nil {
		v.texts.changes.add(k, state, found)
	}
	return found, nil, err
}

// indexedPart returns the place that the newest index in memory has for the text of a file, if the
// commit of the key is the last one that changed the file; otherwise the zero place. The caller must
// compare the path in the part.
func (v *Vault) indexedPart(k changeKey) eventlog.PartRef {
	f, ok := v.log.Known().State.File(k.path)
	if !ok || f.Version != k.seq {
		return eventlog.PartRef{}
	}
	return eventlog.PartRef(f.Body)
}

// findChangeIn returns the change of a run with this key and the text of the note; nil if there is
// none.
func findChangeIn(r *eventlog.Run, k changeKey) (*change, []byte, error) {
	commits, err := r.Decode()
	if err != nil {
		return nil, nil, eventlog.Damaged(r.First, err)
	}
	at := eventlog.PartRef{Run: r.First}
	for i, c := range commits {
		for j := range c.Notes {
			n := &c.Notes[j]
			if c.Seq != k.seq || n.Path != k.path || n.Erased {
				continue
			}
			place := eventlog.PartRef{Run: at.Run, Part: at.Part + j}
			made, err := newChange(c, r.Parts[place.Part], place)
			if err != nil {
				return nil, nil, eventlog.Damaged(r.First, err)
			}
			made.path, made.seq = c.Earlier(*n)
			return made, n.Text, nil
		}
		at.Part += len(r.Commits[i].Parts)
	}
	return nil, nil, nil
}

// newChange returns the change of the note in part p by commit c, which is at place at. It does not
// set the previous path and commit.
func newChange(c *eventlog.Commit, p eventlog.Part, at eventlog.PartRef) (*change, error) {
	head, err := p.NoteHead()
	if err != nil {
		return nil, err
	}
	text, err := eventlog.TextOf(p, at)
	if err != nil {
		return nil, err
	}
	return &change{
		commit: c.Bare(), at: at, head: bytes.Clone(s2.Encode(nil, head)), digest: index.DigestOf(text),
	}, nil
}

// revision returns the Revision of the change, without the text.
func (c *change) revision() (Revision, error) {
	head, err := s2.Decode(nil, c.head)
	if err != nil {
		return Revision{}, fmt.Errorf("unpack a note's head: %w", err)
	}
	n, err := eventlog.DecodeNoteHead(head)
	if err != nil {
		return Revision{}, err
	}
	return Revision{Commit: c.commit, Digest: c.digest, at: c.at, Note: n}, nil
}

// Fill loads the text of a revision if it has one that is not loaded yet. r may be nil. Its errors
// are those of Text.
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
