package access

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// A registryDirectory is the Directory of the tenants of a deployment.
type registryDirectory struct{ *tenant.Registry }

var _ Directory = registryDirectory{}

// NewDirectory returns the Directory of the tenants of a deployment.
func NewDirectory(t *tenant.Registry) Directory { return registryDirectory{t} }

// Vaults implements Directory.
func (t registryDirectory) Vaults(ctx context.Context, c auth.Caller, fresh bool) ([]string, error) {
	own, err := t.Tenant(ctx, c.Tenant)
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
func (t registryDirectory) ClaimAgent(ctx context.Context, c auth.Caller, writes bool) error {
	own, err := t.Tenant(ctx, c.Tenant)
	if err != nil {
		return err
	}
	return own.ClaimAgent(ctx, c, writes)
}
