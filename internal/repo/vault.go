package repo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/parallel"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Vault is one incarnation of a vault: a log of notes and items, and the index that is derived
// from it. It is safe for concurrent use.
//
// The index is immutable: a caller that has read one works with it as long as it likes, and never
// sees a later commit. Several processes may have a Vault for the same log; each has its own caches
// and learns the commits of the others when it reads. A vault that is created again under the same
// name is another incarnation, with another partition and bucket.
type Vault struct {
	Name string

	log    *eventlog.Log[*index.Index]
	texts  *Texts
	table  table.Table // of the tenant
	part   string
	follow Follower
	from   uint64 // the follower does not get the commits up to here
	limits Limits
	named  int // most paths of each list of files in the control item

	searcher *searcher
	memories *searcher // of memories
	accesses *accesses // of memories
	ledger   *ledger
	pasts    *SnapshotCache

	control  atomic.Pointer[Control]   // that was read last; nil: none
	began    atomic.Pointer[time.Time] // of the first commit; nil: not known
	onePiece atomic.Uint64             // the last commit of a state that was built at once, from an image; 0: none
	gathered atomic.Bool               // the next image replaces the index in memory; see gather
}

// VaultOptions are the options of a Vault. All but Listed, Limits, SnapshotCache, MaxNamed and
// ImageItems are required.
type VaultOptions struct {
	Name  string
	Part  string      // the partition of its log
	Table table.Table // of the tenant

	Listed table.Key // see eventlog.Options

	// Bucket contains the payloads, segments and images of this incarnation.
	Bucket blob.Bucket
	Texts  *Texts
	Now    func() time.Time
	Limits Limits
	Pasts  *SnapshotCache // nil: the vault has its own

	// MaxNamed is how many paths each list of files in the control item has at most; 0: the
	// constant MaxNamed. Every read of the vault reads the control item, and some stores bill its
	// size.
	MaxNamed int

	ImageItems bool // see eventlog.Options
}

// A Follower keeps something in step with the log: the files of a checkout. It gets every commit
// after the one given to Vault.Follow once, in order. Its methods must be safe for concurrent use.
// Applied is called while the log cannot advance, so it must not read the vault, except by Known.
type Follower interface {
	// Guard returns an error if the call must not write to this path, because the file in the
	// folder is not as the log says. durable is the file in the log; nil if there is none.
	Guard(ctx context.Context, path vault.Path, durable *index.File) error
	// Applied is called with each commit that is durable. It must return quickly.
	Applied(before, after *index.Index, c *eventlog.Commit)
	// Settled is called after the commits of a write were Applied, before its calls return.
	Settled(ctx context.Context)
	// Unread reports whether the file of a note is left unchanged although the log has a newer
	// text, and why. It must return quickly.
	Unread(path string) (LeftFile, bool)
}

// alone is the Follower of a vault without followers. It does nothing.
type alone struct{}

func (alone) Guard(context.Context, vault.Path, *index.File) error { return nil }
func (alone) Applied(_, _ *index.Index, _ *eventlog.Commit)        {}
func (alone) Settled(context.Context)                              {}
func (alone) Unread(string) (LeftFile, bool)                       { return LeftFile{}, false }

// NewVault returns a Vault. It reads nothing, and does not create the log. It returns an error only
// if the codec of the log cannot be created.
func NewVault(o VaultOptions) (*Vault, error) {
	v := &Vault{
		Name: o.Name, texts: o.Texts, table: o.Table, part: o.Part, follow: alone{}, from: eventlog.MaxSeq,
		searcher: newSearcher(searchedNotes), memories: newSearcher(searchedMemories),
		accesses: newAccesses(), ledger: newLedger(), pasts: cmp.Or(o.Pasts, NewSnapshotCache(defaultPasts)),
	}
	v.limits, v.named = o.Limits.OrDefault(), cmp.Or(o.MaxNamed, MaxNamed)
	var err error
	v.log, err = eventlog.New(eventlog.Options[*index.Index]{
		Table: o.Table, Bucket: o.Bucket, Part: o.Part, Listed: o.Listed, Now: o.Now, Apply: foldNotes,
		Step: stepNotes, Adopt: adoptIDs, Build: v.build, SilentUpTo: func() uint64 { return v.from },
		Imaged: v.imaged, ImageItems: o.ImageItems,
		Imaging: &eventlog.Imaging[*index.Index]{
			Draw:   func(x *index.Index) blob.Pieces { return x.Image() },
			Read:   index.ReadImage,
			Format: index.ImageFormat,
		},
		Applied: func(before, after *index.Index, c *eventlog.Commit, at eventlog.PartRef) {
			v.remember(c, at)
			v.replaced(before, c)
			v.searcher.applied(c)
			v.memories.applied(c)
			v.forgetErased(c)
			if c.Seq > v.from {
				v.follow.Applied(before, after, c)
			}
		},
		Settled: func(ctx context.Context) { v.follow.Settled(ctx) },
	}, index.Empty())
	return v, err
}

