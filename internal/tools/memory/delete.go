package memory

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A deleteMemoryIn is the input of memory_delete_memory. Erase destroys the memory with its
// history, and cannot be undone; otherwise the history keeps it, and it can be read at an earlier
// version.
type deleteMemoryIn struct {
	tool.Vault
	// mem_…
	MemoryID string `json:"memory_id" complete:"memory" names:"target"`
	// permanently destroy its history too, and the chapters and wisdom that quote it
	Erase bool `json:"erase,omitempty"`
	tool.Mutation
}

// A deleteChapterIn is the input of memory_delete_chapter.
type deleteChapterIn struct {
	tool.Vault
	// chapter_…
	ChapterID string `json:"chapter_id" complete:"chapter" names:"target"`
	tool.Mutation
}

// A deleteWisdomIn is the input of memory_delete_wisdom.
type deleteWisdomIn struct {
	tool.Vault
	// wisdom_…
	WisdomID string `json:"wisdom_id" complete:"wisdom" names:"target"`
	tool.Mutation
}

// A deletedOut is the output of the tools that delete. Deleted is false if there was nothing to
// delete. Erased and Job are set by an erasure only.
type deletedOut struct {
	tool.Aside `json:"-"`
	// false: it did not exist
	Deleted bool    `json:"deleted"`
	DryRun  bool    `json:"dry_run,omitempty"`
	Erased  *erased `json:"erased,omitempty"`
	// the job of the erasure, while it runs
	Job *job.Brief `json:"job,omitempty"`
}

// erased counts the parts that an erasure removed.
type erased struct {
	// of the log: values and answers
	Parts int `json:"parts"`
}

// deleteMemory returns the tool that deletes a memory with its links, or erases it with its
// history. A delete of an unknown memory does nothing, so that a call can be repeated; an erasure
// of one is NOT_FOUND. Links of other memories to it stay stored, but answers no longer show them.
//
// Chapters that were made from the memory keep its text in their summaries. Only an erasure removes
// them.
func (f tools) deleteMemory() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_delete_memory", Short: "delete_memory", Family: Family, Title: "Delete a memory",
		Role: auth.Editor, Kind: tool.Destroy, Idempotent: true,
		Raises:   map[string]tool.Raise{"erase": {Role: auth.Admin, Kind: tool.Destroy}},
		Route:    tool.Route{Method: "DELETE", Path: "/memories/{memory_id}"},
		Commands: []tool.Command{{Words: "memory delete", Args: []string{"memory_id"}}},
		Job:      mutation.JobTool,
		Asks: []tool.Ask{{
			With: "erase", Skip: "dry_run",
			Question: "Permanently erase {memory_id} and its whole history?",
		}},
	}, func(ctx context.Context, c auth.Caller, in deleteMemoryIn) (deletedOut, error) {
		if in.Erase {
			return f.erase(ctx, c, in)
		}
		return draft(ctx, f, c, in.Vault.Vault, &in.Mutation,
			func(_ context.Context, a author, out *deletedOut) error {
				old, ok := a.index().Card(in.MemoryID)
				if !ok {
					return nil
				}
				return out.remove(a, old.Agent, old.ID, memory.KindMemory, memory.KindLinks)
			})
	})
}

// remove stages the removal of the items of an id, one for each of the kinds, if the author can
// change the items of their agent; see author.checkOwner.
func (o *deletedOut) remove(a author, agent, id string, kinds ...string) error {
	if err := a.checkOwner(agent); err != nil {
		return err
	}
	for _, kind := range kinds {
		if err := a.tx.RemoveItem(kind, id); err != nil {
			return err
		}
	}
	o.Deleted, o.DryRun = true, a.tx.DryRun()
	return nil
}

// erase destroys a memory with its history. It also destroys the chapters that were ever made from
// it and the wisdom made from those chapters, because they quote it. The erasure is a job, which
// can outlast the call.
//
// It does not use draft, because the commit is only the first part of the job; the other steps
// remove the history. It also works for a memory that was deleted before, and returns NOT_FOUND if
// no version has the memory. It does not check the owner: the argument erase requires the role
// admin (see Raises).
func (f tools) erase(ctx context.Context, c auth.Caller, in deleteMemoryIn) (deletedOut, error) {
	call, err := mutation.Call(c, &in.Mutation, Family)
	if err != nil {
		return deletedOut{}, err
	}
	t, err := f.Teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return deletedOut{}, err
	}
	done, err := t.EraseMemory(ctx, call, in.Vault.Vault, in.MemoryID)
	if err != nil {
		return deletedOut{}, err
	}
	out := deletedOut{Deleted: true, DryRun: in.DryRun, Job: done.Job, Erased: &erased{done.Parts}}
	out.Note("version", eventlog.Version(done.Seq))
	if done.Replayed != nil {
		out.Note("replayed", true)
	}
	return out, nil
}

// deleteChapter returns the tool that deletes a chapter, but not its memories, nor the wisdom that
// was made from it. A delete of an unknown chapter does nothing.
func (f tools) deleteChapter() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_delete_chapter", Short: "delete_chapter", Family: Family, Title: "Delete a chapter",
		Role: auth.Editor, Kind: tool.Destroy, Idempotent: true,
		Route:    tool.Route{Method: "DELETE", Path: "/chapters/{chapter_id}"},
		Commands: []tool.Command{{Words: "chapter delete", Args: []string{"chapter_id"}}},
	}, func(ctx context.Context, c auth.Caller, in deleteChapterIn) (deletedOut, error) {
		return draft(ctx, f, c, in.Vault.Vault, &in.Mutation,
			func(_ context.Context, a author, out *deletedOut) error {
				k, ok := a.index().Chapter(in.ChapterID)
				if !ok {
					return nil
				}
				return out.remove(a, k.Value.Agent, k.ID, memory.KindChapter)
			})
	})
}

// deleteWisdom returns the tool that deletes wisdom. A delete of unknown wisdom does nothing.
func (f tools) deleteWisdom() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_delete_wisdom", Short: "delete_wisdom", Family: Family, Title: "Delete wisdom",
		Role: auth.Editor, Kind: tool.Destroy, Idempotent: true,
		Route:    tool.Route{Method: "DELETE", Path: "/wisdom/{wisdom_id}"},
		Commands: []tool.Command{{Words: "wisdom delete", Args: []string{"wisdom_id"}}},
	}, func(ctx context.Context, c auth.Caller, in deleteWisdomIn) (deletedOut, error) {
		return draft(ctx, f, c, in.Vault.Vault, &in.Mutation,
			func(_ context.Context, a author, out *deletedOut) error {
				k, ok := a.index().Wisdom(in.WisdomID)
				if !ok {
					return nil
				}
				return out.remove(a, k.Value.Agent, k.ID, memory.KindWisdom)
			})
	})
}
