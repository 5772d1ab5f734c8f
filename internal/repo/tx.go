package repo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/parallel"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Tx is a draft of a commit to a vault. Staged notes pass the checks that apply to every note:
// size and limits, name collisions, the version that the call is based on, protected paths, and the
// state of the file in the folder. It is valid only during the function of an Update, and not safe
// for concurrent use.
//
// The checks are made when a change is staged, against the index before the call and the changes
// staged so far; they do not compute the index after the call, which costs more. A change that is
// refused leaves the Tx as it was.
type Tx struct {
	draft *eventlog.Draft[*index.Index]
	v     *Vault
	names map[string]string // paths of the files that it adds, by folded path
	notes int               // by how many notes the vault grows
	bytes int64             // by how many bytes the notes grow
	stock stock             // indexed things of the changed notes
	ids   int               // how many ids were generated; see ID

	staging int          // how often something was staged
	part    *index.Index // index at the beginning of the part in Try or Part; nil: outside of them
	from    int          // staging at the beginning of the part
}

// A Receipt is the result of an Update of a vault.
type Receipt struct {
	eventlog.Receipt

	// Unread lists notes that the commit changed but whose files cannot be read, with the paths of
	// the notes. These files are left unchanged, and do not show the change.
	Unread []LeftFile
}

// newTx returns a Tx for a draft of a commit to the vault.
func (v *Vault) newTx(d *eventlog.Draft[*index.Index]) *Tx {
	return &Tx{draft: d, v: v, names: map[string]string{}}
}

// Seq returns the number that the commit will have.
func (tx *Tx) Seq() uint64 { return tx.draft.Seq() }

// Now returns the time of the commit, in UTC and in whole milliseconds. Times never decrease from
// one commit to the next.
func (tx *Tx) Now() time.Time { return tx.draft.Now() }

// DryRun reports whether nothing will be written.
func (tx *Tx) DryRun() bool { return tx.draft.DryRun() }

// Before returns the index that the commit is based on. It may include drafts of other calls that
// are not written yet.
func (tx *Tx) Before() *index.Index { return tx.draft.Before() }

// Durable returns the index that is in the log.
func (tx *Tx) Durable() *index.Index { return tx.draft.Durable() }

// Touch records that the call changes something that commit `changed` changed last. It returns
// CONFLICT if that is newer than the call's IfVersion, or if IfVersion is not in the log yet.
func (tx *Tx) Touch(changed uint64) error { return tx.draft.Touch(changed) }

// Record stages a record, a small value that is stored whole in the log. A nil value removes the
// entry with this kind and id. It returns an error if the value cannot be encoded as JSON.
func (tx *Tx) Record(kind, id string, value any) error { return tx.draft.Record(kind, id, value) }

// staged returns the staged notes, in the order in which they were first staged.
func (tx *Tx) staged() []eventlog.Note { return tx.draft.Commit().Notes }

// Update runs fn on a Tx on top of the newest state, adds the audit events, and appends the commit;
// see eventlog.Log.Update. Errors of a missing or trashed vault are NOT_FOUND. fn may run several
// times, each time with a new Tx, and must not use a Tx after it has returned.
func (v *Vault) Update(
	ctx context.Context, c eventlog.Call, fn func(context.Context, *Tx) (any, error),
) (Receipt, error) {
	var last *Tx
	written, err := v.log.Update(ctx, c,
		func(ctx context.Context, d *eventlog.Draft[*index.Index]) (any, error) {
			tx := v.newTx(d)
			last = tx
			answer, err := fn(ctx, tx)
			if err != nil {
				return nil, err
			}
			return answer, tx.log(ctx)
		})
	r := Receipt{Receipt: written}
	switch {
	case err != nil: // a call that gave up does not wait for its function: last is not ours to read
	// A replayed call did not run its function, so its notes are read from the log.
	case r.Replayed != nil:
		r.Unread = v.unreadOf(ctx, r.Seq)
	case r.Changed:
		r.Unread = v.unread(last.staged())
	}
	return r, v.orNone(err)
}

// unread returns those of some notes whose files are left unchanged because they cannot be read.
func (v *Vault) unread(notes []eventlog.Note) (all []LeftFile) {
	for _, n := range notes {
		if f, left := v.follow.Unread(n.Path); left {
			f.Path = n.Path
			all = append(all, f)
		}
	}
	return all
}

// unreadOf returns the notes that a commit changed and whose files are left unchanged now. It
// returns nil if the commit cannot be read: the result of the call is known without it.
func (v *Vault) unreadOf(ctx context.Context, seq uint64) []LeftFile {
	if v.follow == (alone{}) {
		return nil
	}
	c, err := v.log.Commit(ctx, seq)
	if err != nil {
		return nil
	}
	return v.unread(c.Notes)
}

