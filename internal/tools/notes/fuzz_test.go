package notes

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// FuzzFilters reads any note and filters by any values: nothing panics, only a folder can be wrong, and a note is
// found by what its own card says.
func FuzzFilters(f *testing.F) {
	f.Add("projects/A b/x.md", "---\ntags: [On Call, 1]\ndate: 2026-01-02\nentity: 'A, B'\n---\ntext", "on call", "2026-01-02")
	f.Add("x.md", "---\nproject: ''\ntitle: [a]\n---", "..", "")
	f.Add("templates/x.md", "\ufeff---\na: &a [*a]\n---\n", "/", "日本")
	f.Fuzz(func(t *testing.T, path, text, value, day string) {
		if !strings.HasSuffix(path, ".md") || strings.HasPrefix(path, ".") || !utf8.ValidString(path) {
			return
		}
		x := index.Empty().With(index.Commit{Seq: 1, Changes: []index.Change{{Path: path, Text: []byte(text)}}})
		n, ok := x.Note(path)
		if !ok {
			return
		}
		d := parse(n, []byte(text))
		require.Equal(t, d.body, bodyOf([]byte(text)))
		_, _ = d.frontmatter()
		_, _, _ = facetsOf(d.head, path)
		_ = d.title()
		in := filterArgs{Folder: value, Project: value, Tag: value, Since: day, Until: day, Chain: value, Network: value}
		holds, err := in.filter()
		if err != nil {
			require.True(t, fault.Is(err, fault.InvalidPath) || fault.Is(err, fault.InvalidParameter))
			return
		}
		require.Equal(t, holds.has(n), inRows(x, holds))
		for _, tag := range n.Card().Tags {
			require.Equal(t, tag, markdown.PlainSlug(tag))
			own := filterArgs{Tag: tag, Project: n.Project()}
			if day := n.Card().Day(); beginsWithYear.MatchString(day) {
				own.Since, own.Until = day, day
			}
			holds, err := own.filter()
			require.NoError(t, err)
			require.Equal(t, index.IsListed(path), holds.has(n), "%q", tag)
			require.Equal(t, index.IsListed(path), inRows(x, holds), "%q", tag)
		}
	})
}

// inRows reports whether a filter has a note by its row, of an index of one note.
func inRows(x *index.Index, holds *filter) (has bool) {
	for r := range x.Rows(holds.folder) {
		has = holds.on(x).hasRow(&r)
	}
	return has
}
