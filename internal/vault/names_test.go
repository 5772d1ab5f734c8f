package vault_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/vault"
)

// TestOddNames checks for unusual file names whether an existing note may have the name, and
// whether a new one may.
func TestOddNames(t *testing.T) {
	for _, c := range []struct {
		name      string
		reads, is bool
	}{
		{"日本語のノート.md", true, true}, {"Заметка.md", true, true}, {"ملاحظة.md", true, true}, {"🚀 Launch.md", true, true},
		{"Read Me.MD", true, false}, {"notes.markdown", true, false}, {"Notes.Markdown", true, false},
		{"a.b.c.md", true, true}, {"-dash.md", true, true}, {"_under.md", true, true}, {"@home.md", true, true},
		{"100%.md", true, true}, {"it's.md", true, true}, {"a & b.md", true, true}, {"(x) [y] {z}.md", true, true},
		{"2026-03-02.md", true, true}, {"README.md", true, true}, {"~backup.md", true, true}, {"a,b;c.md", true, true},
		{"x=y+z.md", true, true}, {"¿qué?.md", false, false}, {"a\u202eb.md", true, false}, {"why?.md", false, false},
		{"C#.md", false, false}, {"a:b.md", false, false}, {"con.md", false, false}, {" .md", false, false},
		{".md", false, false}, {"x /y.md", false, false}, {"tab\there.md", false, false}, {".markdown", false, false},
		{"x.markdown/y.md", true, true}, {"note.mdx", false, false}, {"dots...md", true, true},
	} {
		_, err := vault.ParsePath(c.name)
		require.Equal(t, c.reads, err == nil, "%q: %v", c.name, err)
		_, err = vault.NewPath(c.name)
		if c.reads {
			require.Equal(t, c.is, err == nil, "%q as a new one: %v", c.name, err)
		}
	}
}

func TestFileName(t *testing.T) {
	for title, want := range map[string]string{
		"日本語のノート": "日本語のノート", "Привет, мир": "привет,-мир", "Ελληνικά": "ελληνικά", "한국어 노트": "한국어-노트",
		"שלום": "שלום", "हिन्दी": "हिन्दी", "Über Café": "uber-cafe", "My Note": "my-note", "日本: 東京?": "日本-東京",
		"../日本": "日本", "日本/東京": "日本-東京", "Vue 入門 #1": "vue-入門-1", "заметка.md": "заметка",
		"日\u202e本": "日-本", "日\t本": "日-本", "###": "",
	} {
		require.Equal(t, want, vault.FileName(title), "%q", title)
	}
	require.LessOrEqual(t, len(vault.FileName(strings.Repeat("語", 200))), vault.MaxSegment-3)
	rapid.Check(t, func(t *rapid.T) {
		title := rapid.String().Draw(t, "title")
		if name := vault.FileName(title); name != "" {
			_, err := vault.NewPath(name)
			require.NoError(t, err, "%q makes %q", title, name)
		}
	})
}
