package checkout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// A Taking says how edits are to be taken in.
type Taking struct {
	// Pending says what becomes of a batch that is held: Accept takes it in as it is now, Discard
	// writes the folder as the log says. Empty: it stays held.
	Pending Pending

	// Who says that word, and so is said to have made the commits.
	Who repo.Who

	unasked bool // nobody has asked for it: what may not be finished can wait

	// DryRun finds out what would be taken in, and writes nothing.
	DryRun bool
}

// Pending is what somebody says to a batch that is held.
type Pending string

// The words.
const (
	Accept  Pending = "accept"
	Discard Pending = "discard"
)

// A Taken says what was taken in.
type Taken struct {
	Created, Changed, Moved, Removed int          // files
	Conflicts                        int          // copies that were made of texts that could not be merged
	Restored                         int          // files that were written again: the log had changed them since, or the batch was discarded
	Index                            index.Counts // objects, traits and files that the commits tell of
	Held                             *repo.Held   // what waits for a word
}

// The guard: a batch that takes away or puts back more than both of these is held (log.md §5).
const (
	guardNotes = 20
	guardShare = 10 // one part in so many of the vault
)

// How much one commit takes in at most. Where a batch takes something away it is one commit as far as
// a commit can hold it, so that nobody sees half of it; else it may come piece by piece.
const (
	pieceFiles = 500
	pieceBytes = 4 << 20
	wholeFiles = 5000
	wholeBytes = 24 << 20
)

// Reindex compares the folder with the log and takes in what differs, without waiting for quiet.
func (c *Checkout) Reindex(ctx context.Context, t Taking) (Taken, error) {
	c.tryAgain()
	if _, err := c.Sweep(ctx); err != nil {
		return Taken{}, err
	}
	return c.TakeIn(ctx, t)
}

// tryAgain forgets which files the vault refused: it may take them now.
func (c *Checkout) tryAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, f := range c.outside.left {
		if f.Why == repo.LeftQuota || f.Why == repo.LeftTwin {
			c.mayStay(key)
		}
	}
}

// TakeIn takes the edits that are known into the log, and brings the files in step with what became of
// them. Nothing is taken in that nobody noticed; see Sweep. What is held stays, unless t says otherwise.
func (c *Checkout) TakeIn(ctx context.Context, t Taking) (Taken, error) {
	c.taking.Lock()
	defer c.taking.Unlock()
	defer c.letGo()
	b, err := c.gather(ctx, t)
	if err != nil {
		return Taken{}, err
	}
	if t.DryRun {
		return b.tryOut(ctx, t.Pending)
	}
	if t.Pending != "" {
		b.who = t.Who
	}
	if t.Pending == Discard {
		if err := b.discard(ctx); err != nil {
			return b.done, err
		}
		return b.done, b.finish(ctx)
	}
	b.guard(t.Pending == Accept)
	if err := b.commitAll(ctx); err != nil {
		return b.done, err
	}
	return b.done, b.finish(ctx)
}

// letGo notes that nothing which was read is about to be taken in any more.
func (c *Checkout) letGo() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.outside.read)
}

// commitAll takes the batch in, piece by piece.
func (b *batch) commitAll(ctx context.Context) error {
	pieces, done, total := b.pieces(), 0, 0
	for _, piece := range pieces {
		total += len(piece)
	}
	for _, piece := range pieces {
		err := inHalves(piece, func(part []*found) error { return b.commit(ctx, part) })
		if err != nil {
			return err
		}
		if done += len(piece); b.opt.Progress != nil && total > pieceFiles {
			b.opt.Progress(done, total)
		}
	}
	return nil
}

// inHalves does something that is a commit, in two parts where one commit cannot hold all of it: what
// was found is not all that goes into it.
func inHalves(piece []*found, do func(part []*found) error) error {
	err := do(piece)
	half := len(piece) / 2
	if half == 0 || !fault.Is(err, fault.BatchTooLarge) {
		return err
	}
	if err := inHalves(piece[:half], do); err != nil {
		return err
	}
	return inHalves(piece[half:], do)
}

// A batch is a number of edits that are taken in together.
type batch struct {
	*Checkout
	found []*found
	held  []*found // those that wait for a word
	paths []string // of all edits that were known
	total int      // notes in the vault
	who   repo.Who // who said a word; empty: nobody did
	done  Taken
}

