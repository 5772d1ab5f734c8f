package raven

import (
	"context"
	"errors"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/ingest"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A reindexIn is the input of raven_reindex. A call with Full runs as a job, unless it is a dry
// run.
//
// The call rebuilds the index from the first commit and then ingests outside edits. Without Full, a
// rebuild checks only that the headers of the commits form the chain; with Full it also reads every
// text and compares its digest, which can take minutes. A dry run reports the outside edits
// that the call would ingest and does not rebuild the index.
type reindexIn struct {
	tool.Vault
	// also verify every text in the log against the hash chain, as a job
	Full bool `json:"full,omitempty"`
	// decision on the batch that needs confirmation: accept applies it, discard writes the files as
	// the vault has them
	Pending string `json:"pending,omitempty" enum:"accept,discard"`
	tool.Mutation
}

// A reindexOut is the output of raven_reindex: the result, or the running job.
type reindexOut struct {
	tool.Aside `json:"-"`
	*Reindexed // nil: the job is still running

	// job of a full reindex; the only member while it runs
	Job *job.Brief `json:"job,omitempty"`
}

// A Reindexed is the result of a reindex.
//
// The counts from Indexed to References describe the vault after the call; the others describe what
// the call found and did.
type Reindexed struct {
	// nothing was written; the counts are those of the call without dry_run
	DryRun bool `json:"dry_run,omitempty"`

	// notes in the vault
	Indexed int `json:"files_indexed"`
	// deleted files, which were removed from the vault
	Deleted    int `json:"files_deleted"`
	Objects    int `json:"objects"`
	Traits     int `json:"traits"`
	References int `json:"references"`
	// objects, traits and other files that are new
	Discovered int `json:"discovered"`
	Removed    int `json:"removed"`
	Modified   int `json:"modified"`

	Created int `json:"files_created"`
	Changed int `json:"files_changed"`
	Moved   int `json:"files_moved"`
	// files that were restored from the vault
	Restored int `json:"files_restored"`
	// conflict copies that were created
	Conflicts int `json:"conflicts"`

	// a batch that needs confirmation, because it removes or reverts many notes
	Held *heldBatch `json:"held,omitempty"`
	// notes that do not parse or have too many elements to be indexed, and files that cannot be
	// synced
	Errors []reindexError `json:"errors"`
	// errors of a full reindex beyond the first 200
	Omitted int `json:"errors_omitted,omitempty"`
}

// A reindexError is a file with a problem.
type reindexError struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// reindex returns the tool raven_reindex, which ingests outside edits and rebuilds the index.
func (f tools) reindex() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_reindex", Family: Family, Title: "Sync edited files",
		Role: auth.Editor, Kind: tool.Write, Idempotent: true,
		Route:    tool.Route{Method: "POST", Path: "/reindex"},
		Commands: []tool.Command{{Words: "reindex"}}, Job: mutation.JobTool,
	}, f.runReindex)
}

// errFirst is the error of begin if no earlier call used the idempotency key.
var errFirst = errors.New("the key was not used before")

// runReindex runs a reindex between two updates of the log: the first finds the answer of an
// earlier call with the same key, the second stores the answer of this call. Ingesting makes
// commits of its own, so it cannot be part of either.
//
// A vault has its files in a folder of this machine, in a bucket that others can write to, or only
// in its log; the steps are the same, and in the last case there is nothing to ingest.
func (f tools) runReindex(
	ctx context.Context, c auth.Caller, in reindexIn,
) (none reindexOut, err error) {
	call, err := mutation.Call(c, &in.Mutation, Family)
	if err != nil {
		return none, err
	}
	t, err := f.Teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return none, err
	}
	r := reindexRun{team: t, in: in, call: call}
	if err := r.open(ctx, in.Vault.Vault); err != nil {
		return none, err
	}
	work := r.runInline
	if in.Full && !in.DryRun {
		work = r.asJob
	}
	return work(ctx)
}

