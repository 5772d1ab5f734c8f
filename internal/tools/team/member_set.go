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

// A memberSetIn is the input of team_member_set. It describes the whole entry: an existing one is
// replaced. Prefix restricts the writes of the member to a folder of notes.
type memberSetIn struct {
	// the sub of the person's tokens
	Subject string `json:"subject" max:"255"`
	// issuer of the tokens: a URL, or the name of an issuer of the tenant; optional if there is
	// only one
	Issuer string `json:"issuer,omitempty" max:"2048" complete:"issuer" absent:"the only issuer there is"`
	grant
	// the folder below which notes can be written; the whole vaults can be read
	Prefix string `json:"prefix,omitempty" what:"path"`
	tool.Mutation
}

// memberOut is the output of the tools that change a member.
type memberOut struct {
	tool.Aside `json:"-"`
	// created, updated, removed or unchanged
	Action string     `json:"action,omitempty"`
	Member *memberRow `json:"member,omitempty"`
	planOut[memberRow]
}

// planOut is the part of the output that the tools for members and issuers share: unknown vaults,
// and the plan of a dry run. Only one of the rows is set, and only in a dry run.
type planOut[Row any] struct {
	// vaults in the call that do not exist yet
	UnknownVaults []string `json:"unknown_vaults,omitempty"`
	DryRun        bool     `json:"dry_run,omitempty"`
	WouldCreate   *Row     `json:"would_create,omitempty"`
	WouldUpdate   *Row     `json:"would_update,omitempty"`
	WouldDelete   *Row     `json:"would_delete,omitempty"`
}

// set returns the action and the row of the answer to a call that set an entry. In a dry run it
// records the row in the plan instead: an entry that would not change is reported as an update.
// changed is the sequence number of the commit that last changed the entry; 0 means this call.
func (p *planOut[Row]) set(dry, created bool, changed uint64, row *Row) (string, *Row) {
	p.DryRun = dry
	switch {
	case dry && created:
		p.WouldCreate = row
	case dry:
		p.WouldUpdate = row
	case created:
		return "created", row
	case changed > 0:
		return "unchanged", row
	default:
		return "updated", row
	}
	return "", nil
}

// removed is set for a call that removes an entry.
func (p *planOut[Row]) removed(dry bool, row *Row) (string, *Row) {
	if p.DryRun = dry; dry {
		p.WouldDelete = row
		return "", nil
	}
	return "removed", row
}

// memberSet returns the tool that creates or replaces a member.
func (f tools) memberSet() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_member_set", Family: Family, Title: "Give a person roles",
		Role: auth.Admin, Kind: tool.Write, Idempotent: true, Tenant: true,
		Route:    tool.Route{Method: "PATCH", Path: "/members/{subject}"},
		Commands: []tool.Command{{Words: "member set", Args: []string{"subject"}}},
	}, f.setMember)
}

// setMember creates or replaces the entry of a member. The member needs no account yet: the entry
// applies to the first token with this issuer and subject. An unknown issuer is INVALID_PARAMETER.
//
// If the issuer cannot be determined now, a repeated call still gets the recorded answer. The roles
// are checked before that in any case, against those that the caller has now.
func (f tools) setMember(
	ctx context.Context, c auth.Caller, in memberSetIn,
) (memberOut, error) {
	t, call, err := f.mutation(ctx, c, &in.Mutation)
	if err != nil {
		return memberOut{}, err
	}
	s, _, err := t.State(ctx)
	if err != nil {
		return memberOut{}, err
	}
	m, err := in.member(c)
	if err != nil {
		return memberOut{}, err
	}
	if m.Issuer, err = t.IssuerOf(s, in.Issuer); err != nil {
		return refuse[memberOut](ctx, t, call, err)
	}
	return mutation.ChangeTenant(func(keep func(memberOut) any) (eventlog.Receipt, error) {
		return t.SetMember(ctx, call, m, func(m tenant.Member, created bool) any {
			out := memberOut{}
			out.UnknownVaults = unknownVaults(s, m.Roles)
			out.Action, out.Member = out.set(in.DryRun, created, m.Changed, rowOfMember(m))
			return keep(out)
		})
	})
}

// member returns the requested member, without its issuer. It returns PERMISSION_DENIED if the
// caller would give more than its own roles. The issuer is determined by the caller of member,
// because it depends on the current state.
func (in memberSetIn) member(c auth.Caller) (tenant.Member, error) {
	m := tenant.Member{Subject: in.Subject}
	if err := checkSubject(in.Subject); err != nil {
		return m, err
	}
	var err error
	if m.Roles, err = in.roles(); err != nil {
		return m, err
	}
	if m.Prefix, err = folderOf(in.Prefix); err != nil {
		return m, err
	}
	return m, checkRoles(c, m.Roles)
}

// checkSubject returns INVALID_PARAMETER if no accepted token can have such a subject. The limit of
// its length is checked with the arguments.
func checkSubject(subject string) error {
	if printable(subject) {
		return nil
	}
	return fault.New(fault.InvalidParameter,
		"a subject must have 1 to 255 printable ASCII characters").With("argument", "subject")
}

// printable reports whether a text is not empty and contains only printable ASCII.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return text != ""
}
