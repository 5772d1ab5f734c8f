package localapp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fileblob"
	host "github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// sleepers are processes over the same stores that do nothing between calls: Background is off, and
// they do the work of a running process only when they are called to. One more process does nothing
// else, with a clock that is ahead, so that items that must be an hour old leave the table while
// the others work.
type sleepers struct {
	r       *rand.Rand
	begin   func(now func() time.Time) *sleeper
	awake   []*sleeper
	janitor *sleeper
	clock   *clock // the janitor's
	left    int    // passes that it makes, so that it stays within a day
}

// A sleepStores is the state that all of them share.
type sleepStores struct {
	table   table.Table
	bucket  blob.Bucket
	compact func(context.Context) error
	memory  int64 // that open vaults may take in each process
}

// A sleeper is one of them.
type sleeper struct {
	teams   *tenant.Registry
	auditor *audit.Auditor
	cat     *tool.Catalogue
}

// manySleepers is the number of processes that answer calls.
const manySleepers = 3

// newSleepers opens the processes over empty stores, and writes the fixture.
func newSleepers(t testing.TB, log *slog.Logger) *sleepers {
	t.Helper()
	dir := t.TempDir()
	db, err := bolttable.Open(filepath.Join(dir, "rookery.db"), bolttable.Options{Now: atNoon})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fileblob.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	s := &sleepers{
		r: rand.New(rand.NewPCG(repotest.Seed(t), 0)), clock: &clock{now: noon}, left: 10,
	}
	s.begin = func(now func() time.Time) *sleeper {
		return newSleeper(t, log, sleepStores{db, files, db.Compact, 1 << 20}, now)
	}
	s.janitor = s.begin(s.clock.time)
	for range manySleepers {
		s.awake = append(s.awake, s.begin(atNoon))
	}
	require.NoError(t, s.janitor.teams.Make(t.Context(), auth.Local))
	writeFixture(t, s.awake[0].invoker())
	return s
}

// newSleeper opens one process. The tenant must be created later.
func newSleeper(t testing.TB, log *slog.Logger, s sleepStores, now func() time.Time) *sleeper {
	t.Helper()
	p, end, err := openSleeper(log, s, now)
	require.NoError(t, err)
	t.Cleanup(end)
	return p
}

// openSleeper opens one process. end ends it.
func openSleeper(log *slog.Logger, s sleepStores, now func() time.Time) (p *sleeper, end func(), err error) {
	p = &sleeper{teams: tenant.NewRegistry(tenant.Options{
		Table: s.table, Bucket: s.bucket, Texts: repo.NewTexts(1 << 20), Snapshots: repo.NewSnapshotCache(1 << 20),
		Memory: tenant.NewMemory(s.memory), Limits: localapp.LimitsOf(localapp.Config{}), Log: log, Now: now,
		Compact: s.compact, Kinds: host.Jobs, Parts: host.Parts(),
	})}
	h, err := host.New(host.Options{Teams: p.teams, Tables: p.teams.Table, Log: log, Now: now})
	if err != nil {
		p.teams.Close()
		return nil, nil, err
	}
	p.auditor, p.cat = h.Auditor, h.Catalogue
	return p, func() { h.Close(); p.teams.Close() }, nil
}

func (p *sleeper) invoker() tool.Invoker { return tooltest.As(p.cat, auth.LocalCaller()) }

// way is the way to any of the processes at any moment. It does not support calls whose answers
// depend on a folder, of which there is none, on archives, on the counts of one process, or on
// jobs, which the janitor continues an hour ahead.
func (s *sleepers) way() tooltest.Way {
	return tooltest.Way{Name: "asleep", Call: func(t testing.TB, c tooltest.Call) (json.RawMessage, bool) {
		t.Helper()
		made, _ := s.janitor.cat.Find(c.Tool)
		if made != nil && (tellsOfThePlace(made.Name) || takesAnErasedName(made.Name, c.Args)) {
			return nil, false
		}
		s.maintain(t)
		return s.any().Call(t, c)
	}}
}

// tellsOfThePlace reports whether the answers of a tool depend on a folder, on archives, on the
// place of data, on the counts of one process, or on the progress of jobs.
func tellsOfThePlace(name string) bool {
	return slices.Contains([]string{
		"raven_stats", "vault_status", "raven_reindex", "team_usage", "team_audit_verify", "team_vault_erase",
		"team_tenant_erase", "team_job_list", "team_job_get",
	}, name)
}

// takesAnErasedName reports whether a call creates a vault with the name of one that is being
// erased, in the story about that: the name is free as soon as the janitor, an hour ahead, has
// finished the job.
func takesAnErasedName(name string, in map[string]json.RawMessage) bool {
	return name == "team_vault_create" && string(in["name"]) == `"gone"`
}

// any is the way to any of the processes that run. It supports every call.
func (s *sleepers) any() tooltest.Way {
	return tooltest.Way{Name: "any", Call: func(t testing.TB, c tooltest.Call) (json.RawMessage, bool) {
		t.Helper()
		return tooltest.Invoking("asleep", s.awake[s.r.IntN(len(s.awake))].invoker()).Call(t, c)
	}}
}

