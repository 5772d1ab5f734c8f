package tenant_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// refused is a partition in which another package keeps data of a tenant.
const refused = "refusals"

// ending returns the tenants as a process that may erase one sees them.
func (d *deployment) ending(t *testing.T, over table.Table, folders bool) *tenant.Registry {
	t.Helper()
	teams := tenant.NewRegistry(tenant.Options{
		Table: over, Bucket: d.bucket, Texts: repo.NewTexts(1 << 20),
		Log: slog.New(slog.DiscardHandler), Now: d.clock.time, Background: folders, Folders: folders,
		Compact: d.table.(*bolttable.Table).Compact, Parts: []string{refused},
	})
	t.Cleanup(teams.Close)
	return teams
}

// furnishTenant gives tenant "a" everything that a tenant may have, with the canary in it: vaults,
// one of them in the trash and one erased, tokens and members, an image of its log, jobs, and data
// beside the logs.
func furnishTenant(t *testing.T, d *deployment, teams *tenant.Registry) {
	t.Helper()
	ctx := t.Context()
	a, err := teams.Tenant(ctx, "a")
	require.NoError(t, err)
	furnish(t, d, a)
	for _, name := range []string{"other", "trashed", "erased"} {
		_, err := create(ctx, a, callOf("make "+name), name)
		require.NoError(t, err)
		require.NoError(t, put(ctx, a, name, "a.md", canary))
	}
	trash(t, a, "trashed")
	_, err = a.Erase(ctx, callOf("erase one"), "erased")
	require.NoError(t, err)
	_, err = a.CreateToken(ctx, callOf("token"), tenant.Token{ID: "t1", Name: canary}, func(tenant.Token) any { return canary })
	require.NoError(t, err)
	_, err = a.SetMember(ctx, callOf("member"), tenant.Member{
		Issuer: "https://" + canary, Subject: canary, Roles: map[string]auth.Role{auth.AllVaults: auth.Admin},
	}, func(tenant.Member, bool) any { return canary })
	require.NoError(t, err)
	require.NoError(t, a.CompactTenant(ctx))
	a.Used(ctx, canary)
	require.NoError(t, a.ClaimAgent(ctx, auth.Caller{Agent: canary, Principal: canary, Tenant: "a"}, true))
	require.NoError(t, a.Table().Commit(ctx, table.Create(table.Item{
		Key: table.Key{Part: refused, Sort: canary}, Data: []byte(canary),
	})))
	_, err = a.Bucket().Put(ctx, refused+"/000000000001.jsonl", []byte(canary), blob.Always)
	require.NoError(t, err)
	_, err = a.EraseNote(ctx, callOf("erase note"), "v", canary+".md")
	require.NoError(t, err)
	require.NotEmpty(t, d.traces(t))
}

func erasing() eventlog.Call {
	c := callOf("end")
	c.Who.Principal = "ann"
	return c
}

// requireNoTenant requires that nothing is left of tenant "a" but tombstones, the job and the files
// of others.
func requireNoTenant(t *testing.T, d *deployment) {
	t.Helper()
	require.Empty(t, d.traces(t))
	for path := range d.files(t, "tenants/a") {
		require.True(t, strings.HasPrefix(path, "~2/") || strings.Contains(path, "own.txt"), path)
	}
	for _, part := range []string{"agents", "token-uses", refused} {
		require.False(t, d.has(t, part), part)
	}
}

