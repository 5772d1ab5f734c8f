package team

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"rookery/internal/checkout"
	"rookery/internal/fault"
	"rookery/internal/job"
	"rookery/internal/repo"
)

// The statuses of a vault that is being erased, or was. Its name is taken until its Erasure is done.
const (
	Erasing repo.Status = "erasing"
	Erased  repo.Status = "erased"
)

// An Erasure is how far an erasure has come.
type Erasure struct {
	Began time.Time `json:"began"`
	Swept time.Time `json:"swept,omitzero"` // everything that was there was destroyed
	Done  time.Time `json:"done,omitzero"`  // what came late too: the name is free
	Job   string    `json:"job,omitempty"`  // that does it
	Receipt
}

// A Receipt is what an erasure came to.
type Receipt struct {
	repo.Erased
	Left int `json:"left"` // files in the folder that were in no version of the vault: they stay
}

// An ErasedVault is a vault that was erased, or is being erased by a job.
type ErasedVault struct {
	Receipt
	Swept bool       // everything that was there is destroyed: the receipt is true
	Job   *job.Brief // that erases it; nil in a dry run

	Seq      uint64 // of the tenant's commit that it begins, or the version that the call saw
	Replayed bool   // the call was made before
}

// Erase destroys a vault, in the trash or not: every incarnation that had the name, the files that
// people see of it, and what the database keeps of it. The name is free about an hour later, when what
// was under way has arrived and been destroyed as well. It is a job, which goes on in the call for as long as
// a call may take. A call that a crash ended may be repeated; one that comes after another answers the same,
// and is IN_PROGRESS while the job runs elsewhere.
func (t *Team) Erase(ctx context.Context, c repo.Call, name string) (ErasedVault, error) {
	if t.opt.Served != nil {
		return ErasedVault{}, oneFolder()
	}
	if c.DryRun {
		return t.wouldErase(ctx, c, name)
	}
	both := newTwofold(ctx) // the commit and the job
	both.patience = jobPatience
	defer both.close()
	at, r, err := t.beginErasure(both, c, name)
	if err != nil {
		return ErasedVault{}, err
	}
	done, err := t.erase(ctx, c, name, at)
	done.Seq, done.Replayed = r.Seq, r.Replayed != nil
	return done, err
}

// jobPatience is how long the commit may take that begins an erasure, whose caller has gone.
const jobPatience = 5 * time.Second

// An erasureRef is what the call that erases a vault is answered by the tenant's log: who repeats it is told
// of the same erasure.
type erasureRef struct {
	Incarnation int    `json:"incarnation"`
	Job         string `json:"job"`
}

// of reports whether an entry is that of the erasure.
func (r erasureRef) of(e Entry) bool { return e.Incarnation == r.Incarnation && e.Erasure != nil }

// beginErasure makes the tenant's commit that a vault is being erased, unless it is already. Nothing can undo
// it.
func (t *Team) beginErasure(
	both *twofold, c repo.Call, name string,
) (at erasureRef, r repo.Receipt, err error) {
	answered := make(chan erasureRef, 1)
	r, err = t.update(both.ctx, c, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
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

func draftErasure(d *repo.Draft[*State], name string) (erasureRef, error) {
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
		began = *e.Erasure // an earlier release began it
	}
	began.Job = job.NewID(d.Now())
	e.Erasure = &began
	return erasureRef{e.Incarnation, began.Job}, d.Record(kindVault, name, e)
}

// erase goes on with an erasure that has begun.
func (t *Team) erase(ctx context.Context, c repo.Call, name string, at erasureRef) (ErasedVault, error) {
	e, _ := t.log.Known().State.Vault(name)
	if !at.of(e) || e.Status == Erased {
		return t.wasErased(ctx, name, at)
	}
	it, err := runJob(ctx, t.jobs, erasureJob(e, c.Who))
	if err != nil {
		return ErasedVault{}, err
	}
	return erasedVault(it)
}

// runJob goes on with a job, or makes it where there is none, for as long as a call may take. What looks for jobs may
// make it in between: then the call goes on with that.
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

// wasErased tells of an erasure whose vault is gone.
func (t *Team) wasErased(ctx context.Context, name string, at erasureRef) (ErasedVault, error) {
	e, _ := t.log.Known().State.Vault(name)
	it, err := t.jobs.Get(ctx, at.Job)
	switch {
	case fault.Is(err, fault.NotFound) && at.of(e):
		brief := &job.Brief{ID: at.Job, State: job.Done}
		return ErasedVault{Receipt: e.Erasure.Receipt, Swept: true, Job: brief}, nil
	case fault.Is(err, fault.NotFound):
		return ErasedVault{}, fault.NoVault(name)
	case err != nil:
		return ErasedVault{}, err
	}
	return erasedVault(it)
}

// erasedVault is what the job of an erasure tells.
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

// wouldErase is what an erasure would destroy.
func (t *Team) wouldErase(ctx context.Context, c repo.Call, name string) (ErasedVault, error) {
	var e Entry
	r, err := t.update(ctx, c, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
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
		would, err := v.Erase(ctx, repo.Call{DryRun: true})
		if err != nil {
			return all, err
		}
		all.Add(would)
	}
	would, err := t.wouldClear(ctx, e)
	all.count(would)
	return all, err
}

// wouldClear is what the erasure of a vault would destroy of the folder in which people see its notes.
func (t *Team) wouldClear(ctx context.Context, e Entry) (checkout.Cleared, error) {
	files, err := t.files(e.Name)
	if err != nil || files == nil || e.free() {
		return checkout.Cleared{}, err
	}
	v, err := t.vaultOf(e.Name, e.Incarnation)
	if err != nil {
		return checkout.Cleared{}, err
	}
	return checkout.WouldErase(ctx, v, files)
}

// count adds what was done to the folder of a vault.
func (r *Receipt) count(c checkout.Cleared) {
	r.Files += c.Files
	r.Bytes += c.Bytes
	r.Left += c.Left
}

// free reports whether the vault is erased and its name another's to take.
func (e Entry) free() bool { return e.Erasure != nil && !e.Erasure.Done.IsZero() }

// names is how many names are taken.
func (s *State) names() int {
	n := 0
	for _, e := range s.vaults {
		if !e.free() {
			n++
		}
	}
	return n
}

// beingErased is the fault of a name that is not free yet.
func beingErased(e Entry, now time.Time) error {
	left := repo.SweepAgain
	if !e.Erasure.Swept.IsZero() {
		left = max(e.Erasure.Swept.Add(repo.SweepAgain).Sub(now), 0) + time.Minute // and until it is looked for
	}
	return fault.New(fault.DuplicateID, "the vault %q is being erased: its name is not free yet",
		e.Name).With("id", e.Name).After(left).Fix("choose another name, or try again later")
}
