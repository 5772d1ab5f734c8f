package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"rookery/internal/checkout"
	"rookery/internal/fault"
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
	Receipt
}

// A Receipt is what an erasure came to.
type Receipt struct {
	repo.Erased
	Left int `json:"left"` // files in the folder that were in no version of the vault: they stay
}

// errNotSwept says that a vault is not erased yet.
var errNotSwept = errors.New("the vault is still there")

// Erase destroys a vault, in the trash or not: every incarnation that had the name, the files that
// people see of it, and what the database keeps of it. The name is free about an hour later, when what
// was under way has arrived and been destroyed as well. A call that a crash ended may be repeated; so
// does every process that opens the tenant. One that comes after another answers the same.
func (t *Team) Erase(ctx context.Context, c repo.Call, name string) (Receipt, error) {
	if t.opt.Served != nil {
		return Receipt{}, oneFolder()
	}
	done, err := t.erased(ctx, c, name)
	if !errors.Is(err, errNotSwept) {
		return done, err
	}
	if c.DryRun {
		return t.wouldErase(ctx, name)
	}
	e, err := t.beginErasure(ctx, c, name)
	if err != nil {
		return Receipt{}, err
	}
	defer t.watch()
	c.IfVersion = 0
	return t.sweep(ctx, c, e)
}

// erased is the receipt of a vault that is erased; of one that is not it is errNotSwept.
func (t *Team) erased(ctx context.Context, c repo.Call, name string) (Receipt, error) {
	c.IfVersion = 0
	return t.receipt(ctx, c, func(d *repo.Draft[*State]) (Receipt, error) {
		e, ok := d.State().Vault(name)
		switch {
		case !ok || e.free():
			return Receipt{}, fault.NoVault(name)
		case e.Status != Erased:
			return Receipt{}, errNotSwept
		}
		return e.Erasure.Receipt, nil
	})
}

// receipt makes a commit that answers a receipt, or is one of whose key the answer is known.
func (t *Team) receipt(
	ctx context.Context, c repo.Call, fn func(*repo.Draft[*State]) (Receipt, error),
) (Receipt, error) {
	answered := make(chan Receipt, 1)
	r, err := t.update(ctx, c, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
		done, err := fn(d)
		select {
		case <-answered:
		default:
		}
		answered <- done
		return done, err
	})
	if err != nil {
		return Receipt{}, err
	}
	var done Receipt
	if r.Replayed != nil {
		return done, json.Unmarshal(r.Replayed, &done)
	}
	return <-answered, nil
}

// beginErasure makes the tenant's commit that a vault is being erased, unless it is already.
func (t *Team) beginErasure(ctx context.Context, c repo.Call, name string) (Entry, error) {
	c.Key = ""
	_, err := t.update(ctx, c, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
		e, ok := d.State().Vault(name)
		if !ok || e.free() {
			return nil, fault.NoVault(name)
		}
		if e.Erasure != nil {
			return nil, nil
		}
		if err := d.Touch(e.Changed); err != nil {
			return nil, err
		}
		e.Status, e.Erasure = Erasing, &Erasure{Began: d.Now()}
		return nil, d.Record(kindVault, name, e)
	})
	e, _ := t.log.Known().State.Vault(name)
	return e, err
}

// sweep destroys a vault, and makes the tenant's commit that it is erased. The call's key is that
// commit's, so that it stands for the whole.
func (t *Team) sweep(ctx context.Context, c repo.Call, e Entry) (Receipt, error) {
	t.erasing.Lock()
	defer t.erasing.Unlock()
	var done Receipt
	if e.Status == Erasing {
		var err error
		if done, err = t.destroy(ctx, c, e); err != nil {
			return done, err
		}
	}
	return t.receipt(ctx, c, func(d *repo.Draft[*State]) (Receipt, error) {
		now, ok := d.State().Vault(e.Name)
		switch {
		case !ok || now.Incarnation != e.Incarnation || now.Erasure == nil:
			return Receipt{}, fault.NoVault(e.Name)
		case now.Status == Erased: // somebody else was faster
			return now.Erasure.Receipt, nil
		}
		erasure := *now.Erasure
		erasure.Swept, erasure.Receipt = d.Now(), done
		now.Status, now.Erasure = Erased, &erasure
		return done, d.Record(kindVault, e.Name, now)
	})
}

