package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// An issuerRemoveIn is the input of team_issuer_remove.
type issuerRemoveIn struct {
	// name of the rule
	Name string `json:"name" max:"63" complete:"issuer"`
	tool.Mutation
}

// issuerRemove returns the tool that removes an issuer.
func (f tools) issuerRemove() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_issuer_remove", Family: Family, Title: "Remove an issuer",
		Role: auth.Admin, Kind: tool.Destroy, Idempotent: true, Tenant: true,
		Route:    tool.Route{Method: "POST", Path: "/issuers/remove"},
		Commands: []tool.Command{{Words: "issuer remove", Args: []string{"name"}}},
	}, f.removeIssuer)
}

// removeIssuer removes a rule. Tokens of its issuer are no longer accepted by it, although another
// rule can still accept them. Members that the issuer authenticated stay members. A name without a
// rule is NOT_FOUND.
func (f tools) removeIssuer(
	ctx context.Context, c auth.Caller, in issuerRemoveIn,
) (issuerOut, error) {
	t, call, err := f.mutation(ctx, c, &in.Mutation)
	if err != nil {
		return issuerOut{}, err
	}
	return mutation.ChangeTenant(func(keep func(issuerOut) any) (eventlog.Receipt, error) {
		return t.RemoveIssuer(ctx, call, in.Name, func(i tenant.Issuer) any {
			out := issuerOut{}
			out.Action, out.Issuer = out.removed(in.DryRun, rowOfIssuer(t, i))
			return keep(out)
		})
	})
}
