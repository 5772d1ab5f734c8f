package repo

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Reversal contains the data to undo a commit: each file and item that it changed, as it was
// before. A commit can be undone if each of its files has the contents that the commit gave it,
// whatever happened in between, and none of its items has changed since.
//
// It is made in two steps. Before the Update, Vault.Reversal reads the earlier texts: each change
// names the commit before it, so that costs one read for each such commit. Times are only in the
// index before the commit, which is built if a note, trait or section comes back. In the Update,
// Tx.Reverse compares and stages; it may run several times.
type Reversal struct {
	Of *eventlog.Commit

	was   map[string]eventlog.Note // by path; Deleted if there was no file
	items []eventlog.Item          // in the order of the commit; Gone if there was none
}

// Reversal reads the data to undo a commit. The result never changes, so callers read it before
// their Update. It returns INVALID_VALUE if the commit has no files or items that can be restored,
// and NOT_FOUND if the version does not exist yet. Erased notes and items of the commit are
// ignored; a commit that erases something cannot be undone.
func (v *Vault) Reversal(ctx context.Context, version uint64) (*Reversal, error) {
	if _, err := v.Read(ctx); err != nil {
		return nil, err
	}
	if version == 0 {
		return nil, nothingToUndo(version)
	}
	c, err := v.Commit(ctx, version)
	if err != nil {
		return nil, err
	}
	r, err := v.reversal(ctx, c)
	if err != nil {
		return nil, err
	}
	return r, r.date(ctx, v)
}

// reversal is Reversal without the times of restored notes.
func (v *Vault) reversal(ctx context.Context, c *eventlog.Commit) (*Reversal, error) {
	of := *c
	of.Notes = slices.DeleteFunc(slices.Clone(c.Notes), func(n eventlog.Note) bool { return n.Erased })
	of.Items = slices.DeleteFunc(slices.Clone(c.Items), func(i eventlog.Item) bool { return i.Erased })
	if len(of.Notes)+len(of.Items) == 0 || len(of.ErasedParts()) > 0 {
		return nil, nothingToUndo(c.Seq)
	}
	r := &Reversal{Of: &of, was: map[string]eventlog.Note{}}
	if err := r.lookBack(ctx, v); err != nil {
		return nil, err
	}
	return r, r.itemsBefore(ctx, v)
}

// Paths returns the files that the commit changed; nil for a nil Reversal.
func (r *Reversal) Paths() []vault.Path {
	if r == nil {
		return nil
	}
	return pathsIn(r.Of.Notes)
}

// pathsIn returns the paths of notes.
func pathsIn(notes []eventlog.Note) []vault.Path {
	var paths []vault.Path
	for _, n := range notes {
		paths = append(paths, vault.Path(n.Path))
	}
	return paths
}

// nothingToUndo returns the INVALID_VALUE error of a commit that changed no file and no item.
func nothingToUndo(version uint64) error {
	return fault.New(fault.InvalidValue, "%s changed no file and no memory: there is nothing to undo",
		eventlog.Version(version)).With("argument", "version")
}

// lookBack reads the earlier state of each file of the commit, from the commit that changed it
// before. If one commit changed several of the files, it is read once.
func (r *Reversal) lookBack(ctx context.Context, v *Vault) error {
	notes := slices.SortedFunc(slices.Values(r.Of.Notes), func(a, b eventlog.Note) int {
		return cmp.Compare(a.Prev, b.Prev)
	})
	var before *eventlog.Commit
	for _, n := range notes {
		r.was[n.Path] = eventlog.Note{Path: n.Path, Deleted: true}
		if n.Prev == 0 {
			continue
		}
		if before == nil || before.Seq != n.Prev {
			var err error
			if before, err = v.log.Commit(ctx, n.Prev); err != nil {
				return err
			}
		}
		was, ok := before.NoteAt(n.Path)
		if !ok {
			return eventlog.Damaged(n.Prev, fmt.Errorf("commit %d does not concern the file", n.Prev))
		}
		r.was[n.Path] = eventlog.Note{
			Path: n.Path, Deleted: was.Deleted, Text: was.Text, Traits: was.Traits, Nodes: was.Nodes,
		}
	}
	return nil
}

