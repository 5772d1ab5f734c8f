package markdown_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// realNotes are the notes of a vault that people wrote, by path.
func realNotes(t *testing.T) map[string][]byte {
	dir := os.Getenv("ROOKERY_TEST_VAULT")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data", "kepano-obsidian")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no vault of real notes: set ROOKERY_TEST_VAULT to a folder of Markdown")
	}
	notes := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".md") {
			notes[path], err = os.ReadFile(path)
		}
		return err
	}))
	require.NotEmpty(t, notes)
	return notes
}

func TestRealNotes(t *testing.T) {
	notes, quarantined, references := realNotes(t), 0, 0
	for path, text := range notes {
		d := markdown.Parse(text)
		checkDoc(t, d, text)
		appendToSections(t, d, text)
		references += len(d.References)
		out, line, err := markdown.Append(text, "- an item")
		require.NoError(t, err, path)
		checkAdded(t, text, out, "- an item", line)
		if d.Problem != nil { // as in a template, where a value is {{date}}
			_, err := markdown.SetFields(text, pairs("a", "b"))
			require.True(t, fault.Is(err, fault.InvalidValue), path)
			quarantined++
			continue
		}
		roundTrip(t, text, "rookery-test", "x: y")
		for _, e := range fields(d) {
			same, err := markdown.SetFields(text, pairs(e.Key, e.Value))
			require.NoError(t, err, path)
			require.Equal(t, string(text), string(same), path)
			changeAndBack(t, text, e.Key)
		}
	}
	t.Logf("%d notes, %d of them quarantined, %d references", len(notes), quarantined, references)
	require.Positive(t, references)
	require.Less(t, quarantined, len(notes)/2, "most notes are read whole")
}

// appendToSections adds a block to each section.
func appendToSections(t *testing.T, d *markdown.Doc, text []byte) {
	for _, h := range d.Headings {
		out, line, err := markdown.AppendToSection(text, h.Slug, "- an item")
		require.NoError(t, err)
		checkAdded(t, text, out, "- an item", line)
	}
}

// roundTrip adds a field that the note does not have, and removes it.
func roundTrip(t *testing.T, text []byte, key string, value any) {
	with, err := markdown.SetFields(text, pairs(key, value))
	require.NoError(t, err)
	e, ok := markdown.Parse(with).Frontmatter.Get(key)
	require.True(t, ok)
	require.Equal(t, value, e.Value)
	without, err := markdown.UnsetFields(with, []string{key})
	require.NoError(t, err)
	if markdown.Parse(text).Frontmatter != nil {
		require.Equal(t, string(text), string(without))
	}
}

// changeAndBack changes a field of the note, and requires that nothing else changes.
func changeAndBack(t *testing.T, text []byte, key string) {
	before := markdown.Parse(text)
	old, _ := before.Frontmatter.Get(key)
	for _, value := range []any{"changed: text", []any{"p", 1.0}, nil, 7.0} {
		out, err := markdown.SetFields(text, pairs(key, value))
		require.NoError(t, err)
		e, _ := markdown.Parse(out).Frontmatter.Get(key)
		require.Equal(t, value, e.Value)
		require.Equal(t, string(text[:old.Lines.Start]), string(out[:e.Lines.Start]))
		require.Equal(t, string(text[old.Lines.End:]), string(out[e.Lines.End:]))
	}
	out, err := markdown.UnsetFields(text, []string{key})
	require.NoError(t, err)
	require.Equal(t, string(text[:old.Lines.Start])+string(text[old.Lines.End:]), string(out))
}
