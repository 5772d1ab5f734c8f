package raven

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A deleteIn is the input of raven_delete. Exactly one of ID, Query and Filter is given; Erase
// needs ID.
//
// A normal deletion can be undone, from the trash or with raven_undo. An erasure destroys the texts
// in the log and cannot; it needs the admin role, and a terminal asks for confirmation unless Force
// is set.
type deleteIn struct {
	tool.Vault
	// people/freya
	ID string `json:"id,omitempty" complete:"id" alias:"object_id,reference"`
	// do not ask for confirmation; only a terminal asks
	Force bool `json:"force,omitempty"`
	// permanently destroy a note with its whole history (needs the admin role)
	Erase bool `json:"erase,omitempty" rare:"true"`
	bulkIn
	tool.Brief
	tool.Mutation
}

// remove returns the tool raven_delete, which moves objects to the trash, or erases one note.
func (f tools) remove() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_delete", Family: Family, Title: "Delete an object",
		Role: auth.Editor, Kind: tool.Destroy, Aliases: []string{"raven_object_delete"},
		Raises: map[string]tool.Raise{"erase": {Role: auth.Admin, Kind: tool.Destroy}},
		Job:    mutation.JobTool,
		Asks:   []tool.Ask{{With: "erase", Skip: "force", Question: "Permanently erase {id} with its whole history?"}},
		Route:  tool.Route{Method: "DELETE", Path: "/objects/{id}"},
		Commands: []tool.Command{
			{Words: "delete", Args: []string{"id?"}},
			{Words: "object delete", Args: []string{"id?"}},
		},
	}, func(ctx context.Context, c auth.Caller, in deleteIn) (bulkObjectOut, error) {
		if err := in.validate(); err != nil {
			return bulkObjectOut{}, err
		}
		if in.Erase {
			out, err := f.erase(ctx, c, in)
			return bulkObjectOut{objectOut: out}, err
		}
		return f.removeAll(ctx, c, in)
	})
}

// validate returns an error if the arguments contradict each other. It does not read the vault.
func (in deleteIn) validate() error {
	if in.Erase && (in.isBulk() || in.PlanToken != "") {
		return fault.New(fault.InvalidValue, "erase one note at a time, by its id").With("argument", "erase")
	}
	return in.checkOne(in.ID, in.DryRun)
}

// removeAll deletes one object, or all results of a query.
//
// A call with an id can have a plan token too; it then fails with CONFLICT if the note has changed
// since the dry run.
func (f tools) removeAll(ctx context.Context, c auth.Caller, in deleteIn) (bulkObjectOut, error) {
	plan, err := planOf(in.PlanToken, "raven_delete", in.ID, in.Query, in.Filter)
	if err != nil {
		return bulkObjectOut{}, err
	}
	w := request{c, in.Vault.Vault, &in.Mutation, in.Slim, optionalTarget(in.ID)}
	return draft(ctx, f, w, func(ctx context.Context, tx *repo.Tx, out *bulkObjectOut) (err error) {
		if out.expected = plan; !in.isBulk() {
			return in.run(ctx, tx, &out.objectOut)
		}
		out.Action = "deleted"
		out.BulkAnswer, err = in.bulkIn.run(ctx, tx, query.Objects, &out.Aside, stepOf(in.runOn))
		return err
	})
}

// runOn drafts the change of one result of a query, the one with this id.
func (in deleteIn) runOn(ctx context.Context, tx *repo.Tx, id string, out *objectOut) error {
	in.ID = id
	return in.run(ctx, tx, out)
}

