package repo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/vault"
)

// Limits of a vault (CONTRACT §9).
const (
	MaxNote  = 1 << 20 // bytes of one note
	MaxNotes = 100_000
	MaxVault = 1 << 30 // bytes of all notes

	MaxMemories = 200_000

	// What all notes have in the index: headings, traits, references and tags; see index.Totals.
	MaxThings       = 5_000_000
	MaxHostedThings = 2_000_000 // where a server has several tenants, or is reached from elsewhere
)

// Limits are how much one vault holds at most. Zero stands for MaxNotes, MaxVault, MaxThings and MaxMemories.
type Limits struct {
	Notes  int
	Bytes  int64
	Things int

	Memories int
}

// OrDefault returns the limits with the defaults in place of zeros.
func (l Limits) OrDefault() Limits {
	return Limits{cmp.Or(l.Notes, MaxNotes), cmp.Or(l.Bytes, MaxVault), cmp.Or(l.Things, MaxThings),
		cmp.Or(l.Memories, MaxMemories)}
}

// A Tx is a draft of a commit to a vault. Notes that it puts are checked for what holds for every
// note: size, collision of names, the version that the call builds on, and what is in the folder.
type Tx struct {
	*Draft[*index.Index]
	v     *Vault
	names map[string]string // of the files that it adds, by what they collide under
	notes int               // by how many the vault's notes grow
	bytes int64             // likewise
	stock stock             // what the notes that it changes have in the index

	staging int          // how often something was staged
	part    *index.Index // with which the part of Try began; nil: nothing is tried
	from    int          // staging as it was then
}

// Update runs the function on a Tx that follows the log, and appends what it drafts; see Log.Update.
func (v *Vault) Update(
	ctx context.Context, c Call, fn func(context.Context, *Tx) (any, error),
) (Receipt, error) {
	var last *Tx
	r, err := v.log.Update(ctx, c,
		func(ctx context.Context, d *Draft[*index.Index]) (any, error) {
			tx := &Tx{Draft: d, v: v, names: map[string]string{}}
			last = tx
			answer, err := fn(ctx, tx)
			if err != nil {
				return nil, err
			}
			return answer, tx.log(ctx)
		})
	switch {
	case err != nil: // a call that gave up does not wait for its function: last is not ours to read
	case r.Replayed != nil:
		r.Unread = v.unreadOf(ctx, r.Seq)
	case r.Changed:
		r.Unread = v.unread(last.commit.Notes)
	}
	return r, v.orNone(err)
}

// unread returns the notes of some whose files are left unread.
func (v *Vault) unread(notes []Note) (all []LeftFile) {
	for _, n := range notes {
		if f, left := v.follow.Unread(n.Path); left {
			f.Path = n.Path
			all = append(all, f)
		}
	}
	return all
}

// unreadOf returns the notes that a commit changed and whose files are left unread now. None are
// returned where the commit cannot be read: what it came to is known without it.
func (v *Vault) unreadOf(ctx context.Context, seq uint64) []LeftFile {
	if v.follow == (alone{}) {
		return nil
	}
	c, err := v.log.commit(ctx, seq)
	if err != nil {
		return nil
	}
	return v.unread(c.Notes)
}

// Unindexed returns the notes that the Tx changes and that have more things than are indexed.
func (tx *Tx) Unindexed() (all []*index.Note) {
	for _, n := range tx.commit.Notes {
		if note, ok := tx.Index().Note(n.Path); ok && note.Unindexed > 0 {
			all = append(all, note)
		}
	}
	return all
}

// Index is the index as it will be, with what the Tx holds so far.
func (tx *Tx) Index() *index.Index { return tx.State() }

// Text is the text of a file as it will be, and whether there is one.
func (tx *Tx) Text(ctx context.Context, path vault.Path) ([]byte, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err // nobody waits for the call any more
	}
	if n, ok := tx.staged(string(path)); ok {
		return n.Text, !n.Deleted, nil
	}
	f, ok := tx.Before().File(string(path))
	if !ok {
		return nil, false, nil
	}
	text, err := tx.text(ctx, f.Body)
	return text, err == nil, err
}

