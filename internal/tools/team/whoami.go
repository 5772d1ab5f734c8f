package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A whoamiIn is the input of team_whoami, which has no arguments.
type whoamiIn struct{}

// A whoamiOut is the output of team_whoami: the caller as the server identified it. Roles are the
// caller's by vault, limited by Scope. Prefix, Tools and ReadOnly restrict the caller further, in
// all vaults. TokenID is set for a caller with an API token, and Issuer for one that an identity
// provider authenticated. Expires is nil if the access does not end.
type whoamiOut struct {
	Principal string `json:"principal"`
	// display name of the principal
	Name    string `json:"name"`
	Tenant  string `json:"tenant"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	// by vault; * is every other vault
	Roles map[string]auth.Role `json:"roles"`
	// the highest role that the token allows; roles are limited by it
	Scope auth.Role `json:"scope,omitempty"`
	// the folder below which notes can be written; absent: everywhere
	Prefix string `json:"prefix,omitempty"`
	// the tools that can be called; absent: all that the roles allow
	Tools    []string `json:"tools,omitempty"`
	ReadOnly bool     `json:"readonly"`
	// of the API token that was shown
	TokenID string `json:"token_id,omitempty"`
	// of the token that was shown, if it is no API token
	Issuer string `json:"issuer,omitempty"`
	// of the token; absent: never
	Expires *string `json:"expires_at,omitempty" format:"date-time"`
	Limits  limits  `json:"limits"`
}

// whoami returns the tool that describes the account, the roles and the limits of the caller. It
// reads nothing from the tenant: all of it is known from the authentication and the configuration.
func (f tools) whoami() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_whoami", Family: Family, Title: "Show your account and roles",
		Role: auth.Anyone, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/whoami"},
		Commands: []tool.Command{{Words: "whoami"}},
	}, func(_ context.Context, c auth.Caller, _ whoamiIn) (whoamiOut, error) {
		return whoamiOut{
			Principal: c.Principal, Name: c.Name, Tenant: c.Tenant, Agent: c.Agent,
			Session: c.Session, Roles: c.Effective(), Scope: c.Scope, Prefix: c.Prefix,
			Tools: c.Tools, ReadOnly: c.ReadOnly, TokenID: c.TokenID, Issuer: c.Issuer,
			Expires: timeOrNil(c.Expires), Limits: f.limitsOf(c),
		}, nil
	})
}
