package access_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/access"
	"rookery/internal/auth"
	"rookery/internal/fault"
)

// TestFlights holds that one principal leaves room for others, and has its own again when a request ends.
func TestFlights(t *testing.T) {
	f := access.NewFlights(2)
	begin := func(tenant, principal string) (end func(), err error) {
		return f.Begin(auth.Caller{Tenant: tenant, Principal: principal})
	}
	end, err := begin("a", "ann")
	require.NoError(t, err)
	_, err = begin("a", "ann")
	require.NoError(t, err)
	for range 3 {
		_, err = begin("a", "ann")
		require.True(t, fault.Is(err, fault.Unavailable))
		require.NotZero(t, fault.Of(err).RetryAfter)
	}
	for _, other := range [][2]string{{"a", "ben"}, {"b", "ann"}} {
		_, err = begin(other[0], other[1])
		require.NoError(t, err)
	}
	for range 5 {
		_, err = begin(auth.Local, auth.Local)
		require.NoError(t, err)
	}
	end()
	_, err = begin("a", "ann")
	require.NoError(t, err)
	_, err = (*access.Flights)(nil).Begin(auth.Caller{Principal: "ann"})
	require.NoError(t, err)
}