// open opens the vault, and its folder or the bucket with its files.
//
// At most one of r.folder and r.bucket is set. Both are nil if no one else can edit the files.
func (r *reindexRun) open(ctx context.Context, name string) (err error) {
	if r.vault, err = r.team.Vault(ctx, name); err != nil {
		return err
	}
	if r.folder, err = r.team.Folder(ctx, name); err != nil || r.folder != nil {
		return err
	}
	edited, ok, err := r.team.Edited(ctx, name)
	if err != nil || !ok {
		return err
	}
	bucket, err := ingest.NewVault(edited, r.team.Now)
	r.bucket = &bucket
	return err
}

// runInline runs the reindex within the call. The lease only shows others that a reindex is
// running.
//
// A dry run takes no lease and rebuilds nothing, because it must not disturb a running reindex.
func (r *reindexRun) runInline(ctx context.Context) (none reindexOut, err error) {
	done, err := r.waitTurn(ctx)
	if err != nil {
		return none, err
	}
	defer done()
	return r.once(ctx, func(ctx context.Context) (reindexOut, error) {
		var out reindexOut
		if !r.in.DryRun {
			release, err := r.vault.Lease(ctx)
			if err != nil {
				return none, err
			}
			defer release()
			if err := r.rebuild(ctx); err != nil {
				return none, err
			}
		}
		out.Reindexed, err = r.files(ctx)
		return out.withWarning(), err
	})
}

// waitTurn waits for the turn of the call among the reindexes of the folder, so that the second of
// two calls with one key finds the answer of the first. It returns at once if there is no folder.
// The caller must call done.
func (r *reindexRun) waitTurn(ctx context.Context) (done func(), err error) {
	if r.folder == nil {
		return func() {}, nil
	}
	return r.folder.Turn(ctx)
}

// once runs work, unless an earlier call with the same key has an answer. It returns the answer.
//
// Without an idempotency key it always runs work. If work succeeds and storing the answer fails,
// the effects of work remain, and a repeated call finds nothing more to do: ingesting and
// rebuilding can be repeated.
func (r *reindexRun) once(
	ctx context.Context, work func(context.Context) (reindexOut, error),
) (reindexOut, error) {
	first, err := mutation.ChangeVault(ctx, r.vault, r.call, mutation.Change[reindexOut]{Draft: r.begin})
	if !errors.Is(err, errFirst) {
		return first, err
	}
	out, err := work(ctx)
	if err != nil {
		return reindexOut{}, err
	}
	call := r.call
	call.IfVersion = 0 // begin has checked it already
	return mutation.ChangeVault(ctx, r.vault, call, mutation.Change[reindexOut]{
		Draft: func(_ context.Context, _ *repo.Tx, kept *reindexOut) error {
			*kept = out
			return nil
		},
	})
}

// A reindexRun is one call of raven_reindex, or its job.
type reindexRun struct {
	team   *tenant.Tenant
	in     reindexIn
	call   eventlog.Call
	vault  *repo.Vault
	folder *checkout.Checkout // nil: the vault has no folder
	bucket *ingest.Vault      // nil: the files are not in a bucket that others can write to
}

// begin is the draft of the first update, which runs only if there is no stored answer. It checks
// if_version against the whole vault, and always returns an error, so that nothing is written.
func (r *reindexRun) begin(_ context.Context, tx *repo.Tx, _ *reindexOut) error {
	if err := tx.Touch(tx.Before().Version()); err != nil {
		return err
	}
	return errFirst
}

// files ingests the outside edits and counts the contents of the vault. It can be repeated.
func (r *reindexRun) files(ctx context.Context) (*Reindexed, error) {
	out := &Reindexed{DryRun: r.in.DryRun, Errors: []reindexError{}}
	if err := r.ingest(ctx, out); err != nil {
		return nil, err
	}
	idx, control, err := r.vault.ReadControl(ctx)
	if err != nil {
		return nil, err
	}
	out.count(idx, control.Left)
	return out, nil
}

