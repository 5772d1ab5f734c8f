package tenant_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/repotest"
)

const (
	streets     = 1  // the number of folders
	streetsSoak = 10 // the same for a soak test
	streetKills = 10 // in each folder, and some processes more that are killed while they recover
	soakKills   = 20
)

// outsideSeeds are the seeds with which the test failed once.
var outsideSeeds = []uint64{}

// outsideSteps are the kinds of steps at which a process that serves a folder is killed.
var outsideSteps = []string{
	"swap displaced s to note",  // the exchange
	"rename tmp to displaced s", // prepares the exchange
	takesIn,                     // a commit of the person's changes
	"create tmp", "write tmp",   // staging
	"rename displaced s to displaced r",        // the person had saved: the displaced file goes back
	"swap displaced r to note",                 // likewise
	"rename note to displaced m",               // removes a note
	"rename displaced m to displaced k",        // likewise
	"rename tmp to note",                       // adds a note: new, a copy or a restored one
	"Commit a run", "Replace the control item", // by clients; by changes found, and for cursors
	"sync note", "sync the folder of note", // before the cursor moves
	"write audit", "sync audit", "create audit",
	"make folder note", "remove folder note",
	"Put what was seen", // the state of the files, for the next process
	"Get an item", "Query",
}

// seldom are the kinds of steps that a process makes only a few of.
var seldom = []string{
	"rename displaced s to displaced r", "swap displaced r to note", "sync note",
	"sync the folder of note", "write audit", "sync audit", "create audit", "make folder note",
	"remove folder note", "rename note to displaced m", "rename displaced m to displaced k", takesIn,
}

// TestKilledBesideEditors kills processes that serve a folder, before and after every kind of step,
// while clients write to the log and a person edits the same notes with editors that save in
// different ways. Afterwards the folder and the log agree; each acknowledged or saved line is in
// its note once, or in a copy beside it; and no temporary file is left (issue 6).
func TestKilledBesideEditors(t *testing.T) {
	repotest.EachSeed(t, outsideSeeds, func(t *testing.T, seed uint64) {
		n, kills, all := streets, streetKills, newDeaths()
		if os.Getenv("ROOKERY_SOAK") != "" {
			n, kills = streetsSoak, soakKills
		}
		for i := range n {
			t.Run(fmt.Sprintf("street %d", i), func(t *testing.T) {
				t.Parallel()
				s := newStreet(t, rand.New(rand.NewPCG(seed, uint64(i))))
				first := s.r.IntN(len(outsideSteps))
				for round := 0; len(s.died) < kills && round < 3*kills; round++ {
					s.round(t, round, outsideSteps[(first+round)%len(outsideSteps)])
				}
				all.add(s.died)
			})
		}
		t.Cleanup(func() { t.Logf("killed at: %v", all.byStep) })
	})
}

// A street is a folder that a person edits, and that one process after the other serves until it is
// killed.
type street struct {
	dir    string
	r      *rand.Rand
	editor map[string]*editor
	own    map[string]string // the texts of the notes that only the person changes, by path
	left   map[string]bool   // the paths from which the person removed a note since the last check
	past   []string          // the commits so far, each abbreviated
	died   []string          // the steps at which processes were killed
	deaths int               // the length of died at the last check

	mu      sync.Mutex
	strokes map[string]*stroke
}

func newStreet(t *testing.T, r *rand.Rand) *street {
	s := newFolder(t, r)
	s.look(t)
	return s
}

// newFolder makes a street that no process has served yet.
func newFolder(t *testing.T, r *rand.Rand) *street {
	s := &street{
		dir: t.TempDir(), r: r, own: map[string]string{}, left: map[string]bool{},
		strokes: map[string]*stroke{},
		editor:  map[string]*editor{}, past: []string{},
	}
	require.NoError(t, os.MkdirAll(s.path("items"), 0o700))
	for _, note := range shared {
		require.NoError(t, fillFile(s.path(note), blank))
	}
	for _, note := range []string{fresh, stubborn} {
		s.editor[note] = &editor{path: s.path(note), stubborn: note == stubborn}
	}
	return s
}

// path returns the path of a file of the folder.
func (s *street) path(name string) string {
	return filepath.Join(s.dir, servedFolder, filepath.FromSlash(name))
}

