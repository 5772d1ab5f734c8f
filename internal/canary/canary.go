// Package canary finds out what leaks: it has words that tests put where nothing may come out of, and looks
// for them, and for tokens, in what came out: logs, refusals, audits, metrics. Only tests import it.
package canary

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

// The canaries. None is a part of a name, an id or a path of any test, which may be told.
const (
	Text  = "zebrafinch" // of texts of notes
	Field = "quokka"     // of values of fields and traits
	Query = "axolotl"    // of what is looked for
)

// Directory is the variable that names the directory in which a whole run keeps what it logged and refused.
const Directory = "ROOKERY_TEST_LOGS"

// forms are what must never come out: the canaries, an API token, and a JSON Web Token.
var forms = regexp.MustCompile(`(?i:` + Text + `|` + Field + `|` + Query + `)` +
	`|rk_[0-9a-z-]+_[0-9a-z]+\.[0-9a-zA-Z]{8,}` +
	`|eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.`)

// A Find is something that has leaked, and the line of it, from 1.
type Find struct {
	Line int
	What string
}

func (f Find) String() string { return fmt.Sprintf("line %d: %s", f.Line, f.What) }

// Search is all that has leaked into a text, in order.
func Search(text io.Reader) ([]Find, error) {
	var all []Find
	lines := bufio.NewReader(text)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		for _, what := range forms.FindAll(line, -1) {
			all = append(all, Find{n, string(what)})
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, fmt.Errorf("search for canaries: %w", err)
		}
	}
}

// Absent requires that nothing has leaked into a text; what says what the text is.
func Absent(t testing.TB, text, what string) {
	t.Helper()
	found, err := Search(bytes.NewReader([]byte(text)))
	require.NoError(t, err)
	assert.Empty(t, found, "%s: %.2000s", what, text)
}

// Logger logs at every level into w and, where the run keeps its logs, into the file of this process. With
// a nil w, and where nothing is kept, it discards all.
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

// Keep keeps a refusal, where the run keeps its logs.
func Keep(t testing.TB, refusal []byte) {
	t.Helper()
	f := open(t, "refusals")
	if f == nil {
		return
	}
	_, err := f.Write(append(bytes.TrimSpace(refusal), '\n'))
	require.NoError(t, errors.Join(err, f.Close()))
}

// open opens the file of this process of a kind, to write behind what is there; nil where nothing is kept.
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