// TestEraseTenant checks that nothing of a tenant is left anywhere, that processes that had it open
// refuse every call for it, and that the next tenant with the name starts empty.
func TestEraseTenant(t *testing.T) {
	for name, folders := range map[string]bool{"folders": true, "no folders": false} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			d := deploy(t)
			teams := d.ending(t, d.table, folders)
			b, err := teams.Tenant(ctx, "b")
			require.NoError(t, err)
			_, err = create(ctx, b, callOf("b"), "v")
			require.NoError(t, err)
			require.NoError(t, put(ctx, b, "v", "b.md", "of b\n"))
			furnishTenant(t, d, teams)
			a, err := teams.Tenant(ctx, "a")
			require.NoError(t, err)
			v, err := a.Vault(ctx, "v")
			require.NoError(t, err)
			warm := d.ending(t, d.table, false)
			slept, err := warm.Tenant(ctx, "a")
			require.NoError(t, err)
			asleep, err := slept.Vault(ctx, "v")
			require.NoError(t, err)
			_, err = asleep.Read(ctx)
			require.NoError(t, err)
			if folders {
				own := filepath.Join(d.dir, "tenants/a/vaults/v/notes/own.txt")
				require.NoError(t, os.WriteFile(own, []byte("not of the vault"), 0o600))
			}

			dry := erasing()
			dry.DryRun = true
			would, err := teams.Erase(ctx, dry, "a")
			require.NoError(t, err)
			require.Positive(t, would.Items)
			require.NotEmpty(t, d.traces(t))
			if folders {
				own := 0
				for path := range d.files(t, "tenants/a") {
					if strings.Contains(path, "/notes/") && !strings.Contains(path, "own.txt") {
						own++
					}
				}
				require.Equal(t, own, would.Files)
				require.Equal(t, 1, would.Left)
			} else {
				require.Zero(t, would.Files)
			}

			gone, err := teams.Erase(ctx, erasing(), "a")
			require.NoError(t, err)
			require.True(t, gone.Swept)
			require.Equal(t, job.Waiting, gone.Job.State)
			requireNoTenant(t, d)
			require.GreaterOrEqual(t, gone.Items, 10)
			require.GreaterOrEqual(t, gone.Objects, 3)
			if folders {
				require.Equal(t, 1, gone.Left)
				require.GreaterOrEqual(t, gone.Files, 4)
			}
			for what, err := range map[string]error{
				"the process":  second(teams.Tenant(ctx, "a")),
				"its tenant":   second(a.Current(ctx)),
				"asked again":  second(a.Fresh(ctx)),
				"the log":      third(a.State(ctx)),
				"a change":     second(a.Once(ctx, callOf("late"), func(context.Context, *tenant.State) (any, error) { return nil, nil })),
				"a replay":     second(a.CreateToken(ctx, callOf("token"), tenant.Token{ID: "t1"}, func(tenant.Token) any { return "" })),
				"a sleeper":    second(slept.Fresh(ctx)),
				"its teams":    second(warm.Tenant(ctx, "a")),
				"verification": second(slept.VerifyLog(ctx)),
				"a new one":    second(d.ending(t, d.table, false).Tenant(ctx, "a")),
			} {
				require.True(t, fault.Is(err, fault.Unauthenticated), "%s: %v", what, err)
			}
			for _, v := range []*repo.Vault{v, asleep} {
				_, err := v.Read(ctx)
				is(t, fault.NotFound, err)
			}
			again, err := teams.Erase(ctx, erasing(), "a")
			require.NoError(t, err)
			require.True(t, again.Replayed)
			require.Equal(t, gone.Receipt, again.Receipt)
			it, err := teams.ErasureJob(ctx, "a", gone.Job.ID)
			require.NoError(t, err)
			require.Equal(t, job.Waiting, it.State)

			require.NoError(t, teams.Make(ctx, "a"))
			requireAnew(t, d, teams)
			d.clock.pass(eventlog.SweepAgain)
			next, err := teams.WorkOf(ctx, "a")
			require.NoError(t, err)
			require.Zero(t, next)
			requireAnew(t, d, teams)
			again, err = teams.Erase(ctx, erasing(), "a")
			require.NoError(t, err)
			require.True(t, again.Replayed, "the repetition of a call erases no other tenant")
			require.Equal(t, job.Done, again.Job.State)
			it, err = teams.ErasureJob(ctx, "a", gone.Job.ID)
			require.NoError(t, err)
			require.Equal(t, job.Done, it.State)
			requireAnew(t, d, teams)
			require.Equal(t, []string{"b.md"}, notes(t, b, "v"))
			d.clock.pass(31 * 24 * time.Hour)
			_, err = teams.ErasureJob(ctx, "a", gone.Job.ID)
			is(t, fault.NotFound, err)
			requireAnew(t, d, d.ending(t, d.table, false))
		})
	}
}

// TestEraseTenantKey checks that a call with a key that was used for another call of the tenant
// erases nothing, and that the key of an erasure is refused for another request.
func TestEraseTenantKey(t *testing.T) {
	ctx := t.Context()
	d := deploy(t)
	teams := d.ending(t, d.table, false)
	a, err := teams.Tenant(ctx, "a")
	require.NoError(t, err)
	made := callOf("make")
	_, err = create(ctx, a, made, "v")
	require.NoError(t, err)
	taken := erasing()
	taken.Who, taken.Key = made.Who, made.Key
	for _, process := range []*tenant.Registry{teams, d.ending(t, d.table, false)} {
		_, err = process.Erase(ctx, taken, "a")
		is(t, fault.KeyReused, err)
		same := taken
		same.Request = made.Request // which is not the digest of a call that erases
		_, err = process.Erase(ctx, same, "a")
		is(t, fault.KeyReused, err)
	}
	stale := erasing()
	stale.IfVersion = 1
	require.NoError(t, put(ctx, a, "v", "a.md", "one\n"))
	_, err = create(ctx, a, callOf("more"), "w")
	require.NoError(t, err)
	_, err = teams.Erase(ctx, stale, "a")
	is(t, fault.Conflict, err)
	require.Equal(t, []string{"a.md"}, notes(t, a, "v"), "nothing was erased")

	_, err = teams.Erase(ctx, erasing(), "a")
	require.NoError(t, err)
	again, err := teams.Erase(ctx, erasing(), "a")
	require.NoError(t, err)
	require.True(t, again.Replayed)
	other := erasing()
	other.Request = []byte("other")
	_, err = teams.Erase(ctx, other, "a")
	is(t, fault.KeyReused, err)
	require.NoError(t, teams.Make(ctx, "a"))
	_, err = teams.Erase(ctx, other, "a")
	is(t, fault.KeyReused, err)
	a, err = teams.Tenant(ctx, "a")
	require.NoError(t, err)
	_, err = create(ctx, a, made, "v")
	require.NoError(t, err, "the next tenant is alive, and knows no key of the one before")
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

// requireAnew requires that tenant "a" is a new one that works. It makes the vault "v" with a note
// if there is none.
func requireAnew(t *testing.T, d *deployment, teams *tenant.Registry) {
	t.Helper()
	ctx := t.Context()
	a, err := teams.Tenant(ctx, "a")
	require.NoError(t, err)
	s, _, err := a.State(ctx)
	require.NoError(t, err)
	require.Empty(t, s.Tokens())
	require.Empty(t, s.Members())
	uses, err := a.Uses(ctx)
	require.NoError(t, err)
	require.Empty(t, uses)
	if _, ok := s.Vault("v"); !ok {
		require.Empty(t, s.Vaults())
		e, err := create(ctx, a, callOf("furnish"), "v")
		require.NoError(t, err)
		require.Equal(t, 1, e.Incarnation)
		require.NoError(t, put(ctx, a, "v", "new.md", "new\n"))
	}
	require.Contains(t, notes(t, a, "v"), "new.md")
	_, err = a.VerifyLog(ctx)
	require.NoError(t, err)
	require.Empty(t, d.traces(t))
}
