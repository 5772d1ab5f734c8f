package team

import (
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

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