// Follow sets the follower of the vault. It must be called before anything is read. The follower
// knows the commits up to from, and does not get them.
func (v *Vault) Follow(f Follower, from uint64) { v.follow, v.from = f, from }

// build returns the index after many commits, beginning with an index. Only the texts that are
// current in the end stay in the cache. It is used instead of foldNotes when a process starts or
// rebuilds: one mutable builder takes all commits, which is much faster than a new index for each.
// Followers are not called.
func (v *Vault) build(
	from *index.Index, commits iter.Seq2[*eventlog.Commit, eventlog.PartRef],
) *index.Index {
	newest := map[string]textKey{}
	b := index.NewBuilder(from)
	for c, at := range commits {
		v.remember(c, at)
		v.searcher.applied(c)
		v.memories.applied(c)
		for i, n := range c.Notes {
			// A text that a later commit replaced is dropped from the cache at once.
			if !n.Erased {
				v.texts.drop(newest[n.Path])
				newest[n.Path] = textKey{v.part, eventlog.PartRef{Run: at.Run, Part: at.Part + i}}
			}
		}
		b = add(b, c, at)
		v.forgetErased(c)
	}
	return b.Index()
}

// imaged makes the next searches start from the search indexes of the image that the index was read
// from.
func (v *Vault) imaged(x *index.Index, from *eventlog.OpenImage) {
	v.onePiece.Store(from.Seq())
	for name, by := range v.searchers() {
		if !from.Has(name) {
			by.begin("", nil)
			continue
		}
		by.begin(x.Config().Language, func(ctx context.Context) (*search.Index, error) {
			return v.searchOf(ctx, from, name)
		})
	}
}

// searchers returns the searchers by the sections of an image with their search indexes.
func (v *Vault) searchers() map[eventlog.SectionName]*searcher {
	return map[eventlog.SectionName]*searcher{eventlog.SearchSection: v.searcher, eventlog.MemoriesSection: v.memories}
}

// searchOf reads a search index of an image. The result may share memory with the data that was
// read. It returns an error if the image is gone or the section is damaged; the caller then builds
// the search index from the texts.
func (v *Vault) searchOf(
	ctx context.Context, from *eventlog.OpenImage, name eventlog.SectionName,
) (*search.Index, error) {
	data, err := v.log.ReadSection(ctx, from, name)
	if err != nil {
		return nil, fmt.Errorf("read the search index of an image: %w", err)
	}
	return search.ReadImage(data)
}

// foldNotes returns the index after a commit: with its notes and items, and without the files and
// items whose contents it erases. It depends only on its arguments.
func foldNotes(before *index.Index, c *eventlog.Commit, at eventlog.PartRef) *index.Index {
	return before.With(withErased(before, c, at))
}

// stepNotes returns the index after some notes of a commit; see eventlog.Options.Step. notes are
// their indices. Items and erased parts of the commit are ignored. The notes get their parsed texts,
// so that the whole commit, which is applied in the end, need not parse them again.
func stepNotes(before *index.Index, c *eventlog.Commit, notes []int, at eventlog.PartRef) *index.Index {
	_ = parallel.ForEach(runtime.GOMAXPROCS(0), notes, func(i int) error {
		if n := &c.Notes[i]; n.Parsed == nil && !n.Deleted && !n.Erased {
			was, _ := before.Note(n.Path)
			n.Parsed = index.ParseText(n.Path, n.Text, was)
		}
		return nil
	})
	step := index.Commit{Seq: c.Seq, Time: c.Time}
	for _, i := range notes {
		step.Changes = append(step.Changes, changeOf(&c.Notes[i], eventlog.PartRef{Run: at.Run, Part: at.Part + i}))
	}
	return before.With(step)
}

