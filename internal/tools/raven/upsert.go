package raven

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An upsertIn is the input of raven_upsert.
//
// Repeating the call leads to the same note, so an agent can store an object without knowing
// whether it exists.
type upsertIn struct {
	tool.Vault
	// type of the object; the schema lists them
	Type string `json:"type" complete:"type"`
	// title, name or alias of the object; names a new one
	Title string `json:"title"`
	// its path, without .md; default: the type's folder and the title, otherwise the object with
	// that title
	Path string `json:"path,omitempty" size:"id"`
	// values of the frontmatter; other fields are kept
	Fields tool.Fields `json:"fields,omitempty" alias:"field"`
	// Markdown after the frontmatter; replaces the whole text; default: the text is kept
	Content string `json:"content,omitempty" text:"true"`
	tool.Brief
	tool.Mutation
}

// An upsertOut is the output of raven_upsert.
type upsertOut struct {
	objectOut
	// the same word as action
	Status string `json:"status,omitempty"`
}

// upsert returns the tool raven_upsert, which creates an object, or updates the one with the title.
func (f tools) upsert() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_upsert", Family: Family, Title: "Create or update an object",
		Role: auth.Editor, Kind: tool.Write, Idempotent: true,
		Route:    tool.Route{Method: "POST", Path: "/objects/upsert"},
		Flags:    map[string]string{"fields": "field"},
		Commands: []tool.Command{{Words: "upsert", Args: []string{"type", "title"}}},
		Stdin:    "content",
	}, func(ctx context.Context, c auth.Caller, in upsertIn) (upsertOut, error) {
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, in.Slim, in.targets}, in.run)
	})
}

// run drafts the new object, or the change of the existing one.
//
// A new note is created as raven_new does. An existing one keeps its other fields and, without
// content, its text.
func (in upsertIn) run(ctx context.Context, tx *repo.Tx, out *upsertOut) error {
	t, err := noteType(tx, in.Type)
	if err != nil {
		return err
	}
	n, err := in.find(tx.Index(), t)
	if err != nil {
		return err
	}
	if n == nil {
		err = in.asNew().run(ctx, tx, &out.objectOut)
	} else {
		err = in.update(ctx, tx, n, &out.objectOut)
	}
	out.Status = out.Action
	return err
}

// finish implements answer. A plan has no status.
func (u *upsertOut) finish(ctx context.Context, tx *repo.Tx) error {
	if tx.DryRun() {
		u.Status = ""
	}
	return u.objectOut.finish(ctx, tx)
}

// toOperation implements answer. A plan has no status.
func (u *upsertOut) toOperation(dry bool) {
	if dry {
		u.Status = ""
	}
	u.objectOut.toOperation(dry)
}

// asNew returns the call of raven_new that creates the object.
func (in upsertIn) asNew() newIn {
	return newIn{
		Vault: in.Vault, Type: in.Type, Title: in.Title, Path: in.Path, Fields: in.Fields,
		Content: in.Content,
	}
}

// find returns the note that the call changes: the note at its path, or else the only note of the
// type with the title as a name. It returns nil if there is none. A note of another type at the
// path is DUPLICATE_ID, and several notes with the name are AMBIGUOUS_REF.
//
// With an explicit path only that path counts. Otherwise the title is first tried as the file name
// that a new note would get, and then as a name or alias.
func (in upsertIn) find(idx *index.Index, t *vault.Type) (*index.Note, error) {
	path, err := in.asNew().place(t, in.Title)
	switch {
	case err == nil:
		if n, ok := idx.Note(string(path)); ok {
			return n, sameType(n, t)
		}
	// A title from which no file name can be made may still name an existing note.
	case in.Path != "" || !fault.Is(err, fault.MissingRequired):
		return nil, err
	}
	if in.Path != "" {
		return nil, nil
	}
	of := notesCalled(idx, in.Title, t)
	if len(of) > 1 {
		var ids []string
		for _, n := range of {
			ids = append(ids, n.ID)
		}
		return nil, ambiguous(in.Title, ids)
	}
	if len(of) == 0 {
		return nil, nil
	}
	return of[0], nil
}

// sameType returns DUPLICATE_ID if a note has another type.
func sameType(n *index.Note, t *vault.Type) error {
	if n.Type == t.Name {
		return nil
	}
	return fault.New(fault.DuplicateID, "%s is a %s, not a %s", n.ID, n.Type, t.Name).
		With("id", n.ID).With("type", n.Type).
		Fix("use the type %s, or give the new object another path", n.Type)
}

// notesCalled returns the notes of a type to which a reference with the title could resolve.
func notesCalled(idx *index.Index, title string, t *vault.Type) []*index.Note {
	to := idx.Resolve(title)
	ids := to.Matches
	if to.ID != "" {
		ids = []string{to.ID}
	}
	var notes []*index.Note
	for _, id := range ids {
		if o, ok := idx.Find(id); ok && o.Section == nil && o.Note.Type == t.Name {
			notes = append(notes, o.Note)
		}
	}
	return notes
}

// update drafts the change of a note: it sets the fields and, if the call has content, replaces the
// body.
//
// It stages the note once, with the fields and the body.
func (in upsertIn) update(
	ctx context.Context, tx *repo.Tx, n *index.Note, out *objectOut,
) error {
	o, path := n.Object(-1), vault.Path(n.Path)
	was, set := priorOf(tx.Index(), o), setIn{ID: n.ID, Set: in.Fields}
	t, checked, err := set.check(tx, o)
	if err != nil {
		return err
	}
	text, _, err := tx.Text(ctx, path)
	if err != nil {
		return err
	}
	if text, err = set.apply(o, text, checked.Fields); err != nil {
		return withFileAndLine(err, n.Path)
	}
	if in.Content != "" {
		if text, err = markdown.ReplaceBody(text, in.Content); err != nil {
			return withFileAndLine(err, n.Path)
		}
	}
	if err := tx.Put(ctx, path, text); err != nil {
		return err
	}
	unknownFields(&out.Aside, t, checked.Unknown)
	warnRefs(tx, &out.Aside, n.Path)
	out.setFields(tx, set, t, checked)
	return out.updated(tx, was)
}

// targets returns the path of the note that the call changes or creates.
func (in upsertIn) targets(ctx context.Context, tx *repo.Tx) ([]vault.Path, error) {
	if t, ok := tx.Index().Schema().Type(in.Type); ok {
		if n, err := in.find(tx.Index(), t); err == nil && n != nil {
			return []vault.Path{vault.Path(n.Path)}, nil
		}
	}
	return in.asNew().targets(ctx, tx)
}
