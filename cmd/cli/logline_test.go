package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/clitool"
)

// lines returns the log lines for people that some calls write, without their times.
func lines(t *testing.T, colour bool, write func(*slog.Logger)) []string {
	t.Helper()
	var out bytes.Buffer
	write(slog.New(&lineHandler{out: &out, colour: colour, turn: &sync.Mutex{}}))
	var all []string
	for line := range strings.Lines(out.String()) {
		all = append(all, regexp.MustCompile(`^(\x1b\[2m)?\d\d:\d\d:\d\d(\x1b\[0m)? `).ReplaceAllString(
			strings.TrimSuffix(line, "\n"), ""))
	}
	return all
}

// TestLogLines checks the short lines: for a call its tool, outcome and duration, for a request its
// method, route and status, and for a problem all attributes.
func TestLogLines(t *testing.T) {
	call := func(code string, ms float64, more ...any) func(*slog.Logger) {
		return func(l *slog.Logger) {
			l.Info("call", append([]any{"tenant", "local", "principal", "local", "agent", "local", "tool",
				"raven_set", "vault", "notes", "code", code, "ms", ms, "request_id", "R"}, more...)...)
		}
	}
	for name, c := range map[string]struct {
		write  func(*slog.Logger)
		colour bool
		want   string
	}{
		"a call":         {call("ok", 3.14159), false, "raven_set ok 3.1ms vault=notes"},
		"a slow call":    {call("ok", 12345.6), false, "raven_set ok 12346ms vault=notes"},
		"a refused call": {call("CONFLICT", 1), false, "raven_set CONFLICT 1.0ms vault=notes"},
		"in colour":      {call("CONFLICT", 1), true, "raven_set \x1b[33mCONFLICT\x1b[0m 1.0ms vault=notes"},
		"an error of ours": {call("INTERNAL", 1), true,
			"raven_set \x1b[31mINTERNAL\x1b[0m 1.0ms vault=notes request_id=R"},
		"a replay": {call("ok", 0.2, "replayed", true), false, "raven_set ok 0.2ms vault=notes replayed=true"},
		"of another": {func(l *slog.Logger) {
			l.Info("call", "tenant", "acme", "principal", "user:ada", "agent", "planner", "tool", "raven_read",
				"code", "ok", "ms", 1.0)
		}, false, "raven_read ok 1.0ms tenant=acme principal=user:ada agent=planner"},
		"a request": {func(l *slog.Logger) {
			l.Info("request", "method", "GET", "route", "/docs", "status", 200, "ms", 2, "request_id", "R")
		}, false, "GET /docs 200 2ms"},
		"a problem": {func(l *slog.Logger) {
			l.Error("the log could not be compacted", "vault", "v", "cause", errors.New("no \x1b[2J room"))
		}, false, `ERROR the log could not be compacted vault=v cause="no \x1b[2J room"`},
		"news": {func(l *slog.Logger) {
			l.With("vault", "a b").WithGroup("g").Info("a folder is served in place", "origin", "new",
				slog.Group("h", "n", 1))
		}, false, `a folder is served in place vault="a b" g.origin=new g.h.n=1`},
		"detail": {func(l *slog.Logger) { l.Debug("request") }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, strings.Join(lines(t, c.colour, c.write), "\n"))
		})
	}
}

// TestLogFormat checks that the log is JSON in a pipe and lines on a terminal, and that
// --log-format takes precedence.
func TestLogFormat(t *testing.T) {
	for _, c := range []struct {
		format, noColour string
		terminal         bool
		want             string
	}{
		{"", "", false, `^\{"time":`},
		{"json", "", true, `^\{"time":`},
		{"", "1", true, `^\d\d:\d\d:\d\d hello\n$`},
		{"", "", true, `^\x1b\[2m\d\d:\d\d:\d\d\x1b\[0m hello\n$`},
		{"text", "", false, `^\d\d:\d\d:\d\d hello\n$`},
	} {
		var out bytes.Buffer
		a := &clitool.App{Err: &out, Progress: c.terminal, Env: func(name string) string {
			return map[string]string{"NO_COLOR": c.noColour}[name]
		}}
		log, err := logger(a, c.format)
		require.NoError(t, err)
		log.Info("hello")
		require.Regexp(t, c.want, out.String())
	}
	code, _, errs := rookery(t, "serve", "--log-format", "xml", "--data", t.TempDir())
	require.Equal(t, 2, code)
	require.Contains(t, errs, "--log-format must be text or json")
}

// TestServeLogs serves over a pipe, and checks that the log has a line for a call in both formats,
// without text of the note.
func TestServeLogs(t *testing.T) {
	const secret = "c4nary-title"
	for format, want := range map[string]string{
		"json": `"tool":"raven_new".*"code":"ok"`,
		"text": `(?m)^\d\d:\d\d:\d\d raven_new ok \d+(\.\d)?ms vault=v$`,
	} {
		t.Run(format, func(t *testing.T) {
			home := t.TempDir()
			env := map[string]string{
				"XDG_STATE_HOME":  filepath.Join(home, "state"),
				"XDG_CONFIG_HOME": filepath.Join(home, "config"),
			}
			dir := filepath.Join(home, "data")
			code, _, errs := rookeryIn(t, env, "vault", "create", "v", "--data", dir)
			require.Zero(t, code, errs)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			greeting, out := io.Pipe()
			var log bytes.Buffer
			app := newApp(strings.NewReader(""), out, &log, func(name string) string { return env[name] })
			ended := make(chan int, 1)
			go func() {
				ended <- app.Run(ctx, []string{
					"serve", "--data", dir, "--listen", "127.0.0.1:0", "--log-format", format,
				})
				_ = out.Close()
			}()
			said := make([]byte, 256)
			n, err := greeting.Read(said)
			require.NoError(t, err, log.String())
			go func() { _, _ = io.Copy(io.Discard, greeting) }()
			url := regexp.MustCompile(`http://[0-9.:]+`).FindString(string(said[:n]))
			args, err := json.Marshal(map[string]string{"vault": "v", "type": "page", "title": secret})
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				resp, err := http.Post(url+"/v1/tools/raven_new", "application/json", bytes.NewReader(args))
				if err != nil {
					return false
				}
				defer resp.Body.Close()
				return resp.StatusCode == http.StatusOK
			}, time.Minute, 10*time.Millisecond)
			stop()
			require.Zero(t, <-ended)
			require.Regexp(t, want, log.String())
			require.NotContains(t, log.String(), secret)
		})
	}
}
