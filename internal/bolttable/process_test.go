package bolttable_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/table"
)

// Environment variables with which the test binary runs itself as another process: its role and its
// database.
const (
	roleVariable = "ROOKERY_BOLTTABLE_ROLE"
	pathVariable = "ROOKERY_BOLTTABLE_PATH"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "holder":
		exitOn(hold(os.Getenv(pathVariable)))
	case "writer":
		exitOn(writeForEver(os.Getenv(pathVariable)))
	}
	os.Exit(m.Run())
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child starts this binary in a role. It is killed at the end of the test if it is still running.
func child(t *testing.T, role, path string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, pathVariable+"="+path)
	cmd.Stderr = os.Stderr
	in, err = cmd.StdinPipe()
	require.NoError(t, err)
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, in, bufio.NewReader(pipe)
}

// hold keeps a database open until its input ends.
func hold(path string) error {
	b, err := bolttable.Open(path, bolttable.Options{})
	if err != nil {
		return err
	}
	fmt.Println("open")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return b.Close()
}

func TestLockedByAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.db")
	cmd, in, out := child(t, "holder", path)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "open\n", line)

	_, err = bolttable.Open(path, bolttable.Options{})
	require.ErrorIs(t, err, bolttable.ErrLocked)
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	open(t, path, bolttable.Options{})
}

const writers = 4

// writeForEver commits from several goroutines until it is killed. A commit creates three items and
// moves the head of its writer; it prints a line when the commit is acknowledged.
func writeForEver(path string) error {
	b, err := bolttable.Open(path, bolttable.Options{})
	if err != nil {
		return err
	}
	failed := make(chan error)
	for w := range writers {
		go func() { failed <- writeAlone(b, fmt.Sprint("w", w)) }()
	}
	return <-failed
}

func writeAlone(b *bolttable.Table, name string) error {
	ctx := context.Background()
	head, err := b.Get(ctx, table.Key{Part: "head", Sort: name})
	if err != nil {
		head = table.Item{Key: table.Key{Part: "head", Sort: name}, Data: []byte("000000")}
		if err := b.Commit(ctx, table.Create(head)); err != nil {
			return err
		}
	}
	for {
		next := table.Item{Key: head.Key, Data: []byte(after(string(head.Data)))}
		ops := []table.Op{table.Replace(head, next)}
		for _, part := range []string{"x", "y", "z"} {
			k := table.Key{Part: part, Sort: name + "/" + string(next.Data)}
			ops = append(ops, table.Create(table.Item{Key: k, Data: []byte(part + k.Sort)}))
		}
		if err := b.Commit(ctx, ops...); err != nil {
			return err
		}
		head = next
		fmt.Printf("%s/%s\n", name, next.Data)
	}
}

// after returns the next number, with six digits.
func after(s string) string {
	var n int
	_, _ = fmt.Sscanf(s, "%d", &n)
	return fmt.Sprintf("%06d", n+1)
}

// TestKill kills a writing process repeatedly on one database, and checks that each acknowledged
// commit is there and that each existing one is complete.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.db")
	acknowledged := map[string]bool{}
	for round := range 20 {
		cmd, _, out := child(t, "writer", path)
		for n := 0; ; n++ {
			line, err := out.ReadString('\n')
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			acknowledged[strings.TrimSpace(line)] = true
			if n == round*3 {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait(), "the writer ended by itself")
		inspect(t, path, acknowledged)
	}
	require.Greater(t, len(acknowledged), 20*19/2*3)
}

// inspect checks the database after a kill.
func inspect(t *testing.T, path string, acknowledged map[string]bool) {
	t.Helper()
	b, err := bolttable.Open(path, bolttable.Options{})
	require.NoError(t, err)
	parts := map[string][]string{}
	for _, part := range []string{"x", "y", "z"} {
		for _, it := range collect(t, b, part) {
			require.Equal(t, part+it.Sort, string(it.Data))
			parts[part] = append(parts[part], it.Sort)
		}
	}
	require.Equal(t, parts["x"], parts["y"])
	require.Equal(t, parts["x"], parts["z"])
	last := map[string]string{}
	stored := map[string]bool{}
	for _, sort := range parts["x"] {
		writer, number, _ := strings.Cut(sort, "/")
		require.Equal(t, after(last[writer]), number, "a commit is missing in between")
		last[writer], stored[sort] = number, true
	}
	for sort := range acknowledged {
		require.True(t, stored[sort], "%s was acknowledged and is not there", sort)
	}
	for _, head := range collect(t, b, "head") {
		if number, wrote := last[head.Sort]; wrote {
			require.Equal(t, number, string(head.Data))
		}
	}
	require.NoError(t, b.Close())
}