// rebuild rebuilds the index while nothing is appended to the log.
//
// It runs in an update that is a dry run, which commits nothing. The index in use is replaced only
// if the rebuild succeeds.
func (r *reindexRun) rebuild(ctx context.Context) error {
	_, err := r.vault.Update(ctx, eventlog.Call{DryRun: true}, func(
		ctx context.Context, _ *repo.Tx,
	) (any, error) {
		_, err := r.vault.Rebuild(ctx, r.in.Full)
		return nil, err
	})
	return err
}

// ingest ingests the outside edits and adds the result to out.
//
// A decision about a pending batch is part of the same call: accepting or discarding it, and then
// ingesting what else has changed.
func (r *reindexRun) ingest(ctx context.Context, out *Reindexed) error {
	if err := r.checkPending(ctx); err != nil {
		return err
	}
	reindex := func(context.Context, checkout.IngestOptions) (t checkout.IngestResult, err error) { return t, nil }
	switch {
	case r.folder != nil:
		reindex = r.folder.Reindex
	case r.bucket != nil:
		reindex = r.bucket.Reindex
	}
	t, err := reindex(ctx, checkout.IngestOptions{
		Pending: checkout.Pending(r.in.Pending), Who: r.call.Who, Prefix: r.call.Prefix,
		DryRun: r.in.DryRun,
	})
	if err != nil {
		return err
	}
	out.Created, out.Changed, out.Moved, out.Deleted = t.Created, t.Changed, t.Moved, t.Removed
	out.Restored, out.Conflicts = t.Restored, t.Conflicts
	out.Discovered, out.Modified = t.Index.Discovered, t.Index.Modified
	out.Removed = t.Index.Removed
	out.Held = heldOf(t.Held)
	return nil
}

// withWarning returns the answer with the warning about a batch that needs confirmation.
func (out reindexOut) withWarning() reindexOut {
	if out.Reindexed != nil {
		out.Held.warn(&out.Aside)
	}
	return out
}

// checkPending returns a fault if the call accepts or discards a batch, and there is none.
func (r *reindexRun) checkPending(ctx context.Context) error {
	if r.in.Pending == "" {
		return nil
	}
	if r.folder != nil {
		// After the start of the process, a batch that was already pending must be found again
		// first.
		if err := r.folder.Ready(ctx); err != nil {
			return err
		}
	}
	control, err := r.vault.Control(ctx)
	if err != nil || control.Held.Count() > 0 {
		return err
	}
	return fault.New(Family.Malformed, "no batch needs confirmation, so there is nothing to %s", r.in.Pending).
		With("argument", "pending").
		Try("raven_reindex", nil)
}

// count adds the number of notes, objects and so on, and the files with problems. left are the
// skipped files; nil: none.
//
// Objects are notes and sections together. Each error says why the file is not synced or indexed,
// and what to do.
func (out *Reindexed) count(idx *index.Index, left *repo.Left) {
	t := idx.Totals()
	out.Indexed, out.Objects = t.Notes, t.Notes+t.Sections
	out.Traits, out.References = t.Traits, t.Refs
	for n := range idx.Quarantined() {
		out.Errors = append(out.Errors, reindexError{n.Path, n.Quarantine().Line, n.Quarantine().Message})
	}
	for n := range idx.Unindexed() {
		out.Errors = append(out.Errors, reindexError{
			File: n.Path, Message: repo.UnindexedProblem(n) + "; " + doctor.UntilIndexed,
		})
	}
	if left == nil {
		return
	}
	for _, f := range left.Files {
		out.Errors = append(out.Errors, reindexError{
			File: f.Path, Message: f.Problem() + "; " + f.Remedy(),
		})
	}
}

// reindexFull is the kind of the job of a full reindex.
const reindexFull = "reindex_full"

// mostErrors is the maximum number of errors in the result of the job.
const mostErrors = 200

