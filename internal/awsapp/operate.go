package awsapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
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
	if f, ok := errors.AsType[*fault.Fault](err); ok && f.Status() != fault.StatusInternal {
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

// operator is the principal of commands. The deployment decides who may invoke the function itself.
const operator = "rookery"

// A tokenEvent is the command that creates an API token, and its tenant if it does not exist.
// Without an identity provider, this is how the first token is created. All fields are required;
// the tool validates them.
type tokenEvent struct {
	Tenant string    `json:"tenant"`
	Name   string    `json:"name"`
	Role   auth.Role `json:"role"`
}

// command executes a command of an operator, an event that does not come from a gateway:
// {"rookery": "token-create", …}. Only the function that serves everything has commands. Who may
// invoke a function is decided by the policies of AWS. Errors contain no internal text, because the
// service that invoked the function may log them.
func (a *App) command(ctx context.Context, name string, payload []byte) ([]byte, error) {
	if a.opt.Part != Everything {
		return nil, errUnknown
	}
	if name != "token-create" {
		return nil, errors.New("there is no such command: it must be token-create")
	}
	var e tokenEvent
	if json.Unmarshal(payload, &e) != nil {
		return nil, errors.New("tenant, name and role must be texts")
	}
	made, err := a.createToken(ctx, e)
	if f := (*fault.Fault)(nil); errors.As(err, &f) {
		return nil, fmt.Errorf("%s: %s", f.Code, f.Message)
	}
	if err != nil {
		a.opt.Log.ErrorContext(ctx, "a token could not be made", "cause", err)
		return nil, errors.New("the token could not be made; the log says why")
	}
	return made, nil
}

// createToken creates a token, and its tenant if it does not exist. It calls the tool, so that the
// token is checked and audited as every other. It returns the id and the token as JSON; the token
// cannot be read again.
func (a *App) createToken(ctx context.Context, e tokenEvent) ([]byte, error) {
	if err := a.teams.Make(ctx, e.Tenant); err != nil {
		return nil, err
	}
	args, err := tool.Marshal(map[string]any{"name": e.Name, "role": e.Role})
	if err != nil {
		return nil, err
	}
	data, err := a.host.Catalogue.Invoke(auth.WithCaller(ctx, auth.Caller{
		Tenant: e.Tenant, Principal: operator, Name: operator, Agent: operator, Session: auth.DefaultSession,
		Roles: map[string]auth.Role{auth.AllVaults: auth.Admin},
	}), "team_token_create", args)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			Token string `json:"token"`
			ID    string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("read the answer of a tool: %w", err)
	}
	return tool.Marshal(answer.Data)
}
