package notes

import (
	"context"
	"fmt"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/convert"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A MemoryReader reads files of memories in the format of memory_export, for a vault. The function
// write stores them in a draft of the caller.
type MemoryReader = func(ctx context.Context, c auth.Caller, to convert.Batch) (
	write func(tx *repo.Tx) (convert.Stored, error), err error,
)

// importMemories imports memories. They are not stored as notes; the output lists them as
// memories/ID, the path under which the memory tools have them. The files are read before the
// transaction; its function only writes.
//
// The memories are read and checked by the memory family, through tools.memories, so that both
// imports accept the same files. The faults of that family are converted, because clients of this
// family do not know the codes of the other.
func (f tools) importMemories(
	ctx context.Context, c auth.Caller, in importIn, files []convert.File,
) (importOut, error) {
	if err := in.rejectNoteArgs("memories keep their fields"); err != nil {
		return importOut{}, err
	}
	write, err := f.memories(ctx, c, convert.Batch{Vault: in.Vault.Vault, DryRun: in.DryRun, Files: files})
	if err != nil {
		return importOut{}, translateFault(err)
	}
	out, err := mutation.Draft(ctx, f.Source, mutation.Request{
		Caller: c, Vault: in.Vault.Vault, Mutation: &in.Mutation,
	}, func(_ context.Context, tx *repo.Tx, out *importOut) error {
		stored, err := write(tx)
		out.Imported = make([]importedNote, 0, len(stored.IDs))
		for _, id := range stored.IDs {
			out.Imported = append(out.Imported, importedNote{"memories/" + id, id})
		}
		out.Count, out.DryRun = len(stored.IDs), in.DryRun
		out.Note("skipped", stored.Skipped)
		out.leaveOutLines(stored)
		return err
	})
	return out, translateFault(err)
}

// leaveOutLines lists the lines and links of memories that were not stored, and counts those beyond
// the list.
func (o *importOut) leaveOutLines(stored convert.Stored) {
	var left []leftOut
	for _, l := range stored.Left {
		left = append(left, leftOut{fmt.Sprintf("%s:%d", l.File, l.Line), l.Reason})
	}
	if len(left) > 0 {
		o.Note("left_out", left)
	}
	if stored.MoreLeft > 0 {
		o.Note("more_left_out", stored.MoreLeft)
	}
}

// rejectNoteArgs returns INVALID_PARAMETER, with the message why, if the call has an argument that
// applies only to new notes.
func (in *importIn) rejectNoteArgs(why string) error {
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

// translateFault returns an error of the memory family with the code of this family: INVALID_QUERY
// becomes INVALID_PARAMETER.
func translateFault(err error) error {
	if !fault.Is(err, fault.InvalidQuery) {
		return err
	}
	f := *fault.Of(err)
	f.Code = fault.InvalidParameter
	return &f
}
