package vaultdir_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vaultdir"
)

// TestMain is also the main function of the children that the tests start.
func TestMain(m *testing.M) {
	dir, home := os.Getenv("FOLDER_DIR"), os.Getenv("FOLDER_HOME")
	switch os.Getenv("FOLDER_CHILD") {
	case "open":
		openOnce(dir, home)
	case "forever":
		fmt.Println("failed", openForever(dir, home))
	default:
		os.Exit(m.Run())
	}
}

// openOnce opens a folder when it is told to, says what came of it, and keeps it until it is told to
// end.
func openOnce(dir, home string) {
	in := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	_, _ = in.ReadString('\n')
	f, err := vaultdir.Open(dir, home)
	var used *vaultdir.InUse
	switch {
	case err == nil:
		fmt.Println("won", f.State)
	case errors.As(err, &used):
		fmt.Println("used", used.State)
	case fault.Is(err, fault.Unavailable):
		fmt.Println("unavailable")
	default:
		fmt.Println("failed", err)
	}
	_, _ = in.ReadString('\n')
}

// A child is a process that a test talks to.
type child struct {
	*testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func (p place) child(what, dir string) *child {
	p.Helper()
	c := &child{T: p.T, cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), "FOLDER_CHILD="+what, "FOLDER_DIR="+dir, "FOLDER_HOME="+p.home)
	c.cmd.Stderr = os.Stderr
	var err error
	c.in, err = c.cmd.StdinPipe()
	require.NoError(p, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(p, err)
	c.out = bufio.NewScanner(out)
	require.NoError(p, c.cmd.Start())
	p.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
	return c
}

func (c *child) say() {
	c.Helper()
	_, err := io.WriteString(c.in, "go\n")
	require.NoError(c, err)
}

func (c *child) hear() (verb, rest string) {
	c.Helper()
	require.True(c, c.out.Scan(), "the child ended by itself")
	verb, rest, _ = strings.Cut(c.out.Text(), " ")
	return verb, rest
}

// TestOneOfManyProcessesWins opens a folder that nobody has opened yet in eight processes at once.
func TestOneOfManyProcessesWins(t *testing.T) {
	t.Parallel()
	for range 3 {
		p := newPlace(t)
		dir := p.notes("n")
		var all []*child
		for range 8 {
			c := p.child("open", dir)
			verb, _ := c.hear()
			require.Equal(t, "ready", verb)
			all = append(all, c)
		}
		for _, c := range all {
			c.say()
		}
		said, states := map[string]int{}, map[string]bool{}
		for _, c := range all {
			verb, state := c.hear()
			said[verb]++
			if state != "" {
				states[state] = true
			}
		}
		require.Equal(t, 1, said["won"], said)
		require.Equal(t, 7, said["used"]+said["unavailable"], said)
		require.Len(t, states, 1)
		require.Len(t, names(t, p.home), 1)
		for _, c := range all {
			c.say()
		}
		for _, c := range all {
			require.NoError(t, c.cmd.Wait())
		}
		f := p.visit(dir)
		require.Equal(t, vaultdir.Known, f.Origin)
		require.True(t, states[f.State])
		p.requireMarked(f)
	}
}

// TestLockEndsWithTheProcess kills who has a folder.
func TestLockEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.child("open", p.notes("n"))
	c.hear()
	c.say()
	verb, state := c.hear()
	require.Equal(t, "won", verb)
	p.requireInUse(p.path("n"), state)
	require.NoError(t, c.cmd.Process.Kill())
	_ = c.cmd.Wait()
	require.Equal(t, vaultdir.Known, p.visit(p.path("n")).Origin)
}

// requireInUse requires that a folder is somebody else's, who has this state.
func (p place) requireInUse(dir, state string) {
	p.Helper()
	_, err := vaultdir.Open(dir, p.home)
	var used *vaultdir.InUse
	require.ErrorAs(p, err, &used)
	require.Equal(p, state, used.State)
	require.True(p, fault.Is(err, fault.Unavailable))
	found, err := vaultdir.Find(dir, p.home)
	require.NoError(p, err, "everybody may look")
	require.Equal(p, state, found.State)
}

// requireUnavailable requires that a folder is somebody else's, who has no state of ours.
func (p place) requireUnavailable(dir, says string) {
	p.Helper()
	_, err := vaultdir.Open(dir, p.home)
	var used *vaultdir.InUse
	require.NotErrorAs(p, err, &used)
	require.True(p, fault.Is(err, fault.Unavailable), "%v", err)
	require.ErrorContains(p, err, says)
}

func TestServedTwice(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	f := p.open(p.notes("n"))
	require.NoError(t, os.Symlink("n", p.path("link")))
	p.requireInUse(p.path("n"), f.State)
	p.requireInUse(p.path("link"), f.State)

	require.NoError(t, os.Rename(p.path("n"), p.path("moved")))
	p.requireInUse(p.path("moved"), f.State)
	require.NoError(t, f.Close())
	require.NoError(t, f.Close(), "it is closed already")
	require.Equal(t, vaultdir.Moved, p.visit(p.path("moved")).Origin)
}

func TestServedFromAnotherHome(t *testing.T) {
	t.Parallel()
	p, other := newPlace(t), newPlace(t)
	before := other.visit(p.notes("n"))
	f := p.open(p.path("n"))
	other.requireUnavailable(f.Path, "another process serves the folder")
	require.NoError(t, f.Close())
	after := other.open(p.path("n"))
	require.Equal(t, before.State, after.State)
	require.Equal(t, filepath.Base(f.State), filepath.Base(after.State), "the id is the folder's")
}