// add is foldNotes for a builder. It returns a new builder if the commit erases something.
func add(b *index.Builder, c *eventlog.Commit, at eventlog.PartRef) *index.Builder {
	if len(c.ErasedParts()) == 0 {
		b.Add(changed(c, at))
		return b
	}
	return index.NewBuilder(foldNotes(b.Index(), c, at))
}

// changed returns a commit in the form that the index takes.
func changed(c *eventlog.Commit, at eventlog.PartRef) index.Commit {
	changes := make([]index.Change, 0, len(c.Notes))
	for i, n := range c.Notes {
		if n.Erased {
			continue
		}
		changes = append(changes, changeOf(&n, eventlog.PartRef{Run: at.Run, Part: at.Part + i}))
	}
	return index.Commit{Seq: c.Seq, Time: c.Time, Changes: changes, Items: itemsOf(c, at)}
}

// changeOf returns a note in the form that the index takes. at is the place of its part.
func changeOf(n *eventlog.Note, at eventlog.PartRef) index.Change {
	parsed, _ := n.Parsed.(*index.Parsed)
	return index.Change{
		Path: n.Path, Text: n.Text, Parsed: parsed, Deleted: n.Deleted,
		TraitIDs: n.Traits, Nodes: index.UnpackUIDs(n.Nodes),
		Times: pastOf(n.Past), From: n.From, Since: n.Since, Body: index.Body(at),
	}
}

// remember caches the texts of a commit. Those of a large commit are cached only when one of them
// is read.
func (v *Vault) remember(c *eventlog.Commit, at eventlog.PartRef) {
	// The texts of an import would evict the others from the cache.
	if len(c.Notes)+len(c.Items) > 1 && c.TextSize() >= largeRun {
		return
	}
	state := v.texts.state(v.part)
	for i, n := range c.Notes {
		if !n.Deleted && !n.Erased {
			v.texts.add(textKey{v.part, eventlog.PartRef{Run: at.Run, Part: at.Part + i}}, state, bytes.Clone(n.Text))
		}
	}
	for i, it := range c.Items {
		if !it.Gone && !it.Erased {
			at := eventlog.PartRef{Run: at.Run, Part: at.Part + len(c.Notes) + i}
			v.texts.add(textKey{v.part, at}, state, bytes.Clone(it.Value))
		}
	}
}

// replaced reports the texts that a commit has replaced to the cache, which evicts them earlier
// than others. before is the index before the commit.
func (v *Vault) replaced(before *index.Index, c *eventlog.Commit) {
	var all []textKey
	for i := range c.Notes {
		if f, ok := before.File(c.Notes[i].Path); ok {
			all = append(all, textKey{v.part, eventlog.PartRef(f.Body)})
		}
	}
	v.texts.replaced(all)
}

// Create creates the log of the vault: its control item and its first commit, which names the vault
// and adds files. Repeating the same call completes one that a crash interrupted, and is not an
// error. Create returns ErrLogExists if another call has created the log. The call is written with
// an idempotency key of its own, so the key of c is not used.
func (v *Vault) Create(ctx context.Context, c eventlog.Call, files []eventlog.Note) error {
	if err := v.log.CreateNew(ctx); err != nil {
		return err
	}
	for first, err := range v.log.Commits(ctx, 1) {
		switch {
		case errors.Is(err, eventlog.ErrNoLog): // it is being erased
			return eventlog.ErrLogExists
		case err != nil:
			return err
		case first.Key == nil || !bytes.Equal(first.Key.Request, c.Request):
			return eventlog.ErrLogExists
		}
		return nil
	}
	c.Key, c.IfVersion = "create "+v.part, 0
	_, err := v.Update(ctx, c, func(ctx context.Context, tx *Tx) (any, error) {
		// Another call has written the first commit since it was looked for.
		if tx.Seq() != 1 {
			return nil, eventlog.ErrLogExists
		}
		for _, f := range files {
			if err := tx.Put(ctx, vault.Path(f.Path), f.Text); err != nil {
				return nil, err
			}
		}
		return nil, tx.Record("vault", v.Name, map[string]string{"name": v.Name})
	})
	if fault.Is(err, fault.KeyReused) { // another call of the same principal was faster
		return eventlog.ErrLogExists
	}
	return err
}