// round runs a process that serves the folder and is killed at a step, sometimes a second one, and
// then checks the folder.
func (s *street) round(t *testing.T, round int, step string) {
	l := serving{
		Dir: s.dir, Seed: s.r.Uint64(), Round: round, Deeds: 10,
		Doom: doom{Step: step, N: 1 + s.r.Int64N(8), After: s.r.IntN(2) == 0},
	}
	switch {
	case step == "Put what was seen":
		l.Doom.N = 1
	case slices.Contains(seldom, step):
		l.Doom.N = 1 + s.r.Int64N(3)
	}
	s.live(t, &l)
	if s.r.IntN(3) == 0 { // and once more, while the next process recovers
		again := serving{Dir: s.dir, Seed: s.r.Uint64(), Round: 1000 + round}
		again.Doom = doom{Step: step, N: 1 + s.r.Int64N(3), After: s.r.IntN(2) == 0}
		s.live(t, &again)
	}
	s.look(t)
}

// live runs a process to its end while the person edits, and records what the process reports.
func (s *street) live(t *testing.T, l *serving) {
	text, err := json.Marshal(l)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), servingVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	dies, over := false, make(chan struct{})
	var edits sync.WaitGroup
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "serves" && l.Deeds > 0 {
			s.edit(t, l, &edits, over)
		}
		dies = s.hear(t, lines.Text()) || dies
	}
	close(over)
	edits.Wait()
	err = cmd.Wait()
	if !dies {
		require.NoError(t, err, "%s", text)
		return
	}
	require.Equal(t, "signal: killed", fmt.Sprint(err))
	s.died = append(s.died, l.Doom.Step)
}

// hear records a line of a process, and reports whether it is the last before its death.
func (s *street) hear(t *testing.T, line string) (dies bool) {
	what, rest, _ := strings.Cut(line, " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch what {
	case "tries", "saves":
		k := &stroke{}
		require.NoError(t, json.Unmarshal([]byte(rest), k))
		s.strokes[k.Word] = k
	case "did":
		s.strokes[rest].acked = true
	case "dies":
		return true
	}
	return false
}

// edit lets the person edit until the process has ended, and sometimes once more after that.
func (s *street) edit(t *testing.T, l *serving, edits *sync.WaitGroup, over <-chan struct{}) {
	for i, note := range []string{fresh, stubborn} {
		r := rand.New(rand.NewPCG(l.Seed, uint64(60+i)))
		edits.Go(func() { s.editNote(t, l.Round, note, r, over) })
	}
	r := rand.New(rand.NewPCG(l.Seed, 70))
	edits.Go(func() { s.keepHouse(t, l.Round, r, over) })
}

// until calls do at random intervals until over is closed, and then, with probability 1/2, once
// more.
func until(r *rand.Rand, over <-chan struct{}, do func(i int)) {
	for i := 0; ; i++ {
		select {
		case <-over:
			if r.IntN(2) == 0 {
				do(i)
			}
			return
		case <-time.After(time.Duration(r.IntN(20)) * time.Millisecond):
			do(i)
		}
	}
}

// editNote adds lines to a note and saves each in a way chosen at random.
func (s *street) editNote(
	t *testing.T, round int, note string, r *rand.Rand, over <-chan struct{},
) {
	e, ways := s.editor[note], savings()
	until(r, over, func(i int) {
		k := &stroke{
			Word: fmt.Sprintf("r%03d-%c-%03d", round, note[len("items/")], i), Note: note, By: "somebody",
			State: r.IntN(8) == 0,
		}
		s.mu.Lock()
		s.strokes[k.Word] = k
		s.mu.Unlock()
		way := ways[r.IntN(len(ways))]
		if err := e.save(s.dir, k, way); err != nil {
			t.Errorf("somebody saves %s: %v", note, err)
			return
		}
		s.mu.Lock()
		k.acked = true
		s.mu.Unlock()
	})
}

// save adds a stroke to the text in the editor and saves it. While it saves in several steps it
// keeps the lock shared, because a process that reads changes at once does not wait until the file
// stops changing.
func (e *editor) save(dir string, k *stroke, way saving) error {
	if err := e.read(); err != nil {
		return err
	}
	e.text = k.change(e.text)
	if way.whole {
		return way.save(e.path, e.text)
	}
	lock, err := lockFile(filepath.Join(dir, servedLock), syscall.LOCK_SH)
	if err != nil {
		return err
	}
	defer lock.Close()
	return way.save(e.path, e.text)
}

