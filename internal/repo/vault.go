package repo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/search"
	"rookery/internal/table"
	"rookery/internal/vault"
)

// A Vault is one incarnation of a vault: a log of notes, and the index that follows from it.
type Vault struct {
	Name string

	log    *Log[*index.Index]
	texts  *Texts
	part   string
	follow Follower
	from   uint64 // commits up to here are not told to who follows
	limits Limits
	named  int // files of each kind that the control item names

	searcher *searcher
	memories *searcher // of memories
	accesses *accesses // likewise
	ledger   *ledger
	pasts    *Pasts

	onePiece atomic.Uint64 // the last commit of which the state was made in one piece; 0: it never was
}

// VaultOptions are what a Vault is made with. All but Listed, Limits, Pasts, MaxNamed and ImageItems are required.
type VaultOptions struct {
	Name  string
	Part  string      // the partition of its log
	Table table.Table // of the tenant

	Listed table.Key // see LogOptions

	// Bucket is where payloads lie: under the incarnation.
	Bucket blob.Bucket
	Texts  *Texts
	Now    func() time.Time
	Limits Limits
	Pasts  *Pasts // nil: it has its own

	// MaxNamed is how many files the control item names of each kind at most; 0: MaxNamed. Every read of the
	// vault reads the control item, and some stores count its bytes.
	MaxNamed int

	ImageItems bool // see LogOptions
}

// A Follower keeps something beside the log in step with it: the files of a checkout. It is told of
// every commit once, in order, from the one on that it says.
type Follower interface {
	// Guard is a fault if the call must not write this path: what is there is not what the log
	// says. durable is the log's own note, nil if there is none.
	Guard(ctx context.Context, path vault.Path, durable *index.File) error
	// Applied tells of a commit that is durable. It must be quick.
	Applied(before, after *index.Index, c *Commit)
	// Settled is called after a write's commits were Applied, and before its callers are answered.
	Settled(ctx context.Context)
	// Unread returns why the file of a note is left as it is, so that it does not show what the log
	// has, and whether it is left. It must be quick.
	Unread(path string) (LeftFile, bool)
}

// alone follows nothing.
type alone struct{}

func (alone) Guard(context.Context, vault.Path, *index.File) error { return nil }
func (alone) Applied(_, _ *index.Index, _ *Commit)                 {}
func (alone) Settled(context.Context)                              {}
func (alone) Unread(string) (LeftFile, bool)                       { return LeftFile{}, false }

