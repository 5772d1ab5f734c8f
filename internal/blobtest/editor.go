package blobtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/stretchr/testify/require"

	"rookery/internal/blob"
)

// testRacingExchanges appends to one file from many goroutines: each line is there once.
func testRacingExchanges(f folder) {
	f.exchange("log.md", "", nil)
	errs := make([]error, 8)
	atOnce(f.T, len(errs), func(i int) {
		for n := 0; n < 10 && errs[i] == nil; n++ {
			errs[i] = f.appendLine("log.md", fmt.Sprintf("writer %d line %d\n", i, n))
		}
	})
	require.NoError(f, errors.Join(errs...))
	lines := map[string]int{}
	for line := range strings.Lines(f.text("log.md")) {
		lines[line]++
	}
	require.Len(f, lines, len(errs)*10)
	for line, n := range lines {
		require.Equal(f, 1, n, line)
	}
	f.nothingDisplaced()
}

// appendLine adds a line to what is there, again until nothing was changed meanwhile.
func (f folder) appendLine(key, line string) error {
	var want []byte
	for {
		text := append(append([]byte{}, want...), line...)
		err := f.Folder.Exchange(f.Context(), key, text, want)
		var found *blob.Found
		if !errors.As(err, &found) {
			return err
		}
		if want = found.Data; found.Foreign {
			return found
		}
	}
}

// saves returns how often an editor saves in a test: 25 times, and with ROOKERY_SOAK 100.
func saves() int {
	if os.Getenv("ROOKERY_SOAK") != "" {
		return 100
	}
	return 25
}

// A writer repeats something beside an editor, until it is stopped.
type writer struct {
	round chan struct{} // a round has ended; nobody waits for the receiver
	ended chan error
	stop  chan struct{}
}

func startWriter(do func(n int) error) *writer {
	w := &writer{make(chan struct{}), make(chan error, 1), make(chan struct{})}
	go func() { w.ended <- w.run(do) }()
	return w
}

func (w *writer) run(do func(n int) error) error {
	defer close(w.round)
	for n := 0; ; n++ {
		if err := do(n); err != nil {
			return err
		}
		select {
		case <-w.stop:
			return nil
		case w.round <- struct{}{}:
		default:
		}
	}
}

// settle returns after a whole round: the first that ends may have begun before.
func (w *writer) settle() {
	<-w.round
	<-w.round
}

func (w *writer) end() error {
	close(w.stop)
	return <-w.ended
}

// testEditor has an editor that adds lines to a file while a writer exchanges it. When the exchange
// that was under way has ended, each line that was saved is in the file, or in a text that was
// displaced; and so it is in the end.
func testEditor(f folder, save func(file, text string) error) {
	f.write("note.md", "start\n")
	w := startWriter(func(n int) error {
		return f.appendLine("note.md", fmt.Sprintf("writer %d\n", n))
	})
	for n := range saves() {
		require.NoError(f, save(f.file("note.md"), f.reopen("note.md")+editorLine(n)))
		w.settle()
		f.requireSaved(n, f.reopen("note.md"))
	}
	require.NoError(f, w.end())
	for n := range saves() {
		f.requireSaved(n, f.text("note.md"))
	}
}

// reopen reads a file that is there, though an engine may have moved it aside for a moment.
func (f folder) reopen(key string) string {
	for {
		data, err := os.ReadFile(f.file(key))
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(f, err)
			return string(data)
		}
	}
}

func editorLine(n int) string { return fmt.Sprintf("editor %d.\n", n) }

// requireSaved requires that a line of the editor is in the text, or in one that was displaced.
func (f folder) requireSaved(n int, text string) {
	f.Helper()
	if strings.Contains(text, editorLine(n)) {
		return
	}
	texts, err := f.Displaced()
	require.NoError(f, err)
	if !strings.Contains(strings.Join(texts, ""), editorLine(n)) {
		require.Failf(f, "a save is lost", "save %d; %d texts were displaced", n, len(texts))
	}
}

func saveByTruncating(file, text string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	half := len(text) / 2
	_, err = out.WriteString(text[:half])
	if err == nil {
		_, err = out.WriteString(text[half:])
	}
	return errors.Join(err, out.Close())
}

func saveByRenaming(file, text string) error {
	if err := os.WriteFile(file+"~", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(file+"~", file)
}

// saveByCreating deletes the file and creates it anew. If something was created in between, it is
// replaced, as an editor does after it has asked.
func saveByCreating(file, text string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return saveByTruncating(file, text)
}

// testEditorAndRemove has an editor that saves while the file is removed under it.
func testEditorAndRemove(f folder) {
	f.write("keep.md", "so that the folder stays")
	var removed strings.Builder
	w := startWriter(func(int) error {
		text, err := f.removeOnce("note.md")
		removed.WriteString(text)
		return err
	})
	for n := range saves() {
		require.NoError(f, saveByRenaming(f.file("note.md"), editorLine(n)))
		w.settle()
	}
	require.NoError(f, w.end())
	for n := range saves() {
		f.requireSaved(n, removed.String())
	}
}

// removeOnce removes what is at the key, if it is still that, and returns what it removed.
func (f folder) removeOnce(key string) (string, error) {
	data, _, err := f.b.Get(f.Context(), key, 0, -1)
	if errors.Is(err, blob.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	err = f.Folder.Remove(f.Context(), key, data)
	var found *blob.Found
	if errors.As(err, &found) {
		return "", nil
	}
	return string(data), err
}
