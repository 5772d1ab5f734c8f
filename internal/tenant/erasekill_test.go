package tenant_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// endVariable is the environment variable that makes the test binary erase something instead of
// running tests. Its value is an end in JSON.
const endVariable = "ROOKERY_TEAM_END"

// An end describes what a process erases until it is killed or finished.
type end struct {
	Dir  string
	Now  time.Time
	What string // of tenant "a": tenant, vault, note or memory
	Doom doom   `json:"Doom"`
}

// liveEnd makes the erasure that text describes in JSON.
func liveEnd(text string) error {
	e := &end{}
	if err := json.Unmarshal([]byte(text), e); err != nil {
		return err
	}
	told := &teller{}
	e.Doom.tell = func() { told.tell("dies") }
	now := func() time.Time { return e.Now }
	tab, err := bolttable.Open(filepath.Join(e.Dir, "table.db"),
		bolttable.Options{Now: now, LockTimeout: time.Minute})
	if err != nil {
		return err
	}
	files, err := fileblob.Open(filepath.Join(e.Dir, "files"))
	if err != nil {
		return err
	}
	none := func() time.Duration { return 0 }
	teams := tenant.NewRegistry(tenant.Options{
		Table: doomedTable{tab, &e.Doom}, Bucket: doomedBucket{files, &e.Doom, none},
		Texts: repo.NewTexts(1 << 20), Log: slog.New(slog.DiscardHandler), Now: now,
		Background: true, Folders: true, SoleProcess: true, Parts: []string{refused},
		Compact: func(ctx context.Context) (err error) {
			e.Doom.at("Compact", func() { err = tab.Compact(ctx) })
			return err
		},
	})
	if err := e.erase(context.Background(), teams); err != nil {
		return err
	}
	teams.Close()
	return tab.Close()
}

// erase makes the call that erases.
func (e *end) erase(ctx context.Context, teams *tenant.Registry) error {
	if e.What == "tenant" {
		_, err := teams.Erase(ctx, erasing(), "a")
		return err
	}
	a, err := teams.Tenant(ctx, "a")
	if err != nil {
		return err
	}
	switch e.What {
	case "vault":
		_, err = a.Erase(ctx, callOf("erase"), "v")
	case "memory":
		_, err = a.EraseMemory(ctx, callOf("erase"), "m", erasedMemory)
	default:
		_, err = a.EraseNote(ctx, callOf("erase"), "v", canary+".md")
	}
	return err
}

// live runs the process to its end, and reports whether it was killed.
func (e *end) live(t *testing.T) bool {
	t.Helper()
	text, err := json.Marshal(e)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), endVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	dies := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		dies = dies || lines.Text() == "dies"
	}
	err = cmd.Wait()
	if !dies {
		require.NoError(t, err, "%s", text)
		return false
	}
	require.Equal(t, "signal: killed", fmt.Sprint(err))
	return true
}

// open opens the files that the process left, in a process that is not killed, and closes them
// after use.
func (e *end) open(t *testing.T, use func(*deployment, *tenant.Registry)) {
	t.Helper()
	d := &deployment{dir: filepath.Join(e.Dir, "files"), clock: &clock{now: e.Now}}
	tab, err := bolttable.Open(filepath.Join(e.Dir, "table.db"),
		bolttable.Options{Now: d.clock.time, LockTimeout: time.Minute})
	require.NoError(t, err)
	files, err := fileblob.Open(d.dir)
	require.NoError(t, err)
	d.table, d.bucket = tab, files
	o := d.options(tab, true)
	o.Compact, o.Parts, o.SoleProcess = tab.Compact, []string{refused}, true
	teams := tenant.NewRegistry(o)
	use(d, teams)
	teams.Close()
	e.Now = d.clock.time()
	require.NoError(t, files.Close())
	require.NoError(t, tab.Close())
}

// endSteps are the kinds of steps that an erasure makes.
var endSteps = []string{
	"Get an item", "Query", "Commit a run", "Replace the control item", "Remove items", "Put an image",
	"Put a segment", "Get an object", "List", "Delete", "Compact",
}

