package team

import (
	"context"
	_ "embed"

	"rookery/internal/auth"
	"rookery/internal/repo"
	"rookery/internal/team"
	"rookery/internal/tool"
)

//go:embed whoami.md
var whoamiDoc string

type whoamiIn struct{}

type whoamiOut struct {
	Principal string               `json:"principal"`
	Tenant    string               `json:"tenant"`
	Agent     string               `json:"agent"`
	Session   string               `json:"session"`
	Roles     map[string]auth.Role `json:"roles" jsonschema:"by vault; * is every vault"`
	ReadOnly  bool                 `json:"readonly"`
	Limits    limits               `json:"limits"`
}

// limits are those of CONTRACT §9 that hold for every caller.
type limits struct {
	NoteBytes  int `json:"note_bytes"`
	BodyBytes  int `json:"body_bytes"`
	PageItems  int `json:"page_items"`
	VaultNotes int `json:"vault_notes"`
	VaultBytes int `json:"vault_bytes"`
	Vaults     int `json:"vaults"`
}

func (f tools) whoami() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_whoami", Family: Family, Title: "Who am I", Doc: whoamiDoc,
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/whoami"},
		Commands: []tool.Command{{Words: "whoami"}},
	}, func(_ context.Context, c auth.Caller, _ whoamiIn) (whoamiOut, error) {
		return whoamiOut{
			Principal: c.Principal, Tenant: c.Tenant, Agent: c.Agent, Session: c.Session,
			Roles: c.Roles, ReadOnly: c.ReadOnly,
			Limits: limits{
				NoteBytes: repo.MaxNote, BodyBytes: tool.MaxBody, PageItems: tool.MaxPage,
				VaultNotes: repo.MaxNotes, VaultBytes: repo.MaxVault, Vaults: team.MaxVaults,
			},
		}, nil
	})
}
