package awsapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/ingest"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tool"
)

// commandOf returns the name of an operator's command, and whether the event is one. Events of
// queues and schedules do not have the member.
func commandOf(payload []byte) (name string, ok bool) {
	var e struct {
		Command *string `json:"rookery"`
	}
	if json.Unmarshal(payload, &e) != nil || e.Command == nil {
		return "", false
	}
	return *e.Command, true
}

// A Health is the answer of the function that consumes the queue of jobs to the command health. It
// shows that the function starts and can read the table.
type Health struct {
	Version string    `json:"version"` // of the program
	Format  int       `json:"format"`  // of the images that it writes
	Now     time.Time `json:"now"`     // its clock, which is corrected by the answers of the stores
	Holds   bool      `json:"holds"`   // images of an earlier format are kept
}

// command executes a command of an operator: "health", or "rollback", which rolls the bucket back
// to the state of a tenant's log, or of a vault's, after the table was restored to an earlier time.
func (w *Worker) command(ctx context.Context, name string, payload []byte) ([]byte, error) {
	switch name {
	case "health":
		_, err := w.opt.Table.Get(ctx, releaseKey())
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return nil, w.failed(ctx, "the table cannot be read", err)
		}
		return tool.Marshal(Health{
			Version: w.opt.Version, Format: index.ImageFormat, Now: w.opt.Now().UTC(),
			Holds: w.release.keepsOldFormat(ctx),
		})
	case "rollback":
		return w.rollback(ctx, payload)
	}
	return nil, errors.New("there is no such command: it must be health or rollback")
}

// rollback rolls back a vault, or the log of a tenant if the event has no vault. It returns an
// ingest.RollbackResult as JSON.
func (w *Worker) rollback(ctx context.Context, payload []byte) ([]byte, error) {
	var e struct{ Tenant, Vault string }
	if json.Unmarshal(payload, &e) != nil || e.Tenant == "" {
		return nil, errors.New("tenant and vault must be texts, and tenant must name one")
	}
	if e.Vault != "" {
		done, err := ingesterOf(w.opt, w.teams).Rollback(ctx, ingest.Name{Tenant: e.Tenant, Vault: e.Vault})
		if err != nil {
			return nil, w.failed(ctx, "the vault could not be rolled back", err)
		}
		return tool.Marshal(done)
	}
	own, err := w.teams.Tenant(ctx, e.Tenant)
	if err != nil {
		return nil, w.failed(ctx, "the tenant could not be opened", err)
	}
	dropped, err := own.Rollback(ctx)
	if err != nil {
		return nil, w.failed(ctx, "the log of the tenant could not be rolled back", err)
	}
	return tool.Marshal(ingest.RollbackResult{Segments: dropped})
}

// failed logs the cause of a failed command, and returns an error for the operator: the fault, or a
// reference to the log. what is the sentence that both begin with.
func (w *Worker) failed(ctx context.Context, what string, err error) error {
	var f *fault.Fault
	if errors.As(err, &f) && f.Status() != fault.StatusInternal {
		return fmt.Errorf("%s: %s: %s", what, f.Code, f.Message)
	}
	w.opt.Log.ErrorContext(ctx, what, slog.Any("cause", err))
	return fmt.Errorf("%s; the log says why", what)
}

// A Tenant is a tenant of the deployment with its vaults.
type Tenant struct {
	Tenant string   `json:"tenant"`
	Vaults []string `json:"vaults"` // including those in the trash, but not erased ones
}

// command executes a command of an operator: "vaults", which lists the tenants of the deployment
// and their vaults. An error for one tenant ends it, because a list with a gap would be taken for
// complete.
func (j *Janitor) command(ctx context.Context, name string) ([]byte, error) {
	if name != "vaults" {
		return nil, errors.New("there is no such command: it must be vaults")
	}
	all, err := j.teams.Tenants(ctx)
	if err != nil {
		j.opt.Log.ErrorContext(ctx, "the tenants could not be listed", slog.Any("cause", err))
		return nil, errors.New("the tenants could not be listed; the log says why")
	}
	found := []Tenant{}
	for _, r := range all {
		if !r.Live {
			continue
		}
		s, err := j.teams.Survey(ctx, r)
		if err != nil {
			j.opt.Log.ErrorContext(ctx, "a tenant could not be looked at", slog.Any("cause", err))
			return nil, errors.New("a tenant could not be looked at; the log says why")
		}
		t := Tenant{Tenant: r.Name, Vaults: []string{}}
		for _, e := range s.Vaults {
			t.Vaults = append(t.Vaults, e.Name)
		}
		found = append(found, t)
	}
	return tool.Marshal(map[string]any{"tenants": found})
}
