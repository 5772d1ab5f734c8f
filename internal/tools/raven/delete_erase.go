package raven

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

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
