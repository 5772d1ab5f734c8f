package tree

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/relink"
	"github.com/rookeryhq/rookery/internal/repo"
	kept "github.com/rookeryhq/rookery/internal/session"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A snapshotRestoreIn is the input of tree_snapshot_restore.
type snapshotRestoreIn struct {
	snapshotArg
	nodeMutation
}

// A tally counts the changed notes and folders by the kind of change.
type tally struct {
	Created int `json:"created"`
	Updated int `json:"updated"`
	Removed int `json:"removed"`
}

// A snapshotRestoreOut is the output of tree_snapshot_restore. For a whole note or folder the lists
// contain notes and folders; for a section they contain sections.
type snapshotRestoreOut struct {
	SnapshotID string `json:"snapshotId"`
	Label      string `json:"label"`
	// a snapshot of the vault before the restore; absent if nothing differs
	SafetySnapshotID string `json:"safetySnapshotId,omitempty"`
	// addresses of notes and folders, or of sections, the first 200
	Created []string `json:"created"`
	// likewise
	Updated []string `json:"updated"`
	// likewise; notes and sections are in the trash
	Removed []string `json:"removed"`
	// of all of them
	Counts tally `json:"counts"`

	// of a section: labels of definitions and footnotes that mean something else in the note by now
	FootnoteConflicts []string `json:"footnoteConflicts,omitempty"`
	changeOut
}

// snapshotRestore returns the tool that restores a subtree to its state at a snapshot. The restore
// is one commit. It covers the whole vault: it is refused if any note or folder changed after the
// version token.
func (f tools) snapshotRestore() *tool.Tool {
	s := spec("snapshot_restore", "Restore a snapshot")
	s.Role, s.Kind = auth.Editor, tool.Destroy
	s.Route = tool.Route{Method: "POST", Path: "/snapshots/restore"}
	s.Commands = []tool.Command{{Words: "snapshot restore", Args: []string{"snapshotId"}}}
	return tool.New(s, f.restore)
}

// restore restores a snapshot. It looks up the snapshot and its version before the change begins,
// because they do not change. If that fails, the error is returned within the change, so that a
// repeated call gets its first answer even if the snapshot was deleted in the meantime.
//
// An automatic snapshot of the current state is stored before the commit, because it is an item of
// its own and the commit must not succeed without it. If the call is refused afterwards, it is
// removed again.
func (f tools) restore(ctx context.Context, c auth.Caller, in snapshotRestoreIn) (snapshotRestoreOut, error) {
	v, err := f.View(ctx, c, in.Vault.Vault)
	if err != nil {
		return snapshotRestoreOut{}, err
	}
	store := kept.Of(v.Vault)
	r := restorer{store: store, owner: ownerOf(c), vault: v.Vault}
	label, refused := snapshotNamed(ctx, store, "snapshotId", in.SnapshotID)
	if refused == nil {
		r.label = label.Snapshot
		r.safety = store.SnapshotID(kept.Snapshot{
			Label: label.ID, Seq: v.Index.Version(), UID: safetyOf, Owner: r.owner,
		}, 0)
		refused = r.readSnapshot(ctx)
	}
	labelled := false
	out, err := change(ctx, f, request{c, in.Vault.Vault, &in.nodeMutation},
		func(ctx context.Context, e *edit, out *snapshotRestoreOut) error {
			if err := e.checkAllUnchanged(); err != nil {
				return err
			}
			if refused != nil {
				return refused
			}
			err := r.run(ctx, e, in.DryRun, out)
			labelled = labelled || out.SafetySnapshotID != ""
			return err
		})
	if isRefused(err) && labelled {
		store.DropAutomatic(context.WithoutCancel(ctx), r.safety)
	}
	if fault.Is(err, fault.BatchTooLarge) {
		err = fault.Of(err).Fix("restore a snapshot of a smaller subtree, or several, one after the other")
	}
	return out, err
}

// safetyOf is the uid in the ids of automatic snapshots, which no other snapshot has.
const safetyOf = "safety"

