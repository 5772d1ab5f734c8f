package tenant_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// everywhere returns the roles of a principal with role r in all vaults.
func everywhere(r auth.Role) map[string]auth.Role { return map[string]auth.Role{auth.AllVaults: r} }

// toldToken is the answer function of a call that makes a token.
func toldToken(tenant.Token) any { return "made" }

// mint makes a token with the given id and the role of a reader in all vaults.
func mint(t testing.TB, a *tenant.Tenant, id string) {
	t.Helper()
	_, err := a.CreateToken(t.Context(), callOf(id), tenant.Token{
		ID: id, Name: "n", Digest: "d", Roles: everywhere(auth.Reader),
	}, toldToken)
	require.NoError(t, err)
}

// revoke revokes a token and reports whether this call is the one that revoked it.
func revoke(ctx context.Context, a *tenant.Tenant, id string) (revoked bool, err error) {
	_, err = a.RevokeToken(ctx, eventlog.Call{}, id, func(_ tenant.Token, now bool) any {
		revoked = now
		return "revoked"
	})
	return revoked, err
}

func setMember(ctx context.Context, a *tenant.Tenant, m tenant.Member) error {
	_, err := a.SetMember(ctx, eventlog.Call{Who: eventlog.Who{Principal: "p"}}, m,
		func(tenant.Member, bool) any { return "set" })
	return err
}

func removeMember(ctx context.Context, a *tenant.Tenant, m tenant.Member) error {
	_, err := a.RemoveMember(ctx, eventlog.Call{}, m, func(tenant.Member) any { return "removed" })
	return err
}

func setIssuer(ctx context.Context, a *tenant.Tenant, i tenant.Issuer) error {
	_, err := a.SetIssuer(ctx, eventlog.Call{}, i, func(tenant.Issuer, bool) any { return "set" })
	return err
}

// member returns a member of the issuer https://i.test with role r in all vaults.
func member(name string, r auth.Role) tenant.Member {
	return tenant.Member{Issuer: "https://i.test", Subject: name, Roles: everywhere(r)}
}

// stateOf returns the newest state of the tenant.
func stateOf(t testing.TB, a *tenant.Tenant) *tenant.State {
	t.Helper()
	s, _, err := a.State(t.Context())
	require.NoError(t, err)
	return s
}

// TestAccessOverARestart checks that access follows from the log alone: a process that starts later
// gives the same access, and none that was removed.
func TestAccessOverARestart(t *testing.T) {
	d := deploy(t)
	a := d.team(t, false)
	whole := tenant.Token{
		ID: "a_1", Name: "ci", Digest: "d", Prefix: "ci/", ReadOnly: true, Tools: []string{"raven_read"},
		Roles: map[string]auth.Role{"v": auth.Editor, "w": auth.Reader}, Expires: d.clock.time().Add(time.Hour),
	}
	_, err := a.CreateToken(t.Context(), callOf("1"), whole, toldToken)
	require.NoError(t, err)
	mint(t, a, "a_2")
	mint(t, a, "a_3")
	_, err = revoke(t.Context(), a, "a_2")
	require.NoError(t, err)
	ann := member("ann", auth.Admin)
	ann.Prefix = "notes/"
	require.NoError(t, setMember(t.Context(), a, ann))
	require.NoError(t, setMember(t.Context(), a, member("bo", auth.Reader)))
	require.NoError(t, removeMember(t.Context(), a, member("bo", "")))
	ci := tenant.Issuer{
		Name: "ci", URL: "https://i.test", Claims: map[string]string{"repo": "a/*"}, JWKS: "https://k.test",
		Roles: everywhere(auth.Editor), RolesClaim: "roles", ClientID: "c",
	}
	require.NoError(t, setIssuer(t.Context(), a, ci))
	require.NoError(t, setIssuer(t.Context(), a, tenant.Issuer{Name: "gone", URL: "https://g.test"}))
	_, err = a.RemoveIssuer(t.Context(), eventlog.Call{}, "gone", func(tenant.Issuer) any { return "x" })
	require.NoError(t, err)

	want := stateOf(t, a)
	require.Len(t, want.Tokens(), 3)
	require.Len(t, want.Members(), 1)
	require.Len(t, want.Issuers(), 1)
	got := stateOf(t, d.team(t, false))
	require.Equal(t, want, got)
	whole.By, whole.Created, whole.Changed = "p", d.clock.time(), 1
	require.Equal(t, whole, got.Tokens()[0])
	require.False(t, got.Tokens()[1].Revoked.IsZero())
	b, err := d.teams(t, d.table, false).Tenant(t.Context(), "b")
	require.NoError(t, err)
	require.Empty(t, stateOf(t, b).Tokens(), "another tenant has none of it")
	require.Empty(t, stateOf(t, b).Members())
}