// Unindexed returns the notes that the Tx changes and that have more things than are indexed.
func (tx *Tx) Unindexed() (all []*index.Note) {
	for _, n := range tx.staged() {
		if note, ok := tx.Index().Note(n.Path); ok && note.Unindexed() > 0 {
			all = append(all, note)
		}
	}
	return all
}

// Index returns the index with the changes of the Tx so far. It is computed when it is needed,
// which costs time in proportion to the staged changes.
func (tx *Tx) Index() *index.Index { return tx.draft.State() }

// Text returns the text of a file with the changes of the Tx so far, and whether the file exists.
// The caller must not change the text. It returns the error of the context if that has ended.
func (tx *Tx) Text(ctx context.Context, path vault.Path) ([]byte, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err // the caller has given up
	}
	if n, ok := tx.draft.StagedNote(string(path)); ok {
		return n.Text, !n.Deleted, nil
	}
	f, ok := tx.Before().File(string(path))
	if !ok {
		return nil, false, nil
	}
	text, err := tx.text(ctx, f.Body)
	return text, err == nil, err
}

// Prefetch loads the texts of files into the cache that are about to be read; see Vault.Prefetch.
func (tx *Tx) Prefetch(ctx context.Context, paths []string) {
	bodies := make([]index.Body, 0, len(paths))
	for _, path := range paths {
		if f, ok := tx.Before().File(path); ok {
			bodies = append(bodies, f.Body)
		}
	}
	tx.v.Prefetch(ctx, bodies)
}

// TextOf returns the text of a file of an index, which may be an earlier one. The caller must not
// change the text.
func (tx *Tx) TextOf(ctx context.Context, f *index.File) ([]byte, error) {
	return tx.text(ctx, f.Body)
}

// text returns a text of the log, or of an earlier draft of the same run.
func (tx *Tx) text(ctx context.Context, b index.Body) ([]byte, error) {
	if text, ok := tx.draft.StagedText(eventlog.PartRef(b)); ok {
		return text, nil
	}
	return tx.v.Text(ctx, b)
}

// Put stages the text of a file, which may be new. It does nothing if the file has this text
// already. Errors: NOTE_TOO_LARGE, QUOTA_EXCEEDED, DUPLICATE_ID for a name that differs only by
// case or normalization from another one, CONFLICT if the file changed after the version that the
// call is based on, those of Follower.Guard, INVALID_PATH and READ_ONLY for excluded and protected
// paths, and PERMISSION_DENIED outside the call's prefix.
func (tx *Tx) Put(ctx context.Context, path vault.Path, text []byte) error {
	return tx.PutTraits(ctx, path, text, nil)
}

// PutTraits is Put with the ids of the annotations in the text, in the order of
// index.Note.TraitIDs. Without them, annotations with equal lines cannot be told apart. A list that
// does not match the text is ignored.
func (tx *Tx) PutTraits(
	ctx context.Context, path vault.Path, text []byte, ids []string,
) error {
	return tx.place(ctx, path, eventlog.Note{Text: text, Traits: ids})
}

// PutParsed is Put with the parsed text, so that the index need not parse it, and with the UIDs of
// the nodes in the text as for PutNodes.
func (tx *Tx) PutParsed(
	ctx context.Context, path vault.Path, text []byte, parsed *index.Parsed, nodes []index.UID,
) error {
	return tx.place(ctx, path, eventlog.Note{Text: text, Parsed: parsed, Nodes: index.PackUIDs(nodes)})
}

// PutNodes is PutTraits with the UIDs of the nodes in the text, in the order of index.Note.NodeIDs;
// zero for a new node. Nil lists, and lists that do not match the text, are ignored.
func (tx *Tx) PutNodes(
	ctx context.Context, path vault.Path, text []byte, traits []string, nodes []index.UID,
) error {
	return tx.place(ctx, path, eventlog.Note{Text: text, Traits: traits, Nodes: index.PackUIDs(nodes)})
}

// Expect returns CONFLICT if one of these files changed after the version that the call is based
// on. It ignores paths without a file.
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

// RestoreFile is PutNodes for a deleted file that is restored as it was: with its text, its ids and
// its times. prev is the commit that deleted it.
func (tx *Tx) RestoreFile(ctx context.Context, path vault.Path, was eventlog.Note, prev uint64) error {
	return tx.place(ctx, path, eventlog.Note{
		Text: was.Text, Traits: was.Traits, Nodes: was.Nodes, Past: was.Past, Prev: prev,
	})
}

// An Outside is the result of ingesting an outside edit of a file.
type Outside struct {
	Text  []byte    // the text that the file must get
	Found []byte    // the text that the edit had put into the file
	From  string    // the path of the file before, if the edit moved it
	Since time.Time // modification time of the file; used if its age is not known otherwise
}

