package team

import (
	"context"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A tokenRevokeIn is the input of team_token_revoke. The id is not secret: it is part of the token,
// and lists show it.
type tokenRevokeIn struct {
	// id of the token: the part between rk_ and the dot
	ID string `json:"id" max:"100" complete:"token"`
	tool.Mutation
}

// A tokenRevokeOut is the output of team_token_revoke. Action is revoked, or unchanged if the token
// was revoked before.
type tokenRevokeOut struct {
	tool.Aside `json:"-"`
	// revoked, or unchanged
	Action string `json:"action,omitempty"`
	*TokenRow
	DryRun      bool      `json:"dry_run,omitempty"`
	WouldUpdate *TokenRow `json:"would_update,omitempty"`
}

// tokenRevoke returns the tool that revokes an API token.
func (f tools) tokenRevoke() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_token_revoke", Family: Family, Title: "Revoke an API token",
		Role: auth.Admin, Kind: tool.Destroy, Idempotent: true, Tenant: true,
		Route:    tool.Route{Method: "POST", Path: "/tokens/revoke"},
		Commands: []tool.Command{{Words: "token revoke", Args: []string{"id"}}},
	}, f.revokeToken)
}

// revokeToken revokes a token, and the tokens that were created with it. A token that is already
// revoked is returned with the action unchanged. Other processes accept the token for up to a
// minute longer; see team.Tenant.RevokeToken.
func (f tools) revokeToken(
	ctx context.Context, c auth.Caller, in tokenRevokeIn,
) (tokenRevokeOut, error) {
	t, call, err := f.mutation(ctx, c, &in.Mutation)
	if err != nil {
		return tokenRevokeOut{}, err
	}
	return mutation.ChangeTenant(func(keep func(tokenRevokeOut) any) (eventlog.Receipt, error) {
		return t.RevokeToken(ctx, call, in.ID, func(entry tenant.Token, revoked bool) any {
			row := rowOfToken(entry, entry.Revoked, time.Time{})
			out := tokenRevokeOut{Action: "unchanged", TokenRow: &row}
			switch {
			case in.DryRun:
				out = tokenRevokeOut{DryRun: true, WouldUpdate: &row}
			case revoked:
				out.Action = "revoked"
			}
			return keep(out)
		})
	})
}
