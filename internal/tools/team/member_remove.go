package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A memberRemoveIn is the input of team_member_remove. Issuer is needed only if members of several
// issuers have the subject; it is the URL or the name of an issuer.
type memberRemoveIn struct {
	// the sub of the person's tokens
	Subject string `json:"subject" max:"255" complete:"member"`
	// issuer of the tokens: a URL, or the name of an issuer of the tenant; optional if only one
	// member has the subject
	Issuer string `json:"issuer,omitempty" max:"2048" complete:"issuer" absent:"that of the only such member"`
	tool.Mutation
}

// memberRemove returns the tool that removes a member.
func (f tools) memberRemove() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_member_remove", Family: Family, Title: "Remove a member",
		Role: auth.Admin, Kind: tool.Destroy, Idempotent: true, Tenant: true,
		Route:    tool.Route{Method: "POST", Path: "/members/remove"},
		Commands: []tool.Command{{Words: "member remove", Args: []string{"subject"}}},
	}, f.removeMember)
}

// removeMember removes the entry of a member. Only an admin of all vaults can do so. The person
// does not lose all access: from then on the roles in its tokens apply.
//
// That is why the tool needs a higher role than the one that sets a member: it can raise the roles
// of the person instead of removing them.
func (f tools) removeMember(
	ctx context.Context, c auth.Caller, in memberRemoveIn,
) (memberOut, error) {
	// Without an entry, the token of the person can give any role in any vault.
	if err := checkRoles(c, map[string]auth.Role{auth.AllVaults: auth.Admin}); err != nil {
		return memberOut{}, err
	}
	t, call, err := f.mutation(ctx, c, &in.Mutation)
	if err != nil {
		return memberOut{}, err
	}
	if err := checkSubject(in.Subject); err != nil {
		return memberOut{}, err
	}
	s, _, err := t.State(ctx)
	if err != nil {
		return memberOut{}, err
	}
	m, err := in.member(t, s)
	if err != nil {
		return refuse[memberOut](ctx, t, call, err)
	}
	return mutation.ChangeTenant(func(keep func(memberOut) any) (eventlog.Receipt, error) {
		return t.RemoveMember(ctx, call, m, func(m tenant.Member) any {
			out := memberOut{}
			out.Action, out.Member = out.removed(in.DryRun, rowOfMember(m))
			return keep(out)
		})
	})
}

// member returns the member that the call identifies. It looks among the members first, because the
// issuer of a member may have been removed in the meantime. It returns INVALID_PARAMETER if the
// call names no issuer and members of several issuers have the subject.
//
// If there is no such member, it returns one with an empty issuer, or with the issuer that the call
// names. Its removal is then NOT_FOUND.
func (in memberRemoveIn) member(t *tenant.Tenant, s *tenant.State) (tenant.Member, error) {
	if m, ok := s.Member(in.Issuer, in.Subject); ok {
		return m, nil
	}
	var issuers []string
	for _, m := range s.Members() {
		if m.Subject == in.Subject {
			issuers = append(issuers, m.Issuer)
		}
	}
	m := tenant.Member{Subject: in.Subject}
	switch {
	case in.Issuer != "":
		var err error
		m.Issuer, err = t.IssuerOf(s, in.Issuer)
		return m, err
	case len(issuers) > 1:
		return m, fault.New(fault.InvalidParameter,
			"members of several issuers have the subject: argument \"issuer\"").
			With("argument", "issuer").With("available", issuers)
	case len(issuers) == 1:
		m.Issuer = issuers[0]
	}
	return m, nil
}