// date adds the times of restored notes, and of restored traits and sections of existing notes.
// Only the index before the commit has them.
func (r *Reversal) date(ctx context.Context, v *Vault) error {
	for _, n := range r.Of.Notes {
		was := r.was[n.Path]
		if vault.Path(n.Path).Kind() != vault.KindNote || !returns(n, was) {
			continue
		}
		idx, err := v.At(ctx, r.Of.Seq-1)
		if err != nil {
			return err
		}
		if before, ok := idx.Kept(n.Path); ok {
			was.Past = storedPast(before.AllTimes())
			r.was[n.Path] = was
		}
	}
	return nil
}

// returns reports whether undoing a change of a note restores something: the note, a trait or a
// section.
func returns(n, was eventlog.Note) bool {
	if n.Deleted || was.Deleted {
		return !was.Deleted
	}
	for _, id := range was.Traits {
		if !slices.Contains(n.Traits, id) {
			return true
		}
	}
	doc := markdown.Parse(n.Text)
	for _, h := range markdown.Parse(was.Text).Headings {
		if _, stays := doc.Section(h.Slug); !stays {
			return true
		}
	}
	return false
}

// Reverse stages the undo of a commit. It returns CONFLICT if a file is not as the commit left it,
// or an item has changed since, and INVALID_VALUE if there is nothing to undo.
func (tx *Tx) Reverse(ctx context.Context, r *Reversal) error {
	if err := r.asLeft(ctx, tx); err != nil {
		return err
	}
	for _, n := range r.Of.Notes { // removals first: a file to remove may collide with one to restore
		if err := tx.takeAway(ctx, r, n); err != nil {
			return err
		}
	}
	for _, n := range r.Of.Notes {
		if err := tx.putBack(ctx, r, n); err != nil {
			return err
		}
	}
	if err := tx.reverseItems(r); err != nil {
		return err
	}
	if c := tx.draft.Commit(); len(c.Notes)+len(c.Items) == 0 {
		return nothingToUndo(r.Of.Seq)
	}
	return nil
}

// itemsBefore reads the earlier state of each item of the commit.
func (r *Reversal) itemsBefore(ctx context.Context, v *Vault) error {
	for _, i := range r.Of.Items {
		was := eventlog.Item{Kind: i.Kind, ID: i.ID, Gone: true}
		if i.Prev > 0 {
			before, err := v.log.Commit(ctx, i.Prev)
			if err != nil {
				return err
			}
			if was, _ = before.ItemOf(i.Kind, i.ID); was.Kind == "" {
				return nothingToUndo(r.Of.Seq) // it was erased
			}
		}
		r.items = append(r.items, was)
	}
	return nil
}

// reverseItems stages the items as they were before the commit. It returns CONFLICT if one has
// changed since.
func (tx *Tx) reverseItems(r *Reversal) error {
	for n, was := range r.items {
		now := r.Of.Items[n]
		version, there := tx.versionOf(was.Kind, was.ID)
		// The item is unchanged if it still exists, or is still gone, and the commit was the last
		// to change it.
		if there == now.Gone || there && version != r.Of.Seq {
			return itemNotAsLeft(r, was, version)
		}
		if was.Gone && now.Gone {
			continue
		}
		was.Prev = r.Of.Seq
		if err := tx.stageItem(was); err != nil {
			return err
		}
	}
	return nil
}

// itemNotAsLeft returns the CONFLICT error of a commit with an item that has changed since.
func itemNotAsLeft(r *Reversal, i eventlog.Item, latest uint64) error {
	version := eventlog.Version(r.Of.Seq)
	f := fault.New(fault.Conflict, "%s %s changed after %s: it must be as %s left it", i.Kind, i.ID, version, version).
		With("id", i.ID)
	if latest > 0 {
		f = f.With("latest_version", eventlog.Version(latest))
	}
	return f
}

// takeAway stages the removal of a file that did not exist before the commit. A copy in the trash
// that was removed or edited in the folder is left alone.
func (tx *Tx) takeAway(ctx context.Context, r *Reversal, n eventlog.Note) error {
	if !r.was[n.Path].Deleted {
		return nil
	}
	err := tx.Remove(ctx, vault.Path(n.Path))
	if strings.HasPrefix(n.Path, vault.Trash) && fault.Is(err, fault.Conflict) {
		return nil
	}
	return err
}