// TestFoldOfAccess checks that a state is a value: a state that a reader has does not change with
// later commits.
func TestFoldOfAccess(t *testing.T) {
	d := deploy(t)
	a := d.team(t, false)
	mint(t, a, "a_1")
	require.NoError(t, setMember(t.Context(), a, member("ann", auth.Admin)))
	before := stateOf(t, a)
	tokens, members := before.Tokens(), before.Members()
	mint(t, a, "a_2")
	_, err := revoke(t.Context(), a, "a_1")
	require.NoError(t, err)
	require.NoError(t, setMember(t.Context(), a, member("bo", auth.Admin)))
	require.NoError(t, removeMember(t.Context(), a, member("ann", "")))
	require.Equal(t, tokens, before.Tokens())
	require.Equal(t, members, before.Members())
	require.True(t, before.HasTokens(d.clock.time()))
	require.Len(t, stateOf(t, a).Tokens(), 2)
}

// TestLastAdminUnderContention checks that one admin remains when two processes remove the two
// admins at the same time, and when they lower each other's role.
func TestLastAdminUnderContention(t *testing.T) {
	d := deploy(t)
	one, two := d.team(t, false), d.team(t, false)
	for i := range 20 {
		ann, bo := member(fmt.Sprint("ann", i), auth.Admin), member(fmt.Sprint("bo", i), auth.Admin)
		require.NoError(t, setMember(t.Context(), one, ann))
		require.NoError(t, setMember(t.Context(), two, bo))
		for _, m := range stateOf(t, one).Members() {
			if m.Subject != ann.Subject && m.Subject != bo.Subject {
				require.NoError(t, removeMember(t.Context(), one, m))
			}
		}
		end := removeMember
		if i%2 == 0 {
			end = func(ctx context.Context, a *tenant.Tenant, m tenant.Member) error {
				m.Roles = everywhere(auth.Editor)
				return setMember(ctx, a, m)
			}
		}
		errs := make([]error, 2)
		var wg sync.WaitGroup
		wg.Go(func() { errs[0] = end(t.Context(), one, ann) })
		wg.Go(func() { errs[1] = end(t.Context(), two, bo) })
		wg.Wait()
		if errs[0] != nil {
			errs[0], errs[1] = errs[1], errs[0]
		}
		require.NoError(t, errs[0])
		is(t, fault.Conflict, errs[1])
		admins := 0
		for _, m := range stateOf(t, d.team(t, false)).Members() {
			if m.Roles[auth.AllVaults] == auth.Admin {
				admins++
			}
		}
		require.Equal(t, 1, admins)
	}
}

