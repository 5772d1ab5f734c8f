package access_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// TestMakerIsRevoked checks that a token created with another token is refused when that is
// revoked, as if it were revoked itself: at once in the process that revoked it, elsewhere within a
// minute.
func TestMakerIsRevoked(t *testing.T) {
	h := newHouse(t)
	maker := h.token(t, "acme", tenant.Token{Name: "p", Roles: everywhere(auth.Admin)})
	made := auth.NewSecret("acme")
	_, err := h.tenant(t, "acme").CreateToken(t.Context(), eventlog.Call{
		Who: eventlog.Who{Principal: auth.APIToken(maker.ID)}, Tool: "test",
	}, tenant.Token{
		ID: made.ID, Name: "c", Digest: made.Digest(), Roles: everywhere(auth.Admin),
	}, func(tenant.Token) any { return nil })
	require.NoError(t, err)
	c := h.who(t, made.Token())

	elsewhere, err := h.process(t, h.table).Tenant(t.Context(), "acme")
	require.NoError(t, err)
	_, err = elsewhere.RevokeToken(t.Context(), call, maker.ID, func(tenant.Token, bool) any { return nil })
	require.NoError(t, err)
	_, err = c.Refresh(t.Context())
	require.True(t, fault.Is(err, fault.Unauthenticated), "%v", err)
	h.clock.pass(time.Minute)
	h.stopped(t, fault.Unauthenticated, request("/", maker.Token()))
	h.stopped(t, fault.Unauthenticated, request("/", made.Token()))
}
