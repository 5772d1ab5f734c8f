package tenant

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
)

// The statuses of a vault whose erasure has begun. Its name is taken until Erasure.Done is set.
const (
	Erasing eventlog.Status = "erasing"
	Erased  eventlog.Status = "erased"
)

// An Erasure is the progress of an erasure, as the tenant's log stores it. Its times are set in
// this order; each zero time is a stage that has not been reached.
type Erasure struct {
	Began time.Time `json:"began"`
	Swept time.Time `json:"swept,omitzero"` // when everything that existed was destroyed
	Done  time.Time `json:"done,omitzero"`  // when late arrivals were destroyed too: the name is free
	Job   string    `json:"job,omitempty"`  // id of the job that erases
	Receipt
}

// A Receipt counts the data that an erasure destroyed.
type Receipt struct {
	eventlog.Erased
	Left int `json:"left"` // files in the folder that were in no version of the vault; they are kept
}

// An ErasedVault is the result of erasing a vault. The erasure may still be running as a job; then
// the Receipt counts the data that the finished steps destroyed.
type ErasedVault struct {
	Receipt
	Swept bool       // everything that existed is destroyed; the receipt is final
	Job   *job.Brief // the job that erases; nil in a dry run

	Seq      uint64 // the tenant's commit that begins the erasure, or the version read
	Replayed bool   // the call repeats an earlier one
}

// Erase destroys a vault, in the trash or not: all incarnations of the name, its files, and the
// data about it in the database. The name is free about an hour later, after writes that were in
// flight have arrived and been destroyed too. Erase is a job: it runs within the call for as long
// as a call may take, and then continues. A call may be repeated after a crash. A later call gets
// the same answer, or IN_PROGRESS while the job runs in another process.
//
// The order makes it safe to stop anywhere. First the tenant's log records that the erasure has
// begun, with the id of its job; from then on the vault is NOT_FOUND and the erasure cannot be
// undone. Then the job is created and runs. If the process dies in between, Work creates the job.
func (t *Tenant) Erase(ctx context.Context, c eventlog.Call, name string) (ErasedVault, error) {
	if t.opt.Served != nil {
		return ErasedVault{}, singleFolder()
	}
	if c.DryRun {
		return t.wouldErase(ctx, c, name)
	}
	both := newTwoLogChange(ctx) // covers the commit and the job
	both.timeout = eraseTimeout
	defer both.close()
	at, r, err := t.beginErasure(both, c, name)
	if err != nil {
		return ErasedVault{}, err
	}
	done, err := t.erase(ctx, c, name, at)
	done.Seq, done.Replayed = r.Seq, r.Replayed != nil
	return done, err
}

// eraseTimeout is the time limit for the commit that begins an erasure after its caller has
// disconnected.
const eraseTimeout = 5 * time.Second

// An erasureRef is the stored answer of a call that erases a vault. A repeated call uses it to find
// the same erasure.
type erasureRef struct {
	Incarnation int    `json:"incarnation"`
	Job         string `json:"job"`
}

// matches reports whether e is the vault of this erasure.
func (r erasureRef) matches(e Entry) bool { return e.Incarnation == r.Incarnation && e.Erasure != nil }

// beginErasure commits to the tenant's log that a vault is being erased, unless it is already. This
// cannot be undone. The closure may run more than once, and may still run when update has returned
// an error; the channel, which has room for one answer, passes that of the last run to the caller
// without a race.
func (t *Tenant) beginErasure(
	both *twoLogChange, c eventlog.Call, name string,
) (at erasureRef, r eventlog.Receipt, err error) {
	answered := make(chan erasureRef, 1)
	r, err = t.update(both.ctx, c, func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
		select {
		case <-answered:
		default:
		}
		at, err := draftErasure(d, name)
		if err == nil {
			err = both.begin()
		}
		answered <- at
		return at, err
	})
	if err != nil {
		return at, r, err
	}
	if r.Replayed != nil {
		return at, r, json.Unmarshal(r.Replayed, &at)
	}
	return <-answered, r, nil
}

// draftErasure records the beginning of an erasure in a draft. An erasure that already has a job is
// returned unchanged. A vault that does not exist, or is erased and gone, is NOT_FOUND.
func draftErasure(d *eventlog.Draft[*State], name string) (erasureRef, error) {
	e, ok := d.State().Vault(name)
	if !ok || e.free() {
		return erasureRef{}, fault.NoVault(name)
	}
	if e.Erasure != nil && e.Erasure.Job != "" {
		return erasureRef{e.Incarnation, e.Erasure.Job}, nil
	}
	var began Erasure
	if e.Erasure == nil {
		if err := d.Touch(e.Changed); err != nil {
			return erasureRef{}, err
		}
		e.Status, began.Began = Erasing, d.Now()
	} else {
		began = *e.Erasure // begun by an earlier release, without a job
	}
	began.Job = job.NewID(d.Now())
	e.Erasure = &began
	return erasureRef{e.Incarnation, began.Job}, d.Record(kindVault, name, e)
}

