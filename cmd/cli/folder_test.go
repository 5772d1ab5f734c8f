package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A notebook is a folder of notes, and the command line of its owner.
type notebook struct {
	*testing.T
	home, dir string
	env       map[string]string
}

// newNotebook returns a folder with two notes.
func newNotebook(t *testing.T) notebook {
	t.Helper()
	home := t.TempDir()
	n := notebook{t, home, filepath.Join(home, "My Notes"), map[string]string{
		"XDG_STATE_HOME": filepath.Join(home, "state"), "XDG_DATA_HOME": filepath.Join(home, "data"),
	}}
	require.NoError(t, os.MkdirAll(filepath.Join(n.dir, "sub"), 0o755))
	n.write("a.md", "# A\n")
	n.write("sub/b.md", "# B\n")
	return n
}

func (n notebook) write(name, text string) {
	n.Helper()
	require.NoError(n, os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o644))
}

// on runs a command on the folder, which must succeed, and returns its output.
func (n notebook) on(line ...string) string {
	n.Helper()
	code, out, errs := rookeryIn(n.T, n.env, append(line, "--vault", n.dir+"/")...)
	require.Zero(n, code, errs)
	require.Empty(n, errs)
	return out
}

// refused runs a command line that must fail with an exit code, and returns its error output.
func (n notebook) refused(code int, env map[string]string, line ...string) string {
	n.Helper()
	got, _, errs := rookeryIn(n.T, env, line...)
	require.Equal(n, code, got, errs)
	return errs
}

// with returns the variables of the environment, and one more.
func (n notebook) with(name, value string) map[string]string {
	env := map[string]string{name: value}
	for name, value := range n.env {
		env[name] = value
	}
	return env
}

// TestCommandOnAFolder checks that a single command reads edits that were made just before, writes
// to the files of the folder, and does not use the data directory.
func TestCommandOnAFolder(t *testing.T) {
	n := newNotebook(t)
	require.Equal(t, "# A\n", n.on("read", "a.md"))
	n.write("a.md", "# A\n\nedited\n")
	require.Equal(t, "# A\n\nedited\n", n.on("read", "a.md"))
	n.on("add", "by a command", "--to", "sub/b")
	text, err := os.ReadFile(filepath.Join(n.dir, "sub", "b.md"))
	require.NoError(t, err)
	require.Equal(t, "# B\n\n- by a command\n", string(text))
	require.Contains(t, n.on("object", "list", "--json"), `"a"`)
	require.Contains(t, n.on("vault", "list", "--json"), `"my-notes"`)
	require.Contains(t, n.on("doctor"), "my-notes")
	require.Contains(t, n.on("rebuild"), "nothing to do")
	n.refused(2, n.env, "vault", "create", "more", "--vault", n.dir)
	require.NoDirExists(t, n.env["XDG_DATA_HOME"])

	out := filepath.Join(n.home, "out")
	n.on("vault", "export", out)
	require.FileExists(t, filepath.Join(out, "sub", "b.md"))

	moved := filepath.Join(n.home, "moved")
	require.NoError(t, os.Rename(n.dir, moved))
	code, _, errs := rookeryIn(t, n.env, "read", "a.md", "--vault", moved)
	require.Zero(t, code, errs)
	require.Contains(t, errs, "moved here from "+n.dir)
}

// TestCommandBesideAServer serves a folder and runs commands on it, which call the server.
func TestCommandBesideAServer(t *testing.T) {
	n := newNotebook(t)
	ctx, stop := context.WithCancel(t.Context())
	greeting, out := io.Pipe()
	var log lockedBuffer
	app := newApp(strings.NewReader(""), out, &log, func(name string) string { return n.env[name] })
	ended := make(chan int, 1)
	go func() {
		ended <- app.Run(ctx, []string{"serve", "--vault", n.dir, "--listen", "127.0.0.1:0"})
		_ = out.Close()
	}()
	lines := bufio.NewReader(greeting)
	var said strings.Builder
	for !strings.Contains(said.String(), "Stop with") {
		line, err := lines.ReadString('\n')
		require.NoError(t, err, log.String())
		said.WriteString(line)
	}
	require.Contains(t, said.String(), n.dir)
	require.Contains(t, said.String(), n.env["XDG_STATE_HOME"])
	require.Contains(t, said.String(), "--vault my-notes object list")
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(said.String())
	require.Eventually(t, func() bool {
		code, _, _ := rookeryIn(t, n.env, "read", "sub/b.md", "--vault", n.dir)
		return code == 0
	}, time.Minute, 10*time.Millisecond)

	n.on("add", "by a client", "--to", "a")
	require.Contains(t, n.on("read", "a.md"), "by a client")
	require.Contains(t, n.on("doctor"), "served at "+url)
	require.Contains(t, n.refused(6, n.env, "serve", "--vault", n.dir), url)
	stop()
	require.Zero(t, <-ended)
	require.Contains(t, n.on("read", "a.md"), "by a client")
}

// TestOnePlace checks the errors for a command line or an environment with two targets.
func TestOnePlace(t *testing.T) {
	n := newNotebook(t)
	data := filepath.Join(n.home, "other")
	require.Contains(t, n.refused(2, n.env, "read", "a.md", "--vault", n.dir, "--data", data),
		"--vault with a folder and --data cannot be used together")
	n.refused(2, n.env, "read", "a.md", "--vault", n.dir, "--server", "http://127.0.0.1:1")
	n.refused(2, n.with("ROOKERY_DATA", data), "serve", "--vault", n.dir, "--demo")
	require.Contains(t, n.refused(2, n.env, "serve", "--vault", "notes"), "rookery serve --vault ./notes")
	require.NoDirExists(t, data)
	require.NoDirExists(t, n.env["XDG_STATE_HOME"])

	// The command line takes precedence over the environment.
	code, out, errs := rookeryIn(t, n.with("ROOKERY_DATA", data), "read", "a.md", "--vault", n.dir)
	require.Zero(t, code, errs)
	require.Equal(t, "# A\n", out)
	code, _, errs = rookeryIn(t, n.with("ROOKERY_VAULT", n.dir), "vault", "list", "--data", data)
	require.Zero(t, code, errs)
	require.DirExists(t, data)
	n.refused(2, n.with("ROOKERY_VAULT", n.dir), "serve", "--vault", n.dir, "--data", data)
	require.Contains(t, n.refused(2, n.env, "serve", "--vault", data), "data directory")
	require.Contains(t, n.refused(4, n.env, "read", "a.md", "--vault", "./nowhere"), "no folder")
}

// TestCompletionMakesNothing checks that completion creates nothing for a folder that was never
// served.
func TestCompletionMakesNothing(t *testing.T) {
	n := newNotebook(t)
	code, _, _ := rookeryIn(t, n.env, "__complete", "read", "--vault", n.dir, "a")
	require.Zero(t, code)
	require.NoDirExists(t, n.env["XDG_STATE_HOME"])
	require.NoDirExists(t, filepath.Join(n.dir, ".rookery"))
	n.on("read", "a.md")
	require.Eventually(t, func() bool { // a person who waits too long presses Tab again
		_, out, _ := rookeryIn(t, n.env, "__complete", "read", "--vault", n.dir, "sub/")
		return strings.Contains(out, "sub/b")
	}, time.Minute, time.Millisecond)
}
