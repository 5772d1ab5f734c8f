package fileblob_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fileblob"
)

// kills returns how often a test kills a child. ROOKERY_SOAK=1 increases it.
func kills() int {
	if os.Getenv("ROOKERY_SOAK") != "" {
		return 50
	}
	return 8
}

// TestMain is also the main function of the child processes that the tests kill.
func TestMain(m *testing.M) {
	child, ok := children()[os.Getenv("FILEBLOB_CHILD")]
	if !ok {
		os.Exit(m.Run())
	}
	b, err := openers()[os.Getenv("FILEBLOB_OPENER")](os.Getenv("FILEBLOB_DIR"))
	if err == nil {
		err = child(b)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func children() map[string]func(*fileblob.Bucket) error {
	return map[string]func(*fileblob.Bucket) error{"put": putForever, "exchange": exchangeForever}
}

// A child is a process that runs until it is killed. It acknowledges its writes on standard output,
// one per line.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	errs  bytes.Buffer
}

func start(t *testing.T, what, opener, dir, from string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), "FILEBLOB_CHILD="+what, "FILEBLOB_OPENER="+opener,
		"FILEBLOB_DIR="+dir, "FILEBLOB_FROM="+from)
	c.cmd.Stderr = &c.errs
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.lines = bufio.NewScanner(out)
	require.NoError(t, c.cmd.Start())
	return c
}

// next returns the next acknowledgement.
func (c *child) next() string {
	c.t.Helper()
	if !c.lines.Scan() {
		_ = c.cmd.Wait()
		require.Fail(c.t, "the child ended by itself", c.errs.String())
	}
	return c.lines.Text()
}