// TakeIn is Put for an outside edit. It stages the file also if it has the text already but o.Found
// differs: the commit then records that o.Found in the folder may be overwritten. If o.From is set,
// the call must remove that file too.
func (tx *Tx) TakeIn(ctx context.Context, path vault.Path, o Outside) error {
	n := eventlog.Note{Text: o.Text, From: o.From, Since: o.Since}
	if !bytes.Equal(o.Found, o.Text) {
		n.Theirs = append([]byte{}, o.Found...)
	}
	return tx.place(ctx, path, n)
}

// place checks and stages the new state of a file. It reads the current text first: a file that has
// the new text already is not staged, unless an outside edit must be recorded. If a check fails,
// nothing is staged.
func (tx *Tx) place(ctx context.Context, path vault.Path, n eventlog.Note) error {
	text := n.Text
	if len(text) > MaxNote {
		return fault.New(fault.NoteTooLarge, "%s would have %d bytes; a note has at most %d",
			path, len(text), MaxNote)
	}
	old, exists, err := tx.Text(ctx, path)
	if err != nil {
		return err
	}
	// An outside edit is staged even if the log has its text already, to record that the file may
	// be overwritten.
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
	// Counting things is the most expensive check, so it comes last.
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

// Remove stages the removal of a file. It does nothing if the file does not exist. Its errors are
// those of Put, except for those about the size, the limits and the name.
func (tx *Tx) Remove(ctx context.Context, path vault.Path) error {
	old, exists, err := tx.Text(ctx, path)
	if err != nil || !exists {
		return err
	}
	if err := tx.stage(ctx, path, eventlog.Note{Deleted: true}); err != nil {
		return err
	}
	tx.grow(path, size{notes: -1, bytes: -len(old)})
	delete(tx.names, vault.Fold(string(path)))
	return nil
}

// stage stages a change, after the checks that apply to every change: the prefix of the call, the
// paths that the configuration protects, the version that the call is based on, and the file in the
// folder. It sets Prev and Was of the note, which link the change to the one before: histories, and
// followers that keep no index, use these links.
func (tx *Tx) stage(ctx context.Context, path vault.Path, n eventlog.Note) error {
	n.Path = string(path)
	if err := reaches(tx.draft.Call(), path); err != nil {
		return err
	}
	if err := tx.protected(path); err != nil {
		return err
	}
	if s, ok := tx.draft.StagedNote(n.Path); ok && !n.Deleted && n.From == "" {
		n.From = s.From
	}
	n.Was = []byte{}
	if f, ok := tx.Before().File(n.Path); ok {
		n.Prev, n.Was = f.Version, f.Digest[:]
	}
	if err := tx.Touch(n.Prev); err != nil {
		return err
	}
	// A write must not overwrite an outside edit that is not in the log yet. Calls that ingest
	// outside edits are exempt.
	if !tx.draft.Call().Outside {
		durable, _ := tx.Durable().File(n.Path)
		if err := tx.v.follow.Guard(ctx, path, durable); err != nil {
			return err
		}
	}
	tx.draft.StageNote(n)
	tx.staging++
	return nil
}

// reaches returns OutsidePrefix if a call must not change the file at path. A file in the trash
// counts as being at its original path.
func reaches(c eventlog.Call, path vault.Path) error {
	at := strings.TrimPrefix(string(path), vault.Trash)
	if c.Prefix == "" || strings.HasPrefix(at, c.Prefix) {
		return nil
	}
	return eventlog.OutsidePrefix(c.Prefix)
}

// Excluded returns the INVALID_PATH error of a path that the configuration excludes from the notes.
func Excluded(path vault.Path) *fault.Fault {
	return fault.New(fault.InvalidPath,
		"%s is excluded by %s: exclude, or deletion.trash_dir", path, vault.ConfigRaven).
		With("path", path)
}

// protected returns an error if the configuration of the vault excludes or protects the path. Calls
// with Outside or Unprotected are exempt.
func (tx *Tx) protected(path vault.Path) error {
	if c := tx.draft.Call(); c.Outside || c.Unprotected {
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

// Folded returns the path of the staged or stored file that is equal to path after case folding and
// normalization, if any. It does not compute the index, unlike Index.
func (tx *Tx) Folded(path vault.Path) (at string, ok bool) {
	if at, ok = tx.names[vault.Fold(string(path))]; ok {
		return at, true
	}
	if at, ok = tx.Before().Folded(string(path)); !ok {
		return "", false
	}
	n, staged := tx.draft.StagedNote(at)
	return at, !staged || !n.Deleted
}

// free returns DUPLICATE_ID if the name of a new file collides with that of another file, which the
// Tx does not remove. Two such names would be one file on a disk that ignores case.
func (tx *Tx) free(path vault.Path) error {
	other, ok := tx.Folded(path)
	if !ok || other == string(path) {
		return nil
	}
	return fault.New(fault.DuplicateID,
		"%s differs only by case or normalization from %s, which exists", path, other).
		With("id", vault.Path(other).ID()).Fix("use the name %s", other)
}

// log adds the audit events, and the ids of traits and nodes, to the staged notes. It is the last
// step before a commit is written. Both depend on the index before and after the call, so they are
// stored: a reader of the log cannot compute them from the text alone. It reads the text before of
// each changed note, and handles as many notes at a time as there are processors. A silent call gets
// ids, but no events.
func (tx *Tx) log(ctx context.Context) error {
	tx.settle()
	after := tx.Index()
	moved, left := tx.moves()
	notes := tx.staged()
	logged := make([]*loggedNote, len(notes))
	for i := range notes {
		n := &notes[i]
		logged[i] = &loggedNote{Note: n, texts: index.Texts{New: n.Text, From: moved[n.Path], MovedAway: left[n.Path]}}
	}
	_ = parallel.ForEach(runtime.GOMAXPROCS(0), logged, func(n *loggedNote) error {
		n.err = tx.logNote(ctx, after, n)
		return nil
	})
	for _, n := range logged {
		if n.err != nil {
			return n.err
		}
	}
	return nil
}

// A loggedNote is a staged note while log handles it.
type loggedNote struct {
	*eventlog.Note
	texts index.Texts
	err   error
}

// logNote is log for one note. after is the index after the call. It reads the Tx, so that several
// goroutines may call it at once, and changes only the note.
func (tx *Tx) logNote(ctx context.Context, after *index.Index, n *loggedNote) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if f, ok := tx.Before().File(cmp.Or(n.texts.From, n.Path)); ok {
		old, err := tx.text(ctx, f.Body)
		if err != nil {
			return err
		}
		n.texts.Old = old
	}
	if !tx.draft.Call().Silent {
		if err := tx.tell(n.Note, index.Events(tx.Before(), after, n.Path, n.texts)); err != nil {
			return err
		}
	}
	if note, ok := after.Kept(n.Path); ok {
		n.Traits = note.TraitIDs()
	}
	if f, ok := after.File(n.Path); ok {
		n.Nodes = index.PackUIDs(f.NodeIDs())
	}
	return nil
}

// moves returns the notes that the Tx moves: from maps the new path to the old one, and left
// contains the old paths. In a commit a move is two notes: one that deletes the old path, and one
// at the new path with From and without Prev. A file that replaces another one is not a move, nor
// is one whose old path has a note again in the end.
func (tx *Tx) moves() (from map[string]string, left map[string]bool) {
	from, left = map[string]string{}, map[string]bool{}
	for _, n := range tx.staged() {
		if n.From == "" || n.Prev > 0 || n.Deleted {
			continue
		}
		_, was := tx.Before().Note(n.From)
		_, stays := tx.Index().Note(n.From)
		// If several files claim to come from one path, only the first is a move.
		if was && !stays && !left[n.From] {
			from[n.Path], left[n.From] = n.From, true
		}
	}
	return from, left
}

// tell stores the events of a change in the note. Those of an outside edit become one entry.
func (tx *Tx) tell(n *eventlog.Note, events []index.Event) (err error) {
	if c := tx.draft.Call(); c.Outside && len(events) > 0 {
		entry := index.Reindexed(n.Path, events)
		entry.Cause = c.Cause
		n.Events, err = eventlog.Encode([]index.Reindex{entry})
	} else {
		n.Events, err = encodeEvents(events)
	}
	return err
}

// eventSize is about how many bytes the JSON of an event takes.
const eventSize = 192

// encodeEvents returns the same JSON as eventlog.Encode. It encodes one event at a time, because
// there may be 20,000 of them.
func encodeEvents(events []index.Event) ([]byte, error) {
	if len(events) == 0 {
		return eventlog.Encode(events)
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

// A Staged is a file that a Tx changes.
type Staged struct {
	Path vault.Path
	// Old and New are the texts before and after the Tx; nil if there is no file.
	Old, New []byte

	From string // old path of a note that is moved here; empty: it is not moved
	Left bool   // the note is moved to another path
}

// Staged returns the files that the Tx has changed so far, in the order of the first change of
// each. A file that the Tx both created and removed is not among them. The caller must not change
// the texts.
func (tx *Tx) Staged(ctx context.Context) ([]Staged, error) {
	var all []Staged
	moved, left := tx.moves()
	for _, n := range tx.staged() {
		s := Staged{Path: vault.Path(n.Path), New: n.Text, From: moved[n.Path], Left: left[n.Path]}
		if f, ok := tx.Before().File(n.Path); ok {
			old, err := tx.text(ctx, f.Body)
			if err != nil {
				return nil, err
			}
			s.Old = old
		} else if s.New == nil {
			continue
		}
		all = append(all, s)
	}
	return all, nil
}
