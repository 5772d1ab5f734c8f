package localapp_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// TestRebuildAfterAnErasedTenant checks that a rebuild after the loss of the database restores the
// data of the new tenant, and nothing of the erased one with the same name, from segments and from
// notes alone.
func TestRebuildAfterAnErasedTenant(t *testing.T) {
	for name, folded := range map[string]bool{"from segments": true, "from notes": false} {
		t.Run(name, func(t *testing.T) {
			app, dir := openVault(t)
			via := local{app}
			put(t, via, map[string]string{"old.md": "a zebrafinch of before\n"})
			must(t, via, "team_vault_create", args{"name": "gone"})
			foldAll(t, app, "v")
			must(t, via, "team_tenant_erase", args{"confirm": auth.Local})
			must(t, via, "team_vault_create", args{"name": "v"})
			put(t, via, map[string]string{"new.md": "an ibis of now\n"})
			must(t, via, "raven_add", args{"vault": "v", "to": "new", "text": "one more line"})
			if folded {
				foldAll(t, app, "v")
			}
			require.NoError(t, app.Close())

			lost := filepath.Join(dir, "rookery.db")
			require.NoError(t, os.Remove(lost))
			cfg := localapp.Config{Data: dir, Log: leaktest.Logger(t, nil)}
			_, err := openApp(t.Context(), cfg)
			f := fault.Of(err)
			require.Equal(t, fault.IndexNotFound, f.Code, "%v", err)
			require.Contains(t, f.Message, "no database: v")
			require.NotContains(t, f.Message, "gone")
			made, err := localapp.Rebuild(t.Context(), cfg)
			require.NoError(t, err)
			require.Len(t, made, 1)
			require.Equal(t, "v", made[0].Name)
			require.Equal(t, folded, made[0].FromSegments != "")

			app, err = openApp(t.Context(), cfg)
			require.NoError(t, err)
			defer func() { require.NoError(t, app.Close()) }()
			via = local{app}
			text := read(t, via, "new")
			require.Contains(t, text, "an ibis of now")
			require.Contains(t, text, "one more line")
			refused(t, fault.NotFound, via, "raven_read", args{"path": "old"})
			must(t, via, "team_audit_verify", args{"vault": "v"})
		})
	}
}

// foldAll compacts a vault completely.
func foldAll(t *testing.T, app *localapp.App, name string) {
	t.Helper()
	own, err := app.Teams().Tenant(t.Context(), auth.Local)
	require.NoError(t, err)
	v, err := own.Vault(t.Context(), name)
	require.NoError(t, err)
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
}
