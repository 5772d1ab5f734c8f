//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// TestSignalsArePassedOn checks that a signal is forwarded to the command and does not end this
// process, and that the exit code is that of the command.
func TestSignalsArePassedOn(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGINT} {
		var out, errs bytes.Buffer
		r := &running{in: strings.NewReader(""), out: &out, errs: &errs}
		file := filepath.Join(t.TempDir(), "ready")
		ended := make(chan int, 1)
		go func() {
			ended <- r.run([]string{"sh", "-c", `trap 'exit 40' TERM HUP USR1 INT; : > "$0"; while :; do sleep 0.05; done`, file})
		}()
		require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, time.Minute, 10*time.Millisecond)
		require.NoError(t, syscall.Kill(os.Getpid(), s))
		require.Equal(t, 40, <-ended, s.String())
	}
}

// TestCommandSeesATerminal checks that a command whose output goes to a terminal has a terminal,
// and that its output is kept.
func TestCommandSeesATerminal(t *testing.T) {
	ours, theirs, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(ours, &pty.Winsize{Rows: 33, Cols: 77}))
	shown := make(chan string, 1)
	go func() {
		data, _ := io.ReadAll(ours)
		shown <- string(data)
	}()
	r := &running{in: strings.NewReader(""), out: theirs, errs: theirs}
	require.Equal(t, 7, r.run([]string{"sh", "-c", `test -t 1 && test -t 2 && stty size <&1; exit 7`}))
	require.Equal(t, "33 77", strings.TrimSpace(r.kept.String()))
	require.NoError(t, theirs.Close())
	require.Contains(t, <-shown, "33 77")
	require.NoError(t, ours.Close())
}