// SetStatus makes the vault active, read-only or trashed. It writes nothing if the vault has that
// status already. It ignores the idempotency key and the version of the call.
func (v *Vault) SetStatus(ctx context.Context, c eventlog.Call, s eventlog.Status) error {
	c.Key, c.IfVersion, c.AllowInactive = "", 0, true
	_, err := v.log.Update(ctx, c,
		func(_ context.Context, d *eventlog.Draft[*index.Index]) (any, error) {
			if d.Status() != s {
				d.SetStatus(s)
			}
			return nil, nil
		})
	return v.orNone(err)
}

// Read returns the index at the end of the log; see eventlog.Log.Read. For a vault in the trash it
// returns the same NOT_FOUND error as for one that does not exist: a process that knows the vault
// from the tenant's log returns that error without reading the vault's log.
func (v *Vault) Read(ctx context.Context) (*index.Index, error) {
	s, err := v.log.Read(ctx)
	switch {
	case err != nil:
		return nil, v.orNone(err)
	case s.Status == eventlog.Sealed:
		return nil, v.orNone(eventlog.ErrNoLog)
	case s.Status == eventlog.Trashed:
		return nil, fault.NoVault(v.Name)
	}
	return s.State, nil
}

// A State is the status of a vault as a whole.
type State struct {
	Status eventlog.Status
	Seq    uint64
	Time   time.Time // of commit Seq
}

// Status returns the current status of the vault, including that of a vault in the trash. It
// returns ErrNoLog if the log does not exist.
func (v *Vault) Status(ctx context.Context) (State, error) {
	s, err := v.log.Read(ctx)
	return State{s.Status, s.Seq, s.Time}, err
}

// Known returns the newest index in memory, without I/O. It may be behind the log.
func (v *Vault) Known() *index.Index { return v.log.Known().State }

// Text returns a text that an index refers to. The caller must not change it. It returns NOT_FOUND
// if the vault was erased, and INDEX_ERROR if the text is damaged or its run is missing.
func (v *Vault) Text(ctx context.Context, b index.Body) ([]byte, error) {
	at := eventlog.PartRef(b)
	if v.log.Known().Status == eventlog.Sealed {
		return nil, fault.NoVault(v.Name)
	}
	p := pick{v: v}
	text, err := p.text(ctx, at)
	if err != nil {
		return nil, v.orNone(err)
	}
	return text, nil
}

// Rebuild rebuilds the index from the first commit, and uses it from then on; the next searches
// rebuild the search indexes. It returns INDEX_ERROR if a header does not continue the chain and,
// with verify, if a part does not match its digest. If a commit is appended during the rebuild, the
// index in use is kept.
func (v *Vault) Rebuild(ctx context.Context, verify bool) (*index.Index, error) {
	s, err := v.log.Replay(ctx, verify)
	if err != nil {
		return s.State, err
	}
	return s.State, errors.Join(v.searcher.forget(ctx), v.memories.forget(ctx))
}

// Advance moves a cursor of the log of the vault forward.
func (v *Vault) Advance(ctx context.Context, consumer string, to eventlog.Cursor) error {
	return v.log.Advance(ctx, consumer, to)
}

// Commits yields the commits of the vault from a seq on, oldest first.
func (v *Vault) Commits(ctx context.Context, from uint64) iter.Seq2[*eventlog.Commit, error] {
	return v.log.Commits(ctx, from)
}

// Began returns the time of the first commit of the vault; the zero time if there is none. The time
// is read once.
func (v *Vault) Began(ctx context.Context) (time.Time, error) {
	if t := v.began.Load(); t != nil {
		return *t, nil
	}
	t, err := v.log.Began(ctx)
	if err == nil && !t.IsZero() {
		v.began.Store(&t)
	}
	return t, v.orNone(err)
}

// Now returns the current time of the clock that dates commits.
func (v *Vault) Now() time.Time { return v.log.Now() }
