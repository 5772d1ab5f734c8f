package hosted

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// issuersOf returns the issuers of a configuration for the gate.
func issuersOf(c config.Config) []access.Issuer {
	var all []access.Issuer
	for _, i := range c.Issuers {
		all = append(all, access.Issuer{
			Issuer: auth.Issuer{
				URL: i.Issuer, JWKS: i.JWKSURL, Algorithms: i.Algorithms,
			},
			Audience: i.Audience, Tenant: i.Tenant, TenantClaim: i.TenantClaim,
			RolesClaim: i.RolesClaim, Role: i.Role, Claims: i.Claims,
		})
	}
	return all
}

// namesTenant reports whether a configuration names a tenant, as that of an issuer or of a first
// admin.
func namesTenant(c config.Config, tenant string) bool {
	return slices.ContainsFunc(c.Issuers, func(i config.Issuer) bool { return i.Tenant == tenant }) ||
		slices.ContainsFunc(c.FirstAdmins, func(a config.Admin) bool { return a.Tenant == tenant })
}

// IssuersFor returns a function that returns the URLs of the configured issuers whose tokens may be
// for a tenant; see tenant.Options.
func IssuersFor(c config.Config) func(tenant string) []string {
	return func(tenant string) []string {
		var all []string
		for _, i := range c.Issuers {
			// An issuer with a tenant claim may name any tenant.
			if i.TenantClaim != "" || i.Tenant == tenant {
				all = append(all, i.Issuer)
			}
		}
		return all
	}
}

// openTenant opens the tenant of a token of a configured issuer. If the configuration names the
// tenant, enter creates it and its first admin if they do not exist. This is for processes that do
// not call MakeTenants when they start.
func (h *Host) openTenant(ctx context.Context, name string) (*tenant.Tenant, error) {
	t, err := h.opt.Teams.Tenant(ctx, name)
	if fault.Is(err, fault.Unauthenticated) && namesTenant(h.opt.Server, name) {
		if err := h.opt.Teams.Make(ctx, name); err != nil {
			return nil, err
		}
		t, err = h.opt.Teams.Tenant(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	return t, h.createFirstAdmin(ctx, t, name)
}

// createFirstAdmin creates the first admin that the configuration names for a tenant, unless the
// tenant has an admin.
func (h *Host) createFirstAdmin(ctx context.Context, t *tenant.Tenant, name string) error {
	i := slices.IndexFunc(h.opt.Server.FirstAdmins, func(a config.Admin) bool { return a.Tenant == name })
	if i < 0 {
		return nil
	}
	s, err := t.Current(ctx)
	if err != nil || s.HasAdmin() {
		return err
	}
	first := h.opt.Server.FirstAdmins[i]
	return t.Begin(ctx, tenant.Member{Issuer: first.Issuer, Subject: first.Subject})
}

// MakeTenants creates the tenants that the configuration names, and their first admins. It is
// idempotent.
func (h *Host) MakeTenants(ctx context.Context) error {
	for _, i := range h.opt.Server.Issuers {
		if i.Tenant == "" {
			continue
		}
		if err := h.opt.Teams.Make(ctx, i.Tenant); err != nil {
			return err
		}
	}
	for _, first := range h.opt.Server.FirstAdmins {
		if err := h.opt.Teams.Make(ctx, first.Tenant); err != nil {
			return err
		}
		t, err := h.opt.Teams.Tenant(ctx, first.Tenant)
		if err != nil {
			return err
		}
		if err := h.createFirstAdmin(ctx, t, first.Tenant); err != nil {
			return err
		}
	}
	return nil
}
