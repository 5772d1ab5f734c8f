package team

import (
	"context"
	_ "embed"

	"rookery/internal/auth"
	"rookery/internal/team"
	"rookery/internal/tool"
	"rookery/internal/tools/mutate"
)

//go:embed issuer_remove.md
var issuerRemoveDoc string

type issuerRemoveIn struct {
	Name string `json:"name" max:"63" complete:"issuer" jsonschema:"of the rule, as it was set"`
	tool.Mutation
}

func (f tools) issuerRemove() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_issuer_remove", Family: Family, Title: "Trust an issuer no more",
		Doc: issuerRemoveDoc, Role: auth.Admin, Kind: tool.Destroy, Idempotent: true, Tenant: true,
		Route:    tool.Route{Method: "POST", Path: "/issuers/remove"},
		Commands: []tool.Command{{Words: "issuer remove", Args: []string{"name"}}},
	}, f.removeIssuer)
}

func (f tools) removeIssuer(
	ctx context.Context, c auth.Caller, in issuerRemoveIn,
) (issuerOut, error) {
	var out issuerOut
	call, err := mutate.Call(c, &in.Mutation, Family)
	if err != nil {
		return out, err
	}
	t, err := f.teams.Team(ctx, c.Tenant)
	if err != nil {
		return out, err
	}
	r, err := t.RemoveIssuer(ctx, call, in.Name, func(i team.Issuer) any {
		out = issuerOut{Action: "removed", Issuer: rowOfIssuer(i, t.Audience())}
		if in.DryRun {
			out = issuerOut{DryRun: true, WouldDelete: out.Issuer}
		}
		return tool.Keep(&out)
	})
	if err != nil { // a call that gave up does not wait for its function: out is not ours to read
		return issuerOut{}, err
	}
	return mutate.Finish(r, out, nil)
}
