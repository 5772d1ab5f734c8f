package localapp_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tool"
)

// asleepVariable makes every test of this binary open data directories as processes that sleep
// between calls. Its value is the seed of the passes of maintenance.
const asleepVariable = "ROOKERY_LOCALAPP_ASLEEP"

// asleepNow reports whether the tests open data directories as processes that sleep.
func asleepNow() bool { return os.Getenv(asleepVariable) != "" }

// drawnAsleep is the number of suites that CI runs with processes that sleep. ROOKERY_SOAK runs
// all.
const drawnAsleep = 16

// TestSuitesAsleep runs the suites of this package with processes that sleep between calls:
// Background is off, and before some calls other processes run passes of maintenance. The suites
// are those that the test binary lists, except those that do not work in this way, each with its
// reason. Stories over every way in are not among them, because asleep is one of the ways.
func TestSuitesAsleep(t *testing.T) {
	if asleepNow() {
		t.Skip("it is told to them")
	}
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	listed, err := exec.Command(self, "-test.list", ".").Output()
	require.NoError(t, err)
	all := strings.Fields(string(listed))
	all = slices.DeleteFunc(all, func(name string) bool {
		return !strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "TestEveryWay")
	})
	awake := awakeOnly(t)
	for name := range awake {
		require.Contains(t, all, name, "testdata/awake.txt names a test that is not there")
	}
	told := slices.DeleteFunc(all, func(name string) bool { return awake[name] != "" })
	seed := repotest.Seed(t)
	if !soaked() {
		r := rand.New(rand.NewPCG(seed, 3))
		r.Shuffle(len(told), func(i, j int) { told[i], told[j] = told[j], told[i] })
		told = told[:drawnAsleep]
	}
	t.Logf("seed %d: %v", seed, told)
	cmd := exec.Command(self, "-test.run", "^("+strings.Join(told, "|")+")$", "-test.timeout", "120m")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", asleepVariable, seed))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "seed %d: %s", seed, out)
}

// awakeOnly returns the suites that need a running process, and the reasons.
func awakeOnly(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.Open("testdata/awake.txt")
	require.NoError(t, err)
	defer file.Close()
	all, why := map[string]string{}, ""
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		reason, isReason := strings.CutPrefix(line, "# ")
		switch {
		case line == "":
		case isReason:
			why = reason
		default:
			require.NotEmpty(t, why, line)
			require.Empty(t, all[line], "%s is there twice", line)
			all[line] = why
		}
	}
	require.NoError(t, lines.Err())
	return all
}

// openApp opens a data directory or a folder as localapp.Open does; when the suites run with
// processes that sleep, a data directory as such a process. A folder that is served in place is
// always followed.
func openApp(ctx context.Context, cfg localapp.Config) (*localapp.App, error) {
	var seed uint64
	if _, err := fmt.Sscan(os.Getenv(asleepVariable), &seed); err != nil || cfg.Folder != "" {
		return localapp.Open(ctx, cfg)
	}
	u := &upkeep{r: rand.New(rand.NewPCG(seed, 4)), now: cfg.Now}
	if u.now == nil {
		u.now = time.Now
	}
	app, err := localapp.Open(ctx, localapp.Asleep(cfg, u.intercept))
	if err == nil {
		err = u.begin(app)
	}
	if err == nil { // where tests look for the folders of vaults, of which there are none
		err = os.MkdirAll(filepath.Join(cfg.Data, "tenants"), 0o700)
	}
	return app, err
}

// manyBeside is the number of processes that run passes in addition to the one that answers calls.
// The clock of the last is ahead.
const manyBeside = 3

// Upkeep are processes over the same stores as one that sleeps between its calls. They run passes
// of maintenance at random moments.
type upkeep struct {
	now func() time.Time

	underway sync.RWMutex // held for reading by each call
	mu       sync.Mutex   // guards what follows
	r        *rand.Rand
	beside   []*sleeper
	ahead    time.Duration // of the clock of the last
}

// begin opens the processes.
func (u *upkeep) begin(app *localapp.App) error {
	t, b, compact := app.Stores()
	for i := range manyBeside {
		now := u.now
		if i == manyBeside-1 {
			now = func() time.Time {
				u.mu.Lock()
				defer u.mu.Unlock()
				return u.now().Add(u.ahead)
			}
		}
		// They need no end, because they do nothing between passes.
		p, _, err := openSleeper(slog.New(slog.DiscardHandler), sleepStores{t, b, compact, 1 << 30}, now)
		if err != nil {
			return err
		}
		u.mu.Lock()
		u.beside = append(u.beside, p)
		u.mu.Unlock()
	}
	return nil
}

// intercept runs passes before some calls, for the tenants of their callers.
func (u *upkeep) intercept(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
		if err := u.maintain(context.WithoutCancel(ctx), c.Caller.Tenant); err != nil {
			return tool.Reply{}, fmt.Errorf("a pass of maintenance: %w", err)
		}
		u.underway.RLock()
		defer u.underway.RUnlock()
		return next(ctx, c)
	}
}

// maintain runs a pass sometimes. While no call runs, it may be that of a process whose clock is
// ahead, so that items that must be an hour old leave the table: the log relies on every call
// taking less than an hour. These passes stay within one day.
func (u *upkeep) maintain(ctx context.Context, tenant string) error {
	u.mu.Lock()
	which, pass, ahead := u.r.IntN(5*manyBeside), u.r.IntN(4), u.ahead < 10*time.Hour
	if which >= len(u.beside) || tenant == "" {
		u.mu.Unlock()
		return nil
	}
	p := u.beside[which]
	u.mu.Unlock()
	if which == manyBeside-1 {
		if !ahead || !u.underway.TryLock() {
			return nil
		}
		defer u.underway.Unlock()
		u.mu.Lock()
		u.ahead += 61 * time.Minute
		u.mu.Unlock()
	}
	err := p.pass(ctx, tenant, pass)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unauthenticated) {
		return nil // the tenant, or a vault, is just gone; or the call is the first of its tenant
	}
	return err
}
