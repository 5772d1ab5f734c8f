package vault_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/vault"
)

func TestClosedAudit(t *testing.T) {
	east := time.FixedZone("east", 3*60*60)
	require.Equal(t, "2026-10", vault.Month(time.Date(2026, 11, 1, 2, 59, 59, 0, east)))
	require.Equal(t, "2026-11", vault.Month(time.Date(2026, 11, 1, 3, 0, 0, 0, east)))
	var paths []string
	for _, month := range []string{"2025-12", "2026-01", "2026-10"} {
		path := vault.ClosedAudit(month)
		require.Equal(t, month, vault.Path(path).ClosedMonth())
		paths = append(paths, path)
	}
	require.Equal(t, ".raven/audit.2026-10.log", paths[2])
	require.True(t, slices.IsSorted(append(paths, vault.AuditLog)), "the open one is the newest")
	for _, path := range []vault.Path{vault.AuditLog, "", "2026-10", "audit.2026-10.log"} {
		require.Empty(t, path.ClosedMonth(), path)
	}
}
