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
	return changeTool(f, tool.Spec{
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
func (f tools) setMember(ctx context.Context, w change, in memberSetIn) (memberOut, error) {
	s, _, err := w.tenant.State(ctx)
	if err != nil {
		return memberOut{}, err
	}
	m, err := in.member(w.caller)
	if err != nil {
		return memberOut{}, err
	}
	if m.Issuer, err = w.tenant.IssuerOf(s, in.Issuer); err != nil {
		return refuse[memberOut](ctx, w, err)
	}
	return mutation.ChangeTenant(func(keep func(memberOut) any) (eventlog.Receipt, error) {
		return w.tenant.SetMember(ctx, w.call, m, func(m tenant.Member, created bool) any {
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

// A memberRow is one member of a list: a person with roles in the tenant. Subject and Issuer are
// the claims sub and iss of the tokens of the person, and Principal the name under which the log
// records the changes of the person.
//
// By and Set report which principal set the entry last, and when; Set is empty if the log does not
// contain the time.
type memberRow struct {
	Subject string `json:"subject"`
	Issuer  string `json:"issuer"`
	// the principal of the person
	Principal string `json:"principal"`
	// by vault; * is every vault
	Roles map[string]auth.Role `json:"roles"`
	// the folder below which notes can be written; absent: everywhere
	Prefix string `json:"prefix,omitempty"`
	// the principal that last set it
	By string `json:"by,omitempty"`
	// when
	Set string `json:"set,omitempty"`
}

// memberList returns the tool that lists the members of the tenant, sorted by issuer and subject.
func (f tools) memberList() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "team_member_list", Family: Family, Title: "List members",
		Role: auth.Admin, Kind: tool.Read, Tenant: true,
		Route:    tool.Route{Method: "GET", Path: "/members"},
		Commands: []tool.Command{{Words: "member list"}},
		Columns:  []string{"subject", "issuer", "prefix", "set", "roles"},
		Empty: []tool.Empty{
			{
				Of: "members", Tool: "team_member_set",
				Args: map[string]string{"subject": "SUBJECT", "role": "reader"},
			},
		},
	}, func(_ *tenant.Tenant, s *tenant.State) listing[tenant.Member, *memberRow] {
		return listing[tenant.Member, *memberRow]{
			s.Members(), func(m tenant.Member) string { return m.Issuer + " " + m.Subject }, rowOfMember,
		}
	})
}

// rowOfMember returns the row of a member. Set is empty if the time is not known.
func rowOfMember(m tenant.Member) *memberRow {
	row := &memberRow{
		Subject: m.Subject, Issuer: m.Issuer, Principal: auth.User(m.Issuer, m.Subject),
		Roles: m.Roles, Prefix: m.Prefix, By: m.By,
	}
	if !m.Set.IsZero() {
		row.Set = formatTime(m.Set)
	}
	return row
}

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
	w, err := f.change(ctx, c, &in.Mutation)
	if err != nil {
		return memberOut{}, err
	}
	if err := checkSubject(in.Subject); err != nil {
		return memberOut{}, err
	}
	s, _, err := w.tenant.State(ctx)
	if err != nil {
		return memberOut{}, err
	}
	m, err := in.member(w.tenant, s)
	if err != nil {
		return refuse[memberOut](ctx, w, err)
	}
	return mutation.ChangeTenant(func(keep func(memberOut) any) (eventlog.Receipt, error) {
		return w.tenant.RemoveMember(ctx, w.call, m, func(m tenant.Member) any {
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
