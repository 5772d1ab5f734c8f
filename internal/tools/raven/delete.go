package raven

import (
	"context"
	_ "embed"
	"fmt"

	"rookery/internal/auth"
	"rookery/internal/index"
	"rookery/internal/markdown"
	"rookery/internal/repo"
	"rookery/internal/tool"
	"rookery/internal/tools/mutate"
	"rookery/internal/vault"
)

//go:embed delete.md
var deleteDoc string

type deleteIn struct {
	tool.Vault
	ID    string `json:"id" complete:"id" jsonschema:"people/freya" alias:"object_id,reference"`
	Force bool   `json:"force,omitempty" jsonschema:"do not ask first; only a terminal asks"`
	Erase bool   `json:"erase,omitempty" rare:"true" jsonschema:"erase a note with its whole history, for good (role admin)"`
	tool.Brief
	tool.Mutation
}

func (f tools) remove() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_delete", Family: Family, Title: "Delete an object", Doc: deleteDoc,
		Role: auth.Editor, Kind: tool.Destroy, Aliases: []string{"raven_object_delete"},
		Raises: map[string]tool.Raise{"erase": {Role: auth.Admin, Kind: tool.Destroy}},
		Job:    mutate.JobTool,
		Asks:   []tool.Ask{{With: "erase", Skip: "force", Question: "Erase {id} with its whole history, for good?"}},
		Route:  tool.Route{Method: "DELETE", Path: "/objects/{id}"},
		Commands: []tool.Command{
			{Words: "delete", Args: []string{"id"}},
			{Words: "object delete", Args: []string{"id"}},
		},
	}, func(ctx context.Context, c auth.Caller, in deleteIn) (mutated, error) {
		if in.Erase {
			return f.erase(ctx, c, in)
		}
		return draft(ctx, f, writing{c, in.Vault.Vault, &in.Mutation, in.Slim, named(in.ID)}, in.run)
	})
}

// run drafts the removal. What goes is kept in the trash: a note with its text as it is, a section or
// an embedded object as a note that says where it stood (tree.md C7, remove_node).
func (in deleteIn) run(ctx context.Context, tx *repo.Tx, out *mutated) error {
	idx := tx.Index()
	o, err := locate(idx, in.ID, clock(idx, tx.Now()))
	if err != nil {
		return err
	}
	shown, links := objectAt(idx, o), linksFromOutside(idx, o)
	text, _, err := tx.Text(ctx, vault.Path(o.Note.Path))
	if err != nil {
		return err
	}
	rest, kept, err := cut(o, text)
	if err != nil {
		return at(err, o.Note.Path)
	}
	if o.Section == nil {
		err = tx.Remove(ctx, vault.Path(o.Note.Path))
	} else {
		err = tx.Put(ctx, vault.Path(o.Note.Path), rest)
	}
	if err != nil {
		return err
	}
	trash, err := tx.Bin(ctx, vault.Path(trashName(o)), kept)
	if err != nil {
		return err
	}
	out.Action, out.ID, out.Type, out.File = "deleted", shown.ID, shown.Type, o.Note.Path
	out.TrashPath, out.Object = string(trash), &shown
	out.SideEffects = append(unresolved(tx.Index(), o.ID(), links), renamed(tx.Index(), o)...)
	warnLinks(&out.Aside, o.ID(), links)
	return out.planned(ctx, tx, &shown)
}

// cut parts a note's text into what stays of it when an object goes, and what the trash keeps.
func cut(o index.Object, text []byte) (rest, kept []byte, err error) {
	if o.Section == nil {
		return nil, text, nil
	}
	rest, gone, err := markdown.RemoveSection(text, o.Section.Slug)
	if err != nil {
		return nil, nil, err
	}
	kept, err = markdown.Compose([]markdown.Field{
		{Key: "origin", Value: o.ID()}, {Key: "line", Value: float64(o.Section.Line)},
	}, apart(string(gone)))
	return rest, kept, err
}

// maxRenamed is how many sections are named that go by another name.
const maxRenamed = 20

// renamed tells of the sections that go by another name when a section is gone: where several have
// the same heading, a number tells them apart. Of many the first are named, and the rest are counted.
func renamed(after *index.Index, o index.Object) []string {
	n, ok := after.Note(o.Note.Path)
	if !ok || o.Section == nil {
		return nil
	}
	var stay []index.Object
	for i := range o.Note.Sections {
		if s := o.Note.Object(i); !inside(s, o) {
			stay = append(stay, s)
		}
	}
	if len(stay) != len(n.Sections) {
		return nil
	}
	var effects []string
	more := 0
	for i, was := range stay {
		switch now := n.Object(i); {
		case now.ID() == was.ID():
		case len(effects) == maxRenamed:
			more++
		default:
			effects = append(effects, was.ID()+" goes by "+now.ID())
		}
	}
	if more > 0 {
		effects = append(effects, fmt.Sprintf("%d more %s by another name", more,
			plural(more, "section goes", "sections go")))
	}
	return effects
}

// trashName is the path that an object has in the trash: a note's own, and for what stands in a note
// its name in a folder of that note.
func trashName(o index.Object) string {
	if o.Section == nil {
		return o.Note.Path
	}
	for _, name := range []string{o.Section.Slug, vault.Slug(o.Section.Slug), vault.Section} {
		if path, err := vault.NotePath(o.Note.ID + "/" + name); err == nil {
			return string(path)
		}
	}
	return o.Note.Path
}
