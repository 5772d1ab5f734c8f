package team

import (
	"context"
	"fmt"
	"strings"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/job"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// noteErase is the kind of job that erases a note.
const noteErase = "note_erase"

// An ErasedNote is a note whose history was erased, or is being erased by a job.
type ErasedNote struct {
	repo.ErasedNote

	Job *job.Brief // nil in a dry run
}

// A noteInput is what the job knows beside its target.
type noteInput struct {
	Request string `json:"request"` // of the call
	After   uint64 `json:"after"`   // the vault's version when it began
}

// appendLife is how long after a call its commit may still arrive (log.md §2.4), and a minute more.
const appendLife = 6 * time.Minute

// EraseNote removes a note of a vault, if it is there, and erases its history: from the log, the files
// that people see, and what the database and the folder keep of it. It is a job, which goes on in the call for
// as long as a call may take. The commit that erases is the call's own, so what is wrong with the call is its
// error; once it is made nobody is answered any of the note.
func (t *Team) EraseNote(
	ctx context.Context, c repo.Call, name string, path vault.Path,
) (ErasedNote, error) {
	o, err := t.find(ctx, name)
	if err != nil {
		return ErasedNote{}, err
	}
	if c.DryRun {
		would, err := o.vault.EraseNote(ctx, c, path)
		return ErasedNote{ErasedNote: would}, err
	}
	head, err := o.vault.Read(ctx)
	if err != nil {
		return ErasedNote{}, err
	}
	answered := make(chan repo.ErasedNote, 1)
	it, err := t.jobs.Start(ctx, job.Request{
		Kind: noteErase, Target: job.Target{Vault: name, Path: string(path)}, By: JobBy(c.Who),
		Input: noteInput{c.Who.Request, head.Version()},
	}, func(ctx context.Context, r *job.Run) error {
		done, err := o.vault.EraseNote(ctx, c, path)
		if err != nil {
			return err
		}
		answered <- done
		return r.Set(done)
	})
	if err != nil {
		return ErasedNote{}, err
	}
	out := ErasedNote{Job: job.BriefOf(it)}
	select {
	case out.ErasedNote = <-answered:
	default: // the commit itself takes longer than the call
	}
	return out, nil
}

// noteErasing is the kind.
func (t *Team) noteErasing() job.Kind {
	return job.Kind{
		Name: noteErase, Endless: true,
		Steps: []job.Step{
			{Name: "log", Do: t.findErasure}, {Name: "files", Do: t.foldErasure},
			{Name: "compact", Do: t.compactErasure},
		},
	}
}

// findErasure looks for the commit of a call that a crash ended. Where there is none, and none can arrive any
// more, nothing was erased: the caller was not told otherwise, and repeats the call.
func (t *Team) findErasure(ctx context.Context, r *job.Run) error {
	o, err := t.stillThere(ctx, r)
	if err != nil || o == nil {
		return err
	}
	var in noteInput
	if err := r.Input(&in); err != nil {
		return err
	}
	for c, err := range o.vault.Commits(ctx, in.After+1) {
		if err != nil {
			return err
		}
		if n := c.Erases(); n > 0 && c.Who.Request == in.Request {
			return r.Set(repo.ErasedNote{Parts: n})
		}
	}
	if late := r.Item.Created.Add(appendLife); t.opt.Now().Before(late) {
		return job.Later(late)
	}
	return job.Fail(fault.New(fault.Unavailable, "the call ended before it erased anything").
		Fix("repeat the call with the same idempotency key"))
}

// stillThere is the vault of a job. It is nil if that is erased, or is being erased: nothing is left to be
// done then.
func (t *Team) stillThere(ctx context.Context, r *job.Run) (*opened, error) {
	o, err := t.find(ctx, r.Item.Target.Vault)
	if !fault.Is(err, fault.NotFound) {
		return o, err
	}
	if e, ok := t.log.Known().State.Vault(r.Item.Target.Vault); ok && e.Erasure == nil {
		return nil, err // it is in the trash, and may be restored
	}
	return nil, nil
}

// foldErasure empties the parts, and takes away what the folder keeps.
func (t *Team) foldErasure(ctx context.Context, r *job.Run) error {
	o, err := t.stillThere(ctx, r)
	if err != nil || o == nil {
		return err
	}
	if o.folder == nil && len(t.opt.Followers) > 0 {
		return t.followErasure(ctx, r, o)
	}
	if o.folder != nil {
		o.folder.Save(ctx)
	}
	if err := o.vault.Fold(ctx, t.folding()); err != nil || o.folder == nil {
		return err
	}
	return o.folder.Redact(ctx, vault.Path(r.Item.Target.Path))
}

// followAgain is how long a job waits for those who follow a log.
const followAgain = time.Second

// followErasure empties the parts where other processes follow the log: when all have passed. It takes away what the
// bucket keeps of the files of the note. A process that cannot follow leaves that to one that can.
func (t *Team) followErasure(ctx context.Context, r *job.Run, o *opened) error {
	target := r.Item.Target
	if t.opt.Follow == nil {
		return job.Later(t.opt.Now().Add(followAgain))
	}
	if err := t.opt.Follow(ctx, t, target.Vault); err != nil {
		return err
	}
	control, err := o.vault.Control(ctx)
	if err != nil {
		return err
	}
	if e := control.Erasing; e != nil && e.Upto == 0 || control.Anew {
		return job.Later(t.opt.Now().Add(followAgain))
	}
	if t.opt.Forget != nil {
		if err := t.opt.Forget(ctx, t, target.Vault, target.Path); err != nil {
			return err
		}
	}
	notes := t.notes(target.Vault)
	for _, prefix := range []string{target.Path, vault.Trash + strings.TrimSuffix(target.Path, ".md")} {
		if _, err := blob.EraseKept(ctx, notes, prefix); err != nil {
			return fmt.Errorf("erase what the bucket keeps of a note: %w", err)
		}
	}
	return nil
}

// compactErasure makes the database forget what was erased, and what the job knew of it.
func (t *Team) compactErasure(ctx context.Context, r *job.Run) error {
	if err := r.Forget(ctx); err != nil {
		return err
	}
	return t.compact(ctx)
}
