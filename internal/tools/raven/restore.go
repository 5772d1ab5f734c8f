package raven

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A restoreIn is the input of raven_restore. Without Confirm the call is a dry run.
//
// ID can be the former id of an object that was deleted once, or the path of one of several files
// in the trash with that id.
type restoreIn struct {
	tool.Vault
	// its former id, or its path in the trash
	ID string `json:"id" size:"id"`
	// restore it; without, the answer is a preview
	Confirm bool `json:"confirm,omitempty"`
	tool.Brief
	tool.Mutation
}

// A restoreOut is the output of raven_restore.
type restoreOut struct {
	objectOut
	// nothing was written: repeat the call with confirm
	Preview bool `json:"preview,omitempty"`
	// note or section
	Kind        string `json:"kind,omitempty"`
	RestorePath string `json:"restore_path,omitempty"`
	// its former path in the trash
	From string `json:"restored_from,omitempty"`
}

// restore returns the tool raven_restore, which restores a note or section from the trash.
func (f tools) restore() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_restore", Family: Family, Title: "Restore from the trash",
		Role: auth.Editor, Kind: tool.Write,
		Route:    tool.Route{Method: "POST", Path: "/trash/restore"},
		Commands: []tool.Command{{Words: "restore", Args: []string{"id"}}},
	}, f.runRestore)
}

// runRestore searches the trash before the draft, and reports a failed search only in the draft, so
// that a repeated call gets its stored answer although the object is no longer in the trash.
//
// Only answers such as NOT_FOUND are put off; internal errors are returned at once.
func (f tools) runRestore(ctx context.Context, c auth.Caller, in restoreIn) (restoreOut, error) {
	if !in.Confirm {
		in.DryRun = true
	}
	v, err := f.view(ctx, c, in.Vault.Vault)
	if err != nil {
		return restoreOut{}, err
	}
	r, refused := findRestore(ctx, v, in.ID)
	if refused != nil && !isAnswer(refused) && !fault.Is(refused, fault.AmbiguousRef) {
		return restoreOut{}, refused
	}
	about := func(context.Context, *repo.Tx) ([]vault.Path, error) { return r.paths(), nil }
	out, err := draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, in.Slim, about},
		func(ctx context.Context, tx *repo.Tx, out *restoreOut) error {
			if refused != nil {
				return refused
			}
			return r.run(ctx, tx, out)
		})
	out.Preview = err == nil && !in.Confirm
	return out, err
}

// A restoration is one object that is restored.
//
// It is found in one state of the vault and applied in a draft, which may be on a newer one; run
// checks that the file is still in the trash.
type restoration struct {
	item trashItem
	back *repo.Reversal // of the deletion; nil: the log does not contain the deletion
	text []byte         // its text in the trash

	// For a section: the slugs of the siblings that it had, the nearest first.
	before, after []string
}

// paths returns the files that the restore changes.
func (r restoration) paths() []vault.Path {
	if r.item.TrashPath == "" {
		return nil
	}
	return []vault.Path{vault.Path(r.item.RestorePath), vault.Path(r.item.TrashPath)}
}

// findRestore returns the object that an argument names in the trash. On an error, the fields that
// are known are set.
//
// Without the commit of the deletion, for example if the file came into the trash from outside, the
// object can still be restored from its text.
func findRestore(ctx context.Context, v view, id string) (r restoration, err error) {
	file, err := findTrashFile(v.Index, strings.TrimSpace(id))
	if err != nil {
		return r, err
	}
	if r.text, err = v.Vault.Text(ctx, file.Body); err != nil {
		return r, err
	}
	if r.item, err = readTrashItem(ctx, v.Vault, file); err != nil || r.item.commit == 0 {
		return r, err
	}
	r.back, err = v.Vault.ReversalOf(ctx, r.item.commit, r.paths()...)
	if err == nil && r.item.origin.id != "" {
		r.before, r.after, err = siblings(ctx, v, r.item)
	}
	return r, err
}

// findTrashFile returns the file in the trash with a path, or for the former id of an object.
// Several files for one id are AMBIGUOUS_REF.
//
// A path in the trash is tried first. The id is compared with the former ids of the files, not with
// their names.
func findTrashFile(idx *index.Index, id string) (*index.File, error) {
	if f, ok := idx.File(id); ok && vault.InTrash(id) {
		return f, nil
	}
	files := trashFiles(idx, id, func() bool { return true })
	switch {
	case id == "" || len(files) == 0:
		return nil, notFound("nothing in the trash has the id %q", id).Try("raven_trash_list", nil)
	case len(files) > 1:
		var paths []string
		for _, f := range files {
			paths = append(paths, f.Path)
		}
		return nil, fault.New(fault.AmbiguousRef, "several files in the trash have this id; give the path of one").
			With("matches", firstOf(paths, maxMatches)).Fix("use one of these paths").
			Try("raven_trash_list", fault.Args{"id": id})
	}
	return files[0], nil
}

