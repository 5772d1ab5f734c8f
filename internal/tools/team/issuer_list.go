package team

import (
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An issuerRow is one rule of a list of issuers. A rule says which tokens of an identity provider
// are accepted, and which roles they get. Disabled is the reason why a rule accepts no tokens, or
// empty. Principal is set for a rule for workloads, such as CI jobs.
type issuerRow struct {
	Name   string `json:"name"`
	Issuer string `json:"issuer"`
	// what its tokens must be made out to
	Audience string `json:"audience"`
	// absent: as the issuer's metadata says
	JWKS   string            `json:"jwks_url,omitempty"`
	Claims map[string]string `json:"claims,omitempty"`
	// by vault; * is every vault
	Roles      map[string]auth.Role `json:"roles"`
	RolesClaim string               `json:"roles_claim,omitempty"`
	ClientID   string               `json:"client_id,omitempty"`
	// why the rule is disabled; absent if it is in use
	Disabled string `json:"disabled,omitempty"`
	// the principal of a workload; absent: each person is a principal
	Principal string `json:"principal,omitempty"`
}

// issuerList returns the tool that lists the issuers of the tenant, sorted by name.
func (f tools) issuerList() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "team_issuer_list", Family: Family, Title: "List issuers",
		Role: auth.Admin, Kind: tool.Read, Tenant: true,
		Route:    tool.Route{Method: "GET", Path: "/issuers"},
		Commands: []tool.Command{{Words: "issuer list"}},
		Columns:  []string{"name", "issuer", "principal", "roles", "claims", "disabled"},
		Empty: []tool.Empty{
			{Of: "issuers"},
		},
	}, func(t *tenant.Tenant, s *tenant.State) listing[tenant.Issuer, *issuerRow] {
		return listing[tenant.Issuer, *issuerRow]{
			s.Issuers(), func(i tenant.Issuer) string { return i.Name },
			func(i tenant.Issuer) *issuerRow { return rowOfIssuer(t, i) },
		}
	})
}

// disabledReason is the value of Disabled for every disabled rule. There is only one reason; see
// team.Tenant.Disabled.
const disabledReason = "the issuer is in the configuration of the server, and the rule has other keys"

// rowOfIssuer returns the row of a rule. The principal is set only for a rule for workloads, whose
// tokens all act as one principal.
func rowOfIssuer(t *tenant.Tenant, i tenant.Issuer) *issuerRow {
	row := &issuerRow{
		Name: i.Name, Issuer: i.URL, Audience: t.Audience(), JWKS: i.JWKS, Claims: i.Claims,
		Roles: i.Roles, RolesClaim: i.RolesClaim, ClientID: i.ClientID,
	}
	if t.Disabled(i) {
		row.Disabled = disabledReason
	}
	if !i.People() {
		row.Principal = auth.Workload(i.Name)
	}
	return row
}
