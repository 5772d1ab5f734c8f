package infra_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// allows reports whether the template allows a call.
func allows(t *testing.T, tpl *Template, c call) bool {
	t.Helper()
	all, err := tpl.Statements(c.Role)
	require.NoError(t, err)
	allowed, err := Allowed(all, c.request())
	require.NoError(t, err)
	return allowed
}

// TestPolicies proves from the recorded calls that each is allowed, and that the same call on the data of another
// tenant, of a Scan, or of the destruction of versions is not.
func TestPolicies(t *testing.T) {
	tpl := template(t)
	for _, c := range recorded(t) {
		require.True(t, allows(t, tpl, c), "%+v", c)
		other := c
		other.Key = strings.Replace(c.Key, "acme", "heron", 1)
		other.Prefix = strings.Replace(c.Prefix, "acme", "heron", 1)
		other.Resource = strings.Replace(c.Resource, "/acme", "/heron", 1)
		if other != c {
			require.False(t, allows(t, tpl, other), "%+v", other)
		}
		if c.Key == "~tenants" {
			other.Key = "acme/x"
			require.False(t, allows(t, tpl, other), "%+v", other)
		}
		scan := c
		scan.Action, scan.Resource, scan.Key = "dynamodb:Scan", "Table", ""
		require.False(t, allows(t, tpl, scan), "%+v", scan)
		destroy := c
		destroy.Action, destroy.Resource = "s3:DeleteObjectVersion", "Bucket/tenants/acme/x"
		require.Equal(t, c.Role == "EraseRole" && c.Tenant == "acme",
			allows(t, tpl, destroy), "%+v", destroy)
	}
}
