package team

import (
	"context"
	_ "embed"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/team"
	"github.com/rookeryhq/rookery/internal/tool"
)

//go:embed member_list.md
var memberListDoc string

type memberListIn struct {
	tool.Page
}

type memberListOut struct {
	tool.Aside `json:"-"`
	Items      []*memberRow `json:"items"`
}

// A memberRow is one member of a list.
type memberRow struct {
	Subject   string               `json:"subject"`
	Issuer    string               `json:"issuer"`
	Principal string               `json:"principal" jsonschema:"the principal of the person"`
	Roles     map[string]auth.Role `json:"roles" jsonschema:"by vault; * is every vault"`
	Prefix    string               `json:"prefix,omitempty" jsonschema:"the folder below which notes can be written; absent: everywhere"`
	By        string               `json:"by,omitempty" jsonschema:"the principal that last set it"`
	Set       string               `json:"set,omitempty" jsonschema:"when"`
}

func (f tools) memberList() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_member_list", Family: Family, Title: "List members", Doc: memberListDoc,
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
	}, f.listMembers)
}

func (f tools) listMembers(
	ctx context.Context, c auth.Caller, in memberListIn,
) (memberListOut, error) {
	out := memberListOut{Items: []*memberRow{}}
	_, s, seq, err := f.state(ctx, c)
	if err != nil {
		return out, err
	}
	out.Items, err = listing[team.Member, *memberRow]{
		s.Members(), func(m team.Member) string { return m.Issuer + " " + m.Subject }, rowOfMember,
	}.page(&out.Aside, in.Page)
	out.Note("version", repo.Version(seq))
	return out, err
}

func rowOfMember(m team.Member) *memberRow {
	row := &memberRow{
		Subject: m.Subject, Issuer: m.Issuer, Principal: auth.User(m.Issuer, m.Subject),
		Roles: m.Roles, Prefix: m.Prefix, By: m.By,
	}
	if !m.Set.IsZero() {
		row.Set = stamp(m.Set)
	}
	return row
}
