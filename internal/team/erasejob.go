package team

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rookery/internal/checkout"
	"rookery/internal/job"
	"rookery/internal/repo"
	"rookery/internal/table"
)

// vaultErase is the kind of job that erases a vault.
const vaultErase = "vault_erase"

// stepsToSwept are the steps of it after which everything that was there is destroyed.
const stepsToSwept = 4

// An erasureInput is what the job knows beside its target.
type erasureInput struct {
	Who         repo.Who `json:"who"`
	Incarnation int      `json:"incarnation"`
}

// erasureJob asks for the job of an erasure that has begun.
func erasureJob(e Entry, who repo.Who) job.Request {
	return job.Request{
		ID: e.Erasure.Job, Kind: vaultErase, Target: job.Target{Vault: e.Name}, By: JobBy(who),
		Input: erasureInput{who, e.Incarnation},
	}
}

// JobBy is who asked for a job, as the job tells it.
func JobBy(who repo.Who) job.By {
	return job.By{Principal: who.Principal, Agent: who.Agent, Request: who.Request}
}

// vaultErasing is the kind. Each step leaves alone what is no longer, or not, the vault of its job.
func (t *Team) vaultErasing() job.Kind {
	step := func(name string, do func(*erasing, context.Context) error) job.Step {
		return job.Step{Name: name, Do: func(ctx context.Context, r *job.Run) error {
			e, err := t.erasingOf(ctx, r)
			if err != nil || e.over {
				return err
			}
			t.erasing.Lock()
			defer t.erasing.Unlock()
			if err := do(e, ctx); err != nil {
				return err
			}
			return r.Set(e.done)
		}}
	}
	return job.Kind{
		Name: vaultErase, Stops: job.Never, Endless: true,
		Steps: []job.Step{
			step("seal", (*erasing).seal), step("files", (*erasing).files), step("log", (*erasing).logs),
			step("compact", (*erasing).compact), step("sweep", (*erasing).sweep),
		},
	}
}

// An erasing is an erasure in one of its steps.
type erasing struct {
	team  *Team
	entry Entry
	call  repo.Call
	done  Receipt
	over  bool // there is nothing left to be done

	known func() bool // reports whether the clock is right
}

// erasingOf is the erasure of a job as it is now.
func (t *Team) erasingOf(ctx context.Context, r *job.Run) (*erasing, error) {
	e := &erasing{team: t, known: t.opt.clocked()}
	var in erasureInput
	if err := r.Input(&in); err != nil {
		return e, err
	}
	if err := r.Result(&e.done); err != nil {
		return e, err
	}
	s, _, err := t.State(ctx)
	if err != nil {
		return e, err
	}
	var ok bool
	e.entry, ok = s.Vault(r.Item.Target.Vault)
	e.over = !ok || e.entry.Incarnation != in.Incarnation || e.entry.Erasure == nil || e.entry.free()
	e.call = repo.Call{Who: in.Who, Tool: "team_vault_erase"}
	return e, nil
}

// swept reports whether everything that was there is destroyed, as the tenant's log says. Then the steps up to
// there are done, by whoever did them.
func (e *erasing) swept() bool {
	if e.entry.Status != Erased {
		return false
	}
	e.done = e.entry.Erasure.Receipt
	return true
}

// seal seals the vault, so that nothing is written any more, and ends what this process does with it.
func (e *erasing) seal(ctx context.Context) error {
	if e.swept() {
		return nil
	}
	_, err := e.team.shut(ctx, e.call, e.entry)
	return err
}

// files takes the files of the vault away. Its log says which they are.
func (e *erasing) files(ctx context.Context) error {
	if e.swept() {
		return nil
	}
	files, err := e.team.files(e.entry.Name)
	if err != nil {
		return err
	}
	if files == nil {
		gone, err := e.team.eraseNotes(ctx, e.entry.Name)
		e.done.Files, e.done.Bytes = gone.Objects, gone.Bytes
		return err
	}
	v, err := e.team.shut(ctx, e.call, e.entry)
	if err != nil {
		return err
	}
	cleared, err := checkout.Erase(ctx, v, files)
	if err != nil {
		return err
	}
	e.done.Files, e.done.Bytes, e.done.Left = cleared.Files, cleared.Bytes, cleared.Left
	return nil
}

// logs erases the logs of all vaults that had the name.
func (e *erasing) logs(ctx context.Context) error {
	if e.swept() {
		return nil
	}
	gone, err := e.team.eraseLogs(ctx, e.call, e.entry)
	e.done.Add(gone)
	return err
}

