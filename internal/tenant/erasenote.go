package tenant

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// noteErase is the kind of a job that erases a note.
const noteErase = "note_erase"

// An ErasedNote is the result of erasing the history of a note. The erasure may still be running as
// a job.
type ErasedNote struct {
	repo.ErasedNote

	Job *job.Brief // nil in a dry run
}

// A noteInput is the input of the job, in addition to its target. With it, the job finds the commit
// of a call that crashed before it could record its result: the commit is after After and has the
// id of the request.
type noteInput struct {
	Request string `json:"request"` // id of the call's request
	After   uint64 `json:"after"`   // version of the vault before the call
}

// A noteResult is the result of the job so far.
type noteResult struct {
	repo.ErasedNote

	Version uint64 `json:"version,omitempty"` // of the commit that erases
}

// appendLife is the time after a call during which its commit may still arrive (log.md §2.4), plus
// a minute.
const appendLife = 6 * time.Minute

// EraseNote removes a note of a vault, if it exists, and erases its history from the log, the
// files, the database and the folder. It is a job: it runs within the call for as long as a call
// may take, and then continues. The commit that erases is part of the call, so the call returns its
// errors. After that commit no reader gets any content of the note. The steps after it destroy the
// stored bytes.
func (t *Tenant) EraseNote(
	ctx context.Context, c eventlog.Call, name string, path vault.Path,
) (ErasedNote, error) {
	return t.eraseFrom(ctx, c, job.Target{Vault: name, Path: string(path)},
		func(ctx context.Context, v *repo.Vault) (repo.ErasedNote, error) { return v.EraseNote(ctx, c, path) })
}

// EraseMemory is EraseNote for a memory and everything that quotes it; see repo.Vault.EraseMemory.
func (t *Tenant) EraseMemory(ctx context.Context, c eventlog.Call, name, id string) (ErasedNote, error) {
	return t.eraseFrom(ctx, c, job.Target{Vault: name, Item: id},
		func(ctx context.Context, v *repo.Vault) (repo.ErasedNote, error) { return v.EraseMemory(ctx, c, id) })
}

// eraseFrom makes the commit of an erasure and runs the job that completes it. The job is created
// first and commit is its first step, so that a crash after the commit leaves a job which finds it;
// see findErasure. A dry run commits nothing and has no job.
func (t *Tenant) eraseFrom(
	ctx context.Context, c eventlog.Call, target job.Target,
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
	default: // the commit takes longer than the call
	}
	return out, nil
}

// noteEraseKind returns the kind of job that erases a note. Its steps find the erasing commit if the
// call did not record it, remove the content from the segments, the files and the folder, and purge
// it from the audit log and the database. Each can be repeated.
func (t *Tenant) noteEraseKind() job.Kind {
	return job.Kind{
		Name: noteErase, Endless: true,
		Steps: []job.Step{
			{Name: "log", Do: t.findErasure}, {Name: "files", Do: t.compactLog},
			{Name: "compact", Do: t.compactErasure},
		},
	}
}

// findErasure looks for the commit of a call that a crash interrupted. If there is none, and none
// can still arrive, the job fails: nothing was erased, and the caller got no answer, so it repeats
// the call. Until appendLife has passed it waits, because the commit may still be on its way.
func (t *Tenant) findErasure(ctx context.Context, r *job.Run) error {
	o, err := t.openForJob(ctx, r)
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

// openForJob returns the vault of a job. It returns nil if the vault is erased or being erased,
// because nothing is left to do then. For a vault in the trash it returns the NOT_FOUND error, so
// that the job tries again: the vault may be restored.
func (t *Tenant) openForJob(ctx context.Context, r *job.Run) (*openVault, error) {
	o, err := t.find(ctx, r.Item.Target.Vault)
	if !fault.Is(err, fault.NotFound) {
		return o, err
	}
	if e, ok := t.log.Known().State.Vault(r.Item.Target.Vault); ok && e.Erasure == nil {
		return nil, err // it is in the trash and may be restored
	}
	return nil, nil
}

// compactLog removes the erased content from the stored log, and then the copies that the folder
// keeps of a file. A memory has no file, so nothing else must be removed for it. Where other
// processes follow the log, it is their work; see followErasure.
func (t *Tenant) compactLog(ctx context.Context, r *job.Run) error {
	o, err := t.openForJob(ctx, r)
	if err != nil || o == nil {
		return err
	}
	if o.folder == nil && len(t.opt.Followers) > 0 {
		return t.followErasure(ctx, r, o)
	}
	if err := t.compactUntilErased(ctx, r, o); err != nil || o.folder == nil {
		return err
	}
	if r.Item.Target.Path == "" { // the target is not a note and has no file
		return nil
	}
	return o.folder.ForgetFile(ctx, vault.Path(r.Item.Target.Path))
}

// compactTries is the number of passes that a job makes over the log before it waits. One pass may not
// be enough: another erasing commit, which the folder does not have yet, may arrive between the
// save and the pass.
const compactTries = 3

// compactUntilErased makes passes over the log until one has removed the erased content. A pass does not
// remove it while the folder is behind the log, which can last, for example if a file cannot be
// written. Then the job waits for a second and begins again; it never gives up. If the vault is
// gone meanwhile, nothing is left to do.
func (t *Tenant) compactUntilErased(ctx context.Context, r *job.Run, o *openVault) error {
	var done noteResult
	if err := r.Result(&done); err != nil {
		return err
	}
	f := t.compaction(ctx)
	f.Later = t.opt.Background // the Compactor makes the image
	for range compactTries {
		if o.folder != nil {
			o.folder.Save(ctx)
		}
		if err := o.vault.Compact(ctx, f); err != nil {
			return err
		}
		control, err := o.vault.Control(ctx)
		if repo.Gone(err) {
			return nil
		}
		if err != nil || !control.ErasurePending(done.Version) {
			return err
		}
		if done.Version > 0 { // a pass for an earlier erasure may have missed this one
			if err := o.vault.Erases(ctx, done.Version); err != nil {
				return err
			}
		}
	}
	return job.Later(t.opt.Now().Add(followAgain))
}

// followAgain is the delay before a job checks again whether the followers of a log have caught up.
const followAgain = time.Second

// followErasure completes an erasure where other processes follow the log. It waits until all of
// them have passed the erasing commit, and then destroys the old versions of the note's files in
// the bucket. A process that cannot follow the log leaves this to one that can.
func (t *Tenant) followErasure(ctx context.Context, r *job.Run, o *openVault) error {
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
			return fmt.Errorf("erase the objects of a note: %w", err)
		}
	}
	return nil
}

// compactErasure purges the erased data from the database, after it has removed the job's own
// result, which has the counts and the version of the erasure. Meanwhile it removes the lines of
// the history from the audit log, because both take long: each writes a large file again.
func (t *Tenant) compactErasure(ctx context.Context, r *job.Run) error {
	if err := r.Forget(ctx); err != nil {
		return err
	}
	var redacted error
	var redacting sync.WaitGroup
	redacting.Go(func() {
		var o *openVault
		if o, redacted = t.openForJob(ctx, r); o != nil && o.folder != nil && redacted == nil {
			redacted = o.folder.RedactAudit(ctx)
		}
	})
	err := t.compact(ctx)
	redacting.Wait()
	return errors.Join(err, redacted)
}