// isRefused reports whether an error means that nothing was written and nothing will be: the
// function of the call has ended. For other errors the outcome may be unknown, so the automatic
// snapshot is kept; it expires.
func isRefused(err error) bool {
	return err != nil && (fault.Is(err, fault.Conflict) || fault.Of(err).Status() == fault.StatusInvalidArgument)
}

// A restorer is the restoration of one subtree.
//
// Everything but the label and the owner is read by readSnapshot. It does not depend on the current
// state, so it can be used in several runs of the draft.
//
// A restored file gets its former text, and its former uids and ids unless another file has them
// now (repo.Tx.PutBack), so that bookmarks, views and references by id lead to it again. Notes are
// recognized by uid: a note of the snapshot that was moved since is removed at its present path and
// created at the former one.
type restorer struct {
	store   kept.Store
	owner   kept.Owner // the caller, who owns the automatic snapshot
	vault   *repo.Vault
	label   kept.Snapshot // the snapshot
	safety  string        // id of the automatic snapshot of the state before
	oldTree *tree.Tree    // the vault at the snapshot
	top     tree.Node     // the node at the time of the snapshot

	files map[string]*index.File // files at the snapshot, by path
	uids  map[index.UID]bool     // uids of the notes and folders of these files
	text  []byte                 // text of the note, if the snapshot is of a section
}

// readSnapshot reads the subtree at the snapshot. It returns NOT_FOUND if its node was erased.
//
// The top is found by the uid that the snapshot has, else by its address. The files are known from
// the index of that version; texts are read only for those that differ now.
func (r *restorer) readSnapshot(ctx context.Context) error {
	x, err := r.vault.At(ctx, r.label.Seq)
	if err != nil {
		return err
	}
	r.oldTree = tree.New(x)
	top, ok := r.oldTree.Find(r.label.UID)
	if !ok {
		if top, ok = r.oldTree.Find(r.label.NodeID); !ok {
			return fault.New(fault.NotFound, "the node of the snapshot was erased").With("argument", "snapshotId")
		}
	}
	r.top, r.files, r.uids = top, map[string]*index.File{}, map[index.UID]bool{}
	if top.Section > 0 {
		r.text, err = r.vault.Text(ctx, top.Note.Body)
		return err
	}
	for f := range filesBelow(x, top) {
		r.files[f.Path] = f
		r.uids[uidOf(f)] = true
	}
	return ctx.Err()
}

// uidOf returns the uid of the note or folder to which a file belongs, or the zero UID.
func uidOf(f *index.File) (u index.UID) {
	if all := f.NodeIDs(); len(all) > 0 {
		u = all[0]
	}
	return u
}

// filesBelow yields the files of a note, or of a folder and all its descendants.
func filesBelow(x *index.Index, top tree.Node) func(yield func(*index.File) bool) {
	return func(yield func(*index.File) bool) {
		if top.Note != nil {
			yield(top.Note.File)
			return
		}
		for f := range x.FilesAfter(top.Folder) {
			if !strings.HasPrefix(f.Path, top.Folder) {
				return
			}
			if tree.IsContent(f) && !yield(f) {
				return
			}
		}
	}
}

// run drafts the state of the snapshot. Unless nothing changes or the call is a dry run, it also
// stores an automatic snapshot of the current state.
//
// Files and sections are restored in different ways: files get their former bytes, a section gets
// its former text within the current text of the note.
func (r *restorer) run(ctx context.Context, e *edit, dry bool, out *snapshotRestoreOut) error {
	out.SnapshotID, out.Label = r.label.ID, r.label.Label
	out.Created, out.Updated, out.Removed = []string{}, []string{}, []string{}
	restore := r.restoreFiles
	if r.top.Section > 0 {
		restore = r.restoreSection
	}
	if err := restore(ctx, e, dry, out); err != nil || dry || !e.Touched() {
		return err
	}
	out.SafetySnapshotID = r.safety
	return r.keepSafety(ctx, e.tree)
}

