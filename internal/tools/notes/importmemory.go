package notes

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/convert"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A MemoryReader reads files of memories that this product exported, for a vault. What it returns stores them in a
// draft of a call of the caller: it returns the ids of the memories that it made, and how many were there already.
type MemoryReader = func(ctx context.Context, c auth.Caller, to convert.Batch) (
	write func(tx *repo.Tx) (ids []string, skipped int, err error), err error,
)

// importMemories stores memories. No note is made of them: the path of one is where its tools have it.
func (f tools) importMemories(
	ctx context.Context, c auth.Caller, in importIn, files []convert.File,
) (importOut, error) {
	if err := in.keepsOwn("memories keep their fields"); err != nil {
		return importOut{}, err
	}
	write, err := f.memories(ctx, c, convert.Batch{Vault: in.Vault.Vault, DryRun: in.DryRun, Files: files})
	if err != nil {
		return importOut{}, ofMemories(err)
	}
	out, err := mutation.Draft(ctx, f.Source, mutation.Writing{
		Caller: c, Vault: in.Vault.Vault, Mutation: &in.Mutation,
	}, func(_ context.Context, tx *repo.Tx, out *importOut) error {
		ids, skipped, err := write(tx)
		out.Imported = make([]importedNote, 0, len(ids))
		for _, id := range ids {
			out.Imported = append(out.Imported, importedNote{"memories/" + id, id})
		}
		out.Count, out.DryRun = len(ids), in.DryRun
		out.Note("skipped", skipped)
		return err
	})
	return out, ofMemories(err)
}

// keepsOwn is INVALID_PARAMETER if the call has an argument that is for new notes.
func (in *importIn) keepsOwn(why string) error {
	var given []string
	for name, is := range map[string]bool{
		"project": in.Project != "", "output_dir": in.OutputDir != "", "tags": len(in.Tags) > 0,
	} {
		if is {
			given = append(given, name)
		}
	}
	if len(given) == 0 {
		return nil
	}
	slices.Sort(given)
	return fault.New(fault.InvalidParameter, "%s", why).With("argument", given[0]).Fix("leave %s out", given[0])
}

// ofMemories is an error of the memories with the code that this family has for it.
func ofMemories(err error) error {
	if !fault.Is(err, fault.InvalidQuery) {
		return err
	}
	f := *fault.Of(err)
	f.Code = fault.InvalidParameter
	return &f
}