// TextOf is the text of a file that the log has, or had.
func (tx *Tx) TextOf(ctx context.Context, f *index.File) ([]byte, error) {
	return tx.text(ctx, f.Body)
}

// text is a text of the log, or of a draft of the same run that comes before.
func (tx *Tx) text(ctx context.Context, b index.Body) ([]byte, error) {
	if text, ok := tx.pending(Place(b)); ok {
		return text, nil
	}
	return tx.v.Text(ctx, b)
}

// Put stages the text of a file, new or not. What is there already with the same text stays
// untouched.
func (tx *Tx) Put(ctx context.Context, path vault.Path, text []byte) error {
	return tx.PutTraits(ctx, path, text, nil)
}

// PutTraits is Put for a text of which the caller knows which annotation is which: ids are those of
// its annotations, as index.Note.TraitIDs gives them. Where lines are alike, nobody else can tell. A
// list that does not fit the text is passed over.
func (tx *Tx) PutTraits(
	ctx context.Context, path vault.Path, text []byte, ids []string,
) error {
	return tx.place(ctx, path, Note{Text: text, Traits: ids})
}

// PutNodes is PutTraits for a text of which the caller also knows which node is which: nodes are the UIDs of its nodes,
// as index.Note.NodeIDs gives them, a zero one for a node that is new. Nil lists, and those that do not fit the text,
// are passed over.
func (tx *Tx) PutNodes(
	ctx context.Context, path vault.Path, text []byte, traits []string, nodes []index.UID,
) error {
	return tx.place(ctx, path, Note{Text: text, Traits: traits, Nodes: nodes})
}

// Expect is CONFLICT if one of these files changed after the version that the call builds on. Files that are
// not there are passed over.
func (tx *Tx) Expect(paths []vault.Path) error {
	for _, path := range paths {
		if f, ok := tx.Before().File(string(path)); ok {
			if err := tx.Touch(f.Version); err != nil {
				return err
			}
		}
	}
	return nil
}

// Return is PutNodes for a file that is gone, as it was once: the text, the ids of what is in it
// and its times. prev is the commit with which it went.
func (tx *Tx) Return(ctx context.Context, path vault.Path, was Note, prev uint64) error {
	return tx.place(ctx, path, Note{
		Text: was.Text, Traits: was.Traits, Nodes: was.Nodes, Past: was.Past, Prev: prev,
	})
}

// An Outside is what a change from outside makes of a file.
type Outside struct {
	Text  []byte    // what the file is to have
	Found []byte    // what somebody had put into it
	From  string    // the path that it had before, if somebody moved it
	Since time.Time // when somebody changed it last; used where nothing else is known of its age
}

// TakeIn is Put for a file that was changed outside. It is staged also if the log has the text already,
// and somebody had put another one into the file: else nobody would know that this may be replaced.
// Where the call moves a file, it removes it at From too.
func (tx *Tx) TakeIn(ctx context.Context, path vault.Path, o Outside) error {
	n := Note{Text: o.Text, From: o.From, Since: o.Since}
	if !bytes.Equal(o.Found, o.Text) {
		n.Theirs = append([]byte{}, o.Found...)
	}
	return tx.place(ctx, path, n)
}

// place stages what a file is to be.
func (tx *Tx) place(ctx context.Context, path vault.Path, n Note) error {
	text := n.Text
	if len(text) > MaxNote {
		return fault.New(fault.NoteTooLarge, "%s would have %d bytes; a note has at most %d",
			path, len(text), MaxNote)
	}
	old, exists, err := tx.Text(ctx, path)
	if err != nil {
		return err
	}
	if exists && bytes.Equal(old, text) && n.Theirs == nil {
		return nil
	}
	if !exists {
		if err := tx.free(path); err != nil {
			return err
		}
	}
	more := size{notes: 1, bytes: len(text)}
	if exists {
		more = size{bytes: len(text) - len(old)}
	}
	if err := tx.room(path, more); err != nil {
		return err
	}
	if more.things, err = tx.roomForThings(path, text); err != nil {
		return err
	}
	if err := tx.stage(ctx, path, n); err != nil {
		return err
	}
	tx.grow(path, more)
	tx.names[vault.Fold(string(path))] = string(path)
	return nil
}