// restoreFiles drafts the files of the note or folder as they were.
//
// changes reports whether a path belongs to the subtree, now or at the snapshot; such files are not
// rewritten to follow references.
func (r *restorer) restoreFiles(ctx context.Context, e *edit, dry bool, out *snapshotRestoreOut) error {
	now := r.currentFiles(e.tree)
	changes := func(path string) bool { return now[path] != nil || r.files[path] != nil }
	if err := r.removeLater(ctx, e, now, out); err != nil {
		return err
	}
	if err := r.writeFiles(ctx, e, changes, out); err != nil {
		return err
	}
	return r.finish(ctx, e, changes, dry, out)
}

// currentFiles returns the current files of the subtree, both where its node is now and where it
// was.
//
// A node that was moved since is found by its uid, and files that came to its old address by that.
func (r *restorer) currentFiles(t *tree.Tree) map[string]*index.File {
	files := map[string]*index.File{}
	for _, id := range []string{r.label.UID, r.top.ID()} {
		n, ok := t.Find(id)
		if !ok || n.Section > 0 || n.Kind() == tree.Vault && r.top.Kind() != tree.Vault {
			continue
		}
		for f := range filesBelow(t.Index, n) {
			files[f.Path] = f
		}
	}
	return files
}

// removeLater drafts the removal of files that the snapshot does not have. Notes and files of
// folders that were created later go to the trash, even if a file of the snapshot replaces them at
// their path. A file that the snapshot has at another path is removed without a copy in the trash.
//
// Without the copy in the trash, a restore would remove texts that were written after the snapshot
// and that its caller may not know. A file that is only moved back has its text in the snapshot.
func (r *restorer) removeLater(
	ctx context.Context, e *edit, now map[string]*index.File, out *snapshotRestoreOut,
) error {
	for _, path := range slices.Sorted(maps.Keys(now)) {
		f, then := now[path], r.files[path]
		known := r.uids[uidOf(f)]
		// writeFiles gives the file its former text, or leaves it as it is.
		if then != nil && (known || f.Digest == then.Digest) {
			continue
		}
		text, _, err := e.Text(ctx, vault.Path(path))
		if err != nil {
			return err
		}
		// The file was created after the snapshot, so its text is in no version that the restore
		// brings back.
		if !known {
			if _, err := e.Trash(ctx, vault.Path(path), text); err != nil {
				return err
			}
		}
		if then != nil {
			continue
		}
		if err := e.Remove(ctx, vault.Path(path)); err != nil {
			return err
		}
		out.Counts.Removed++
		out.Removed = appendFirst(out.Removed, addressOf(path))
	}
	return nil
}

// writeFiles drafts the files of the snapshot with their texts.
//
// Files are compared by digest. Their ids and times are restored too; see repo.Tx.PutBack. Texts
// are prefetched in groups, to wait for the store once for each group.
func (r *restorer) writeFiles(
	ctx context.Context, e *edit, changes func(string) bool, out *snapshotRestoreOut,
) error {
	var differ []*index.File
	for _, path := range slices.Sorted(maps.Keys(r.files)) {
		if f, ok := e.tree.Index.File(path); !ok || f.Digest != r.files[path].Digest {
			differ = append(differ, r.files[path])
		}
	}
	for ahead := range slices.Chunk(differ, filesAhead) {
		r.vault.PrefetchFiles(ctx, slices.Values(ahead), textsAhead)
		for _, f := range ahead {
			if _, exists := e.tree.Index.File(f.Path); exists {
				out.Counts.Updated++
				out.Updated = appendFirst(out.Updated, addressOf(f.Path))
			} else {
				out.Counts.Created++
				out.Created = appendFirst(out.Created, addressOf(f.Path))
			}
			if err := e.PutBack(ctx, f, changes); err != nil {
				return err
			}
		}
	}
	return nil
}

// The limits of the texts that are prefetched at a time.
const (
	filesAhead = 256
	textsAhead = 8 << 20
)

// appendFirst appends an address to a list of at most tool.MaxPage addresses.
func appendFirst(all []string, id string) []string {
	if len(all) < tool.MaxPage {
		all = append(all, id)
	}
	return all
}

