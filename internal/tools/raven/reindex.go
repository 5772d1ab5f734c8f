package raven

import (
	"context"
	_ "embed"

	"rookery/internal/auth"
	"rookery/internal/repo"
	"rookery/internal/tool"
)

//go:embed reindex.md
var reindexDoc string

type reindexIn struct {
	tool.Vault
	Full bool `json:"full,omitempty" jsonschema:"build the index from the first commit on, and check each against the chain"`
	tool.Mutation
}

type reindexOut struct {
	tool.Aside `json:"-"`
	DryRun     bool           `json:"dry_run,omitempty"`
	Indexed    int            `json:"files_indexed"`
	Deleted    int            `json:"files_deleted"`
	Objects    int            `json:"objects"`
	Restored   int            `json:"files_restored" jsonschema:"missing files that were written again; of a dry run, that would be"`
	Errors     []reindexError `json:"errors"`
}

// A reindexError is a file that is not as it should be.
type reindexError struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

func (f tools) reindex() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_reindex", Family: Family, Title: "Reindex", Doc: reindexDoc,
		Role: auth.Editor, Kind: tool.Write, Idempotent: true,
		Route:    tool.Route{Method: "POST", Path: "/reindex"},
		Commands: []tool.Command{{Words: "reindex"}},
	}, func(ctx context.Context, c auth.Caller, in reindexIn) (reindexOut, error) {
		return draft(ctx, f, writing{c, in.Vault.Vault, &in.Mutation}, func(
			ctx context.Context, tx *repo.Tx, out *reindexOut,
		) error {
			return f.reindexed(ctx, c, in, tx, out)
		})
	})
}

// reindexed does the work, and tells what it found. To do it twice does no harm.
func (f tools) reindexed(
	ctx context.Context, c auth.Caller, in reindexIn, tx *repo.Tx, out *reindexOut,
) error {
	v, err := f.vault(ctx, c, in.Vault.Vault)
	if err != nil {
		return err
	}
	idx := tx.Index()
	if !in.DryRun {
		release, err := v.Lease(ctx)
		if err != nil {
			return err
		}
		defer release()
		if idx, err = v.Rebuild(ctx, in.Full); err != nil {
			return err
		}
	}
	out.DryRun, out.Errors = in.DryRun, []reindexError{}
	out.Indexed = idx.Totals().Notes
	out.Objects = idx.Totals().Notes + idx.Totals().Sections
	for n := range idx.Quarantined() {
		out.Errors = append(out.Errors, reindexError{n.Path, n.Quarantine.Line, n.Quarantine.Message})
	}
	return f.compare(ctx, c, in, out)
}

// compare looks at the files, and writes those that are missing.
func (f tools) compare(
	ctx context.Context, c auth.Caller, in reindexIn, out *reindexOut,
) error {
	folder, err := f.folder(ctx, c, in.Vault.Vault)
	if err != nil || folder == nil {
		return err
	}
	found, err := folder.Sweep(ctx, !in.DryRun)
	if err != nil {
		return err
	}
	out.Restored = found.Restored + found.Missed
	for _, path := range found.Edited {
		out.Errors = append(out.Errors, reindexError{
			File: path, Message: "the file was changed outside Rookery; it is left as it is",
		})
	}
	return nil
}