// keepHouse makes, moves, changes and removes notes that only the person touches, and one note that
// clients make and remove as well.
func (s *street) keepHouse(t *testing.T, round int, r *rand.Rand, over <-chan struct{}) {
	until(r, over, func(i int) {
		word := fmt.Sprintf("r%03d-o-%03d", round, i)
		if err := s.chore(word, r); err != nil {
			t.Errorf("somebody keeps house: %v", err)
		}
	})
}

func (s *street) chore(word string, r *rand.Rand) error {
	all := slices.Sorted(maps.Keys(s.own))
	if len(all) < 6 || r.IntN(6) == 0 {
		return s.keep(fmt.Sprintf("own/%d/%s.md", r.IntN(3), word), "# "+word+"\n")
	}
	at := all[r.IntN(len(all))]
	switch r.IntN(6) {
	case 0:
		delete(s.own, at)
		s.left[at] = true
		return os.Remove(s.path(at))
	case 1:
		return s.move(at, fmt.Sprintf("own/%d/%s.md", r.IntN(3), word))
	case 2:
		return s.move(at, filepath.ToSlash(filepath.Dir(at))+"/"+turned(filepath.Base(at)))
	case 3:
		if err := os.Remove(s.path(fleeting)); err == nil {
			return nil
		}
		return saveOver(s.path(fleeting), "# "+word+"\n")
	}
	return s.keep(at, s.own[at]+"\n"+word+"\n")
}

// turned returns a name with its first letter in the other case.
func turned(name string) string {
	if upper := strings.ToUpper(name[:1]); upper != name[:1] {
		return upper + name[1:]
	}
	return strings.ToLower(name[:1]) + name[1:]
}

func (s *street) keep(at, text string) error {
	s.own[at] = text
	if err := os.MkdirAll(filepath.Dir(s.path(at)), 0o700); err != nil {
		return err
	}
	return saveOver(s.path(at), text)
}

func (s *street) move(from, to string) error {
	s.own[to] = s.own[from]
	delete(s.own, from)
	s.left[from] = true
	if err := os.MkdirAll(filepath.Dir(s.path(to)), 0o700); err != nil {
		return err
	}
	return os.Rename(s.path(from), s.path(to))
}

// look serves the folder in a process that is not killed until nothing changes any more, and then
// compares everything.
func (s *street) look(t *testing.T) {
	t.Helper()
	s.clean(t)
	v, err := (&serving{Dir: s.dir}).open(t.Context())
	require.NoError(t, err)
	v.settle(t)
	for s.forgo(t) {
		v.settle(t)
	}
	c, err := v.vault.Control(t.Context())
	require.NoError(t, err)
	require.Nil(t, c.Held)
	require.Nil(t, c.Left)
	notes := v.notes(t)
	s.compareHistory(t, v)
	file, err := v.folder.AuditFile(t.Context())
	require.NoError(t, err)
	_, err = v.vault.Verify(t.Context(), file)
	require.NoError(t, err)
	audit := ""
	for lines, err := range v.vault.AuditLog(t.Context()) {
		require.NoError(t, err)
		audit += string(lines)
	}
	require.NoError(t, v.close())
	files := s.files(t)
	require.Equal(t, audit, repotest.TakeAudit(files))
	require.Equal(t, notes, files)
	s.compareStrokes(t, notes)
	s.compareOwn(t, notes)
}

// clean removes the files that editors left beside their notes.
func (s *street) clean(t *testing.T) {
	require.NoError(t, filepath.WalkDir(s.path("."), func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, litter) {
			err = os.Remove(path)
		}
		return err
	}))
}

// settle reads changes until none is left, and accepts every held batch.
func (v *servedVault) settle(t *testing.T) {
	t.Helper()
	var taken checkout.IngestResult
	var lost []blob.Displaced
	still := func() bool {
		var err error
		taken, err = v.folder.Reindex(t.Context(), checkout.IngestOptions{Pending: checkout.Accept})
		require.NoError(t, err)
		lost = nil
		for d, err := range v.files.Displaced(t.Context()) {
			require.NoError(t, err)
			lost = append(lost, d)
		}
		return taken == checkout.IngestResult{} && len(lost) == 0
	}
	for end := time.Now().Add(20 * time.Second); !still(); {
		require.True(t, time.Now().Before(end), "it never ends: %+v, %q", taken, lost)
	}
}