// A found is what lies in the folder where somebody changed something.
type found struct {
	path     string
	text     []byte // nil: the file is gone
	digest   index.Digest
	before   *index.File // what the file had been; nil: there was none
	upTo     uint64      // what the log changed behind this version, it changed since; 0: behind before's
	at       time.Time   // when it was seen to change last
	modified time.Time
	from     *found // the file that was moved here
	moved    bool   // away, to another path
	to       string // this file has only another spelling of its name now
	was      []byte // the earlier text that is nearest
	reverts  bool   // it is one of the earlier texts
	kept     bool   // it was held before
}

func (f *found) gone() bool { return f.text == nil }

// takesAway reports whether taking the edit in takes something away, so that it counts for the guard.
// To move a note does not.
func (f *found) takesAway() bool {
	return f.before != nil && !inTrash(f.path) && (f.reverts || f.gone() && !f.moved)
}

func inTrash(path string) bool { return strings.HasPrefix(path, vault.Trash) }

// gather reads the files of all edits, and finds out what somebody did to them.
func (c *Checkout) gather(ctx context.Context, t Taking) (*batch, error) {
	b := &batch{Checkout: c}
	if err := c.respell(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.outside.less = false
	b.paths = slices.Sorted(maps.Keys(c.outside.edits))
	b.total = c.at.Totals().Notes
	c.mu.Unlock()
	for _, path := range b.paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := c.read(ctx, path)
		if err != nil {
			return nil, err
		}
		if f != nil && (!t.unasked || !c.unfinished(f)) {
			b.found = append(b.found, f)
		}
	}
	if err := b.rooted(ctx); err != nil {
		return nil, err
	}
	b.pair()
	if err := b.lookBack(ctx); err != nil {
		return nil, err
	}
	b.resume()
	return b, nil
}

// resume holds again what waited for a word when the last process ended: what takes something away,
// however little of it is left. A discard may have ended on its way, and the rest would be taken in.
func (b *batch) resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &b.outside
	if !o.resumes {
		return
	}
	o.resumes = false
	for _, f := range b.found {
		e := o.edits[f.path]
		if e != nil && (f.takesAway() || o.held != nil && slices.Contains(o.held.Paths, f.path)) {
			f.kept, e.held = true, true
			f.upTo, e.upTo = o.heldAt(), o.heldAt()
		}
	}
}

// rooted is an error if files are gone because the folder itself is, or cannot be read: that says
// nothing of its files.
func (b *batch) rooted(ctx context.Context) error {
	if !slices.ContainsFunc(b.found, (*found).gone) {
		return nil
	}
	for _, err := range b.files.Walk(ctx, "", func(string) bool { return false }) {
		if err != nil {
			return unlisted(err)
		}
		break
	}
	return nil
}

// unfinished reports whether a file was emptied a moment ago: most likely by an editor that is about to
// write it, and is slow.
func (c *Checkout) unfinished(f *found) bool {
	return f.text != nil && len(f.text) == 0 && f.before != nil && f.before.Size > 0 &&
		time.Since(f.at) < c.span(patience)
}

// read reads the file of an edit; nil if there is nothing to take in after all.
func (c *Checkout) read(ctx context.Context, path string) (*found, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect()
	c.write(ctx)
	err := c.examine(ctx, path)
	if fault.Is(err, fault.FileError) { // the others need not wait for it
		c.refuse(path, repo.LeftUnread)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := c.outside.edits[path]
	if e == nil {
		return nil, nil
	}
	f := &found{path: path, before: e.before, upTo: e.upTo, at: e.at, kept: e.held, to: e.to}
	c.outside.read[path] = true
	if e.mark == "" {
		return f, nil
	}
	text, o, err := c.content(ctx, path)
	switch {
	case errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrForeign):
		return nil, nil // it changed just now, and will be looked at again
	case err != nil:
		c.refuse(path, repo.LeftUnread)
		return nil, nil
	}
	if why := unfit(text); why != "" {
		c.refuse(path, why)
		return nil, nil
	}
	f.text, f.digest, f.modified = text, index.DigestOf(text), o.Modified
	return f, nil
}

// content is what is in a file, and how it looked before it was read. The caller holds mu.
func (c *Checkout) content(ctx context.Context, path string) ([]byte, blob.Object, error) {
	o, err := c.files.Look(ctx, c.key(path))
	if err != nil {
		return nil, o, err
	}
	text, _, err := c.files.Get(ctx, c.key(path), 0, -1)
	return text, o, err
}

// pair finds the files that were moved: gone in one place, and there in another with the same text or,
// but for case, the same name.
func (b *batch) pair() {
	gone := map[index.Digest][]*found{}
	names := map[string]*found{}
	for _, f := range b.found {
		if f.gone() && f.before != nil && !inTrash(f.path) {
			gone[f.before.Digest] = append(gone[f.before.Digest], f)
			names[f.to] = f
		}
	}
	for _, f := range b.found {
		if f.gone() || f.before != nil || inTrash(f.path) {
			continue
		}
		from := names[f.path]
		if from == nil {
			from = likeliest(gone[f.digest], f.path)
		}
		if from != nil && !from.moved {
			f.from, from.moved = from, true
		}
	}
}