// NewVault makes a Vault. Nothing is read yet.
func NewVault(o VaultOptions) (*Vault, error) {
	v := &Vault{
		Name: o.Name, texts: o.Texts, part: o.Part, follow: alone{}, from: maxSeq,
		searcher: newSearcher(searchedNotes), memories: newSearcher(searchedMemories),
		accesses: newAccesses(), ledger: newLedger(), pasts: cmp.Or(o.Pasts, NewPasts(defaultPasts)),
	}
	v.limits, v.named = o.Limits.OrDefault(), cmp.Or(o.MaxNamed, MaxNamed)
	var err error
	v.log, err = NewLog(LogOptions[*index.Index]{
		Table: o.Table, Bucket: o.Bucket, Part: o.Part, Listed: o.Listed, Now: o.Now, Fold: foldNotes,
		Step: stepNotes, Build: v.build, Untold: func() uint64 { return v.from }, Imaged: v.imaged, ImageItems: o.ImageItems,
		Imaging: &Imaging[*index.Index]{
			Append: func(b []byte, x *index.Index) []byte { return x.AppendImage(b) },
			Read:   index.ReadImage,
			Format: index.ImageFormat,
		},
		Applied: func(before, after *index.Index, c *Commit, at Place) {
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

// Follow tells the vault who follows it, before anything is read. The follower knows what the commits
// up to from came to, and is not told of them.
func (v *Vault) Follow(f Follower, from uint64) { v.follow, v.from = f, from }

// build is the index after many commits, which go on from one. Of the texts, those that are still in
// force stay at hand.
func (v *Vault) build(
	from *index.Index, commits iter.Seq2[*Commit, Place],
) *index.Index {
	newest := map[string]textKey{}
	b := index.NewBuilder(from)
	for c, at := range commits {
		v.remember(c, at)
		v.searcher.applied(c)
		v.memories.applied(c)
		for i, n := range c.Notes {
			if !n.Erased {
				v.texts.drop(newest[n.Path])
				newest[n.Path] = textKey{v.part, Place{at.Run, at.Part + i}}
			}
		}
		b = add(b, c, at)
		v.forgetErased(c)
	}
	return b.Index()
}

// imaged makes the next search go on from that of the image that the index goes on from.
func (v *Vault) imaged(x *index.Index) {
	from := v.log.base.Load()
	v.onePiece.Store(from.head.Seq)
	for by, section := range map[*searcher]section{v.searcher: from.notes(), v.memories: from.memories()} {
		if section.size == 0 {
			by.begin("", nil)
			continue
		}
		by.begin(x.Config().Language, func(ctx context.Context) (*search.Index, error) {
			return v.searchOf(ctx, from, section)
		})
	}
}

// searchOf is a search index of an image.
func (v *Vault) searchOf(ctx context.Context, from *base, of section) (*search.Index, error) {
	data, err := v.log.searchSection(ctx, from, of)
	if err != nil {
		return nil, fmt.Errorf("read the search index of an image: %w", err)
	}
	return search.ReadImage(data)
}

// A section is a part of an image that a search needs.
type section struct {
	at, size int64
	packed   []byte // of an image in items
}

// notes is what a search of notes needs.
func (b *base) notes() section {
	s := section{at: b.head.searchAt(), size: b.head.Search}
	if b.rest != nil {
		s.packed = b.rest.search
	}
	return s
}

// memories is what a search of memories needs.
func (b *base) memories() section {
	s := section{at: b.head.memoriesAt(), size: b.head.Memories}
	if b.rest != nil {
		s.packed = b.rest.memories
	}
	return s
}

// searchSection are the bytes of an image that a search needs.
func (l *Log[S]) searchSection(ctx context.Context, from *base, of section) ([]byte, error) {
	if from.rest != nil {
		return l.code.unpackSection(of.packed, of.size)
	}
	data, _, err := l.opt.Bucket.Get(ctx, from.image.key(), of.at, of.size)
	return data, err
}

// foldNotes is the index after a commit.
func foldNotes(before *index.Index, c *Commit, at Place) *index.Index {
	return before.With(withErased(before, c, at))
}

// stepNotes is the index after some notes of a commit; see LogOptions.Step.
func stepNotes(before *index.Index, c *Commit, notes []int, at Place) *index.Index {
	step := index.Commit{Seq: c.Seq, Time: c.Time}
	for _, i := range notes {
		step.Changes = append(step.Changes, c.Notes[i].change(Place{at.Run, at.Part + i}))
	}
	return before.With(step)
}

// add is foldNotes for a builder, which is used up by a commit that erases.
func add(b *index.Builder, c *Commit, at Place) *index.Builder {
	if len(c.erases()) == 0 {
		b.Add(changed(c, at))
		return b
	}
	return index.NewBuilder(foldNotes(b.Index(), c, at))
}

// changed is a commit as the index takes it.
func changed(c *Commit, at Place) index.Commit {
	changes := make([]index.Change, 0, len(c.Notes))
	for i, n := range c.Notes {
		if n.Erased {
			continue
		}
		changes = append(changes, n.change(Place{at.Run, at.Part + i}))
	}
	return index.Commit{Seq: c.Seq, Time: c.Time, Changes: changes, Items: c.items(at)}
}

// change is a note as the index takes it. at is the place of its text.
func (n *Note) change(at Place) index.Change {
	return index.Change{
		Path: n.Path, Text: n.Text, Deleted: n.Deleted, TraitIDs: n.Traits, Nodes: n.Nodes, Past: n.Past,
		From: n.From, Since: n.Since, Body: index.Body(at),
	}
}

// textSize is how many bytes the texts of a commit have.
func (c *Commit) textSize() int {
	size := 0
	for i := range c.Notes {
		size += len(c.Notes[i].Text)
	}
	for i := range c.Items {
		size += len(c.Items[i].Value)
	}
	return size
}

// remember keeps the texts of a commit at hand. Those of a large one are cached when one of them is read.
func (v *Vault) remember(c *Commit, at Place) {
	if len(c.Notes)+len(c.Items) > 1 && c.textSize() >= largeRun {
		return
	}
	state := v.texts.state(v.part)
	for i, n := range c.Notes {
		if !n.Deleted && !n.Erased {
			v.texts.add(textKey{v.part, Place{at.Run, at.Part + i}}, state, bytes.Clone(n.Text))
		}
	}
	for i, it := range c.Items {
		if !it.Gone && !it.Erased {
			at := Place{at.Run, at.Part + len(c.Notes) + i}
			v.texts.add(textKey{v.part, at}, state, bytes.Clone(it.Value))
		}
	}
}

// replaced tells the cache which texts a commit has taken the place of.
func (v *Vault) replaced(before *index.Index, c *Commit) {
	for i := range c.Notes {
		if f, ok := before.File(c.Notes[i].Path); ok {
			v.texts.replaced(textKey{v.part, Place(f.Body)})
		}
	}
}

// Create makes the vault's log: its control item and first commit, which names it. A repetition of
// the same call finishes what a crash left, and is no error; a log that another call began is
// ErrLogExists.
func (v *Vault) Create(ctx context.Context, c Call, files []Note) error {
	if err := v.log.createNew(ctx); err != nil {
		return err
	}
	for first, err := range v.log.Commits(ctx, 1) {
		switch {
		case errors.Is(err, ErrNoLog): // it is being erased
			return ErrLogExists
		case err != nil:
			return err
		case first.Key == nil || !bytes.Equal(first.Key.Request, c.Request):
			return ErrLogExists
		}
		return nil
	}
	c.Key, c.IfVersion = "create "+v.part, 0
	_, err := v.Update(ctx, c, func(ctx context.Context, tx *Tx) (any, error) {
		if tx.Seq() != 1 {
			return nil, ErrLogExists
		}
		for _, f := range files {
			if err := tx.Put(ctx, vault.Path(f.Path), f.Text); err != nil {
				return nil, err
			}
		}
		return nil, tx.Record("vault", v.Name, map[string]string{"name": v.Name})
	})
	if fault.Is(err, fault.KeyReused) { // another call of the same principal was faster
		return ErrLogExists
	}
	return err
}

// SetStatus makes the vault active, read-only or trashed. Where it is so already nothing is written.
func (v *Vault) SetStatus(ctx context.Context, c Call, s Status) error {
	c.Key, c.IfVersion, c.Revives = "", 0, true
	_, err := v.log.Update(ctx, c,
		func(_ context.Context, d *Draft[*index.Index]) (any, error) {
			if d.status != s {
				d.SetStatus(s)
			}
			return nil, nil
		})
	return v.orNone(err)
}

// Read is the index at the head of the log. A vault in the trash is NOT_FOUND in the same words as one that does not
// exist: a process that knows it from the tenant's log says so without asking the vault's.
func (v *Vault) Read(ctx context.Context) (*index.Index, error) {
	s, err := v.log.Read(ctx)
	switch {
	case err != nil:
		return nil, v.orNone(err)
	case s.Status == Sealed:
		return nil, v.orNone(ErrNoLog)
	case s.Status == Trashed:
		return nil, fault.NoVault(v.Name)
	}
	return s.State, nil
}

// ReadControl is Read, and the control item that came with it: no request more.
func (v *Vault) ReadControl(ctx context.Context) (*index.Index, Control, error) {
	idx, err := v.Read(ctx)
	if err != nil {
		return nil, Control{}, err
	}
	return idx, v.log.head.Load().control, nil
}

// A State is what the log of a vault says of the vault as a whole.
type State struct {
	Status Status
	Seq    uint64
	Time   time.Time // of the commit Seq
}

// Status is what the vault is now. It can be had of one in the trash too.
func (v *Vault) Status(ctx context.Context) (State, error) {
	s, err := v.log.Read(ctx)
	return State{s.Status, s.Seq, s.Time}, err
}

// Known is the newest index that this process knows. It may be behind the log.
func (v *Vault) Known() *index.Index { return v.log.Known().State }

// Text is a text that the index names. It is not to be changed.
func (v *Vault) Text(ctx context.Context, b index.Body) ([]byte, error) {
	at := Place(b)
	if v.log.head.Load().status == Sealed {
		return nil, fault.NoVault(v.Name)
	}
	p := pick{v: v}
	text, err := p.text(ctx, at)
	if err != nil {
		return nil, v.orNone(err)
	}
	return text, nil
}

// Rebuild makes the index anew from the first commit on, and uses it from then on; the search index
// is made anew when somebody searches next. A header that does not join the chain is INDEX_ERROR,
// and with verify a part that is not what its header says.
func (v *Vault) Rebuild(ctx context.Context, verify bool) (*index.Index, error) {
	s, err := v.log.Replay(ctx, verify)
	if err != nil {
		return s.State, err
	}
	return s.State, errors.Join(v.searcher.forget(ctx), v.memories.forget(ctx))
}

// Control is the control item of the vault's log.
func (v *Vault) Control(ctx context.Context) (Control, error) { return v.log.Control(ctx) }

// Change changes the control item of the vault's log; see Log.Change.
func (v *Vault) Change(ctx context.Context, change func(*Control) bool) error {
	return v.log.Change(ctx, change)
}

// Advance moves a cursor of the vault's log forward.
func (v *Vault) Advance(ctx context.Context, consumer string, to Cursor) error {
	return v.log.Advance(ctx, consumer, to)
}

// Commits yields the vault's commits from one seq on, oldest first.
func (v *Vault) Commits(ctx context.Context, from uint64) iter.Seq2[*Commit, error] {
	return v.log.Commits(ctx, from)
}

// Now is the time by the clock that commits are dated by.
func (v *Vault) Now() time.Time { return v.log.opt.Now() }
