package tenant_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tenant"
)

const (
	scenes     = 1  // the number of deployments
	scenesSoak = 16 // the same for a soak test, in which about 200 processes are killed
	lives      = 12 // in each deployment, and some processes more that are killed while they recover
)

// killSeeds are the seeds with which the test failed once.
var killSeeds = []uint64{}

// TestKilledAtEveryStep kills processes before and after each kind of step: while they write, fold
// and trim, and while they recover from the process before. Every acknowledged write is in the log,
// the index, the text, the file and the audit log exactly once, and there is nothing else except
// writes that the last process was asked for (DESIGN §9).
func TestKilledAtEveryStep(t *testing.T) {
	repotest.EachSeed(t, killSeeds, func(t *testing.T, seed uint64) {
		n, all := scenes, newDeaths()
		if os.Getenv("ROOKERY_SOAK") != "" {
			n = scenesSoak
		}
		for i := range n {
			t.Run(fmt.Sprintf("scene %d", i), func(t *testing.T) {
				t.Parallel()
				s := newScene(t, rand.New(rand.NewPCG(seed, uint64(i))))
				first := s.r.IntN(len(steps))
				for round := range lives {
					s.round(t, round, steps[(first+round)%len(steps)])
				}
				s.end(t)
				all.add(s.died)
			})
		}
		t.Cleanup(func() { t.Logf("killed at: %v", all.byStep) })
	})
}

// A deaths counts how many processes were killed at each step. It is safe for concurrent use.
type deaths struct {
	mu     sync.Mutex
	byStep map[string]int
}

func newDeaths() *deaths { return &deaths{byStep: map[string]int{}} }

func (d *deaths) add(more []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, step := range more {
		d.byStep[step]++
	}
}

// A scene is a deployment in which one process after the other is killed.
type scene struct {
	dir   string
	r     *rand.Rand
	ahead time.Duration // how far the clock of the next process is ahead
	deeds map[string]*deed
	died  []string // the steps at which processes were killed
	last  []*deed  // the deeds of the process before
}

func newScene(t *testing.T, r *rand.Rand) *scene {
	s := &scene{dir: t.TempDir(), r: r, deeds: map[string]*deed{}}
	var files []eventlog.Note
	for _, path := range standing {
		files = append(files, eventlog.Note{Path: path, Text: []byte("# begin\n\n")})
	}
	s.open(t, func(teams *tenant.Registry) {
		require.NoError(t, teams.Make(t.Context(), "a"))
		a, err := teams.Tenant(t.Context(), "a")
		require.NoError(t, err)
		_, err = a.Create(t.Context(), callOf("create"), tenant.NewVault{Name: "v", Files: files}, told)
		require.NoError(t, err)
	})
	return s
}

// open opens the deployment in a process that is not killed, and closes it after use.
func (s *scene) open(t *testing.T, use func(*tenant.Registry)) {
	t.Helper()
	now := func() time.Time { return time.Now().Add(s.ahead) }
	tab, err := bolttable.Open(filepath.Join(s.dir, "table.db"),
		bolttable.Options{Now: now, LockTimeout: time.Minute})
	require.NoError(t, err)
	files, err := fileblob.Open(filepath.Join(s.dir, "files"))
	require.NoError(t, err)
	bucket := doomedBucket{files, &doom{}, func() time.Duration { return s.ahead }}
	teams := tenant.NewRegistry(tenant.Options{
		Table: tab, Bucket: bucket, Texts: repo.NewTexts(1 << 20),
		Log: slog.New(slog.DiscardHandler), Now: now, Background: true, Folders: true,
	})
	use(teams)
	teams.Close()
	require.NoError(t, files.Close())
	require.NoError(t, tab.Close())
}

// round runs a process that is killed at a step, sometimes a second one, and then checks the
// deployment. The last two rounds of a scene only fold, a day later.
func (s *scene) round(t *testing.T, round int, step string) {
	l := life{
		Dir: s.dir, Ahead: s.ahead, Seed: s.r.Uint64(), Round: round, Deeds: 12,
		Doom: doom{Step: step, N: 1 + s.r.Int64N(8), After: s.r.IntN(2) == 0},
	}
	if round >= lives-2 {
		l.Deeds, l.Ahead = 0, s.ahead+25*time.Hour
	}
	if slices.Contains(rare, step) {
		l.Doom.N, l.Long = 1+s.r.Int64N(2), true
	}
	s.last = nil
	s.live(t, &l)
	if s.r.IntN(3) == 0 { // and once more, while the next process recovers
		l.Round, l.Doom.N, l.Ahead = lives+round, 1+s.r.Int64N(4), s.ahead
		s.live(t, &l)
	}
	s.look(t)
}

// live runs a process to its end, and records what it reports.
func (s *scene) live(t *testing.T, l *life) {
	text, err := json.Marshal(l)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), lifeVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	dies := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		dies = s.hear(t, lines.Text()) || dies
	}
	err = cmd.Wait()
	if !dies {
		require.NoError(t, err, "%s", text)
		return
	}
	require.Equal(t, "signal: killed", fmt.Sprint(err))
	s.died = append(s.died, l.Doom.Step)
}

// hear records a line of a process, and reports whether it is the last before its death.
func (s *scene) hear(t *testing.T, line string) (dies bool) {
	what, rest, _ := strings.Cut(line, " ")
	switch what {
	case "tries":
		d := &deed{}
		require.NoError(t, json.Unmarshal([]byte(rest), d))
		s.deeds[d.Word], s.last = d, append(s.last, d)
	case "did":
		s.deeds[rest].acked = true
	case "clock":
		ahead, err := strconv.ParseInt(rest, 10, 64)
		require.NoError(t, err)
		s.ahead = time.Duration(ahead)
	case "dies":
		return true
	}
	return false
}

