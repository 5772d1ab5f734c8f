// Package janitor examines all tenants and their vaults once an hour, and queues work that was left
// undone: work whose message was lost, and work that is due by time only. It opens no vault and
// reads no index. Its messages to the queue of jobs may be sent twice, or without need.
package janitor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// TenantKind is the kind of the message that asks to archive the refused calls of a tenant, and to
// compact its log if that is due.
const TenantKind = "tenant"

const (
	// MostMessages is how many messages a run sends at most. The next run continues where it ended.
	MostMessages = 1000

	// runTime is the time of a run after which it does not begin another group of tenants.
	runTime = 5 * time.Minute

	// groupSize is the number of tenants after which a run stores its position, and atOnce how many
	// of them it examines at once.
	groupSize = 50
	atOnce    = 8
)

// A Janitor examines the tenants of a deployment. It is safe for concurrent use; two runs at once
// send messages twice.
type Janitor struct {
	Teams *tenant.Registry
	Table table.Table // of the deployment; it stores the position of a run
	Queue job.Queue
	Log   *slog.Logger
	Now   func() time.Time
}

// Run examines all tenants, beginning after the position of the last run. It logs a tenant or a
// vault that cannot be examined, and continues. It returns errors of the queue and of the table.
func (j *Janitor) Run(ctx context.Context) error {
	began := j.Now()
	all, err := j.Teams.Tenants(ctx)
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
		// If the process is killed, the next run begins after this group, so that the cause does
		// not delay the others.
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

// behind returns all tenants, beginning with the first one after a name.
func behind(all []tenant.RegisteredTenant, name string) []tenant.RegisteredTenant {
	i, found := slices.BinarySearchFunc(all, name, func(r tenant.RegisteredTenant, name string) int {
		return cmp.Compare(r.Name, name)
	})
	if found {
		i++
	}
	return slices.Concat(all[i:], all[:i])
}

// A run is one examination of all tenants.
type run struct {
	*Janitor
	sent atomic.Int64
}

// errFull is the error of a run that has sent MostMessages.
var errFull = errors.New("the run has sent all messages that it may send")

// An untold is an error of the queue.
type untold struct{ error }

// Unwrap returns the error of the queue.
func (u untold) Unwrap() error { return u.error }

// send sends a message, or returns errFull or an untold.
func (r *run) send(ctx context.Context, m job.Message) error {
	if r.sent.Add(1) > MostMessages {
		return errFull
	}
	if err := r.Queue.Send(ctx, m); err != nil {
		return untold{err}
	}
	return nil
}

// group examines some tenants. It returns how many of them, from the first on, the next run need
// not examine again, and the error of the queue.
func (r *run) group(ctx context.Context, all []tenant.RegisteredTenant) (done int, err error) {
	ended := make([]error, len(all))
	at := make([]int, len(all))
	for i := range all {
		at[i] = i
	}
	_ = stream.ForEach(atOnce, at, func(i int) error {
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

// look examines a tenant. It returns errFull or an error of the queue, and logs other errors.
func (r *run) look(ctx context.Context, at tenant.RegisteredTenant) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Panicked("while a tenant is looked at", p)
		}
		if err == nil || errors.Is(err, errFull) || errors.As(err, &untold{}) {
			return
		}
		if !fault.Is(err, fault.Unauthenticated) { // a tenant that is gone is no error
			r.Log.ErrorContext(ctx, "a tenant could not be looked at",
				slog.String("tenant", at.Name), slog.Any("cause", err))
		}
		err = nil
	}()
	return r.tenant(ctx, at)
}

// placeKey is the key of the item with the position of the last run. No tenant can have the name of
// its partition.
var placeKey = table.Key{Part: "~janitor", Sort: "place"}

// A place is the tenant after which the next run begins.
type place struct {
	Tenant string `json:"tenant"`
}

// place returns the tenant after which a run begins, or "" for the first one.
func (j *Janitor) place(ctx context.Context) (string, error) {
	it, err := j.Table.Get(ctx, placeKey)
	if errors.Is(err, table.ErrNotFound) {
		return "", nil
	}
	var p place
	if err == nil {
		err = json.Unmarshal(it.Data, &p)
	}
	if err != nil {
		return "", fmt.Errorf("read where the run before ended: %w", err)
	}
	return p.Tenant, nil
}

// save stores the tenant after which the next run begins.
func (j *Janitor) save(ctx context.Context, tenant string) error {
	data, err := json.Marshal(place{tenant})
	if err == nil {
		err = j.Table.Commit(ctx, table.Set(table.Item{Key: placeKey, Data: data}))
	}
	if err != nil {
		return fmt.Errorf("write where the run is: %w", err)
	}
	return nil
}

// forget makes the next run begin with the first tenant.
func (j *Janitor) forget(ctx context.Context) error {
	if err := j.Table.Commit(ctx, table.Remove(placeKey)); err != nil {
		return fmt.Errorf("write where the run is: %w", err)
	}
	return nil
}