// addressOf returns the address of the note or folder to which a file belongs.
func addressOf(path string) string {
	if dir, ok := strings.CutSuffix(path, vault.FolderFile); ok {
		return "/"[min(1, len(dir)):] + dir
	}
	return vault.Path(path).ID()
}

// finish fills the map of changed addresses, and rewrites references outside the subtree. Files
// inside the subtree are not rewritten, because they must equal the snapshot byte by byte.
//
// A restore of the whole vault has no files outside the subtree.
func (r *restorer) finish(
	ctx context.Context, e *edit, changes func(string) bool, dry bool, out *snapshotRestoreOut,
) error {
	out.IDMap, out.DryRun = map[string]string{}, dry
	if !e.Touched() {
		return nil
	}
	staged, err := e.Staged(ctx)
	if err != nil {
		return err
	}
	after := e.Index()
	out.IDMap = movedAmong(e.tree, tree.New(after), staged)
	if len(out.IDMap) > 0 && r.top.Kind() != tree.Vault {
		if err := r.relink(ctx, e, changes, out); err != nil {
			return err
		}
		if staged, err = e.Staged(ctx); err != nil {
			return err
		}
	}
	mutation.WarnRefs(e.Tx, &out.Aside, nil, pathsOf(staged)...)
	if dry {
		for _, s := range staged[:min(len(staged), tool.MaxPage)] {
			if !strings.HasPrefix(string(s.Path), vault.Trash) {
				out.WouldModify = append(out.WouldModify, mutation.ChangeOf(s))
			}
		}
	}
	return nil
}

// relink rewrites the references in notes outside the subtree. It must follow the staging of all
// files, because a target is looked up in the state after the restore.
func (r *restorer) relink(ctx context.Context, e *edit, changes func(string) bool, out *snapshotRestoreOut) error {
	after := e.Index()
	rel := relink.New(e.tree.Index, after, out.IDMap)
	for _, id := range rel.Sources() {
		at := vault.Path(id + ".md")
		text, exists, err := e.Text(ctx, at)
		if err != nil {
			return err
		}
		f, ok := after.File(string(at))
		if changes(string(at)) || !exists || !ok {
			continue
		}
		if rewritten := rel.Rewrite(id, text); rewritten.Count > 0 {
			out.RefsUpdated += rewritten.Count
			if err := e.PutNodes(ctx, at, rewritten.Text, nil, f.NodeIDs()); err != nil {
				return err
			}
		}
	}
	return nil
}

// movedAmong returns the new addresses of the nodes in the changed files of a draft, by old
// address. Nodes are identified by uid. Nodes that exist in only one of the two states are not in
// the map.
func movedAmong(before, after *tree.Tree, staged []repo.Staged) map[string]string {
	was, moved := map[string]string{}, map[string]string{}
	each := func(t *tree.Tree, do func(uid, id string)) {
		for _, s := range staged {
			if strings.HasPrefix(string(s.Path), vault.Trash) {
				continue
			}
			if n, ok := t.Index.Note(string(s.Path)); ok {
				for node := range t.Walk(tree.Node{Note: n}, nil) {
					do(t.UID(node), node.ID())
				}
			}
		}
	}
	each(before, func(uid, id string) { was[uid] = id })
	each(after, func(uid, id string) {
		if old, ok := was[uid]; ok && old != id {
			moved[old] = id
		}
	})
	return moved
}

// keepSafety stores an automatic snapshot of the vault before the change. It is stored before the
// change is written; a snapshot that turns out not to be needed does no harm.
//
// It is labelled with the name of the restored snapshot, owned by the caller, and expires.
func (r *restorer) keepSafety(ctx context.Context, t *tree.Tree) error {
	label, err := labelOf(ctx, t, t.Root())
	if err != nil {
		return err
	}
	label.ID, label.Owner, label.CreatedAt = r.safety, r.owner, r.store.Now().UTC()
	label.Label = mutation.FirstRunes("before "+r.label.Label, maxLabel)
	return r.store.KeepAutomatic(ctx, label)
}