// kill kills the child within the next milliseconds, and returns its acknowledgements until then.
func (c *child) kill() (rest []string) {
	c.t.Helper()
	timer := time.AfterFunc(rand.N(3*time.Millisecond), func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	for c.lines.Scan() {
		rest = append(rest, c.lines.Text())
	}
	_ = c.cmd.Wait()
	require.Empty(c.t, c.errs.String())
	return rest
}

// putForever writes objects that describe themselves, in every way that Put has.
func putForever(b *fileblob.Bucket) error {
	from, err := strconv.Atoi(os.Getenv("FILEBLOB_FROM"))
	if err != nil {
		return err
	}
	errs := make(chan error)
	for worker := range 4 {
		go func() { errs <- putFrom(b, worker, from) }()
	}
	return <-errs
}

func putFrom(b *fileblob.Bucket, worker, from int) error {
	ctx, tag := context.Background(), blob.Tag("")
	for n := from; ; n++ {
		key, cond := fmt.Sprintf("put/%d/always", worker), blob.Always
		switch n % 4 {
		case 1:
			key, cond = fmt.Sprintf("put/%d/new/%d", worker, n), blob.IfAbsent
		case 2, 3:
			key = fmt.Sprintf("put/%d/tagged", worker)
			if tag != "" {
				cond = blob.IfTag(tag)
			}
		}
		got, err := b.Put(ctx, key, object(key, n), cond)
		if err != nil {
			return err
		}
		if n%4 >= 2 {
			tag = got
		}
		fmt.Printf("%s %d\n", key, n)
	}
}

// object returns the contents of a key after its nth Put. A test can see from it whether the object
// is whole.
func object(key string, n int) []byte {
	text := fmt.Sprintf("%s %d %s\n", key, n, strings.Repeat("filler ", n%4000))
	return fmt.Appendf(nil, "%s%x", text, sha256.Sum256([]byte(text)))
}

// parse returns the n of an object, or an error if it is not whole.
func parse(key string, data []byte) (int, error) {
	var n int
	var was string
	if _, err := fmt.Sscanf(string(data), "%s %d", &was, &n); err != nil {
		return 0, err
	}
	if was != key || !bytes.Equal(data, object(key, n)) {
		return 0, errors.New("the object is torn")
	}
	return n, nil
}

func TestKilledWhilePutting(t *testing.T) {
	t.Parallel()
	for name := range openers() {
		t.Run(name, func(t *testing.T) {
			dir, acked := t.TempDir(), map[string]int{}
			for round := range kills() {
				c := start(t, "put", name, dir, strconv.Itoa(1_000_000*round+rand.N(4000)))
				lines := []string{}
				for range 1 + rand.N(40) {
					lines = append(lines, c.next())
				}
				for _, line := range append(lines, c.kill()...) {
					key, n, _ := strings.Cut(line, " ")
					var err error
					acked[key], err = strconv.Atoi(n)
					require.NoError(t, err)
				}
				requireWhole(t, dir)
				requireAcked(t, dir, openers()[name], acked)
			}
		})
	}
}

// requireWhole checks the files as another program sees them, without opening the folder as a
// Bucket.
func requireWhole(t *testing.T, dir string) {
	t.Helper()
	for _, file := range files(t, filepath.Join(dir, "put")) {
		data, err := os.ReadFile(filepath.Join(dir, "put", file))
		require.NoError(t, err)
		_, err = parse("put/"+file, data)
		require.NoError(t, err, file)
	}
}

// requireAcked checks that each object is at least as new as acknowledged.
func requireAcked(t *testing.T, dir string, o opener, acked map[string]int) {
	t.Helper()
	b, err := o(dir)
	require.NoError(t, err)
	defer b.Close()
	for key, atLeast := range acked {
		data, _, err := b.Get(t.Context(), key, 0, -1)
		require.NoError(t, err, "%s was acknowledged", key)
		n, err := parse(key, data)
		require.NoError(t, err, key)
		require.GreaterOrEqual(t, n, atLeast, key)
	}
	for _, store := range storesOf(dir) {
		if _, err := os.Stat(filepath.Join(store, "tmp")); err == nil {
			require.Empty(t, files(t, filepath.Join(store, "tmp")))
		}
	}
	require.Empty(t, displaced(t, b), "nobody else wrote: what is left over is known")
}

// exchangeForever adds lines to a note.
func exchangeForever(b *fileblob.Bucket) error {
	var want []byte
	for n := 0; ; n++ {
		text := fmt.Appendf(bytes.Clone(want), "writer %d.\n", n)
		err := b.Exchange(context.Background(), "notes/a.md", text, want)
		var found *blob.Found
		if errors.As(err, &found) {
			want = found.Data
			continue
		}
		if err != nil {
			return err
		}
		want = text
		fmt.Println(n)
	}
}

// TestKilledWhileExchanging is an editor beside the child and checks that its last save survives
// any kill. The editor saves the text that it has in memory, with all of its lines.
func TestKilledWhileExchanging(t *testing.T) {
	t.Parallel()
	for name := range openers() {
		t.Run(name, func(t *testing.T) {
			dir, lines := t.TempDir(), []string{}
			note := filepath.Join(dir, "notes", "a.md")
			for round := range kills() {
				c := start(t, "exchange", name, dir, "")
				for range 1 + rand.N(3) {
					c.next()
					lines = append(lines, fmt.Sprintf("editor %d in round %d.\n", len(lines), round))
					text := []byte(strings.Join(lines, ""))
					require.NoError(t, os.WriteFile(note+"~", text, 0o600))
					require.NoError(t, os.Rename(note+"~", note))
				}
				c.kill()
				requireSaved(t, dir, openers()[name], lines)
			}
		})
	}
}

func requireSaved(t *testing.T, dir string, o opener, lines []string) {
	t.Helper()
	b, err := o(dir)
	require.NoError(t, err)
	defer b.Close()
	data, _, err := b.Get(t.Context(), "notes/a.md", 0, -1)
	require.NoError(t, err)
	all := string(data)
	for _, d := range displaced(t, b) {
		require.Equal(t, "notes/a.md", d.Key)
		all += string(d.Data)
	}
	for _, line := range lines {
		require.True(t, strings.Contains(all, line), "%q is lost", line)
	}
}
