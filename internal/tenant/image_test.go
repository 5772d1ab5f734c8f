package tenant_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// populated returns the tenant "a" with a value in every field of a State.
func populated(t *testing.T, d *deployment) *tenant.Tenant {
	t.Helper()
	a := d.team(t, false)
	for _, name := range []string{"v", "w"} {
		_, err := create(t.Context(), a, callOf(name), name)
		require.NoError(t, err)
	}
	trash(t, a, "w")
	require.NoError(t, mintBy(t.Context(), a, "user:ada@i.test", "a_1"))
	require.NoError(t, mintBy(t.Context(), a, "token:a_1", "a_2"))
	_, err := revoke(t.Context(), a, "a_1")
	require.NoError(t, err)
	require.NoError(t, setIssuer(t.Context(), a, tenant.Issuer{Name: "i", URL: "https://i.test", Roles: everywhere(auth.Reader)}))
	for i := range 5 {
		require.NoError(t, setMember(t.Context(), a, member(fmt.Sprint("m", i), auth.Admin)))
	}
	return a
}

// TestTenantImages checks that a tenant has the same state from an image as from its log, that its
// log leaves the table, and that a process that was idle meanwhile continues.
func TestTenantImages(t *testing.T) {
	d := deploy(t)
	a, sleeper := populated(t, d), d.team(t, false)
	want := stateOf(t, sleeper)
	fields := reflect.ValueOf(want).Elem()
	for i := range fields.NumField() {
		require.NotZero(t, fields.Field(i).Len(),
			"a new field of State belongs into the image, and here: %s", fields.Type().Field(i).Name)
	}
	for i := range 600 {
		require.NoError(t, setMember(t.Context(), a, member(fmt.Sprint("r", i), auth.Reader)))
	}
	want = stateOf(t, a)
	same := func(what string) {
		t.Helper()
		require.Equal(t, want, stateOf(t, d.team(t, false)), what)
		require.Equal(t, want, stateOf(t, a), what)
	}
	require.NoError(t, a.CompactTenant(t.Context()))
	require.Contains(t, d.files(t, "tenants/a/tenant/image"), "1/"+fmt.Sprintf("%012d", version(t, a)))
	same("with an image")
	d.clock.pass(11 * time.Minute)
	require.NoError(t, a.CompactTenant(t.Context()))
	d.clock.pass(61 * time.Minute)
	require.NoError(t, d.team(t, false).CompactTenant(t.Context()))
	require.Less(t, d.runs(t), 600, "they have left the table")
	same("whose items are gone")
	require.Equal(t, want, stateOf(t, sleeper))
	n, err := d.team(t, false).VerifyLog(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, version(t, a), n)

	_, err = a.CreateToken(t.Context(), callOf("late"), tenant.Token{
		ID: "a_9", Name: "n", Digest: "d", Roles: everywhere(auth.Admin),
	}, toldToken)
	require.NoError(t, err)
	want = stateOf(t, a)
	same("and behind the image")
	first := true
	for _, err := range a.Log().Commits(t.Context(), 1) {
		require.NoError(t, err)
		first = false
	}
	require.False(t, first)
}

// TestTenantOfALostTable checks that a tenant whose table is lost starts again empty: the remaining
// part of its log, which may lack the revocation of a token, is deleted and does not prevent
// folding.
func TestTenantOfALostTable(t *testing.T) {
	d := deploy(t)
	a := populated(t, d)
	require.NoError(t, a.Log().Compact(t.Context(), eventlog.Compaction{All: true}))
	require.NotEmpty(t, d.files(t, "tenants/a/tenant/segment"))
	fresh := deploy(t)
	fresh.bucket, fresh.dir = d.bucket, d.dir
	o := fresh.options(fresh.table, false)
	o.CreateMissing = true
	teams := tenant.NewRegistry(o)
	t.Cleanup(teams.Close)
	require.NoError(t, teams.Make(t.Context(), "c"))
	for range 2 {
		c, err := teams.Tenant(t.Context(), "c")
		require.NoError(t, err)
		require.Empty(t, stateOf(t, c).Vaults())
	}
	require.NoError(t, table.Sub(fresh.table, "a").Commit(t.Context(),
		table.Remove(table.Key{Sort: "log/~"})))
	b, err := teams.Tenant(t.Context(), "a")
	require.NoError(t, err)
	require.Empty(t, d.files(t, "tenants/a/tenant/segment"))
	require.Empty(t, stateOf(t, b).Tokens())
	require.NoError(t, setMember(t.Context(), b, member("m", auth.Admin)))
	require.NoError(t, b.Log().Compact(t.Context(), eventlog.Compaction{All: true}))
	require.Equal(t, stateOf(t, b), stateOf(t, fresh.team(t, false)))
}

// TestTenantThatIsNotMade checks that opening a tenant without a log does not make it unless the
// options allow that, and that opening an existing tenant costs two requests.
func TestTenantThatIsNotMade(t *testing.T) {
	d := deploy(t)
	counted := tabletest.NewFlaky(d.table, nil)
	_, err := d.teams(t, counted, false).Tenant(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, tabletest.Counts{Gets: 1, Queries: 1, Pages: 1}, counted.Counts())

	require.NoError(t, table.Sub(d.table, "a").Commit(t.Context(),
		table.Remove(table.Key{Sort: "log/~"})))
	_, err = d.teams(t, d.table, false).Tenant(t.Context(), "a")
	require.Error(t, err)
	o := d.options(d.table, false)
	o.CreateMissing = true
	teams := tenant.NewRegistry(o)
	t.Cleanup(teams.Close)
	_, err = teams.Tenant(t.Context(), "a")
	require.NoError(t, err)
}

// version returns the version of a tenant.
func version(t *testing.T, a *tenant.Tenant) uint64 {
	t.Helper()
	_, seq, err := a.State(t.Context())
	require.NoError(t, err)
	return seq
}

// runs returns the number of items that the log of tenant "a" has in the table.
func (d *deployment) runs(t *testing.T) (n int) {
	t.Helper()
	for _, err := range table.Sub(d.table, "a").Query(t.Context(), "", "log/0", "log/9") {
		require.NoError(t, err)
		n++
	}
	return n
}