// maintain sometimes runs several due passes, each by a random process.
func (s *sleepers) maintain(t testing.TB) {
	t.Helper()
	if s.r.IntN(8) == 0 { // one ends, and another begins
		s.awake[s.r.IntN(len(s.awake))] = s.begin(atNoon)
	}
	for s.r.IntN(3) == 0 {
		p := s.awake[s.r.IntN(len(s.awake))]
		if s.r.IntN(2) == 0 && s.left > 0 {
			p, s.left = s.janitor, s.left-1
			s.clock.minutes(61)
		}
		require.NoError(t, p.pass(t.Context(), auth.Local, s.r.IntN(4)))
	}
}

// pass runs one of the passes that a running process runs in the background, for a tenant.
func (p *sleeper) pass(ctx context.Context, tenant string, which int) error {
	own, err := p.teams.Tenant(ctx, tenant)
	if err != nil {
		return err
	}
	switch which {
	case 0:
		_, err = own.Work(ctx)
		return errors.Join(err, own.CompactTenant(ctx))
	case 1:
		_, err = audit.RefusalsOf(own).Archive(ctx, own.Now())
		return errors.Join(err, p.auditor.Archive(ctx))
	}
	return p.foldAll(ctx, own)
}

// foldAll compacts the vaults, as after 500 commits.
func (p *sleeper) foldAll(ctx context.Context, own *tenant.Tenant) error {
	state, _, err := own.State(ctx)
	if err != nil {
		return err
	}
	for _, e := range state.Vaults() {
		if e.Status != eventlog.Active {
			continue
		}
		v, err := own.Vault(ctx, e.Name)
		if err == nil {
			err = errors.Join(v.Compact(ctx, eventlog.Compaction{All: true}), own.CompactVault(ctx, e.Name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// asleep is the way to processes that sleep between calls, for the list of ways in.
func asleep() wayIn {
	return wayIn{"asleep", func(t testing.TB) *entrance {
		logs := &lockedBuffer{}
		s := newSleepers(t, leaktest.Logger(t, logs))
		dir := t.TempDir() // without a folder of notes
		require.NoError(t, os.Mkdir(filepath.Join(dir, "tenants"), 0o700))
		return &entrance{s.way(), s.any(), dir, logs}
	}}
}

// TestSleepersAgree makes calls by random processes, each of them twice with one key, while passes
// run at random moments and processes end and begin. Each call has one effect, all processes and a
// new one give the same answers, and the logs verify.
func TestSleepersAgree(t *testing.T) {
	s := newSleepers(t, slog.New(slog.DiscardHandler))
	s.left = 20
	steps, every := 40, 10
	if soaked() {
		steps = 2000
	}
	alive := map[string]bool{} // objects, and whether they are still there
	for i := range steps {
		id := fmt.Sprintf("people/agree%d", i)
		calls := []tooltest.Call{
			s.keyed(t, i, "raven_new", args{"type": "person", "title": fmt.Sprint("Agree", i)}),
			s.keyed(t, i, "raven_add", args{"to": "inbox", "text": fmt.Sprintf("sleepword%d", i)}),
		}
		alive[id] = true
		if s.r.IntN(3) == 0 {
			calls = append(calls, s.keyed(t, i, "raven_delete", args{"id": id}))
			alive[id] = false
		}
		for _, c := range calls {
			s.maintain(t)
			answer, _ := s.any().Call(t, c)
			require.Empty(t, tooltest.CodeOf(t, answer), "%s", answer)
			s.maintain(t)
			again, _ := s.any().Call(t, c)
			require.Empty(t, tooltest.CodeOf(t, again), "%s", again)
		}
		if (i+1)%every == 0 {
			s.agree(t, alive, i+1)
		}
	}
}

// keyed returns a call in the vault main with its own idempotency key.
func (s *sleepers) keyed(t testing.TB, n int, name string, in args) tooltest.Call {
	t.Helper()
	in["vault"], in["idempotency_key"] = "main", fmt.Sprint(name, n)
	return tooltest.NewCall(t, name, string(marshalled(t, in)))
}

// agree requires that all processes, and a new one, give the same answers, and that these are
// correct after so many steps.
func (s *sleepers) agree(t testing.TB, alive map[string]bool, steps int) {
	t.Helper()
	all := append([]*sleeper{s.begin(atNoon)}, s.awake...)
	ask := func(name string, in args) (first json.RawMessage) {
		t.Helper()
		c := tooltest.NewCall(t, name, string(marshalled(t, in)))
		for i, p := range all {
			answer, _ := tooltest.Invoking("asleep", p.invoker()).Call(t, c)
			if i == 0 {
				first = answer
			}
			require.Equal(t, tooltest.Comparable(first), tooltest.Comparable(answer), "%s %v", name, in)
		}
		return first
	}
	for _, r := range readings(t) {
		if r.tool != "team_usage" { // what one process counted it alone knows for a minute
			ask(r.tool, r.args)
		}
	}
	for id, there := range alive {
		code := tooltest.CodeOf(t, ask("raven_object_get", args{"vault": "main", "id": id}))
		require.Equal(t, there, code == "", id)
	}
	text := string(ask("raven_read", args{"vault": "main", "path": "inbox.md"}))
	for i := range steps {
		require.Equal(t, 1, strings.Count(text+" ", fmt.Sprintf(`sleepword%d\n`, i)), "the line %d", i)
	}
	var verified struct{ Data struct{ Verified bool } }
	require.NoError(t, json.Unmarshal(ask("team_audit_verify", args{"vault": "main"}), &verified))
	require.True(t, verified.Data.Verified)
}