// destroy takes everything away that a vault has: first what tells its paths, then its log. Nothing is
// written any more once it is sealed.
func (t *Team) destroy(ctx context.Context, c repo.Call, e Entry) (Receipt, error) {
	var done Receipt
	v, err := t.shut(ctx, c, e)
	if err != nil {
		return done, err
	}
	if files, err := t.files(e.Name); err != nil {
		return done, err
	} else if files != nil {
		cleared, err := checkout.Erase(ctx, v, files)
		if err != nil {
			return done, err
		}
		done.Files, done.Bytes, done.Left = cleared.Files, cleared.Bytes, cleared.Left
	}
	return done, t.eraseLogs(ctx, c, e, &done.Erased)
}

// eraseLogs erases the logs of all vaults that had a name, and what the database keeps of them.
func (t *Team) eraseLogs(ctx context.Context, c repo.Call, e Entry, done *repo.Erased) error {
	for i := 1; i <= e.Incarnation; i++ {
		v, err := t.vaultOf(e.Name, i)
		if err != nil {
			return err
		}
		gone, err := v.Erase(ctx, c)
		if err != nil {
			return fmt.Errorf("erase incarnation %d of a vault: %w", i, err)
		}
		done.Add(gone)
	}
	if t.opt.Compact == nil || done.Items == 0 {
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

// wouldErase is what an erasure would destroy.
func (t *Team) wouldErase(ctx context.Context, name string) (Receipt, error) {
	var all Receipt
	e, _ := t.log.Known().State.Vault(name)
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
	return all, nil
}

// FinishErasures goes on with the erasures that a crash ended, and destroys what came late of those that
// were an hour ago. It reports whether there is more to do later.
func (t *Team) FinishErasures(ctx context.Context) (more bool, err error) {
	s, _, err := t.State(ctx)
	if err != nil {
		return true, err
	}
	for _, e := range s.vaults {
		if e.Erasure == nil || e.free() {
			continue
		}
		done, failed := t.finish(ctx, e)
		more, err = more || !done, errors.Join(err, failed)
	}
	return more, err
}

// finish does what is due of one erasure, and reports whether that was the last of it.
func (t *Team) finish(ctx context.Context, e Entry) (bool, error) {
	c := repo.Call{Who: repo.Who{Principal: "rookery"}, Tool: "erase"}
	if e.Status == Erasing {
		_, err := t.sweep(ctx, c, e)
		return false, err
	}
	if t.opt.Now().Sub(e.Erasure.Swept) < repo.SweepAgain {
		return false, nil
	}
	t.erasing.Lock()
	defer t.erasing.Unlock()
	var late repo.Erased
	if err := t.eraseLogs(ctx, c, e, &late); err != nil {
		return false, err
	}
	_, err := t.update(ctx, c, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
		now, _ := d.State().Vault(e.Name)
		if now.Incarnation != e.Incarnation || now.Status != Erased || now.free() {
			return nil, nil
		}
		erasure := *now.Erasure
		erasure.Done = d.Now()
		now.Erasure = &erasure
		return nil, d.Record(kindVault, e.Name, now)
	})
	return err == nil, err
}

// watchEvery is how often it is looked whether an erasure can go on.
const watchEvery = time.Minute

// watch finishes erasures in the background, while there are any, if this process does anything there.
func (t *Team) watch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watching || t.closed || !t.opt.Background || !t.log.Known().State.erasing() {
		return
	}
	t.watching = true
	ctx, cancel := context.WithCancel(context.Background())
	t.unwatch = cancel
	t.background.Go(func() {
		defer cancel()
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for t.goOn(ctx) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// goOn makes one pass, and reports whether another one has to follow.
func (t *Team) goOn(ctx context.Context) bool {
	more, err := t.FinishErasures(ctx)
	if err != nil && ctx.Err() == nil {
		t.opt.Log.ErrorContext(ctx, "an erasure could not go on", slog.Any("cause", err))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watching = more || err != nil || t.log.Known().State.erasing()
	return t.watching
}

// free reports whether the vault is erased and its name another's to take.
func (e Entry) free() bool { return e.Erasure != nil && !e.Erasure.Done.IsZero() }

// erasing reports whether an erasure is under way.
func (s *State) erasing() bool {
	for _, e := range s.vaults {
		if e.Erasure != nil && !e.free() {
			return true
		}
	}
	return false
}

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
		left = max(e.Erasure.Swept.Add(repo.SweepAgain).Sub(now), 0) + watchEvery
	}
	return fault.New(fault.DuplicateID, "the vault %q is being erased: its name is not free yet",
		e.Name).With("id", e.Name).After(left).Fix("choose another name, or try again later")
}