// TestBeginMakesOneAdmin checks that Begin makes the first admin of a server's file only in a
// tenant that has no admin, however often and in however many processes it runs.
func TestBeginMakesOneAdmin(t *testing.T) {
	d := deploy(t)
	var wg sync.WaitGroup
	for i := range 4 {
		a := d.team(t, false)
		wg.Go(func() {
			if err := a.Begin(context.Background(), member(fmt.Sprint("m", i), "")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	members := stateOf(t, d.team(t, false)).Members()
	require.Len(t, members, 1)
	require.Equal(t, everywhere(auth.Admin), members[0].Roles)
	require.NoError(t, d.team(t, false).Begin(t.Context(), member("late", "")))
	require.Len(t, stateOf(t, d.team(t, false)).Members(), 1)
}

// TestRevocationIsSeen checks that a process that reads the state before it refuses sees a new
// token at once, and that a revoked token is invalid at once in the process that revoked it and
// within a minute in every other (log.md §6).
func TestRevocationIsSeen(t *testing.T) {
	d := deploy(t)
	here, there := d.team(t, false), d.team(t, false)
	mint(t, here, "a_1")
	valid := func(state func(context.Context) (*tenant.State, error)) bool {
		s, err := state(t.Context())
		require.NoError(t, err)
		tok, ok := s.Token("a_1")
		return ok && tok.Valid(d.clock.time())
	}
	require.False(t, valid(there.Current), "the other process has not looked yet")
	require.True(t, valid(there.Fresh), "what is new is seen at once by who looks before it refuses")
	require.True(t, valid(there.Current))

	revoked, err := revoke(t.Context(), here, "a_1")
	require.NoError(t, err)
	require.True(t, revoked)
	require.False(t, valid(here.Current), "at once where it was revoked")
	d.clock.pass(59 * time.Second)
	require.True(t, valid(there.Current), "a yes may be a minute old")
	d.clock.pass(time.Second)
	require.False(t, valid(there.Current))
	revoked, err = revoke(t.Context(), there, "a_1")
	require.NoError(t, err)
	require.False(t, revoked, "it was")
}

// TestStateIsReadSeldom checks how many reads the state of a tenant costs: one Query a minute for
// all calls that are allowed and, in the long run, one a second for all calls that are refused.
func TestStateIsReadSeldom(t *testing.T) {
	d := deploy(t)
	counted := tabletest.NewFlaky(d.table, nil)
	a, err := d.teams(t, counted, false).Tenant(t.Context(), "a")
	require.NoError(t, err)
	ask := func(state func(context.Context) (*tenant.State, error)) int {
		counted.Reset()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := state(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return counted.Counts().Queries
	}
	require.Zero(t, ask(a.Current))
	d.clock.pass(time.Minute - time.Second)
	require.Zero(t, ask(a.Current))
	d.clock.pass(time.Second)
	require.Equal(t, 1, ask(a.Current))
	first := 0
	for n := ask(a.Fresh); n > 0; n = ask(a.Fresh) {
		first += n
		require.LessOrEqual(t, first, 100, "refusals cost a bounded number of reads")
	}
	require.Positive(t, first)
	for range 3 {
		d.clock.pass(time.Second)
		require.Zero(t, ask(a.Current))
		require.Equal(t, 1, ask(a.Fresh))
	}
	d.clock.pass(-time.Hour)
	require.Equal(t, 1, ask(a.Current), "a clock that was set back makes nothing young")
}

// TestUseIsNotedOnceAnHour checks that the uses of a token cost one write an hour, and that a use
// whose write failed is written with the next use.
func TestUseIsNotedOnceAnHour(t *testing.T) {
	d := deploy(t)
	fails := false
	counted := tabletest.NewFlaky(d.table, func(c tabletest.Call) tabletest.Fault {
		if fails && c.Method == tabletest.Commit {
			return tabletest.Before
		}
		return tabletest.None
	})
	a, err := d.teams(t, counted, false).Tenant(t.Context(), "a")
	require.NoError(t, err)
	begin := d.clock.time()
	used := func() (time.Time, int) {
		counted.Reset()
		for range 10 {
			a.Used(t.Context(), "a_1")
		}
		all, err := a.Uses(t.Context())
		require.NoError(t, err)
		return all["a_1"], counted.Counts().Commits
	}
	for _, step := range []struct {
		pass, at time.Duration
		writes   int
	}{
		{0, 0, 1}, {30 * time.Minute, 0, 0}, {30*time.Minute - time.Second, 0, 0},
		{time.Second, time.Hour, 1}, {5 * time.Hour, 6 * time.Hour, 1},
	} {
		d.clock.pass(step.pass)
		at, writes := used()
		require.True(t, begin.Add(step.at).Equal(at), "%v", at)
		require.Equal(t, step.writes, writes)
	}
	fails = true
	for range 2 {
		a.Used(t.Context(), "a_2")
		all, err := a.Uses(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1, "what could not be written is not noted")
	}
	fails = false
	a.Used(t.Context(), "a_2")
	all, err := a.Uses(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	other, err := d.teams(t, d.table, false).Tenant(t.Context(), "b")
	require.NoError(t, err)
	all, err = other.Uses(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
}

// TestAgentBelongsToOne checks that exactly one of several principals gets an agent that they claim
// at the same time in several processes, that it keeps the agent, and that a call that only reads
// claims nothing.
func TestAgentBelongsToOne(t *testing.T) {
	d := deploy(t)
	teams := []*tenant.Tenant{d.team(t, false), d.team(t, false), d.team(t, false)}
	caller := func(n int, agent string) auth.Caller {
		p := fmt.Sprintf("user:%d@i.test", n)
		return auth.Caller{Tenant: "a", Principal: p, Agent: agent}
	}
	for round := range 10 {
		agent := fmt.Sprint("planner-", round)
		require.NoError(t, teams[0].ClaimAgent(t.Context(), caller(0, agent), false))
		require.NoError(t, teams[1].ClaimAgent(t.Context(), caller(1, agent), false))
		errs := make([]error, 12)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				errs[i] = teams[i%3].ClaimAgent(context.Background(), caller(i/2, agent), true)
			})
		}
		wg.Wait()
		owners := map[int]bool{}
		for i, err := range errs {
			if err == nil {
				owners[i/2] = true
			} else {
				is(t, fault.PermissionDenied, err)
			}
		}
		require.Len(t, owners, 1)
		d.clock.pass(time.Minute) // by then the calls that only read know the owner too
		for i := range errs {
			err := d.team(t, false).ClaimAgent(t.Context(), caller(i/2, agent), i%2 == 0)
			require.Equal(t, owners[i/2], err == nil)
			require.Equal(t, owners[i/2],
				teams[i%3].ClaimAgent(t.Context(), caller(i/2, agent), false) == nil)
		}
	}
}

// TestReservedAgents checks that a principal cannot use the name of another principal as its agent,
// and can use its own.
func TestReservedAgents(t *testing.T) {
	a := deploy(t).team(t, false)
	for _, own := range []string{
		auth.User("https://i.test", "ann"), auth.APIToken("a_1"), auth.Workload("ci"),
	} {
		c := auth.Caller{Tenant: "a", Principal: own, Agent: own}
		require.NoError(t, a.ClaimAgent(t.Context(), c, true))
		for _, other := range []string{"user:bo@i.test", "token:a_2", "workload:x", "local", "user:", "User:bo@i.test", "LOCAL"} {
			c.Agent = other
			for _, writes := range []bool{true, false} {
				is(t, fault.PermissionDenied, a.ClaimAgent(t.Context(), c, writes))
			}
		}
	}
}

// TestAgentsThatReadAsAnother checks that the id of an agent contains no invisible characters,
// because people would read it as the id of another agent.
func TestAgentsThatReadAsAnother(t *testing.T) {
	a := deploy(t).team(t, false)
	c := auth.Caller{Tenant: "a", Principal: auth.User("https://i.test", "ann")}
	for _, c.Agent = range []string{
		"plan\u200bner", "\u202erennalp", "planner\n", "plan\x00ner", " planner", "planner\u00a0",
	} {
		for _, writes := range []bool{true, false} {
			is(t, fault.InvalidParameter, a.ClaimAgent(t.Context(), c, writes))
		}
	}
	for _, c.Agent = range []string{"planner", "Claude Code", "müller/7", "計画"} {
		require.NoError(t, a.ClaimAgent(t.Context(), c, true))
	}
}

// TestAgentsWhoseOwnerIsUnknown checks that a claim of an agent is refused while the table cannot
// be read, and that this refusal is not remembered.
func TestAgentsWhoseOwnerIsUnknown(t *testing.T) {
	d := deploy(t)
	fails := false
	flaky := tabletest.NewFlaky(d.table, func(tabletest.Call) tabletest.Fault {
		if fails {
			return tabletest.Before
		}
		return tabletest.None
	})
	a, err := d.teams(t, flaky, false).Tenant(t.Context(), "a")
	require.NoError(t, err)
	c := auth.Caller{Tenant: "a", Principal: "user:ann@i.test", Agent: "x"}
	fails = true
	is(t, fault.Unavailable, a.ClaimAgent(t.Context(), c, true))
	is(t, fault.Unavailable, a.ClaimAgent(t.Context(), c, false))
	fails = false
	require.NoError(t, a.ClaimAgent(t.Context(), c, true))
	require.True(t, d.has(t, "agents"))
}

// TestPrefixCannotChangeTheTenant checks that a call restricted to a prefix can make no commit of
// the tenant's log, not even as a plan.
func TestPrefixCannotChangeTheTenant(t *testing.T) {
	d := deploy(t)
	a := d.team(t, false)
	for _, name := range []string{"v", "w"} {
		_, err := create(t.Context(), a, callOf(name), name)
		require.NoError(t, err)
	}
	trash(t, a, "w")
	mint(t, a, "a_1")
	require.NoError(t, setMember(t.Context(), a, member("ann", auth.Admin)))
	require.NoError(t, setMember(t.Context(), a, member("bo", auth.Admin)))
	require.NoError(t, setIssuer(t.Context(), a, tenant.Issuer{Name: "i", URL: "https://i.test"}))
	before := stateOf(t, a)
	on := true
	for name, call := range map[string]func(eventlog.Call) (eventlog.Receipt, error){
		"create": func(c eventlog.Call) (eventlog.Receipt, error) {
			return a.Create(t.Context(), c, tenant.NewVault{Name: "x"}, told)
		},
		"trash":   func(c eventlog.Call) (eventlog.Receipt, error) { return a.Trash(t.Context(), c, "v", told) },
		"restore": func(c eventlog.Call) (eventlog.Receipt, error) { return a.Restore(t.Context(), c, "w", toldChange) },
		"set": func(c eventlog.Call) (eventlog.Receipt, error) {
			return a.Set(t.Context(), c, tenant.Setting{Name: "v", ReadOnly: &on},
				func(tenant.Entry, bool) any { return "set" })
		},
		"token": func(c eventlog.Call) (eventlog.Receipt, error) {
			return a.CreateToken(t.Context(), c, tenant.Token{ID: "a_2"}, toldToken)
		},
		"revoke": func(c eventlog.Call) (eventlog.Receipt, error) {
			return a.RevokeToken(t.Context(), c, "a_1", func(tenant.Token, bool) any { return "x" })
		},
		"member": func(c eventlog.Call) (eventlog.Receipt, error) {
			return a.SetMember(t.Context(), c, member("cy", auth.Admin),
				func(tenant.Member, bool) any { return "x" })
		},
		"remove member": func(c eventlog.Call) (eventlog.Receipt, error) {
			return a.RemoveMember(t.Context(), c, member("ann", ""), func(tenant.Member) any { return "x" })
		},
		"issuer": func(c eventlog.Call) (eventlog.Receipt, error) {
			return a.SetIssuer(t.Context(), c, tenant.Issuer{Name: "j"},
				func(tenant.Issuer, bool) any { return "x" })
		},
		"remove issuer": func(c eventlog.Call) (eventlog.Receipt, error) {
			return a.RemoveIssuer(t.Context(), c, "i", func(tenant.Issuer) any { return "x" })
		},
	} {
		for _, dry := range []bool{false, true} {
			_, err := call(eventlog.Call{Prefix: "notes/", DryRun: dry})
			is(t, fault.PermissionDenied, err)
		}
		_, err := call(eventlog.Call{DryRun: true})
		require.NoError(t, err, "%s without a prefix is sound", name)
	}
	require.Equal(t, before, stateOf(t, d.team(t, false)))
}

// TestTokenCrashes checks that a token exists exactly once after its creation is repeated with the
// same key, at whatever call the first attempt failed, and that an acknowledged token exists.
func TestTokenCrashes(t *testing.T) {
	made := 0
	mintAs := func(ctx context.Context, a *tenant.Tenant, id string) (eventlog.Receipt, error) {
		return a.CreateToken(ctx, callOf("key"), tenant.Token{ID: id, Roles: everywhere(auth.Reader)},
			func(tok tenant.Token) any { return tok.ID })
	}
	everyCall(t, func(*testing.T, *deployment) {},
		func(ctx context.Context, a *tenant.Tenant) error {
			made++
			_, err := mintAs(ctx, a, fmt.Sprint("first-", made))
			return err
		},
		func(t *testing.T, d *deployment, acked bool, deliver func()) {
			if made%2 == 0 {
				deliver()
			}
			r, err := mintAs(t.Context(), d.team(t, false), "second")
			require.NoError(t, err)
			deliver()
			tokens := stateOf(t, d.team(t, false)).Tokens()
			require.Len(t, tokens, 1)
			if acked || r.Replayed != nil {
				require.Contains(t, tokens[0].ID, "first-")
				require.JSONEq(t, fmt.Sprintf("%q", tokens[0].ID), string(r.Replayed))
			} else {
				require.Equal(t, "second", tokens[0].ID)
			}
		})
}

// manyTokens writes n tokens to the log of tenant "a", one commit each.
func manyTokens(b *testing.B, d *deployment, n int) {
	b.Helper()
	teams := tenant.NewRegistry(d.options(d.table, false))
	a, err := teams.Tenant(b.Context(), "a")
	require.NoError(b, err)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n; i += 8 {
				mint(b, a, fmt.Sprintf("a_%08d", i))
			}
		})
	}
	wg.Wait()
	teams.Close()
}

// BenchmarkOpenTenant10000Tokens measures how long a process needs to read a tenant with 10,000
// tokens from its log alone.
func BenchmarkOpenTenant10000Tokens(b *testing.B) {
	d := deploy(b)
	manyTokens(b, d, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		teams := tenant.NewRegistry(d.options(d.table, false))
		a, err := teams.Tenant(b.Context(), "a")
		require.NoError(b, err)
		require.Len(b, stateOf(b, a).Tokens(), 10_000)
		teams.Close()
	}
}

// BenchmarkTokenAmong10000 measures how long one more token takes in a tenant with 10,000 tokens.
func BenchmarkTokenAmong10000(b *testing.B) {
	d := deploy(b)
	manyTokens(b, d, 10_000)
	teams := tenant.NewRegistry(d.options(d.table, false))
	defer teams.Close()
	a, err := teams.Tenant(b.Context(), "a")
	require.NoError(b, err)
	n := 0
	for b.Loop() {
		mint(b, a, fmt.Sprintf("b_%08d", n))
		n++
	}
}