// TestEraseIsKilledForGood kills processes with a signal at steps of erasures of a tenant, a vault,
// a note and a memory. The next process finishes the erasure, and nothing is left.
func TestEraseIsKilledForGood(t *testing.T) {
	repotest.EachSeed(t, nil, func(t *testing.T, seed uint64) {
		r, killed := rand.New(rand.NewPCG(seed, 3)), 0
		kinds := []string{"tenant", "vault", "note", "memory"}
		for i := range max(erasuresKilled()/3, 2*len(kinds)) {
			e := &end{
				Dir: t.TempDir(), Now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
				What: kinds[i%len(kinds)],
				Doom: doom{
					Step: endSteps[r.IntN(len(endSteps))], N: 1 + r.Int64N(6), After: r.IntN(2) == 0,
				},
			}
			t.Run(fmt.Sprintf("%s, %s %d, after %v", e.What, e.Doom.Step, e.Doom.N, e.Doom.After), func(t *testing.T) {
				e.open(t, func(d *deployment, teams *tenant.Registry) {
					require.NoError(t, teams.Make(t.Context(), "a"))
					require.NoError(t, teams.Make(t.Context(), "b"))
					little(t, d, teams)
					if e.What == "memory" {
						a, err := teams.Tenant(t.Context(), "a")
						require.NoError(t, err)
						furnishMemories(t, a)
					}
				})
				if e.live(t) {
					killed++
				}
				e.open(t, func(d *deployment, teams *tenant.Registry) { e.finish(t, d, teams) })
				e.open(t, func(d *deployment, teams *tenant.Registry) { e.look(t, d, teams) })
			})
		}
		t.Logf("%d were killed", killed)
	})
}

// ofOne reports whether the erasure is of a note or a memory.
func (e *end) ofOne() bool { return e.What == "note" || e.What == "memory" }

// finish makes the process look for jobs until none should be left, and then repeats the call.
func (e *end) finish(t *testing.T, d *deployment, teams *tenant.Registry) {
	t.Helper()
	for range 12 {
		_, err := teams.WorkOf(t.Context(), "a")
		if !e.ofOne() { // the job for a note or a memory fails if it erased nothing
			require.NoError(t, err)
		}
		d.clock.pass(10 * time.Minute)
	}
	if e.ofOne() {
		a, err := teams.Tenant(t.Context(), "a")
		require.NoError(t, err)
		jobs, err := a.Jobs().Open(t.Context())
		require.NoError(t, err)
		require.Empty(t, jobs)
	}
	require.NoError(t, e.erase(t.Context(), teams))
	d.clock.pass(eventlog.SweepAgain)
	_, err := teams.WorkOf(t.Context(), "a")
	require.NoError(t, err)
}

// look requires that the erased data is gone, and that everything else is unchanged.
func (e *end) look(t *testing.T, d *deployment, teams *tenant.Registry) {
	t.Helper()
	ctx := t.Context()
	if e.What == "tenant" {
		requireNoTenant(t, d)
		require.NoError(t, teams.Make(ctx, "a"))
		requireAnew(t, d, teams)
		return
	}
	a, err := teams.Tenant(ctx, "a")
	require.NoError(t, err)
	_, err = a.VerifyLog(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{canary + ".md"}, notes(t, a, "w"))
	if e.What == "memory" {
		requireMemories(t, a)
		require.Empty(t, d.tracesOf(t, heron))
		return
	}
	require.NotContains(t, d.files(t, "tenants/a/vaults/v"), canary+".md")
	if e.What == "vault" {
		require.Empty(t, d.files(t, "tenants/a/vaults/v"))
		d.requireNothing(t)
		return
	}
	require.Equal(t, []string{"b.md"}, notes(t, a, "v"))
	v, err := a.Vault(ctx, "v")
	require.NoError(t, err)
	_, err = v.Verify(ctx, nil)
	require.NoError(t, err)
}
