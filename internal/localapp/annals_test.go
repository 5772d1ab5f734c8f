package localapp_test

import (
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Annals are a data directory with a random history of calls, and the answers to some questions at
// the versions at which they were asked.
type recordedHistory struct {
	*drawer
	t       *testing.T
	dir     string
	clock   *shift
	app     *localapp.App
	answers map[uint64][]recordedAnswer
	wrote   map[string]int // calls that changed the vault, by tool
	good    map[string]int // questions that were answered, by tool
}

// failedAnnals are the seeds of histories that found a defect.
var failedAnnals = []uint64{}

// TestEveryToolAnswersAVersionAlike checks that every tool that reads a vault answers about a
// version, to the byte, as it did when that version was the newest: with as_of, after a restart,
// when the log was compacted and has left the table, with and without images, and when the index
// was rebuilt.
func TestEveryToolAnswersAVersionAlike(t *testing.T) {
	t.Parallel()
	repotest.EachSeed(t, failedAnnals, func(t *testing.T, seed uint64) {
		a := newRecordedHistory(t, seed)
		defer func() { require.NoError(t, a.app.Close()) }()
		a.record()
		for n := range annalsLength() / recordEvery {
			for range recordEvery {
				a.write()
			}
			a.record()
			a.restart(n)
			a.compare(6)
		}
		a.recordUnanswered()
		must(t, a.via(), "raven_reindex", args{"full": true})
		a.compare(len(a.answers))
		t.Logf("v%d, wrote %v, answered %v", a.newest(), a.wrote, a.good)
		for _, made := range readers() {
			require.NotZero(t, a.good[made.Name], "no question of %s was answered", made.Name)
		}
	})
}

// recordEvery is the number of calls that write after which all tools that read are asked.
const recordEvery = 20

// annalsLength returns the number of calls of a history.
func annalsLength() int {
	if soaked() {
		return 1000
	}
	return 120
}

func newRecordedHistory(t *testing.T, seed uint64) *recordedHistory {
	r := rand.New(rand.NewPCG(seed, 2))
	a := &recordedHistory{
		drawer: &drawer{r: r, author: repotest.NewAuthor(r)}, t: t, dir: t.TempDir(),
		clock:   &shift{clock{now: time.Date(2026, 11, 21, 0, 5, 0, 0, time.UTC)}},
		answers: map[uint64][]recordedAnswer{}, wrote: map[string]int{}, good: map[string]int{},
	}
	a.app = openAt(t, a.dir, a.clock.time)
	must(t, a.via(), "team_vault_create", args{"name": "v"})
	put(t, a.via(), fixture)
	must(t, a.via(), "memory_import", args{"vault": "v", "files": []args{
		{"path": "memories.jsonl", "content": strings.Join(exampleLines, "\n")}}})
	for _, label := range fillers { // which questions about snapshots name
		_, _ = call(t.Context(), a.via(), "tree_snapshot_create", args{"vault": "v", "label": label, "versionToken": "v1"})
	}
	a.learn(t, a.via())
	return a
}

func (a *recordedHistory) via() tool.Invoker { return local{a.app} }

func (a *recordedHistory) newest() uint64 {
	return must(a.t, a.via(), "raven_stats", nil).version(a.t)
}

// write makes one call that changes the vault, or that is refused because of its random arguments.
func (a *recordedHistory) write() {
	a.clock.tick()
	switch n := a.r.IntN(20); {
	case n < 9:
		a.change("team_vault_import", args{"mode": "replace", "notes": listOf(a.files())})
	case n < 12:
		newest := a.newest()
		a.change("raven_undo", args{"version": fmt.Sprintf("v%d", newest-a.r.Uint64N(min(newest, 8)))})
	case n < 13:
		a.change("team_vault_delete", args{"name": "v"})
		a.change("team_vault_restore", args{"name": "v"})
	default:
		a.learn(a.t, a.via())
		for range 8 { // what is drawn blindly is mostly refused
			made := writers()[a.r.IntN(len(writers()))]
			if a.change(made.Name, a.call(made)) {
				break
			}
		}
	}
}

// files returns some files that the author wrote.
func (a *recordedHistory) files() map[string]string {
	files := map[string]string{}
	for range 1 + a.r.IntN(3) {
		files[a.author.Path()] = a.author.Note()
	}
	switch a.r.IntN(12) {
	case 0:
		files["schema.yaml"] = a.author.Schema()
	case 1:
		files["raven.yaml"] = a.author.Config()
	case 2:
		files[".raven/audit.log"] = a.author.Audit(a.clock.time())
	}
	return files
}

// change makes a call, and reports whether it succeeded.
func (a *recordedHistory) change(name string, in args) bool {
	_, err := call(a.t.Context(), a.via(), name, in)
	if err == nil {
		a.wrote[name]++
		return true
	}
	code := fault.Of(err).Code
	require.NotEqual(a.t, fault.Internal, code, "%s %v: %v", name, in, err)
	require.NotEqual(a.t, fault.IndexError, code, "%s %v: %v", name, in, err)
	return false
}

// record asks every tool that reads some questions, and stores the answers.
func (a *recordedHistory) record() {
	a.learn(a.t, a.via())
	version := a.newest()
	for _, made := range readers() {
		for range 3 {
			q := a.question(a.t, a.via(), made)
			a.answers[version] = append(a.answers[version], q)
			if q.good {
				a.good[made.Name]++
				a.answers[version] = append(a.answers[version], pagesBehind(a.t, a.via(), q)...)
			}
		}
	}
	require.Equal(a.t, version, a.newest(), "a question wrote")
}

// recordUnanswered asks the tools of which no question was answered until one is: random arguments
// are seldom valid for some tools.
func (a *recordedHistory) recordUnanswered() {
	version := a.newest()
	for _, made := range readers() {
		for n := 0; n < 300 && a.good[made.Name] == 0; n++ {
			if q := a.question(a.t, a.via(), made); q.good {
				a.good[made.Name]++
				a.answers[version] = append(a.answers[version], q)
			}
		}
	}
}

// restart closes the data directory and opens it again, usually; between the two, another process
// may compact it, and images may be removed.
func (a *recordedHistory) restart(n int) {
	if n%4 == 3 {
		return
	}
	require.NoError(a.t, a.app.Close())
	if n%4 != 1 && a.clock.time().Hour() < 23 { // what is asked of today is asked of one day
		a.compactAll()
	}
	if n%4 == 2 {
		a.loseImages()
	}
	a.app = openAt(a.t, a.dir, a.clock.time)
}

// compactAll compacts the vault until the whole log has left the table.
func (a *recordedHistory) compactAll() {
	t := a.t
	table, err := bolttable.Open(filepath.Join(a.dir, "rookery.db"),
		bolttable.Options{Now: a.clock.time})
	require.NoError(t, err)
	bucket, err := fileblob.Open(a.dir)
	require.NoError(t, err)
	teams := tenant.NewRegistry(tenant.Options{
		Table: table, Bucket: bucket, Texts: repo.NewTexts(1 << 20), Now: a.clock.time,
		Log: slog.New(slog.DiscardHandler), Background: !asleepNow(), Folders: !asleepNow(),
	})
	own, err := teams.Tenant(t.Context(), auth.Local)
	require.NoError(t, err)
	v, err := own.Vault(t.Context(), "v")
	require.NoError(t, err)
	folding := eventlog.Compaction{All: true}
	if !asleepNow() {
		folding.Behind = checkout.Cursors()
	}
	require.NoError(t, v.Compact(t.Context(), folding))
	a.clock.pass(1)
	require.NoError(t, v.Compact(t.Context(), folding))
	x, err := v.Read(t.Context())
	require.NoError(t, err)
	c, err := v.Control(t.Context())
	require.NoError(t, err)
	require.Equal(t, x.Version(), c.Low, "what is folded leaves the table")
	teams.Close()
	require.NoError(t, bucket.Close())
	require.NoError(t, table.Close())
}

// loseImages removes the images of all logs.
func (a *recordedHistory) loseImages() {
	found := 0
	err := filepath.WalkDir(a.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "image" {
			return err
		}
		found++
		require.NoError(a.t, os.RemoveAll(path))
		return fs.SkipDir
	})
	require.NoError(a.t, err)
	require.NotZero(a.t, found, "there is no image")
}

// compare asks the questions about some versions again: about the newest one as before, and about
// the others as of their version.
func (a *recordedHistory) compare(some int) {
	versions := slices.Sorted(maps.Keys(a.answers))
	newest := a.newest()
	for _, i := range a.r.Perm(len(versions))[:min(some, len(versions))] {
		for _, was := range a.answers[versions[i]] {
			if hasPast(was.made) {
				a.requireSame(was, fmt.Sprintf("v%d", versions[i]))
			}
		}
	}
	for _, was := range a.answers[newest] {
		a.requireSame(was, "")
	}
}

func (a *recordedHistory) requireSame(was recordedAnswer, asOf string) {
	is := ask(a.t, a.via(), was, asOf)
	then := fmt.Sprintf(`,\"as_of\":\"%s\"`, asOf) // a fix is about the same version
	require.Equal(a.t, was.answer, strings.ReplaceAll(is.answer, then, ""), "%s as of %s", was, asOf)
}
