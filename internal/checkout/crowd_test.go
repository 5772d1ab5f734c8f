package checkout_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/vault"
	"github.com/rookeryhq/rookery/internal/watch"
)

const (
	crowdClients = 8
	crowdTime    = 3 * time.Second // how long they edit
	crowdHurry   = 5               // so much faster is the checkout

	// All editors pause for a part of each round, so that a batch of their saves is closed while
	// the clients continue.
	crowdRound = 1500 * time.Millisecond
	crowdRest  = 700 * time.Millisecond
)

// TestCrowd lets editors of every style and habit, and clients that write to the log, change the
// same notes. Nothing is lost or duplicated, and the folder ends in the state of the log.
func TestCrowd(t *testing.T) {
	for _, watched := range []bool{true, false} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprintf("watched=%t/shared=%t", watched, shared), func(t *testing.T) {
				t.Parallel()
				repotest.EachSeed(t, nil, func(t *testing.T, seed uint64) {
					newCrowd(t, seed, watched, shared).play(t)
				})
			})
		}
	}
}

// A crowd edits the notes of one place.
type crowd struct {
	*place
	seed    uint64
	shared  bool // all of them change one line of each note, too
	vault   *repo.Vault
	folder  *checkout.Checkout
	late    *lateFiles
	ledger  *ledger
	begin   time.Time
	end     time.Time
	commits atomic.Int64
}

func newCrowd(t *testing.T, seed uint64, watched, shared bool) *crowd {
	t.Helper()
	p := newPlace(t, nil)
	c := &crowd{
		place: p, seed: seed, shared: shared, vault: p.vault(t), ledger: newLedger(),
		late: &lateFiles{files: p.files, texts: map[string]bool{}},
	}
	o := checkout.Options{Files: c.late, Log: slog.New(slog.DiscardHandler), Now: p.now}
	if watched {
		o.Watch = func(enter func(string) bool) (blob.Watch, error) { return new(watch.Hub).Open(p.dir, enter) }
	}
	var err error
	c.folder, err = checkout.Open(t.Context(), c.vault, o.Hurried(crowdHurry))
	require.NoError(t, err)
	t.Cleanup(c.folder.Close)
	return c
}

// lateFiles are a folder in which, when late is set, no displaced file has to wait for its time.
type lateFiles struct {
	*files
	late atomic.Bool

	mu    sync.Mutex
	texts map[string]bool // of all that was displaced and lost
}

func (f *lateFiles) Due(ctx context.Context) iter.Seq2[blob.Displaced, error] {
	all := f.files.Due(ctx)
	if f.late.Load() {
		all = f.Displaced(ctx)
	}
	return func(yield func(blob.Displaced, error) bool) {
		for d, err := range all {
			f.mu.Lock()
			f.texts[string(d.Data)] = true
			f.mu.Unlock()
			if !yield(d, err) {
				return
			}
		}
	}
}

// displaced reports whether a line is in a displaced text.
func (f *lateFiles) displaced(line string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for text := range f.texts {
		if times(text, line) > 0 {
			return true
		}
	}
	return false
}

// times returns how often a text contains a line.
func times(text, line string) int { return strings.Count("\n"+text, "\n"+line+"\n") }

// play lets all of them edit for a while, and checks the result.
func (c *crowd) play(t *testing.T) {
	var at sync.WaitGroup
	c.begin = time.Now()
	c.end = c.begin.Add(crowdTime)
	var notes []string
	for _, s := range styles() {
		note := strings.ReplaceAll(s.name, " ", "/") + ".md"
		notes = append(notes, note)
		write(t, c.vault, note, firstText(s.name))
	}
	for i, s := range styles() {
		habit := habit((uint64(i) + c.seed) % 3)
		at.Go(func() { c.edit(t, s, notes[i], habit) })
	}
	for i := range crowdClients {
		at.Go(func() { c.client(t, c.writer(i, "c"), notes) })
	}
	at.Wait()
	c.late.late.Store(true)
	require.Eventually(t, func() bool { return c.still(t) }, waitLong, waitStep)
	c.check(t, notes)
	c.tellSpeed(t)
}

func firstText(name string) string {
	text := fmt.Sprintf("---\ntitle: %s\n---\n# %s\n\nshared by all\n\n", name, name)
	for i := range 10 {
		text += fmt.Sprintf("%d: what was there before, %s\n", i, words[i])
	}
	return text
}

func (c *crowd) writer(i int, kind string) *writer {
	name := fmt.Sprintf("%s%d", kind, i)
	source := rand.New(rand.NewPCG(c.seed, uint64(i)<<8+uint64(kind[0])))
	return &writer{name: name, rand: source, shared: c.shared}
}

// client writes to the log until the end.
func (c *crowd) client(t *testing.T, w *writer, notes []string) {
	for time.Now().Before(c.end) {
		note := notes[w.rand.IntN(len(notes))]
		var d draft
		call := eventlog.Call{Tool: "test", Who: eventlog.Who{Principal: w.name}}
		_, err := c.vault.Update(t.Context(), call, func(ctx context.Context, tx *repo.Tx) (any, error) {
			d = draft{}
			text, exists, err := tx.Text(ctx, vault.Path(note))
			if err != nil || !exists {
				return nil, err
			}
			d = w.draft(note, string(text))
			return nil, tx.Put(ctx, vault.Path(note), []byte(d.text))
		})
		if err != nil {
			t.Errorf("a client writes %s: %v", note, err)
			return
		}
		c.ledger.note(d, true)
		c.commits.Add(1)
		time.Sleep(time.Duration(w.rand.IntN(60)) * time.Millisecond)
	}
}

