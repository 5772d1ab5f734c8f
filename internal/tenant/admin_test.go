package tenant_test

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// lesser returns, by description, the changes of the admin m after which it is no longer an admin
// of all vaults without restriction.
func lesser(m tenant.Member) map[string]tenant.Member {
	all := map[string]tenant.Member{}
	as := func(name string, change func(*tenant.Member)) {
		with := m
		with.Roles = maps.Clone(m.Roles)
		change(&with)
		all[name] = with
	}
	as("an editor", func(m *tenant.Member) { m.Roles[auth.AllVaults] = auth.Editor })
	as("bound to a folder", func(m *tenant.Member) { m.Prefix = "x/" })
	as("a reader of one vault", func(m *tenant.Member) { m.Roles["n1"] = auth.Reader })
	as("an admin of one vault", func(m *tenant.Member) { m.Roles = map[string]auth.Role{"n1": auth.Admin} })
	return all
}

// TestLastAdminIsOneOfAllVaults checks that the only member who can change all access can be
// neither removed nor lowered, even where others are admins of a part, and that the refusal says
// how to proceed.
func TestLastAdminIsOneOfAllVaults(t *testing.T) {
	d := deploy(t)
	a := d.team(t, false)
	ann := member("ann", auth.Admin)
	require.NoError(t, setMember(t.Context(), a, ann))
	for name, m := range lesser(member("bo", auth.Admin)) {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, setMember(t.Context(), a, m))
			for _, less := range lesser(ann) {
				err := setMember(t.Context(), a, less)
				is(t, fault.Conflict, err)
				require.Equal(t, []string{"make another member an admin of all vaults first", "team_member_list {}"},
					fault.Of(err).Fixes)
			}
			is(t, fault.Conflict, removeMember(t.Context(), a, ann))
		})
	}
	more := ann
	more.Roles = map[string]auth.Role{auth.AllVaults: auth.Admin, "n1": auth.Admin}
	require.NoError(t, setMember(t.Context(), a, more), "as much in other words")
	require.NoError(t, setMember(t.Context(), a, member("bo", auth.Admin)))
	require.NoError(t, removeMember(t.Context(), a, ann))
	is(t, fault.Conflict, setMember(t.Context(), a, lesser(member("bo", auth.Admin))["bound to a folder"]))
}

// TestAdminsAreMadeLessAtOnce checks that one of two admins remains unchanged when two processes
// lower both at the same time, in any way.
func TestAdminsAreMadeLessAtOnce(t *testing.T) {
	d := deploy(t)
	one, two := d.team(t, false), d.team(t, false)
	ann, bo := member("ann", auth.Admin), member("bo", auth.Admin)
	for range 5 {
		for name := range lesser(ann) {
			require.NoError(t, setMember(t.Context(), one, ann))
			require.NoError(t, setMember(t.Context(), two, bo))
			errs := make([]error, 2)
			var wg sync.WaitGroup
			wg.Go(func() { errs[0] = setMember(context.Background(), one, lesser(ann)[name]) })
			wg.Go(func() { errs[1] = setMember(context.Background(), two, lesser(bo)[name]) })
			wg.Wait()
			if errs[0] != nil {
				errs[0], errs[1] = errs[1], errs[0]
			}
			require.NoError(t, errs[0], name)
			is(t, fault.Conflict, errs[1])
		}
	}
}

// TestBeginHelpsATenantWithoutAdmin checks that Begin makes the first admin of the server's file an
// admin again in a tenant without an admin of all vaults, which an earlier release allowed, and
// changes nothing in a tenant with one.
func TestBeginHelpsATenantWithoutAdmin(t *testing.T) {
	i := 0
	for name, m := range lesser(member("ann", auth.Admin)) {
		i++
		t.Run(name, func(t *testing.T) {
			d := deploy(t)
			a := d.team(t, false)
			require.NoError(t, setMember(t.Context(), a, m)) // there was no admin before
			require.NoError(t, setMember(t.Context(), a, lesser(member("bo", auth.Admin))["bound to a folder"]))
			first := []string{"ann", "eve"}[i%2]
			require.NoError(t, a.Begin(t.Context(), member(first, "")))
			got, ok := stateOf(t, a).Member("https://i.test", first)
			require.True(t, ok)
			require.Equal(t, everywhere(auth.Admin), got.Roles)
			require.Empty(t, got.Prefix)
			before := stateOf(t, a).Members()
			require.NoError(t, d.team(t, false).Begin(t.Context(), member("late", "")))
			require.Equal(t, before, stateOf(t, d.team(t, false)).Members())
		})
	}
}
