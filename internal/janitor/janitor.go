// Package janitor looks once an hour at all tenants and their vaults, and asks for what was left undone: what was to be
// done by a message that did not come, and what only time makes due. It opens no vault and reads no index. What it finds
// becomes messages of the queue of jobs, each of which may come twice, or for nothing.
package janitor

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"rookery/internal/fault"
	"rookery/internal/job"
	"rookery/internal/stream"
	"rookery/internal/table"
	"rookery/internal/team"
)

// TenantKind is the kind of the message that asks for the refused calls of a tenant to be archived, and for its log to be
// folded if that is due.
const TenantKind = "tenant"

const (
	// MostMessages is how many messages a run sends at most. The next one goes on where it ended.
	MostMessages = 1000

	// runTime is how long a run begins to look at tenants.
	runTime = 5 * time.Minute

	// groupSize is after how many tenants a run writes down how far it is, and atOnce how many of them it looks at at
	// once.
	groupSize = 50
	atOnce    = 8
)

// A Janitor looks at the tenants of a deployment. It is safe for concurrent use; two runs at once send messages twice.
type Janitor struct {
	Teams *team.Teams
	Table table.Table // of the deployment; it keeps the place where a run ended
	Queue job.Queue
	Log   *slog.Logger
	Now   func() time.Time
}

// Run looks at all tenants, beginning behind the place where the run before ended. A tenant or a vault that cannot be
// looked at is logged, and holds up no other. The error is that of the queue, or of the table.
func (j *Janitor) Run(ctx context.Context) error {
	began := j.Now()
	all, err := j.Teams.Registered(ctx)
	if all == nil && err != nil {
		return err
	}
	if err != nil {
		j.Log.ErrorContext(ctx, "a tenant could not be looked up", slog.Any("cause", err))
	}
	place, err := j.place(ctx)
	if err != nil {
		return err
	}
	all = behind(all, place)
	r := &run{Janitor: j}
	for group := range slices.Chunk(all, groupSize) {
		if ctx.Err() != nil || j.Now().Sub(began) >= runTime {
			return nil
		}
		// If the process is killed, the next run begins behind the group: what killed it keeps none of the others waiting.
		last := group[len(group)-1].Name
		if err := j.save(ctx, last); err != nil {
			return err
		}
		done, err := r.group(ctx, group)
		if done < len(group) {
			if done > 0 {
				place = group[done-1].Name
			}
			return errors.Join(err, j.save(context.WithoutCancel(ctx), place))
		}
		place = last
	}
	return j.forget(ctx)
}

// behind returns all tenants, beginning with the first behind a name.
func behind(all []team.Registered, name string) []team.Registered {
	i, found := slices.BinarySearchFunc(all, name, func(r team.Registered, name string) int {
		return cmp.Compare(r.Name, name)
	})
	if found {
		i++
	}
	return slices.Concat(all[i:], all[:i])
}

// A run is one look at all tenants.
type run struct {
	*Janitor
	sent atomic.Int64
}

// errFull says that a run has sent as many messages as it may.
var errFull = errors.New("the run has sent all messages that it may send")

// untold is the error of a queue that could not be told.
type untold struct{ error }

// Unwrap returns why.
func (u untold) Unwrap() error { return u.error }

// send asks for something.
func (r *run) send(ctx context.Context, m job.Message) error {
	if r.sent.Add(1) > MostMessages {
		return errFull
	}
	if err := r.Queue.Send(ctx, m); err != nil {
		return untold{err}
	}
	return nil
}

// group looks at some tenants. It returns how many of them, from the first on, need not be looked at again by the next
// run, and the error of the queue.
func (r *run) group(ctx context.Context, all []team.Registered) (done int, err error) {
	ended := make([]error, len(all))
	at := make([]int, len(all))
	for i := range all {
		at[i] = i
	}
	_ = stream.Together(atOnce, at, func(i int) error {
		ended[i] = r.look(ctx, all[i])
		return nil
	})
	for i, err := range ended {
		if errors.Is(err, errFull) {
			return i, nil
		}
		if err != nil {
			return i, err
		}
	}
	return len(all), nil
}

// look looks at a tenant. The error is errFull, or that of the queue; another one is logged.
func (r *run) look(ctx context.Context, at team.Registered) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Panicked("while a tenant is looked at", p)
		}
		if err == nil || errors.Is(err, errFull) || errors.As(err, &untold{}) {
			return
		}
		if !fault.Is(err, fault.Unauthenticated) { // it is gone by now
			r.Log.ErrorContext(ctx, "a tenant could not be looked at",
				slog.String("tenant", at.Name), slog.Any("cause", err))
		}
		err = nil
	}()
	return r.tenant(ctx, at)
}
