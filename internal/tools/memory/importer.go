package memory

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/convert"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// Reader returns a function that reads files written by memory_export, for a tool that imports
// files of several kinds. The function parses the files and claims their agents, like
// memory_import. It returns a second function, which stores the items in a draft.
//
// The two steps are separate because a claim is a write of its own, outside the commit, and a draft
// can run several times.
func Reader(t *tenant.Registry) func(ctx context.Context, c auth.Caller, to convert.Batch) (
	func(tx *repo.Tx) (convert.Stored, error), error,
) {
	f := tools{state.Source{Teams: t, Family: Family}}
	return func(ctx context.Context, c auth.Caller, to convert.Batch) (
		func(tx *repo.Tx) (convert.Stored, error), error,
	) {
		in := importIn{Vault: tool.Vault{Vault: to.Vault}, Mutation: tool.Mutation{DryRun: to.DryRun}}
		for _, file := range to.Files {
			in.Files = append(in.Files, importFile{file.Path, string(file.Data), file.Offset})
		}
		lines, err := in.lines()
		if err != nil {
			return nil, err
		}
		others, err := f.claimAgents(ctx, c, in, lines)
		if err != nil {
			return nil, err
		}
		return func(tx *repo.Tx) (convert.Stored, error) {
			var out importOut
			ids, err := storeAll(newImporter(author{c, to.Vault, tx}, &out, others), lines)
			stored := convert.Stored{IDs: ids, Skipped: out.Skipped, MoreLeft: out.MoreLeftOut}
			for _, l := range out.LeftOut {
				stored.Left = append(stored.Left, convert.Left(l))
			}
			return stored, err
		}, nil
	}
}

// storeAll drafts all lines, and returns the ids of the created memories. It gives an id to each
// memory without one, so that it can return that id too.
func storeAll(j importer, lines []importLine) (ids []string, err error) {
	for _, l := range lines {
		if l.Kind == memory.KindMemory && l.ID == "" {
			l.ID = j.tx.ID(memory.PrefixMemory)
		}
		made := j.out.Created
		if err := j.addLine(l); err != nil {
			return nil, err
		}
		if j.out.Created > made {
			ids = append(ids, l.ID)
		}
	}
	return ids, nil
}
