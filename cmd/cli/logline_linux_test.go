package main

import (
	"context"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestServeOnATerminal checks that a server on a terminal logs short coloured lines.
func TestServeOnATerminal(t *testing.T) {
	d, s := newDesk(t, false), newScreen(t)
	dir := filepath.Join(t.TempDir(), "data")
	ctx, stop := context.WithCancel(t.Context())
	app := newApp(s.program, s.program, s.program, func(name string) string { return d.env[name] })
	ended := make(chan int, 1)
	go func() { ended <- app.Run(ctx, []string{"serve", "--data", dir, "--listen", "127.0.0.1:0"}) }()
	at := regexp.MustCompile(`serves at (http://[0-9.:]+)`)
	require.Eventually(t, func() bool { return at.MatchString(s.shows()) }, time.Minute, time.Millisecond)
	d.run(0, "whoami", "--server", at.FindStringSubmatch(s.shows())[1])
	line := regexp.MustCompile(`\x1b\[2m\d\d:\d\d:\d\d\x1b\[0m team_whoami ok \d+(\.\d)?ms\r?\n`)
	require.Eventually(t, func() bool { return line.MatchString(s.shows()) }, time.Minute, time.Millisecond)
	stop()
	require.Zero(t, <-ended)
	require.NotContains(t, s.shows(), `{"time"`)
}