// unlist takes the logs of a name from those that are listed.
func (t *Team) unlist(ctx context.Context, e Entry) error {
	var ops []table.Op
	for i := 1; i <= e.Incarnation; i++ {
		ops = append(ops, table.Remove(table.Key{Part: listed, Sort: partOf(e.Name, i)}))
	}
	for some := range slices.Chunk(ops, table.MaxOps) {
		if err := t.opt.Table.Commit(ctx, some...); err != nil {
			return fmt.Errorf("forget the logs of an erased vault: %w", err)
		}
	}
	return nil
}

// compact makes the database forget what was removed from it, and makes the tenant's commit that the vault is
// erased.
func (e *erasing) compact(ctx context.Context) error {
	if e.swept() {
		return nil
	}
	if err := e.team.compact(ctx); err != nil {
		return err
	}
	if rests := e.team.opt.Rests; rests != nil {
		e.done.Add(repo.Erased{Expires: rests(e.team.opt.Now().UTC().Truncate(time.Millisecond))})
	}
	return e.record(ctx, func(now *Erasure, at time.Time) { now.Swept, now.Receipt = at, e.done })
}

// sweep destroys what came late, an hour after the rest. Then the name is free.
func (e *erasing) sweep(ctx context.Context) error {
	e.done = e.entry.Erasure.Receipt
	if err := e.team.opt.sweepDue(e.entry.Erasure.Swept, e.known); err != nil {
		return err
	}
	if _, err := e.team.eraseLogs(ctx, e.call, e.entry); err != nil {
		return err
	}
	if _, err := e.team.eraseNotes(ctx, e.entry.Name); err != nil {
		return err
	}
	if err := e.team.unlist(ctx, e.entry); err != nil {
		return err
	}
	// Also where this found nothing: what another process removed since may be in pages that the database has freed.
	if err := e.team.compact(ctx); err != nil {
		return err
	}
	return e.record(ctx, func(now *Erasure, at time.Time) { now.Done = at })
}

// sweepAsk is how long a job waits whose second sweep may be due by a clock that is not known to be right.
const sweepAsk = time.Minute

// sweepDue is when to look again whether the second sweep is due of what was destroyed at a time, an hour later; nil: it
// is due. known reports whether the clock is right.
func (o Options) sweepDue(swept time.Time, known func() bool) error {
	now, due := o.Now(), swept.Add(repo.SweepAgain)
	switch {
	case now.Before(due):
		return job.Later(due)
	case !known():
		return job.Later(now.Add(sweepAsk))
	}
	return nil
}

// record makes the tenant's commit of how far the erasure is, if it is not farther by now.
func (e *erasing) record(ctx context.Context, change func(*Erasure, time.Time)) error {
	_, err := e.team.update(ctx, e.call, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
		now, _ := d.State().Vault(e.entry.Name)
		if now.Incarnation != e.entry.Incarnation || now.Status != e.entry.Status || now.free() {
			return nil, nil // another process was faster
		}
		erasure := *now.Erasure
		change(&erasure, d.Now())
		now.Status, now.Erasure = Erased, &erasure
		return nil, d.Record(kindVault, e.entry.Name, now)
	})
	return err
}

// eraseLogs erases the logs of all vaults that had a name.
func (t *Team) eraseLogs(ctx context.Context, c repo.Call, e Entry) (repo.Erased, error) {
	var done repo.Erased
	for i := 1; i <= e.Incarnation; i++ {
		v, err := t.vaultOf(e.Name, i)
		if err != nil {
			return done, err
		}
		gone, err := v.Erase(ctx, c)
		if err != nil {
			return done, fmt.Errorf("erase incarnation %d of a vault: %w", i, err)
		}
		done.Add(gone)
	}
	return done, nil
}

// compact makes the database forget what was removed from it.
func (t *Team) compact(ctx context.Context) error {
	if t.opt.Compact == nil {
		return nil
	}
	return t.opt.Compact(ctx)
}

// shut seals a vault and ends what this process does with it.
func (t *Team) shut(ctx context.Context, c repo.Call, e Entry) (*repo.Vault, error) {
	part := partOf(e.Name, e.Incarnation)
	t.mu.Lock()
	o := t.open[part]
	t.mu.Unlock()
	if o != nil {
		o.once.Do(func() {}) // one that is just being opened is shut as well
	}
	if o == nil || o.vault == nil {
		v, err := t.vaultOf(e.Name, e.Incarnation)
		if err != nil {
			return nil, err
		}
		return v, v.Seal(ctx, c)
	}
	if err := o.vault.Seal(ctx, c); err != nil {
		return nil, err
	}
	if o.folder != nil {
		o.folder.End()
	}
	o.close()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[part] == o {
		delete(t.open, part)
	}
	return o.vault, nil
}