// notes returns the texts of all files of the vault, by path.
func (v *servedVault) notes(t *testing.T) map[string]string {
	t.Helper()
	idx, err := v.vault.Read(t.Context())
	require.NoError(t, err)
	notes := map[string]string{}
	for f := range idx.Files() {
		text, err := v.vault.Text(t.Context(), f.Body)
		require.NoError(t, err)
		notes[f.Path] = string(text)
	}
	return notes
}

// files returns the texts of all files of the folder, by path.
func (s *street) files(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(s.path("."), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(s.path("."), path)
		found[filepath.ToSlash(rel)] = string(text)
		return err
	}))
	return found
}

// compareHistory requires that all earlier commits are unchanged, that no stroke is in the log
// twice, and that each acknowledged stroke of a client is there.
func (s *street) compareHistory(t *testing.T, v *servedVault) {
	t.Helper()
	var now []string
	seen := map[string]bool{}
	for c, err := range v.vault.Commits(t.Context(), 1) {
		require.NoError(t, err)
		short := sha256.New()
		for _, n := range c.Notes {
			fmt.Fprintf(short, "%q %q %q %t\n", n.Path, n.Text, n.Theirs, n.Deleted)
		}
		now = append(now, fmt.Sprintf("%d %s %x", c.Seq, c.Tool, short.Sum(nil)))
		require.False(t, s.strokes[c.Tool] != nil && seen[c.Tool], "%s is there twice", c.Tool)
		seen[c.Tool] = true
	}
	require.GreaterOrEqual(t, len(now), len(s.past))
	require.Equal(t, s.past, (now[:len(s.past)]))
	s.past = now
	for word, k := range s.strokes {
		if k.By != "somebody" && k.acked {
			require.True(t, seen[word], "%s was acknowledged, and is gone", word)
		}
	}
}

// compareStrokes requires that each line is in its place.
func (s *street) compareStrokes(t *testing.T, notes map[string]string) {
	t.Helper()
	copies := map[string]string{}
	for path, text := range notes {
		if of, _, is := strings.Cut(path, ".conflict-"); is {
			copies[of+".md"] += text
		}
	}
	for word, k := range s.strokes {
		text, there := notes[k.Note]
		switch {
		case k.Note == fleeting:
		case strings.HasPrefix(k.Note, "theirs/"):
			gone := s.strokes[strings.TrimSuffix(word, "-gone")+"-gone"]
			switch {
			case gone == nil && k.acked:
				require.Equal(t, k.change(""), text, "%s", word)
			case gone != nil && gone.acked:
				require.False(t, there, "%s is there again", k.Note)
			}
		default:
			s.compareLine(t, k, text, copies[k.Note])
		}
	}
}

// compareLine requires that a line is in its note at most once and, if it was acknowledged, is in
// the note or in a copy beside it.
func (s *street) compareLine(t *testing.T, k *stroke, text, copies string) {
	t.Helper()
	line := "\n- " + k.Word + "\n"
	n := strings.Count(text, line)
	if n > 1 {
		t.Errorf("%s is %d times in %s:\n%s", k.Word, n, k.Note, text)
	}
	if n == 0 && k.acked && !strings.Contains(copies, line) {
		t.Errorf("%s by %s is lost from %s:\n%s", k.Word, k.By, k.Note, text)
	}
}

// forgo repeats removals and moves of the person's own notes that were undone because a process was
// killed just after it had read the state before: the next process cannot know whether a file had
// reached the disk, and makes the folder equal to the log. forgo reports whether it changed
// anything.
func (s *street) forgo(t *testing.T) bool {
	t.Helper()
	back, done := map[string]string{}, false // by path, the texts of files that should not exist
	for path := range s.left {
		text, err := os.ReadFile(s.path(path))
		if _, own := s.own[path]; err == nil && !own && len(s.died) > s.deaths {
			back[path] = string(text)
		}
	}
	for path, text := range back {
		to := ""
		for own, is := range s.own {
			if _, err := os.Stat(s.path(own)); err != nil && is == text {
				to = own
			}
		}
		if done = true; to == "" {
			require.NoError(t, os.Remove(s.path(path)))
		} else {
			require.NoError(t, os.Rename(s.path(path), s.path(to)))
		}
	}
	s.deaths = len(s.died)
	clear(s.left)
	return done
}

// compareOwn requires that the notes that only the person touched are as the person left them.
func (s *street) compareOwn(t *testing.T, notes map[string]string) {
	t.Helper()
	own := map[string]string{}
	for path, text := range notes {
		if strings.HasPrefix(path, "own/") {
			own[path] = text
		}
	}
	require.Equal(t, s.own, own)
}
