package raven

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"rookery/internal/auth"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/tool"
	"rookery/internal/vault"
)

//go:embed delete.md
var deleteDoc string

type deleteIn struct {
	tool.Vault
	ID    string `json:"id" complete:"id" jsonschema:"people/freya" alias:"object_id,reference"`
	Force bool   `json:"force,omitempty" jsonschema:"do not ask first; only a terminal asks"`
	tool.Mutation
}

func (f tools) remove() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_delete", Family: Family, Title: "Delete an object", Doc: deleteDoc,
		Role: auth.Editor, Kind: tool.Destroy, Aliases: []string{"raven_object_delete"},
		Route: tool.Route{Method: "DELETE", Path: "/objects/{id}"},
		Commands: []tool.Command{
			{Words: "delete", Args: []string{"id"}},
			{Words: "object delete", Args: []string{"id"}},
		},
	}, func(ctx context.Context, c auth.Caller, in deleteIn) (mutated, error) {
		return draft(ctx, f, writing{c, in.Vault.Vault, &in.Mutation}, in.run)
	})
}

// run drafts the removal: the note goes to the trash, with its text as it is.
func (in deleteIn) run(ctx context.Context, tx *repo.Tx, out *mutated) error {
	n, err := locateNote(tx.Index(), in.ID, clock(tx.Index(), tx.Now()))
	if err != nil {
		return err
	}
	o := objectAt(tx.Index(), index.Object{Note: n})
	path := vault.Path(n.Path)
	text, _, err := tx.Text(ctx, path)
	if err != nil {
		return err
	}
	trash := trashPath(tx, n.Path)
	if err := tx.Remove(ctx, path); err != nil {
		return err
	}
	if err := tx.Put(ctx, trash, text); err != nil {
		return err
	}
	out.Action, out.ID, out.Type, out.File = "deleted", n.ID, n.Type, n.Path
	out.TrashPath, out.Object = string(trash), &o
	return out.planned(ctx, tx, &o)
}

// trashPath is where a note goes: the same path in the trash or, if that is taken, one that names
// the version too.
func trashPath(tx *repo.Tx, path string) vault.Path {
	trash := vault.Trash + path
	for n := tx.Seq(); ; n++ {
		if _, taken := tx.Index().File(trash); !taken {
			return vault.Path(trash)
		}
		trash = fmt.Sprintf("%s%s.%s.md", vault.Trash, strings.TrimSuffix(path, ".md"),
			repo.Version(n))
	}
}