// A habit is how often an editor reads the file again.
type habit int

const (
	always habit = iota
	sometimes
	never // but at the beginning
)

// edit edits a file until the end.
func (c *crowd) edit(t *testing.T, s style, note string, h habit) {
	w := c.writer(len(note), "e")
	e := &editor{writer: w, file: file{path: filepath.Join(c.dir, note)}, opens: s.name == holdsOpen.name}
	defer e.close()
	for time.Now().Before(c.end) {
		if e.text == "" || h == always || h == sometimes && w.rand.IntN(3) == 0 {
			if err := e.read(); err != nil {
				t.Errorf("an editor (%s) reads: %v", s.name, err)
				return
			}
		}
		d := w.draft(note, e.text)
		time.Sleep(time.Duration(w.rand.IntN(100)) * time.Millisecond)
		e.pause = time.Duration(w.rand.IntN(8)) * time.Millisecond
		if err := s.save(e.file, d.text); err != nil {
			t.Errorf("an editor (%s) saves: %v", s.name, err)
			return
		}
		e.text = d.text
		c.ledger.note(d, false)
		time.Sleep(time.Duration(w.rand.IntN(150)) * time.Millisecond)
		c.rest()
	}
}

// rest waits for the next round if the current one is almost over.
func (c *crowd) rest() {
	if left := crowdRound - time.Since(c.begin)%crowdRound; left < crowdRest {
		time.Sleep(left)
	}
}

// An editor has a file open.
type editor struct {
	*writer
	file
	opens bool
	text  string
}

func (e *editor) close() {
	if e.held != nil {
		_ = e.held.Close() // all is written
	}
}

// read reads the file again.
func (e *editor) read() error {
	e.close()
	from, err := os.OpenFile(e.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(from)
	e.text = string(text)
	if e.opens {
		e.held = from
		return err
	}
	return from.Close()
}

// still reports whether there is no work left.
func (c *crowd) still(t *testing.T) bool {
	for range c.late.Displaced(t.Context()) {
		return false
	}
	idx, err := c.vault.Read(t.Context())
	require.NoError(t, err)
	for f := range idx.Files() {
		text, err := c.vault.Text(t.Context(), f.Body)
		require.NoError(t, err)
		if c.file(t, f.Path) != string(text) {
			return false
		}
	}
	return freshness(t, c.vault) == repo.Fresh
}

// check requires that every line is where it must be. A line that an editor removed may return: an
// editor that saves a text without the line and with another change cannot be distinguished from
// one that never saw the line.
func (c *crowd) check(t *testing.T, notes []string) {
	idx := c.inStep(t, c.vault)
	texts, copies := map[string]string{}, map[string]string{}
	for f := range idx.Files() {
		if slices.Contains(notes, f.Path) {
			texts[f.Path] = text(t, c.vault, f.Path)
			continue
		}
		of, _, is := strings.Cut(f.Path, ".conflict-")
		require.True(t, is && slices.Contains(notes, of+".md"), "a file from nowhere: %s", f.Path)
		copies[of+".md"] += text(t, c.vault, f.Path)
	}
	undone := 0
	for line, told := range c.ledger.added {
		byClient, taken := c.ledger.taken[line]
		n := times(texts[told.note], line)
		beside := times(copies[told.note], line) > 0
		switch {
		case n > 1:
			t.Errorf("%q is %d times in %s", line, n, told.note)
		case n == 0 && !taken && !beside:
			t.Errorf("%q is lost from %s", line, told.note)
		case n == 1 && byClient && copies[told.note] == "" && !c.late.displaced(line):
			t.Errorf("%q was taken back by a client, and is in %s", line, told.note)
		case n == 1 && taken:
			undone++
		}
	}
	t.Logf("%d notes have copies beside them; %d lines are there that editors took back", len(copies), undone)
	if t.Failed() {
		for note, text := range texts {
			t.Logf("%s:\n%s", note, text)
		}
	}
}

// tellSpeed logs how fast the clients wrote, and how long it took until the log had the saves of
// the editors.
func (c *crowd) tellSpeed(t *testing.T) {
	first := map[string]time.Time{}
	for commit, err := range c.vault.Commits(t.Context(), 1) {
		require.NoError(t, err)
		for _, n := range commit.Notes {
			for line := range strings.Lines(string(n.Text)) {
				if line = strings.TrimSuffix(line, "\n"); first[line].IsZero() {
					first[line] = commit.Time
				}
			}
		}
	}
	var waits []time.Duration
	for line, told := range c.ledger.added {
		if at, ok := first[line]; !told.client && ok {
			waits = append(waits, at.Sub(told.saved).Round(time.Millisecond))
		}
	}
	slices.Sort(waits)
	if len(waits) > 0 {
		t.Logf("%.0f commits/s of clients; %d lines of editors were in the log after %s (median), %s (9 of 10)",
			float64(c.commits.Load())/crowdTime.Seconds(), len(waits), waits[len(waits)/2], waits[len(waits)*9/10])
	}
}
