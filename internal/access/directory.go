package access

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/team"
)

// A teams is the Directory of the tenants of a deployment.
type teams struct{ *team.Teams }

var _ Directory = teams{}

// Of returns the Directory of the tenants of a deployment.
func Of(t *team.Teams) Directory { return teams{t} }

// Vaults implements Directory.
func (t teams) Vaults(ctx context.Context, c auth.Caller, fresh bool) ([]string, error) {
	own, err := t.Team(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	state := own.Current
	if fresh {
		state = own.Fresh
	}
	s, err := state(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range s.Vaults() {
		if e.Status == eventlog.Active {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// ClaimAgent implements Directory.
func (t teams) ClaimAgent(ctx context.Context, c auth.Caller, writes bool) error {
	own, err := t.Team(ctx, c.Tenant)
	if err != nil {
		return err
	}
	return own.ClaimAgent(ctx, c, writes)
}