// TestCopyBesideItsOriginal serves both at once.
func TestCopyBesideItsOriginal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	original := p.open(p.notes("original"))
	copied := p.open(p.copies(p.path("original"), "copy"))
	require.Equal(t, vaultdir.Copied, copied.Origin)
	p.requireInUse(p.path("original"), original.State)
	p.requireInUse(p.path("copy"), copied.State)
}

// TestCopiesAtOnce opens folders with one id at the same moment, and keeps them. Each has an id of
// its own then, and at most one has that which they began with.
func TestCopiesAtOnce(t *testing.T) {
	t.Parallel()
	begin := map[string]func(p place){
		"beside the original": func(p place) { p.open(p.notes("original")) },
		"of what is gone":     func(p place) { p.visit(p.notes("original")) },
		"from another machine": func(p place) {
			p.setMark(p.notes("original"), strings.Repeat("ab", 16)+"\n")
		},
	}
	for name, begin := range begin {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				p := newPlace(t)
				begin(p)
				for _, name := range []string{"a", "b", "c"} {
					p.copies(p.path("original"), name)
				}
				if !strings.HasPrefix(name, "beside") {
					require.NoError(t, os.RemoveAll(p.path("original")))
				}
				p.requireApart("a", "b", "c")
			}
		})
	}
}

// requireApart opens folders at once.
func (p place) requireApart(all ...string) {
	p.Helper()
	found := make([]*vaultdir.Folder, len(all))
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, name := range all {
		group.Go(func() { found[i], errs[i] = vaultdir.Open(p.path(name), p.home) })
	}
	group.Wait()
	states, copied := map[string]bool{}, 0
	for i, f := range found {
		require.NoError(p, errs[i])
		defer f.Close()
		p.requireMarked(f)
		states[f.State] = true
		if f.Origin == vaultdir.Copied {
			copied++
		}
	}
	require.Len(p, states, len(all))
	require.GreaterOrEqual(p, copied, len(all)-1)
}

// TestCopiesVisitedAtOnce opens folders with one id at the same moment, and lets each go at once:
// what one has decided another may have made untrue before the state is its own.
func TestCopiesVisitedAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		p := newPlace(t)
		p.setMark(p.notes("original"), strings.Repeat("ab", 16))
		var group sync.WaitGroup
		var all []string
		for i := range 8 {
			all = append(all, p.copies(p.path("original"), strconv.Itoa(i)))
		}
		for _, dir := range all {
			group.Go(func() {
				f, err := vaultdir.Open(dir, p.home)
				if err == nil {
					err = f.Close()
				}
				assert.NoError(t, err)
			})
		}
		group.Wait()
		marks := map[string]bool{}
		for _, dir := range all {
			marks[p.mark(dir)] = true
		}
		require.Len(t, marks, len(all))
	}
}

// openForever makes folders, copies them, and moves them, and opens each of them.
func openForever(dir, home string) error {
	from, err := strconv.Atoi(os.Getenv("FOLDER_FROM"))
	if err != nil {
		return err
	}
	for n := from; ; n++ {
		original := filepath.Join(dir, strconv.Itoa(n))
		if err := os.Mkdir(original, 0o755); err != nil {
			return err
		}
		if err := openAndTell(original, home); err != nil {
			return err
		}
		if err := os.CopyFS(original+"-copy", os.DirFS(original)); err != nil {
			return err
		}
		if err := openAndTell(original+"-copy", home); err != nil {
			return err
		}
		if err := os.Rename(original, original+"-moved"); err != nil {
			return err
		}
		if err := openAndTell(original+"-moved", home); err != nil {
			return err
		}
	}
}

func openAndTell(dir, home string) error {
	f, err := vaultdir.Open(dir, home)
	if err != nil {
		return err
	}
	fmt.Println(filepath.Base(dir), filepath.Base(f.State))
	return f.Close()
}

// TestKilled kills a process that opens folders, at any moment.
func TestKilled(t *testing.T) {
	const kills = 20
	p := newPlace(t)
	told := map[string]string{}
	for round := range kills {
		t.Setenv("FOLDER_FROM", strconv.Itoa(1000*round))
		c := p.child("forever", p.dir)
		for range 1 + rand.N(3) {
			name, id := c.hear()
			told[name] = id
		}
		timer := time.AfterFunc(rand.N(10*time.Millisecond), func() { _ = c.cmd.Process.Kill() })
		for c.out.Scan() {
			name, id, _ := strings.Cut(c.out.Text(), " ")
			told[name] = id
		}
		timer.Stop()
		_ = c.cmd.Wait()
		require.NotContains(t, told, "failed")
		p.requireWhole(told)
	}
}

// requireWhole requires that every folder can be opened, is as it was told to be, and has an id and
// a state that no other has.
func (p place) requireWhole(told map[string]string) {
	p.Helper()
	ids := map[string]string{}
	for _, name := range names(p, p.dir) {
		f := p.visit(p.path(name))
		id := filepath.Base(f.State)
		require.Equal(p, id+"\n", p.mark(f.Path))
		require.Equal(p, []string{"id"}, names(p, p.path(name, ".rookery")))
		require.Empty(p, ids[id], "%s and %s have one id", name, ids[id])
		ids[id] = name
		if was, ok := told[name]; ok {
			require.Equal(p, was, id, name)
		}
	}
	require.Len(p, names(p, p.home), len(ids), "every state is of a folder")
}