// likeliest is the file of some with the same text that was moved to a path: one with the same name in
// another folder, else the first.
func likeliest(from []*found, path string) *found {
	var first *found
	for _, f := range from {
		switch {
		case f.moved:
		case name(f.path) == name(path):
			return f
		case first == nil:
			first = f
		}
	}
	return first
}

func name(path string) string { return path[len(vault.Path(path).Dir()):] }

// guard holds back what would take away too much. What is held stays so as long as it takes anything
// away, until somebody accepts it; what was found beside it is taken in, unless it does the same.
func (b *batch) guard(accepted bool) {
	var fresh, kept []*found
	for _, f := range b.found {
		if f.kept || f.from != nil && f.from.kept {
			kept = append(kept, f)
		} else {
			fresh = append(fresh, f)
		}
	}
	switch {
	case accepted && b.trips(fresh): // nobody has seen what these take away
		b.found, b.held = kept, fresh
		return
	case accepted:
		return
	case !slices.ContainsFunc(kept, (*found).takesAway):
		fresh, kept = b.found, nil
	}
	if b.trips(fresh) {
		b.found, b.held = nil, b.found
		return
	}
	b.found, b.held = fresh, kept
}

// trips reports whether edits take away more than the guard lets through.
func (b *batch) trips(all []*found) bool {
	n := 0
	for _, f := range all {
		if f.takesAway() {
			n++
		}
	}
	return n > guardNotes && n*guardShare > b.total
}

// pieces are the parts of a batch that are one commit each: the settings first, by which notes are
// read, and what is taken away last, so that nothing is gone before what is new is there.
func (b *batch) pieces() [][]*found {
	order := slices.Clone(b.found)
	order = slices.DeleteFunc(order, func(f *found) bool { return f.moved }) // with where they went
	slices.SortStableFunc(order, func(x, y *found) int { return x.rank() - y.rank() })
	files, bytes := pieceFiles, pieceBytes
	if slices.ContainsFunc(order, func(f *found) bool { return f.before != nil || f.from != nil }) {
		files, bytes = wholeFiles, wholeBytes
	}
	var all [][]*found
	size := 0
	for _, f := range order {
		last := len(all) - 1
		if last < 0 || len(all[last]) >= files || size+len(f.text) > bytes {
			all, size = append(all, nil), 0
			last++
		}
		all[last] = append(all[last], f)
		size += len(f.text)
	}
	return all
}

// rank is where in a batch an edit has its place.
func (f *found) rank() int {
	k := vault.Path(f.path).Kind()
	switch {
	case k == vault.KindSchema || k == vault.KindConfig:
		return 0
	case f.gone():
		return 2
	}
	return 1
}

// finish brings files in step with what became of the edits, and tells of it.
func (b *batch) finish(ctx context.Context) error {
	c := b.Checkout
	for _, path := range b.paths {
		if err := c.examineNow(ctx, path); err != nil {
			return fmt.Errorf("look at what was taken in: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold(b.held)
	b.done.Held = c.outside.held
	c.tell(ctx)
	return nil
}

// hold notes which edits wait for a word. The caller holds mu.
func (c *Checkout) hold(all []*found) {
	o := &c.outside
	for _, e := range o.edits {
		e.held = false
	}
	all = slices.DeleteFunc(slices.Clone(all), func(f *found) bool { return o.edits[f.path] == nil })
	for _, f := range all {
		o.edits[f.path].held = true
	}
	o.held, o.news = c.heldOf(all), true
}

// heldOf tells of edits that wait for a word; nil if there are none. The caller holds mu.
func (c *Checkout) heldOf(all []*found) *repo.Held {
	if len(all) == 0 {
		return nil
	}
	held := &repo.Held{Since: c.now().UTC(), Version: c.at.Version()}
	if c.outside.held != nil {
		held.Since, held.Version = c.outside.held.Since, c.outside.held.Version
	}
	for _, f := range all {
		held.Paths = append(held.Paths, f.path)
		switch {
		case f.moved: // it is told of where it went
		case f.from != nil:
			held.Moved++
		case f.before == nil:
			held.Created++
		case f.gone():
			held.Removed++
		case f.reverts:
			held.Reverted++
		default:
			held.Changed++
		}
	}
	held.Paths = sortedHead(held.Paths)
	return held
}
