package audit_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// TestListOpensNoVault checks that the entries of many vaults can be listed although the server has
// memory for none of them, each once and in order, with pages of any size.
func TestListOpensNoVault(t *testing.T) {
	b := newBench(t)
	const vaults, each = 30, 5
	for i := range vaults {
		b.create(t, fmt.Sprintf("v%02d", i))
	}
	for n := range each {
		for i := range vaults {
			b.put(t, fmt.Sprintf("v%02d", i), fmt.Sprintf("n%d.md", n), "bot")
			b.clock.pass(time.Second)
		}
	}
	_, err := b.team(t).Trash(t.Context(), eventlog.Call{Tool: "team_vault_delete"}, "v03",
		func(tenant.Entry) any { return "gone" })
	require.NoError(t, err)
	want := b.list(t, audit.Query{})
	require.Len(t, want, vaults*(each+2)+2)

	teams := tenant.NewRegistry(tenant.Options{
		Table: b.table, Bucket: b.files, Texts: repo.NewTexts(1 << 20), Log: slog.New(slog.DiscardHandler),
		Now: b.clock.time, Memory: tenant.NewMemory(1),
	})
	defer teams.Close()
	a, err := teams.Tenant(t.Context(), "acme")
	require.NoError(t, err)
	_, err = a.Vault(t.Context(), "v00")
	require.True(t, tenant.InMemory(err), "%v", err)
	for _, limit := range []int{7, 200} {
		require.Equal(t, want, pages(t, a, limit))
	}
}

// pages returns all entries of a tenant, read in pages.
func pages(t *testing.T, a *tenant.Tenant, limit int) (all []audit.Entry) {
	t.Helper()
	for after := (audit.Position{}); ; {
		page, err := audit.List(context.WithoutCancel(t.Context()), a, audit.Query{}, limit, after)
		require.NoError(t, err)
		all = append(all, page.Entries...)
		if !page.More {
			return all
		}
		after = page.Next
	}
}
