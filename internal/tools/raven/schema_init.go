package raven

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A schemaInitIn is the input of raven_schema_init.
//
// The call fails with DUPLICATE_ID if schema.yaml exists: it never replaces the work of a person.
type schemaInitIn struct {
	tool.Vault
	tool.Mutation
}

// A schemaInitOut is the output of raven_schema_init: the schema that was written or, in a dry run,
// would be.
//
// Types and Traits describe the same schema as Text, with the number of notes that each is based
// on.
type schemaInitOut struct {
	tool.Aside `json:"-"`
	// created
	Action string             `json:"action,omitempty"`
	Path   string             `json:"path"`
	Types  []vault.TypeDraft  `json:"types"`
	Traits []vault.FieldDraft `json:"traits"`
	// tags that recur; a schema does not define them
	Tags []recurringTag `json:"tags"`
	// the schema.yaml
	Text   string                `json:"text"`
	DryRun bool                  `json:"dry_run,omitempty"`
	Files  []mutation.FileChange `json:"would_modify_files,omitempty"`
}

// A recurringTag is a tag with the number of notes that have it.
type recurringTag struct {
	Tag   string `json:"tag"`
	Notes int    `json:"notes"`
}

// schemaInit returns the tool raven_schema_init, which derives a schema from the notes of a vault
// that has none.
func (f tools) schemaInit() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_schema_init", Family: Family, Title: "Derive a schema",
		Role: auth.Editor, Kind: tool.Write, List: "types",
		Route:    tool.Route{Method: "POST", Path: "/schema/init"},
		Commands: []tool.Command{{Words: "schema init"}},
	}, func(ctx context.Context, c auth.Caller, in schemaInitIn) (schemaInitOut, error) {
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, false, schemaTarget}, in.run)
	})
}

// schemaTarget returns the path of schema.yaml, which the call changes; see targetFiles.
func schemaTarget(context.Context, *repo.Tx) ([]vault.Path, error) {
	return []vault.Path{vault.SchemaFile}, nil
}

// run drafts the schema. It walks over all notes of the vault once.
func (in schemaInitIn) run(ctx context.Context, tx *repo.Tx, out *schemaInitOut) error {
	if _, exists := tx.Index().File(vault.SchemaFile); exists {
		return fault.New(fault.DuplicateID, "the vault has a schema already").
			With("id", vault.SchemaFile).Fix("edit %s", vault.SchemaFile).Try("raven_schema", nil)
	}
	s := newSurvey(tx.Index())
	d := s.draft()
	*out = schemaInitOut{
		Aside: out.Aside, Path: vault.SchemaFile, Types: d.Types, Traits: d.Traits, Tags: s.tags(),
		Text: string(d.Text()),
	}
	if err := tx.Put(ctx, vault.SchemaFile, d.Text()); err != nil {
		return err
	}
	if !tx.DryRun() {
		out.Action = "created"
		return mutation.NoteFiles(ctx, tx, &out.Aside)
	}
	out.DryRun = true
	var err error
	out.Files, err = mutation.FileChanges(ctx, tx)
	return err
}