// look opens the deployment after a death, repeats the deeds that have a key, and compares
// everything.
func (s *scene) look(t *testing.T) {
	var want map[string]string
	var audit string
	s.open(t, func(teams *tenant.Registry) {
		v, folder := s.vault(t, teams)
		s.repeat(t, v)
		want = s.model(t, v)
		s.requireIndex(t, v, want)
		for lines, err := range v.AuditLog(t.Context()) {
			require.NoError(t, err)
			audit += string(lines)
		}
		taken, err := folder.Reindex(t.Context(), checkout.IngestOptions{DryRun: true})
		require.NoError(t, err)
		require.Zero(t, taken, "no file of ours is taken for an edit")
	})
	files := s.files(t)
	require.Equal(t, audit, repotest.TakeAudit(files))
	require.Equal(t, want, files)
	s.requireAudited(t, audit)
}

func (s *scene) vault(t *testing.T, teams *tenant.Registry) (*repo.Vault, *checkout.Checkout) {
	a, err := teams.Tenant(t.Context(), "a")
	require.NoError(t, err)
	v, err := a.Vault(t.Context(), "v")
	require.NoError(t, err)
	folder, err := a.Folder(t.Context(), "v")
	require.NoError(t, err)
	return v, folder
}

// repeat repeats the deeds of the last process that have a key. A deed that was done gets its
// earlier answer; one that was not is done now.
func (s *scene) repeat(t *testing.T, v *repo.Vault) {
	for _, d := range s.last {
		if d.Key == "" {
			continue
		}
		receipt, err := d.do(t.Context(), v)
		require.NoError(t, err)
		if d.acked || receipt.Replayed != nil {
			require.Equal(t, strconv.Quote(d.Word), string(receipt.Replayed))
		}
		d.acked = true
	}
}

// model returns the notes that follow from the log. It requires that each commit is one complete
// deed, and that each acknowledged deed is one commit.
func (s *scene) model(t *testing.T, v *repo.Vault) map[string]string {
	notes, seen := map[string]string{}, map[string]bool{}
	for c, err := range v.Commits(t.Context(), 1) {
		require.NoError(t, err)
		d := s.deeds[c.Tool]
		require.Equal(t, c.Seq == 1, d == nil, "nobody asked for v%d, %s", c.Seq, c.Tool)
		require.False(t, seen[c.Tool], "%s is there twice", c.Tool)
		seen[c.Tool] = true
		want := map[string]string{}
		if d == nil {
			for _, path := range standing {
				want[path] = "# begin\n\n"
			}
		} else {
			want = d.change(notes[d.Note])
		}
		found := map[string]string{}
		for _, n := range c.Notes {
			found[n.Path] = string(n.Text)
		}
		require.Equal(t, want, found, c.Tool)
		for path, text := range want {
			if notes[path] = text; text == "" {
				delete(notes, path)
			}
		}
	}
	for _, d := range s.deeds {
		require.True(t, seen[d.Word] || !d.acked, "%s was acknowledged, and is gone", d.Word)
	}
	return notes
}

// requireIndex requires that the index and its texts equal want, by path.
func (s *scene) requireIndex(t *testing.T, v *repo.Vault, want map[string]string) {
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	found := map[string]string{}
	for f := range idx.Files() {
		text, err := v.Text(t.Context(), f.Body)
		require.NoError(t, err)
		found[f.Path] = string(text)
	}
	require.Equal(t, want, found)
}

// files returns the files of the vault's folder, by path.
func (s *scene) files(t *testing.T) map[string]string {
	root := filepath.Join(s.dir, "files/tenants/a/vaults/v/notes")
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		found[filepath.ToSlash(rel)] = string(text)
		return err
	}))
	return found
}

// requireAudited requires that the audit log has a line for each acknowledged deed that makes or
// removes a note, and no line twice.
func (s *scene) requireAudited(t *testing.T, audit string) {
	seen := map[string]bool{}
	for line := range strings.Lines(audit) {
		var a struct{ Op, Entity, ID, Version string }
		require.NoError(t, json.Unmarshal([]byte(line), &a), line)
		require.False(t, seen[line], "%s is told twice", line)
		seen[line] = true
		if a.Entity == "object" || a.ID != "" {
			seen[a.Op+" "+a.ID] = true
		}
	}
	for _, d := range s.deeds {
		if d.acked && d.Kind == "new" {
			require.True(t, seen["create "+strings.TrimSuffix(d.Note, ".md")], d.Word)
		}
		if d.acked && d.Kind == "gone" {
			require.True(t, seen["delete "+strings.TrimSuffix(d.Note, ".md")], d.Word)
		}
	}
}

// end lets two days pass, after which nothing is left of interrupted work, and verifies the log.
func (s *scene) end(t *testing.T) {
	s.last = nil
	for range 2 {
		s.ahead += 25 * time.Hour
		s.open(t, func(teams *tenant.Registry) {
			v, folder := s.vault(t, teams)
			require.NoError(t, v.Compact(t.Context(),
				eventlog.Compaction{Behind: checkout.Cursors(), All: true}))
			file, err := folder.AuditFile(t.Context())
			require.NoError(t, err)
			_, err = v.Verify(t.Context(), file)
			require.NoError(t, err)
		})
	}
	s.look(t)
}
