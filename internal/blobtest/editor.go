package blobtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
)

// testRacingExchanges appends to one file from many goroutines. The file must contain each line once.
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

// appendLine adds a line to a file. It tries again if the file was changed meanwhile.
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

// saves returns how often an editor saves in a test: 25 times, or 100 times with ROOKERY_SOAK.
func saves() int {
	if os.Getenv("ROOKERY_SOAK") != "" {
		return 100
	}
	return 25
}

// A writer repeats a call concurrently with an editor, until it is stopped.
type writer struct {
	round chan struct{} // a round has ended; the writer does not wait for a receiver
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

// settle returns after a complete round. The first round that ends may have begun before the call.
func (w *writer) settle() {
	<-w.round
	<-w.round
}

func (w *writer) end() error {
	close(w.stop)
	return <-w.ended
}

// testEditor runs an editor that adds lines to a file while a writer exchanges it. After the current
// exchange, and again at the end, each saved line must be in the file or in a displaced text.
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

// reopen reads a file that exists. It waits while an engine has moved the file aside.
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

// requireSaved requires that a line of the editor is in text, or in a displaced text.
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

// saveByCreating deletes the file and creates it again. If another file was created in between, it
// replaces that file, as an editor does after it has asked the user.
func saveByCreating(file, text string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return saveByTruncating(file, text)
}

// testEditorAndRemove runs an editor that saves a file while calls remove it.
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

// removeOnce removes a file, unless it changes meanwhile, and returns the removed text.
func (f folder) removeOnce(key string) (string, error) {
	data, _, err := f.b.Get(f.Context(), key, 0, -1)
	if errors.Is(err, blob.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	err = f.Folder.Remove(f.Context(), key, data)
	if _, ok := errors.AsType[*blob.Found](err); ok {
		return "", nil
	}
	return string(data), err
}
