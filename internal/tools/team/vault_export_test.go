package team_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An exported is a file as the pages of an export give it, joined.
type exported struct {
	text   string
	pieces int
}

// export reads a vault page by page, each of which must fit into an answer, also as a text in JSON.
func (p *place) export(t testing.TB, vault string) map[string]exported {
	t.Helper()
	files, in := map[string]exported{}, args{"vault": vault}
	for pages := 1; ; pages++ {
		require.Less(t, pages, 50, "the export does not end")
		a := p.must(t, admin(), "team_vault_export", in, "")
		quoted, err := tool.Marshal(string(a.raw))
		require.NoError(t, err)
		require.LessOrEqual(t, len(quoted), tool.MaxBody)
		for _, n := range into[struct {
			Notes []struct {
				Path, Text string
				Part       int
			}
		}](t, a).Notes {
			f := files[n.Path]
			require.Contains(t, []int{0, f.pieces + 1}, n.Part, n.Path)
			files[n.Path] = exported{f.text + n.Text, f.pieces + 1}
		}
		if a.Meta.Next == "" {
			return files
		}
		in = with(in, "page_token", a.Meta.Next)
	}
}

// TestExportOfControlCharacters covers that notes whose characters take many bytes in an answer are exported
// whole, in as many pieces as they need, and that a piece is only followed by one of the same text.
func TestExportOfControlCharacters(t *testing.T) {
	p := open(t, publicURL)
	p.must(t, admin(), "team_vault_create", args{"name": "v"}, "")
	texts := map[string]string{
		"a.md": "plain", "b.md": strings.Repeat("\x01", 1<<20), "c.md": strings.Repeat("\"\\", 512<<10),
		"d.md": strings.Repeat("é\u2028", 200<<10), "e.md": strings.Repeat("\n", 1<<20), "f.md": "plain",
	}
	put := func(path, text, mode string) {
		p.must(t, admin(), "team_vault_import", args{
			"vault": "v", "mode": mode, "notes": []args{{"path": path, "text": text}},
		}, "")
	}
	for path, text := range texts {
		put(path, text, "create")
	}
	files := p.export(t, "v")
	for path, text := range texts {
		require.True(t, files[path].text == text, path)
	}
	require.Greater(t, files["b.md"].pieces, 1)
	require.Equal(t, 1, files["f.md"].pieces)

	first := p.must(t, admin(), "team_vault_export", args{"vault": "v"}, "")
	inside := p.must(t, admin(), "team_vault_export", args{"vault": "v", "page_token": first.Meta.Next}, "")
	put("b.md", "short", "replace")
	again := p.must(t, admin(), "team_vault_export", args{"vault": "v", "page_token": first.Meta.Next}, "")
	require.Equal(t, string(inside.raw), string(again.raw), "the change came after the export began")
}

// TestExportIsOfOneVersion covers that what is written, added and deleted between two pages is not in an export, and
// that a page token of no export is refused.
func TestExportIsOfOneVersion(t *testing.T) {
	p := open(t, publicURL)
	p.must(t, admin(), "team_vault_create", args{"name": "v"}, "")
	put := func(path, text, mode string) {
		p.must(t, admin(), "team_vault_import", args{
			"vault": "v", "mode": mode, "notes": []args{{"path": path, "text": text}},
		}, "")
	}
	long := strings.Repeat("text\n", 150_000)
	for _, path := range []string{"a.md", "b.md", "c.md", "d.md"} {
		put(path, path+long, "create")
	}
	files, version, in := map[string]string{}, "", args{"vault": "v"}
	for pages := 0; ; pages++ {
		a := p.must(t, admin(), "team_vault_export", in, "")
		for _, n := range into[struct{ Notes []struct{ Path, Text string } }](t, a).Notes {
			files[n.Path] += n.Text
		}
		if version == "" {
			version = a.Meta.Version
		}
		require.Equal(t, version, a.Meta.Version)
		if a.Meta.Next == "" {
			require.Greater(t, pages, 1)
			break
		}
		put("d.md", fmt.Sprint("changed ", pages), "replace")
		put(fmt.Sprintf("new-%d.md", pages), "new", "create")
		in = with(in, "page_token", a.Meta.Next)
	}
	require.Len(t, files, 5)
	require.True(t, files["d.md"] == "d.md"+long, "as it was when the export began")
	require.NotContains(t, files[".raven/audit.log"], "new-0")
	for _, key := range []string{"a.md", "v0 a.md", "v99 a.md", "v1 ", "v1 \x00audit:x"} {
		p.refused(t, fault.InvalidParameter, admin(), "team_vault_export",
			args{"vault": "v", "page_token": tool.Token(key)})
	}
}

// TestExportOfALongLog covers that an audit log which is longer than a page is exported whole, once.
func TestExportOfALongLog(t *testing.T) {
	p := open(t, publicURL)
	p.must(t, admin(), "team_vault_create", args{"name": "v"}, "")
	const each, calls = 1000, 4
	for call := range calls {
		notes := make([]args, each)
		for i := range notes {
			notes[i] = args{"path": fmt.Sprintf("%s%d/%d.md", strings.Repeat("folder/", 20), call, i), "text": "x"}
		}
		p.must(t, admin(), "team_vault_import", args{"vault": "v", "notes": notes}, "")
	}
	log := p.export(t, "v")[".raven/audit.log"]
	require.Greater(t, log.pieces, 1)
	require.GreaterOrEqual(t, strings.Count(log.text, "\n"), each*calls)
	seen := map[string]bool{}
	for line := range strings.Lines(log.text) {
		require.False(t, seen[line], "a line twice")
		seen[line] = true
	}
}