// run drafts the deletion. The trash keeps a note as it is, and a section or embedded object as a
// note that records its former place (tree.md C7, remove_node).
//
// The references to the object are collected before the deletion and classified after it, when it
// is known whether they now lead to another object of the same name. They are reported and not
// rewritten. The text is staged in the trash in the same commit, so a deletion is never without its
// copy.
func (in deleteIn) run(ctx context.Context, tx *repo.Tx, out *objectOut) error {
	idx := tx.Index()
	o, err := locate(idx, in.ID, state.Clock(idx, tx.Now()))
	if err != nil {
		return err
	}
	// Both describe the state before the deletion.
	shown, links := objectAt(idx, o), mutation.LinksFromOutside(idx, o)
	text, _, err := tx.Text(ctx, vault.Path(o.Note.Path))
	if err != nil {
		return err
	}
	rest, kept, err := mutation.Cut(o, text)
	if err != nil {
		return withFileAndLine(err, o.Note.Path)
	}
	if o.Section == nil {
		err = tx.Remove(ctx, vault.Path(o.Note.Path))
	} else {
		err = tx.Put(ctx, vault.Path(o.Note.Path), rest)
	}
	if err != nil {
		return err
	}
	trash, err := tx.Trash(ctx, vault.Path(mutation.TrashName(o)), kept)
	if err != nil {
		return err
	}
	out.Action, out.ID, out.Type, out.File = "deleted", shown.ID, shown.Type, o.Note.Path
	out.TrashPath, out.Object = string(trash), &shown
	out.SideEffects = mutation.Unresolved(tx.Index(), o.ID(), links)
	mutation.WarnLinks(&out.Aside, o.ID(), links)
	return nil
}

// An erasedParts counts the stored parts of a note that were destroyed.
type erasedParts struct {
	// of the log: texts, values and answers
	Parts int `json:"parts"`
	// in the trash
	Copies int `json:"copies"`
}

// erase destroys a note and its history. Its answer is built before, because afterwards only the
// counts are stored. If the work outlasts the call, the answer has a job.
//
// An erasure destroys stored parts of the log, so it cannot be a draft of a commit, and it can
// outlast the call. While nothing is destroyed yet, the answer has only the job, which a caller
// polls. A repetition with the same idempotency key returns the counts of the first call.
func (f tools) erase(ctx context.Context, c auth.Caller, in deleteIn) (objectOut, error) {
	call, err := mutation.Call(c, &in.Mutation, Family)
	if err != nil {
		return objectOut{}, err
	}
	t, err := f.Teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return objectOut{}, err
	}
	v, err := f.view(ctx, c, in.Vault.Vault)
	if err != nil {
		return objectOut{}, err
	}
	out, path, err := erasable(v, in.ID)
	if err != nil {
		return objectOut{}, err
	}
	done, err := t.EraseNote(ctx, call, in.Vault.Vault, path)
	if err != nil {
		return objectOut{}, err
	}
	// Nothing is erased yet, so the answer has only the job.
	if out.Job = done.Job; done.Parts == 0 {
		return objectOut{Job: done.Job}, nil
	}
	out.Erased = &erasedParts{done.Parts, done.Copies}
	out.Note("version", eventlog.Version(done.Seq))
	if done.Replayed != nil {
		out.Note("replayed", true)
	}
	if in.DryRun {
		out = objectOut{answerHead: answerHead{Aside: out.Aside}, Erased: out.Erased, plan: plan[wouldCreate]{
			DryRun: true, WouldDelete: &wouldDelete{out.ID},
			WouldModify: []mutation.FileChange{{Path: string(path), Action: "delete"}},
		}}
	}
	return out, nil
}

// erasable returns the path of the note that an argument names, and the beginning of the answer. A
// path without a note is accepted, because a deleted note can be erased too. A part of a note is an
// error.
//
// Parts of a note cannot be erased alone, because the history of the note contains whole texts.
func erasable(v view, id string) (out objectOut, path vault.Path, err error) {
	o, err := locate(v.Index, id, v.Clock)
	if fault.Is(err, fault.NotFound) {
		was, bad := vault.NotePath(id)
		if bad != nil {
			return out, "", noPath(err, id, "id")
		}
		return objectOut{answerHead: answerHead{Action: "deleted", ID: was.ID()}, File: string(was)}, was, nil
	}
	if err != nil {
		return out, "", err
	}
	if o.Section != nil {
		return out, "", fault.New(Family.Malformed, "only a whole note can be erased, and %q is part of a note",
			o.ID()).With("argument", "id").Try("raven_delete", fault.Args{"id": o.ID()})
	}
	links := mutation.LinksFromOutside(v.Index, o)
	out = objectOut{answerHead: answerHead{Action: "deleted", ID: o.ID()}, Type: o.Type(), File: o.Note.Path}
	mutation.WarnLinks(&out.Aside, o.ID(), links)
	return out, vault.Path(o.Note.Path), nil
}
