package auth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
)

// TestAllows checks the order of the roles, and that an unknown role allows nothing.
func TestAllows(t *testing.T) {
	order := []auth.Role{auth.Nobody, auth.Reader, auth.Editor, auth.Admin}
	for i, has := range order {
		for j, need := range order {
			require.Equal(t, i > 0 && i >= j, has.Allows(need), "%s for %s", has, need)
		}
		require.False(t, auth.Role("owner").Allows(has), has)
		require.False(t, has.Allows("owner"), has)
	}
}

// TestRole checks that the role in a vault takes precedence over the role in all vaults.
func TestRole(t *testing.T) {
	c := auth.Caller{Roles: map[string]auth.Role{auth.AllVaults: auth.Editor, "secret": auth.Nobody}}
	require.Equal(t, auth.Editor, c.Role("any"))
	require.Equal(t, auth.Nobody, c.Role("secret"))
	require.Equal(t, auth.Editor, c.Role(""))
	require.Equal(t, auth.Nobody, auth.Caller{}.Role(""))
	require.Equal(t, auth.Nobody, auth.CallerOf(t.Context()).Role("any"))
	local := auth.CallerOf(auth.WithCaller(t.Context(), auth.LocalCaller()))
	require.Equal(t, auth.Admin, local.Role("any"))
}