// A reindexInput is the input of the job, in addition to its target.
//
// It is stored with the job, which may continue in another process, as JSON; fields can be added
// but not renamed.
type reindexInput struct {
	Who     eventlog.Who `json:"who"`
	Prefix  string       `json:"prefix,omitempty"`
	Pending string       `json:"pending,omitempty"`
}

// Jobs returns the kinds of jobs of the family, for a tenant.
//
// The job has two steps, the rebuild and the ingestion. Each step opens the vault by itself, waits
// for its turn and holds the lease of the vault while it runs. A job can be stopped at any time,
// because both steps can be repeated from their beginning.
func Jobs(t *tenant.Tenant) []job.Kind {
	step := func(name string, do func(*reindexRun, context.Context, *job.Run) error) job.Step {
		return job.Step{Name: name, Do: func(ctx context.Context, run *job.Run) error {
			r, err := reindexRunOf(ctx, t, run)
			if err != nil {
				return err
			}
			done, err := r.waitTurn(ctx)
			if err != nil {
				return err
			}
			defer done()
			release, err := r.vault.Lease(ctx)
			if err != nil {
				return err
			}
			defer release()
			return do(r, ctx, run)
		}}
	}
	return []job.Kind{{
		Name: reindexFull, Stops: job.Anytime,
		Steps: []job.Step{
			step("index", func(r *reindexRun, ctx context.Context, _ *job.Run) error { return r.rebuild(ctx) }),
			step("files", (*reindexRun).finish),
		},
	}}
}

// reindexRunOf returns the reindexRun of a job.
func reindexRunOf(ctx context.Context, t *tenant.Tenant, run *job.Run) (*reindexRun, error) {
	var in reindexInput
	if err := run.Input(&in); err != nil {
		return nil, err
	}
	r := &reindexRun{
		team: t, in: reindexIn{Full: true, Pending: in.Pending},
		call: eventlog.Call{Who: in.Who, Prefix: in.Prefix, Tool: "raven_reindex"},
	}
	return r, r.open(ctx, run.Item.Target.Vault)
}

// finish is the last step of the job, which sets its result.
func (r *reindexRun) finish(ctx context.Context, run *job.Run) error {
	out, err := r.files(ctx)
	if err != nil {
		return err
	}
	if more := len(out.Errors) - mostErrors; more > 0 {
		out.Errors, out.Omitted = out.Errors[:mostErrors], more
	}
	return run.Set(out)
}

// asJob runs the reindex as a job. It returns the result, or the running job if that outlasts the
// call.
//
// The answer that the log stores for the idempotency key contains the job's id, so a repeated call
// returns the state of the same job instead of starting another.
func (r *reindexRun) asJob(ctx context.Context) (reindexOut, error) {
	out, err := r.once(ctx, func(ctx context.Context) (reindexOut, error) {
		it, err := r.team.Jobs().Start(ctx, job.Request{
			Kind: reindexFull, Target: job.Target{Vault: r.in.Vault.Vault}, By: tenant.JobBy(r.call.Who),
			Input: reindexInput{r.call.Who, r.call.Prefix, r.in.Pending},
		}, nil)
		if err != nil {
			return reindexOut{}, err
		}
		return reindexOutOf(it)
	})
	if err != nil || out.Reindexed != nil || out.Job == nil {
		return out, err
	}
	// The stored answer has the state of the job at the first call. A repeated call gets the
	// current one.
	it, err := r.team.Jobs().Get(ctx, out.Job.ID)
	if err != nil {
		return out, err
	}
	now, err := reindexOutOf(it)
	now.Meta = out.Meta
	return now, err
}

// reindexOutOf returns the output for the state of a job.
func reindexOutOf(it job.Item) (reindexOut, error) {
	var out reindexOut
	var err error
	out.Reindexed, out.Job, err = mutation.JobResult[Reindexed](it)
	return out.withWarning(), err
}