// Remove stages that a file goes.
func (tx *Tx) Remove(ctx context.Context, path vault.Path) error {
	old, exists, err := tx.Text(ctx, path)
	if err != nil || !exists {
		return err
	}
	if err := tx.stage(ctx, path, Note{Deleted: true}); err != nil {
		return err
	}
	tx.grow(path, size{notes: -1, bytes: -len(old)})
	delete(tx.names, vault.Fold(string(path)))
	return nil
}

// stage stages a change after the checks that every change passes.
func (tx *Tx) stage(ctx context.Context, path vault.Path, n Note) error {
	n.Path = string(path)
	if err := tx.call.reaches(path); err != nil {
		return err
	}
	if err := tx.protected(path); err != nil {
		return err
	}
	if s, ok := tx.staged(n.Path); ok && !n.Deleted && n.From == "" {
		n.From = s.From
	}
	n.Was = []byte{}
	if f, ok := tx.Before().File(n.Path); ok {
		n.Prev, n.Was = f.Version, f.Digest[:]
	}
	if err := tx.Touch(n.Prev); err != nil {
		return err
	}
	if !tx.call.Outside {
		durable, _ := tx.Durable().File(n.Path)
		if err := tx.v.follow.Guard(ctx, path, durable); err != nil {
			return err
		}
	}
	tx.put(n)
	tx.staging++
	return nil
}

// Excluded is INVALID_PATH for a path at which no note can be.
func Excluded(path vault.Path) *fault.Fault {
	return fault.New(fault.InvalidPath, "%s is excluded by %s: exclude, or deletion.trash_dir", path, vault.ConfigRaven).
		With("path", path)
}

// protected is a fault if the configuration of the vault excludes or protects the path, unless the call is not bound
// by that.
func (tx *Tx) protected(path vault.Path) error {
	if tx.call.Outside || tx.call.Unprotected {
		return nil
	}
	if tx.Before().Hides(string(path)) {
		return Excluded(path)
	}
	at := strings.TrimPrefix(string(path), vault.Trash)
	for _, prefix := range tx.Before().Config().Protected {
		if prefix != "" && strings.HasPrefix(at, prefix) {
			return fault.New(fault.ReadOnly, "paths that begin with %s are read only: protected_prefixes in %s",
				prefix, vault.ConfigRaven).With("prefix", prefix)
		}
	}
	return nil
}

// Folded is the path of the file that will have a name, but for case or normalization, and whether there
// will be one. It costs no index, unlike to ask Index.
func (tx *Tx) Folded(path vault.Path) (at string, ok bool) {
	if at, ok = tx.names[vault.Fold(string(path))]; ok {
		return at, true
	}
	if at, ok = tx.Before().Folded(string(path)); !ok {
		return "", false
	}
	n, staged := tx.staged(at)
	return at, !staged || !n.Deleted
}

// free is a fault if the name of a new file collides with that of another, which the Tx does not
// remove.
func (tx *Tx) free(path vault.Path) error {
	other, ok := tx.Folded(path)
	if !ok || other == string(path) {
		return nil
	}
	return fault.New(fault.DuplicateID,
		"%s differs only by case or normalization from %s, which exists", path, other).
		With("id", vault.Path(other).ID()).Fix("use the name %s", other)
}

// size is how much a change adds to a vault, and how many indexed things its file has then.
type size struct{ notes, bytes, things int }

// room is a fault if the vault is too full for a change that makes it grow.
func (tx *Tx) room(path vault.Path, more size) error {
	if !counted(path) {
		return nil
	}
	most, now := tx.v.limits, tx.Before().Totals()
	fits := more.notes <= 0 || now.Notes+tx.notes+more.notes <= most.Notes
	fits = fits && (more.bytes <= 0 || now.Bytes+tx.bytes+int64(more.bytes) <= most.Bytes)
	if fits {
		return nil
	}
	return fault.New(fault.QuotaExceeded, "a vault has at most %d notes and %d bytes",
		most.Notes, most.Bytes)
}

