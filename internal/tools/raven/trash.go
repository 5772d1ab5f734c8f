package raven

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A trashListIn is the input of raven_trash_list.
type trashListIn struct {
	tool.Vault
	// only objects with this former id: people/freya, people/freya#notes
	ID string `json:"id,omitempty" complete:"" size:"id"`
	tool.AsOf
	tool.Page
}

// A trashItem is a deleted note or section that raven_restore can restore.
//
// A file that came into the trash without a deletion that the log has, for example one that
// Obsidian put there, is listed without time, version and principal.
type trashItem struct {
	// that it had
	ID string `json:"id"`
	// argument for raven_restore: the id, or the path in the trash if several have this id
	Reference string `json:"reference"`
	// for a note, its type
	Type string `json:"type,omitempty"`
	// note or section
	Kind      string `json:"kind"`
	TrashPath string `json:"trash_path"`
	// the file to which it would be restored
	RestorePath string `json:"restore_path"`
	// this and the following members are null if the log does not have them
	DeletedAt *time.Time `json:"deleted_at" title:"deleted"`
	// that deleted it
	Version   string `json:"version,omitempty"`
	Principal string `json:"principal,omitempty" title:"who"`
	Agent     string `json:"agent,omitempty"`
	// in bytes
	Size int `json:"size"`

	commit uint64 // the commit that deleted it; 0: not found in the log
	origin origin
}

// An origin is the former id and the text of a section in the trash.
type origin struct {
	id   string // empty: the trashed object is a note
	text []byte // of the section
}

// trashList returns the tool raven_trash_list, which lists deleted notes and sections.
func (f tools) trashList() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "raven_trash_list", Family: Family, Title: "List the trash",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/trash"},
		Commands: []tool.Command{{Words: "trash list", Args: []string{"id?"}}},
		Columns:  []string{"id", "kind", "deleted_at", "principal", "trash_path"},
		Empty:    []tool.Empty{{Of: "deleted notes or sections"}},
	}, func(ctx context.Context, v view, in trashListIn, _ *itemsOut[trashItem]) (listing[trashItem], error) {
		files := trashFiles(v.Index, in.ID, state.KeepGoing(ctx))
		return trashed(v, files), ctx.Err()
	})
}

// trashed returns the list of the objects in some files of the trash. The texts of the files on a
// page are read together.
func trashed(v view, files []*index.File) listing[trashItem] {
	key := func(file *index.File) string { return eventlog.Version(file.Version) + " " + file.Path }
	return func(ctx context.Context, p state.Pager) ([]trashItem, error) {
		page, err := whole(files, key)(ctx, p)
		if err != nil {
			return nil, err
		}
		v.Prefetch(ctx, pathsOf(page))
		items := []trashItem{}
		for _, file := range page {
			item, err := readTrashItem(ctx, v.Vault, file)
			if err != nil {
				return nil, err
			}
			item.Reference = trashReference(files, item)
			items = append(items, item)
		}
		return items, nil
	}
}

// pathsOf yields the paths of files.
func pathsOf(files []*index.File) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, f := range files {
			if !yield(f.Path) {
				return
			}
		}
	}
}

// trashFiles returns the files in the trash, the newest first. With an id, it returns only files of
// objects that had it. It stops early if going returns false.
//
// The order is that of the commits that wrote the files, so the last deletion comes first.
func trashFiles(idx *index.Index, id string, going func() bool) []*index.File {
	var all []*index.File
	for f := range idx.FilesAfter(vault.Trash) {
		if !vault.InTrash(f.Path) || !going() {
			break
		}
		if id == "" || trashName(f.Path) ==
			strings.TrimSuffix(strings.Replace(strings.TrimSpace(id), "#", "/", 1), ".md") {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *index.File) int {
		return cmp.Or(cmp.Compare(b.Version, a.Version), strings.Compare(a.Path, b.Path))
	})
	return all
}

// twin matches the version in the name of a file of the trash whose name was already in use
// (docs/design/0007).
var twin = regexp.MustCompile(`\.v[0-9]+\.md$`)

// trashName returns the name from which the path of a file in the trash was made: the id of a note,
// or for a section the id of its note, a slash and the slug.
func trashName(path string) string {
	name := strings.TrimPrefix(path, vault.Trash)
	return strings.TrimSuffix(twin.ReplaceAllString(name, ".md"), ".md")
}

// trashReference returns a unique argument for raven_restore: the id, or the path if several files
// have the id.
func trashReference(files []*index.File, item trashItem) string {
	same := 0
	for _, f := range files {
		if trashName(f.Path) == trashName(item.TrashPath) {
			same++
		}
	}
	if same > 1 {
		return item.TrashPath
	}
	return item.ID
}

// readTrashItem returns the description of a file in the trash, from its text and from the commit
// that wrote it.
//
// Whether the file is a note or a section follows from its frontmatter: a section was stored with
// its former id and line. The time and the principal are those of the commit that wrote the file,
// if that commit also removed the note or changed the note of the section.
func readTrashItem(ctx context.Context, v *repo.Vault, f *index.File) (trashItem, error) {
	item := trashItem{Kind: "note", TrashPath: f.Path, Size: f.Size}
	text, err := v.Text(ctx, f.Body)
	if err != nil {
		return item, err
	}
	head, body := markdown.ReadHead(text)
	if typ, ok := head.Get("type"); ok {
		item.Type, _ = typ.Value.(string)
	}
	note := trashName(f.Path) + ".md"
	// A note can have the fields origin and line too, so the path in the trash must match the
	// origin.
	at, ok := sectionOrigin(head)
	if of, _, _ := strings.Cut(at, "#"); ok && strings.HasPrefix(trashName(f.Path), of+"/") {
		item.Kind, item.Type, item.origin = "section", "", origin{at, text[body:]}
		note, _, _ = strings.Cut(at, "#")
		note += ".md"
	}
	item.ID, item.RestorePath = vault.Path(note).ID(), note
	if item.origin.id != "" {
		item.ID = item.origin.id
	}
	c, err := v.Commit(ctx, f.Version)
	if err != nil {
		return item, err
	}
	if deletes(c, f.Path, note, item.origin.id != "") {
		item.commit, item.Version, item.DeletedAt = c.Seq, eventlog.Version(c.Seq), &c.Time
		item.Principal, item.Agent = c.Who.Principal, c.Who.Agent
	}
	return item, nil
}

// sectionOrigin returns the former id of a section, from the frontmatter of its file in the trash.
// It returns false if the file is not a section.
func sectionOrigin(head *markdown.Frontmatter) (string, bool) {
	at, ok := head.Get("origin")
	id, isText := at.Value.(string)
	_, hasLine := head.Get("line")
	return id, ok && isText && hasLine && strings.Contains(id, "#")
}

// deletes reports whether a commit created a file in the trash and deleted a note, or changed the
// note of a section.
func deletes(c *eventlog.Commit, trash, note string, section bool) bool {
	made, changed := false, false
	for _, n := range c.Notes {
		made = made || n.Path == trash && !n.Deleted
		changed = changed || n.Path == note && n.Deleted != section
	}
	return made && changed
}

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
		case s.Parent() != o.Section.Parent() || i == o.Number():
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
