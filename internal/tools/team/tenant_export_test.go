package team_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
)

// exported are the files of an export of the tenant, by path. Between is called before each page but the first.
func (p *place) exported(t testing.TB, between func()) map[string]string {
	t.Helper()
	files, parts := map[string]string{}, map[string]int{}
	for token := ""; ; {
		a := p.must(t, admin(), "team_tenant_export", args{"page_token": token}, "")
		var page struct {
			Files []struct {
				Path, Text string
				Part       int
			}
		}
		require.NoError(t, json.Unmarshal(a.Data, &page))
		for _, f := range page.Files {
			if f.Part > 0 {
				parts[f.Path]++
				require.Equal(t, parts[f.Path], f.Part, f.Path)
			} else {
				require.NotContains(t, files, f.Path)
			}
			files[f.Path] += f.Text
		}
		if token = a.Meta.Next; token == "" {
			return files
		}
		between()
	}
}

// TestTenantExport holds that an export has all that a tenant has but secrets, each vault at one version, on however
// many pages it comes.
func TestTenantExport(t *testing.T) {
	p := open(t, publicURL)
	for _, name := range []string{"a", "b", "gone"} {
		p.must(t, admin(), "team_vault_create", args{"name": name}, "")
		p.must(t, admin(), "team_vault_import", args{"vault": name, "notes": notes(name+" one", name+" two")}, "")
	}
	p.must(t, admin(), "team_vault_delete", args{"name": "gone"}, "")
	made := p.must(t, admin(), "team_token_create", args{"name": "józef", "role": "reader"}, "")
	var token struct{ Token string }
	require.NoError(t, json.Unmarshal(made.Data, &token))
	p.must(t, admin(), "team_member_set", args{"subject": "jo", "issuer": login, "role": "editor"}, "")
	p.clock.pass(time.Second)
	changes := 0
	files := p.exported(t, func() {
		changes++
		p.must(t, admin(), "team_vault_import", args{
			"vault": "a", "mode": "replace", "notes": notes("a one", fmt.Sprintf("change %d", changes)),
		}, "")
		p.clock.pass(time.Second)
	})
	require.Equal(t, "a one", files["vaults/a/a.md"])
	require.Equal(t, "b two", files["vaults/b/b.md"])
	require.Contains(t, files["vaults/a/.raven/audit.log"], `"id":"b"`)
	require.Greater(t, changes, 3)
	require.Equal(t, "change 2", files["vaults/a/b.md"], "it comes on the third page")
	require.Equal(t, 2, strings.Count(files["vaults/a/.raven/audit.log"], `"op":"update"`), "and its audit log on the fourth")
	require.NotContains(t, fmt.Sprint(files), token.Token)
	for path := range files {
		require.NotContains(t, path, "gone")
	}
	var all struct {
		Tenant  string
		Vaults  []struct{ Name, State string }
		Members []struct{ Subject string }
		Tokens  []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(files["tenant.json"]), &all))
	require.Equal(t, "acme", all.Tenant)
	require.Len(t, all.Vaults, 3)
	require.Equal(t, "trashed", all.Vaults[2].State)
	require.Equal(t, "jo", all.Members[0].Subject)
	require.Equal(t, "józef", all.Tokens[0].Name)
	lines := strings.Split(strings.TrimSpace(files["audit.jsonl"]), "\n")
	require.Contains(t, lines[0], "team_member_set", "the newest is first, and none is younger than the export")
	require.Contains(t, files["audit.jsonl"], "team_vault_delete")

	p.refused(t, fault.PermissionDenied, person("vera", map[string]auth.Role{"a": auth.Admin}),
		"team_tenant_export", nil)
	p.refused(t, fault.InvalidParameter, admin(), "team_tenant_export", args{"page_token": "x"})
}

// TestTenantExportHasMemories covers that the memories of a vault come behind its notes, in pieces where they are large,
// and that a vault without any has no file of them.
func TestTenantExportHasMemories(t *testing.T) {
	p := open(t, publicURL)
	for _, name := range []string{"a", "b"} {
		p.must(t, admin(), "team_vault_create", args{"name": name}, "")
	}
	own, err := p.teams.Tenant(t.Context(), "acme")
	require.NoError(t, err)
	v, err := own.Vault(t.Context(), "a")
	require.NoError(t, err)
	for i := range 3 {
		_, err = v.Update(t.Context(), eventlog.Call{Who: eventlog.Who{Principal: "ann"}, Tool: "t"},
			func(_ context.Context, tx *repo.Tx) (any, error) {
				m := memory.Memory{
					V: memory.Format, Agent: "a", Principal: "ann", Created: int64(i + 1),
					Intent: memory.Intent{Goal: strings.Repeat("x", 900<<10)},
				}
				return nil, tx.PutItem(memory.KindMemory, fmt.Sprint("mem_", i), m)
			})
		require.NoError(t, err)
	}
	files := p.exported(t, func() {})
	require.NotContains(t, files, "vaults/b/memories.jsonl")
	lines := strings.Split(strings.TrimSpace(files["vaults/a/memories.jsonl"]), "\n")
	require.Len(t, lines, 3)
	for i, line := range lines {
		b, err := memory.ReadLine([]byte(line))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("mem_", i), b.ID)
		require.Equal(t, memory.KindMemory, b.Kind)
	}
}
