package tenant_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// mintBy makes a token in the name of a principal.
func mintBy(ctx context.Context, a *tenant.Tenant, by, id string) error {
	_, err := a.CreateToken(ctx, eventlog.Call{
		Who: eventlog.Who{Principal: by}, Tool: "test", Key: id, Request: []byte(id),
	}, tenant.Token{ID: id, Name: "n", Digest: "d", Roles: everywhere(auth.Admin)}, toldToken)
	return err
}

// endedAt returns the time at which a token was revoked. It requires that the state of the given
// process and that of a process that starts now agree.
func endedAt(t *testing.T, d *deployment, a *tenant.Tenant, id string) time.Time {
	t.Helper()
	now := stateOf(t, a)
	require.Equal(t, now, stateOf(t, d.team(t, false)), "whoever reads the log alone says the same")
	tok, ok := now.Token(id)
	require.True(t, ok)
	require.Contains(t, now.Tokens(), tok)
	return tok.Revoked
}

// TestTokenEndsWithItsMaker checks that a token is revoked when any token in the chain of its
// makers is, that no other token is, and that the first revocation counts.
func TestTokenEndsWithItsMaker(t *testing.T) {
	d := deploy(t)
	a := d.team(t, false)
	for _, made := range [][2]string{
		{"user:ada@i.test", "a_1"}, {"token:a_1", "a_2"}, {"token:a_2", "a_3"}, {"token:a_2", "a_4"},
		{"token:a_1", "a_5"}, {"user:ada@i.test", "a_6"}, {"token:a_6", "a_7"}, {"user:token:a_1@i.test", "a_8"},
	} {
		require.NoError(t, mintBy(t.Context(), a, made[0], made[1]))
	}
	ends := map[string]time.Time{}
	end := func(id string, also ...string) {
		t.Helper()
		d.clock.pass(time.Second)
		revoked, err := revoke(t.Context(), a, id)
		require.NoError(t, err)
		require.True(t, revoked)
		for _, id := range append(also, id) {
			ends[id] = d.clock.time()
		}
		for i := range 8 {
			id := fmt.Sprint("a_", i+1)
			require.Equal(t, ends[id], endedAt(t, d, a, id), id)
		}
	}
	end("a_3")
	end("a_2", "a_4")
	end("a_1", "a_5")
	require.True(t, stateOf(t, a).HasTokens(d.clock.time()))
	end("a_6", "a_7")
	end("a_8")
	require.False(t, stateOf(t, a).HasTokens(d.clock.time()))

	revoked, err := revoke(t.Context(), a, "a_7")
	require.NoError(t, err)
	require.False(t, revoked, "it was")
}

// TestRevokedTokenMakesNone checks that a revoked or expired token makes no other token, even in a
// process that does not know of the revocation yet.
func TestRevokedTokenMakesNone(t *testing.T) {
	d := deploy(t)
	here, there := d.team(t, false), d.team(t, false)
	require.NoError(t, mintBy(t.Context(), here, "user:ada@i.test", "a_1"))
	require.NoError(t, mintBy(t.Context(), there, "token:a_1", "a_2"))
	_, err := revoke(t.Context(), here, "a_1")
	require.NoError(t, err)
	is(t, fault.Unauthenticated, mintBy(t.Context(), there, "token:a_1", "a_3"))
	is(t, fault.Unauthenticated, mintBy(t.Context(), there, "token:a_2", "a_3"))
	_, err = here.CreateToken(t.Context(), callOf("short"), tenant.Token{
		ID: "a_4", Name: "n", Digest: "d", Roles: everywhere(auth.Admin), Expires: d.clock.time().Add(time.Hour),
	}, toldToken)
	require.NoError(t, err)
	d.clock.pass(time.Hour)
	is(t, fault.TokenExpired, mintBy(t.Context(), here, "token:a_4", "a_5"))
	require.Len(t, stateOf(t, here).Tokens(), 3)
}

// TestMakerIsRevokedAtOnce checks that a token that is made while its maker is revoked is never
// usable afterwards, whichever commit comes first.
func TestMakerIsRevokedAtOnce(t *testing.T) {
	d := deploy(t)
	one, two := d.team(t, false), d.team(t, false)
	for i := range 20 {
		maker, made := fmt.Sprint("a_m", i), fmt.Sprint("a_c", i)
		require.NoError(t, mintBy(t.Context(), one, "user:ada@i.test", maker))
		var wg sync.WaitGroup
		wg.Go(func() {
			err := mintBy(t.Context(), one, auth.APIToken(maker), made)
			if err != nil && !fault.Is(err, fault.Unauthenticated) {
				t.Error(err)
			}
		})
		wg.Go(func() {
			_, err := revoke(t.Context(), two, maker)
			if err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		for _, a := range []*tenant.Tenant{one, two, d.team(t, false)} {
			tok, there := stateOf(t, a).Token(made)
			require.False(t, there && tok.Valid(d.clock.time()))
		}
	}
}

// TestTokensInAChain makes a hundred tokens, each by the one before, and revokes them from the
// middle.
func TestTokensInAChain(t *testing.T) {
	d := deploy(t)
	a := d.team(t, false)
	by := "user:ada@i.test"
	name := func(i int) string { return fmt.Sprintf("a_%03d", i) }
	for i := range 100 {
		require.NoError(t, mintBy(t.Context(), a, by, name(i)))
		by = auth.APIToken(name(i))
	}
	for _, from := range []int{50, 10, 0} {
		_, err := revoke(t.Context(), a, name(from))
		require.NoError(t, err)
		for _, s := range []*tenant.State{stateOf(t, a), stateOf(t, d.team(t, false))} {
			for i, tok := range s.Tokens() {
				require.Equal(t, i < from, tok.Valid(d.clock.time()), tok.ID)
			}
		}
	}
}

// TestMakersAgainstAModel compares the ends of tokens that make and revoke each other at random
// with those that a walk along the makers of each token finds.
func TestMakersAgainstAModel(t *testing.T) {
	d := deploy(t)
	a := d.team(t, false)
	r := rand.New(rand.NewPCG(1, 2))
	makers, ends := map[string]string{}, map[string]bool{}
	var ended func(id string) bool
	ended = func(id string) bool { return id != "" && (ends[id] || ended(makers[id])) }
	for i := range 200 {
		id, maker, by := fmt.Sprint("a_", i), "", "user:ada@i.test"
		if i > 0 && r.IntN(4) > 0 {
			maker = fmt.Sprint("a_", r.IntN(i))
			by = auth.APIToken(maker)
		}
		if err := mintBy(t.Context(), a, by, id); err == nil {
			require.False(t, ended(maker))
			makers[id] = maker
		} else {
			is(t, fault.Unauthenticated, err)
			require.True(t, ended(maker))
			require.NoError(t, mintBy(t.Context(), a, "user:ada@i.test", id))
			makers[id] = ""
		}
		if r.IntN(8) == 0 {
			gone := fmt.Sprint("a_", r.IntN(i+1))
			_, err := revoke(t.Context(), a, gone)
			require.NoError(t, err)
			ends[gone] = true
		}
	}
	for _, s := range []*tenant.State{stateOf(t, a), stateOf(t, d.team(t, false))} {
		for id := range makers {
			tok, _ := s.Token(id)
			require.Equal(t, ended(id), !tok.Revoked.IsZero(), id)
		}
	}
}