// erase continues an erasure that has begun, in its job. If the tenant's log says that everything
// is destroyed already, it returns the stored result.
func (t *Tenant) erase(ctx context.Context, c eventlog.Call, name string, at erasureRef) (ErasedVault, error) {
	e, _ := t.log.Known().State.Vault(name)
	if !at.matches(e) || e.Status == Erased {
		return t.wasErased(ctx, name, at)
	}
	it, err := runJob(ctx, t.jobs, erasureJob(e, c.Who))
	if err != nil {
		return ErasedVault{}, err
	}
	return erasedVault(it)
}

// runJob continues a job, or starts it if there is none, for as long as a call may take. If a
// background pass creates the job at the same time, the call continues that one. It returns the
// state of the job when the call must answer, which need not be its end.
func runJob(ctx context.Context, jobs *job.Jobs, ask job.Request) (job.Item, error) {
	it, err := jobs.Go(ctx, ask.ID)
	if !fault.Is(err, fault.NotFound) {
		return it, err
	}
	it, err = jobs.Start(ctx, ask, nil)
	if fault.Is(err, fault.InProgress) || fault.Is(err, fault.DuplicateID) {
		return jobs.Go(ctx, ask.ID)
	}
	return it, err
}

// wasErased returns the result of an erasure whose vault is gone: that of its job or, if the job is
// no longer kept, that in the tenant's log. It returns NOT_FOUND if neither exists, because the
// name has another vault now.
func (t *Tenant) wasErased(ctx context.Context, name string, at erasureRef) (ErasedVault, error) {
	e, _ := t.log.Known().State.Vault(name)
	it, err := t.jobs.Get(ctx, at.Job)
	switch {
	case fault.Is(err, fault.NotFound) && at.matches(e):
		brief := &job.Brief{ID: at.Job, State: job.Done}
		return ErasedVault{Receipt: e.Erasure.Receipt, Swept: true, Job: brief}, nil
	case fault.Is(err, fault.NotFound):
		return ErasedVault{}, fault.NoVault(name)
	case err != nil:
		return ErasedVault{}, err
	}
	return erasedVault(it)
}

// erasedVault returns the result as the job of an erasure reports it.
func erasedVault(it job.Item) (ErasedVault, error) {
	out := ErasedVault{Swept: it.Progress.Done >= stepsToSwept, Job: job.BriefOf(it)}
	if len(it.Result) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(it.Result, &out.Receipt); err != nil {
		return out, fmt.Errorf("read the receipt of an erasure: %w", err)
	}
	return out, nil
}

// wouldErase returns the result that an erasure would have, with its counts. It reads the vault's
// log and folder, and changes nothing. All incarnations of the name are counted, because earlier
// ones may have data left from a crash.
func (t *Tenant) wouldErase(ctx context.Context, c eventlog.Call, name string) (ErasedVault, error) {
	var e Entry
	r, err := t.update(ctx, c, func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
		_, err := draftErasure(d, name)
		e, _ = d.State().Vault(name)
		return nil, err
	})
	if err != nil {
		return ErasedVault{}, err
	}
	all := ErasedVault{Seq: r.Seq}
	for i := 1; i <= e.Incarnation; i++ {
		v, err := t.vaultOf(name, i)
		if err != nil {
			return all, err
		}
		would, err := v.Erase(ctx, eventlog.Call{DryRun: true})
		if err != nil {
			return all, err
		}
		all.Add(would)
	}
	would, err := t.wouldClear(ctx, e)
	all.count(would)
	return all, err
}

// wouldClear counts the files that the erasure of a vault would remove from the folder of its
// notes.
func (t *Tenant) wouldClear(ctx context.Context, e Entry) (checkout.ClearResult, error) {
	files, err := t.files(e.Name)
	if err != nil || files == nil || e.free() {
		return checkout.ClearResult{}, err
	}
	v, err := t.vaultOf(e.Name, e.Incarnation)
	if err != nil {
		return checkout.ClearResult{}, err
	}
	return checkout.WouldErase(ctx, v, files)
}

// count adds the files removed from the folder of a vault.
func (r *Receipt) count(c checkout.ClearResult) {
	r.Files += c.Files
	r.Bytes += c.Bytes
	r.Left += c.Left
}

// free reports whether the vault is erased and its name can be used again.
func (e Entry) free() bool { return e.Erasure != nil && !e.Erasure.Done.IsZero() }

// names returns the number of names in use.
func (s *State) names() int {
	n := 0
	for _, e := range s.vaults {
		if !e.free() {
			n++
		}
	}
	return n
}

// beingErased returns the DUPLICATE_ID fault of a name that is not free because its vault is being
// erased. It says when to try again: when the second sweep is due, an hour after the first.
func beingErased(e Entry, now time.Time) error {
	left := eventlog.SweepAgain
	if !e.Erasure.Swept.IsZero() {
		left = max(e.Erasure.Swept.Add(eventlog.SweepAgain).Sub(now), 0)
		left += time.Minute // the delay until the job runs
	}
	return fault.New(fault.DuplicateID, "the vault %q is being erased: its name is not free yet",
		e.Name).With("id", e.Name).After(left).Fix("choose another name, or try again later")
}