// siblings returns the slugs of the siblings before and after a section when it was deleted, each
// with the nearest first.
//
// It reads the state before the deletion, because the text in the trash does not say between which
// sections it was.
func siblings(ctx context.Context, v view, item trashItem) (before, after []string, err error) {
	was, err := v.Vault.At(ctx, item.commit-1)
	if err != nil {
		return nil, nil, err
	}
	o, ok := was.Find(item.origin.id)
	if !ok || o.Section == nil {
		return nil, nil, nil
	}
	for i := range o.Note.Sections {
		switch s := &o.Note.Sections[i]; {
		case s.Parent != o.Section.Parent || i == o.Number():
		case i < o.Number():
			before = append(before, s.Slug)
		default:
			after = append(after, s.Slug)
		}
	}
	slices.Reverse(before)
	return before, after, nil
}

// run drafts the restore: the object returns to its former place, and leaves the trash.
//
// The trash keeps nothing of a restored object. References to its id, which had no target while it
// was deleted, resolve again without being rewritten; the answer counts them.
func (r restoration) run(ctx context.Context, tx *repo.Tx, out *restoreOut) error {
	if _, there := tx.Before().File(r.item.TrashPath); !there {
		return notFound("nothing in the trash has the id %q", r.item.ID).Try("raven_trash_list", nil)
	}
	if err := r.checkFree(tx.Index()); err != nil {
		return err
	}
	if err := r.place(ctx, tx); err != nil {
		return err
	}
	id := r.item.ID
	o, ok := tx.Index().Find(id)
	if !ok {
		return errors.New("a restored object is not in the index")
	}
	shown := objectAt(tx.Index(), o)
	out.Action, out.ID, out.Type, out.File, out.Object = "created", id, shown.Type, o.Note.Path, &shown
	out.Kind, out.RestorePath, out.From = r.item.Kind, r.item.RestorePath, r.item.TrashPath
	if n := len(mutation.LinksFromOutside(tx.Index(), o)); n > 0 {
		out.SideEffects = append(out.SideEffects, mutation.Count(n, "reference")+" "+
			mutation.Plural(n, "leads", "lead")+" to it again")
	}
	return nil
}

// checkFree returns DUPLICATE_ID if another object has the id now, and NOT_FOUND if the note of a
// section does not exist.
func (r restoration) checkFree(idx *index.Index) error {
	n, there := idx.Note(r.item.RestorePath)
	if r.item.origin.id == "" {
		if !there {
			return nil
		}
		return fault.New(fault.DuplicateID, "another note has the id %q now", n.ID).With("id", n.ID).
			Fix("move that note first").Try("raven_read", fault.Args{"path": n.ID})
	}
	note := vault.Path(r.item.RestorePath).ID()
	if !there {
		return notFound("the note %q of the section does not exist; restore the note first", note).
			Try("raven_restore", fault.Args{"id": note})
	}
	if _, taken := idx.Find(r.item.ID); taken {
		return fault.New(fault.DuplicateID, "another section has the id %q now", r.item.ID).With("id", r.item.ID).
			Fix("rename that section first").Try("raven_read", fault.Args{"path": r.item.ID})
	}
	return nil
}

// place drafts the texts. If nothing changed since the deletion, it reverses the commit; otherwise
// it uses the text in the trash.
//
// Reversing the commit takes back everything that the deletion did. Otherwise a note is written as
// a new file, and a section is inserted at one of its places.
func (r restoration) place(ctx context.Context, tx *repo.Tx) error {
	if r.back != nil {
		asLeft, err := tx.IsAsLeft(ctx, r.back)
		if err != nil {
			return err
		}
		if asLeft {
			return tx.Reverse(ctx, r.back)
		}
	}
	if err := tx.Remove(ctx, vault.Path(r.item.TrashPath)); err != nil {
		return err
	}
	path := vault.Path(r.item.RestorePath)
	if r.item.origin.id == "" {
		return tx.Put(ctx, path, r.text)
	}
	text, _, err := tx.Text(ctx, path)
	if err != nil {
		return err
	}
	n, _ := tx.Index().Note(string(path))
	for _, to := range r.places(n) {
		out, _, failed := markdown.RestoreSection(text, r.item.origin.text, to)
		if err = failed; err == nil {
			return tx.Put(ctx, path, out)
		}
	}
	return withFileAndLine(err, string(path))
}

// places returns the places to which a section can be restored, the best first: after the nearest
// of the siblings before it that the note still has, before the nearest of those after it, and at
// the end of the note. A sibling in a list or a quote is no place, so the next one is tried.
func (r restoration) places(n *index.Note) []markdown.SectionPlace {
	has := map[string]bool{}
	for i := range n.Sections {
		has[n.Sections[i].Slug] = true
	}
	var all []markdown.SectionPlace
	there := func(slug string) bool { return has[slug] }
	if i := slices.IndexFunc(r.before, there); i >= 0 {
		all = append(all, markdown.SectionPlace{After: r.before[i]})
	}
	if i := slices.IndexFunc(r.after, there); i >= 0 {
		all = append(all, markdown.SectionPlace{Before: r.after[i]})
	}
	return append(all, markdown.SectionPlace{})
}