// putBack stages a file as it was before the commit, if it existed.
func (tx *Tx) putBack(ctx context.Context, r *Reversal, n eventlog.Note) error {
	was, path := r.was[n.Path], vault.Path(n.Path)
	if was.Deleted {
		return nil
	}
	// An id that another file has taken over since cannot be restored. The index then assigns new
	// ids.
	if !tx.mayHave(was.Traits, r) {
		was.Traits = nil
	}
	nodes := index.UnpackUIDs(was.Nodes)
	if !tx.mayHaveNodes(nodes, r) {
		nodes, was.Nodes = nil, nil
	}
	if n.Deleted {
		return tx.RestoreFile(ctx, path, was, r.Of.Seq)
	}
	if err := tx.PutNodes(ctx, path, was.Text, was.Traits, nodes); err != nil || was.Past == nil {
		return err
	}
	tx.redate(path, pastOf(was.Past))
	return nil
}

// redate sets the times of traits and sections that are restored in a note. past contains the times
// of the note as it was. Parts that the note has had without a break keep the times that they have.
func (tx *Tx) redate(path vault.Path, past *index.NoteTimes) {
	n, staged := tx.draft.StagedNote(string(path))
	before, existed := tx.Before().Kept(string(path))
	now, ok := tx.Index().Kept(string(path))
	if staged && existed && ok {
		n.Past = storedPast(past.Restored(before, now))
		tx.draft.StageNote(n)
	}
}

// mayHave reports whether none of these ids is the id of a trait in a file that the undo does not
// change. An id must not be in two files.
func (tx *Tx) mayHave(ids []string, r *Reversal) bool {
	for _, id := range ids {
		holder, _ := tx.Before().Trait(id)
		if holder == nil {
			continue
		}
		if _, changes := r.was[holder.Note.Path]; !changes {
			return false
		}
	}
	return true
}

// mayHaveNodes is mayHave for the UIDs of nodes.
func (tx *Tx) mayHaveNodes(nodes []index.UID, r *Reversal) bool {
	for _, u := range nodes {
		path := tx.Before().FileOf(u)
		if _, changes := r.was[path]; path != "" && !changes {
			return false
		}
	}
	return true
}

// A changedSince is a file that is not as a commit left it.
type changedSince struct {
	Path    string `json:"path"`
	Version string `json:"version,omitempty"` // the commit that changed it last; empty: the file does not exist
}

// maxChanged is how many files a CONFLICT error lists.
const maxChanged = 50

// asLeft returns CONFLICT if a file is not as the commit left it. It compares contents, not
// versions, so a file that was changed and changed back is as the commit left it. The error lists
// the files.
func (r *Reversal) asLeft(ctx context.Context, tx *Tx) error {
	var changed []changedSince
	latest, before := uint64(0), 0
	for _, n := range r.Of.Notes {
		switch same, err := tx.isNow(ctx, n); {
		case err != nil:
			return err
		case same:
			continue
		}
		c := changedSince{Path: n.Path}
		if f, exists := tx.Before().File(n.Path); exists {
			c.Version, latest = eventlog.Version(f.Version), max(latest, f.Version)
		}
		changed = append(changed, c)
		same, err := tx.isNow(ctx, r.was[n.Path])
		if err != nil {
			return err
		}
		if same {
			before++
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return notAsLeft(r, changed, before).
		With("latest_version", eventlog.Version(cmp.Or(latest, tx.Before().Version())))
}

// isNow reports whether a file has the contents of a note, or does not exist if the note is
// deleted.
func (tx *Tx) isNow(ctx context.Context, n eventlog.Note) (bool, error) {
	f, exists := tx.Before().File(n.Path)
	if !exists || n.Deleted {
		return exists != n.Deleted, nil
	}
	text, err := tx.text(ctx, f.Body)
	return bytes.Equal(text, n.Text), err
}

// notAsLeft returns the CONFLICT error of a commit that cannot be undone. before is the number of
// its files that are as before the commit: if that is all of them, the commit is undone already.
func notAsLeft(r *Reversal, changed []changedSince, before int) *fault.Fault {
	version, others := eventlog.Version(r.Of.Seq), ""
	switch n := len(changed) - 1; {
	case n == 1:
		others = " and 1 more file"
	case n > 1:
		others = fmt.Sprintf(" and %d more files", n)
	}
	f := fault.New(fault.Conflict, "%s%s changed after %s: each file of it must be as %s left it",
		changed[0].Path, others, version, version)
	if before == len(r.Of.Notes) {
		f = fault.New(fault.Conflict, "%s is undone already: its files are as they were before it", version)
	}
	return f.With("changed", changed[:min(len(changed), maxChanged)]).
		With("changed_total", len(changed)).With("undone", before == len(r.Of.Notes))
}