// grow counts a change that is staged.
func (tx *Tx) grow(path vault.Path, more size) {
	if counted(path) {
		tx.notes += more.notes
		tx.bytes += int64(more.bytes)
		tx.stock.set(path, tx.stock.at(tx.Before(), path), more.things)
	}
}

// counted reports whether a file counts against the limits of a vault: whether it is a note, as the
// index's totals have it.
func counted(path vault.Path) bool {
	return path.Kind() == vault.KindNote && path[0] != '.'
}

// log adds the audit events to what the Tx holds.
func (tx *Tx) log(ctx context.Context) error {
	tx.settle()
	before, after := tx.Before(), tx.Index()
	moved, left := tx.moves()
	for i := range tx.commit.Notes {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := &tx.commit.Notes[i]
		c := index.Texts{New: n.Text, From: moved[n.Path], Left: left[n.Path]}
		if f, ok := before.File(cmp.Or(c.From, n.Path)); ok {
			old, err := tx.text(ctx, f.Body)
			if err != nil {
				return err
			}
			c.Old = old
		}
		if !tx.call.Untold {
			if err := tx.tell(n, index.Events(before, after, n.Path, c)); err != nil {
				return err
			}
		}
		if note, ok := after.Kept(n.Path); ok {
			n.Traits = note.TraitIDs()
		}
		if f, ok := after.File(n.Path); ok {
			n.Nodes = f.NodeIDs()
		}
	}
	return nil
}

// moves are the notes that the Tx moves: where each comes from, by where it goes, and the paths that they leave.
func (tx *Tx) moves() (from map[string]string, left map[string]bool) {
	from, left = map[string]string{}, map[string]bool{}
	for _, n := range tx.commit.Notes {
		if n.From == "" || n.Prev > 0 || n.Deleted {
			continue
		}
		_, was := tx.Before().Note(n.From)
		_, stays := tx.Index().Note(n.From)
		if was && !stays && !left[n.From] {
			from[n.Path], left[n.From] = n.From, true
		}
	}
	return from, left
}

// tell keeps the events of a change. Those of a change from outside are one entry.
func (tx *Tx) tell(n *Note, events []index.Event) (err error) {
	if tx.call.Outside && len(events) > 0 {
		entry := index.Reindexed(n.Path, events)
		entry.Cause = tx.call.Cause
		n.Events, err = encode([]index.Reindex{entry})
	} else {
		n.Events, err = encodeEvents(events)
	}
	return err
}

// eventSize is about how many bytes an event is as JSON.
const eventSize = 192

// encodeEvents returns events as encode does, and makes each into JSON by itself: there may be 20,000 of them.
func encodeEvents(events []index.Event) ([]byte, error) {
	if len(events) == 0 {
		return encode(events)
	}
	var b bytes.Buffer
	b.Grow(eventSize * len(events))
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i := range events {
		b.WriteByte(',')
		if err := enc.Encode(&events[i]); err != nil {
			return nil, err
		}
		b.Truncate(b.Len() - len("\n"))
	}
	b.WriteByte(']')
	b.Bytes()[0] = '['
	return b.Bytes(), nil
}

// A Staged file is one that a Tx changes.
type Staged struct {
	Path     vault.Path
	Old, New []byte // nil: there was none, there will be none

	From string // the path that a note comes from that is moved here; empty: none is
	Left bool   // the note is moved elsewhere
}

// Staged are the files that the Tx changes so far, in the order in which it did.
func (tx *Tx) Staged(ctx context.Context) ([]Staged, error) {
	var all []Staged
	moved, left := tx.moves()
	for _, n := range tx.commit.Notes {
		s := Staged{Path: vault.Path(n.Path), New: n.Text, From: moved[n.Path], Left: left[n.Path]}
		if f, ok := tx.Before().File(n.Path); ok {
			old, err := tx.text(ctx, f.Body)
			if err != nil {
				return nil, err
			}
			s.Old = old
		}
		all = append(all, s)
	}
	return all, nil
}
