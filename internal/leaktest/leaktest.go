// Package leaktest finds leaks: tests put its words into data that must stay private, and then
// search for them, and for tokens, in output: logs, refusals, audits, metrics. Only tests import
// it.
package leaktest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The canaries. None is part of a name, an id or a path of a test, because those may be in output.
const (
	Text  = "zebrafinch" // in texts of notes
	Field = "quokka"     // in values of fields and traits
	Query = "axolotl"    // in queries
)

// Directory is the variable with the directory in which a whole test run stores its logs and
// refusals.
const Directory = "ROOKERY_TEST_LOGS"

// forms matches what must not leak: the canaries, API tokens and JSON Web Tokens.
var forms = regexp.MustCompile(`(?i:` + Text + `|` + Field + `|` + Query + `)` +
	`|rk_[0-9a-z-]+_[0-9a-z]+\.[0-9a-zA-Z]{8,}` +
	`|eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.`)

// A Leak is one leak: the text that leaked, and its line, counted from 1.
type Leak struct {
	Line int
	What string
}

// String returns the line and the leak in words, for the messages of tests.
func (f Leak) String() string { return fmt.Sprintf("line %d: %s", f.Line, f.What) }

// Search returns all leaks in a text, in order.
func Search(text io.Reader) ([]Leak, error) {
	var all []Leak
	lines := bufio.NewReader(text)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		for _, what := range forms.FindAll(line, -1) {
			all = append(all, Leak{n, string(what)})
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, fmt.Errorf("search for canaries: %w", err)
		}
	}
}

// RequireNone fails the test if a text contains a leak. what describes the text.
func RequireNone(t testing.TB, text, what string) {
	t.Helper()
	found, err := Search(bytes.NewReader([]byte(text)))
	require.NoError(t, err)
	assert.Empty(t, found, "%s: %.2000s", what, text)
}

// Logger returns a logger that writes all levels to w and, if the run stores its logs, to the file
// of this process. w may be nil.
func Logger(t testing.TB, w io.Writer) *slog.Logger {
	t.Helper()
	to := []io.Writer{}
	if w != nil {
		to = append(to, w)
	}
	if f := open(t, "log"); f != nil {
		t.Cleanup(func() { _ = f.Close() }) // each line was written when it was logged
		to = append(to, f)
	}
	if len(to) == 0 {
		return slog.New(slog.DiscardHandler)
	}
	every := &slog.HandlerOptions{Level: slog.LevelDebug}
	return slog.New(slog.NewJSONHandler(io.MultiWriter(to...), every))
}

// StoreRefusal stores a refusal, if the run stores its logs.
func StoreRefusal(t testing.TB, refusal []byte) {
	t.Helper()
	f := open(t, "refusals")
	if f == nil {
		return
	}
	_, err := f.Write(append(bytes.TrimSpace(refusal), '\n'))
	require.NoError(t, errors.Join(err, f.Close()))
}

// open opens the file of a kind of this process for appending. It returns nil if the run stores no
// logs.
func open(t testing.TB, kind string) *os.File {
	t.Helper()
	dir := os.Getenv(Directory)
	if dir == "" {
		return nil
	}
	name := fmt.Sprintf("%s-%d.%s", filepath.Base(os.Args[0]), os.Getpid(), kind)
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(t, err)
	return f
}
