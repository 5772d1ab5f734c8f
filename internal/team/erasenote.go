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

// A noteResult is what the job has come to.
type noteResult struct {
	repo.ErasedNote

	Version uint64 `json:"version,omitempty"` // of the commit that erases
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
	return t.eraseFrom(ctx, c, job.Target{Vault: name, Path: string(path)},
		func(ctx context.Context, v *repo.Vault) (repo.ErasedNote, error) { return v.EraseNote(ctx, c, path) })
}

// EraseMemory is EraseNote for a memory, with what quotes it; see repo.Vault.EraseMemory.
func (t *Team) EraseMemory(ctx context.Context, c repo.Call, name, id string) (ErasedNote, error) {
	return t.eraseFrom(ctx, c, job.Target{Vault: name, Item: id},
		func(ctx context.Context, v *repo.Vault) (repo.ErasedNote, error) { return v.EraseMemory(ctx, c, id) })
}

// eraseFrom runs what commits an erasure, and the job that follows it.
func (t *Team) eraseFrom(
	ctx context.Context, c repo.Call, target job.Target,
	commit func(context.Context, *repo.Vault) (repo.ErasedNote, error),
) (ErasedNote, error) {
	o, err := t.find(ctx, target.Vault)
	if err != nil {
		return ErasedNote{}, err
	}
	if c.DryRun {
		would, err := commit(ctx, o.vault)
		return ErasedNote{ErasedNote: would}, err
	}
	head, err := o.vault.Read(ctx)
	if err != nil {
		return ErasedNote{}, err
	}
	answered := make(chan repo.ErasedNote, 1)
	it, err := t.jobs.Start(ctx, job.Request{
		Kind: noteErase, Target: target, By: JobBy(c.Who), Input: noteInput{c.Who.Request, head.Version()},
	}, func(ctx context.Context, r *job.Run) error {
		done, err := commit(ctx, o.vault)
		if err != nil {
			return err
		}
		answered <- done
		return r.Set(noteResult{done, done.Seq})
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
			if err := o.vault.Erases(ctx, c.Seq); err != nil {
				return err
			}
			return r.Set(noteResult{repo.ErasedNote{Parts: n}, c.Seq})
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
	if err := t.emptyErased(ctx, r, o); err != nil || o.folder == nil {
		return err
	}
	if r.Item.Target.Path == "" { // what is erased is no note: nobody has a file of it
		return nil
	}
	return o.folder.Redact(ctx, vault.Path(r.Item.Target.Path))
}

// foldTries is how often a job that empties parts makes a pass before it waits: the folder may not have another commit
// yet that erases, which came between the save and the pass.
const foldTries = 3

// emptyErased makes passes until one has emptied the parts. A pass leaves them alone while the folder is behind the log,
// which may be for long: a file cannot be written.
func (t *Team) emptyErased(ctx context.Context, r *job.Run, o *opened) error {
	var done noteResult
	if err := r.Result(&done); err != nil {
		return err
	}
	f := t.folding(ctx)
	f.Later = t.opt.Background // the keeper makes the image
	for range foldTries {
		if o.folder != nil {
			o.folder.Save(ctx)
		}
		if err := o.vault.Fold(ctx, f); err != nil {
			return err
		}
		control, err := o.vault.Control(ctx)
		if repo.Gone(err) {
			return nil
		}
		if err != nil || !control.ErasurePending(done.Version) {
			return err
		}
		if done.Version > 0 { // a pass that emptied those of another erasure may not have seen this one
			if err := o.vault.Erases(ctx, done.Version); err != nil {
				return err
			}
		}
	}
	return job.Later(t.opt.Now().Add(followAgain))
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
	var done noteResult
	if err := r.Result(&done); err != nil {
		return err
	}
	control, err := o.vault.Control(ctx)
	if err != nil {
		return err
	}
	if control.ErasurePending(done.Version) || control.Anew {
		return job.Later(t.opt.Now().Add(followAgain))
	}
	if target.Path == "" {
		return nil
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
