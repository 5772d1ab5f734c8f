package notes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// anExport is the data of an export.
type anExport struct {
	Exported   []struct{ Path, Output string }
	Provenance string
	Files      []struct {
		Path, Content string
		Part          int
	}
}

func (p *place) exported(t testing.TB, in args) (e anExport) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(p.bare(t, "notes_export", in)), &e))
	return e
}

// TestExport covers A17 57, A9's provenance and names, and N26.
func TestExport(t *testing.T) {
	for name, c := range map[string]struct{ text, target, want string }{
		"a head": {"---\ntitle: T\ntags: [a]\n---\nb\n", "inbox/x.md",
			"---\ntitle: T\ntags: [a]\nsource_notes:\n  - inbox/x.md\n---\nb\n"},
		"no head":        {"# A\n", "inbox/x", "---\nsource_notes:\n  - inbox/x.md\n---\n# A\n"},
		"one before":     {"---\nsource_notes: [y]\nb: 1 # c\n---\n", "inbox/x.md", "---\nsource_notes: [inbox/x.md]\nb: 1 # c\n---\n"},
		"break and mark": {"\ufeff---\r\na: 1\r\n---\r\nb", "inbox/x.md", "\ufeff---\r\na: 1\r\nsource_notes:\r\n  - inbox/x.md\r\n---\r\nb"},
		"no editing":     {"---\na: [\n---\nb\n", `inbox\x.md`, "---\na: [\n---\nb\n"},
		"a map": {"---\na: {b: 1}\n---\n", " ./inbox/x.md ",
			"---\na: {b: 1}\nsource_notes:\n  - inbox/x.md\n---\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, map[string]string{"inbox/x.md": c.text, "y.md": "y"})
			want := fmt.Sprintf(`{"exported":[{"path":"inbox/x.md","output":"x.md"}],`+
				`"provenance":"Exported from vault paths: inbox/x.md","files":[{"path":"x.md","content":%s}]}`,
				marshalled(t, c.want))
			require.Equal(t, want, p.bare(t, "notes_export", args{"target": c.target}))
			answer, err := p.Invoke(t.Context(), "notes_export", marshalled(t, args{"vault": "v", "target": c.target}))
			require.NoError(t, err)
			require.Equal(t, c.want == c.text, strings.Contains(string(answer), `"NOTE_QUARANTINED"`))
		})
	}
}

// TestExportHTML holds that a page has the text, its title and where it is from, and nothing that runs.
func TestExportHTML(t *testing.T) {
	p := open(t, map[string]string{
		"inbox/x.md": "---\ntitle: A <b> & c\n---\n# H\n\n*e* [l](javascript:alert(1)) <script>alert(1)</script>\n\n- a\n- [[b]]\n",
		"y.md":       "plain < text\n", "z.md": strings.Repeat("[*_`<", 2000) + "\n\nnext *e*\n",
	})
	e := p.exported(t, args{"target": "inbox/x.md", "format": "html"})
	require.Equal(t, "x.html", e.Files[0].Path)
	page := e.Files[0].Content
	for _, want := range []string{
		"<title>A &lt;b&gt; &amp; c</title>", `<meta name="source_notes" content="inbox/x.md">`,
		"<h1>H</h1>", "<em>e</em>", "<li>[[b]]</li>",
	} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, "script>")
	require.NotContains(t, page, "javascript")
	require.NotContains(t, page, "title: A")
	page = p.exported(t, args{"target": "y.md", "format": "html"}).Files[0].Content
	require.Contains(t, page, "<title>y.md</title>")
	require.Contains(t, page, "<p>plain &lt; text</p>")
	page = p.exported(t, args{"target": "z.md", "format": "html"}).Files[0].Content
	require.Contains(t, page, "[*_`&lt;[*_`&lt;")
	require.Contains(t, page, "next <em>e</em>")
}

// TestExportQuery covers targets that are queries, and names that several notes have (N25, N27).
func TestExportQuery(t *testing.T) {
	p := open(t, map[string]string{
		"a/same.md": "pager one", "b/Same.md": "---\nproject: Born Free\n---\npager two",
		"projects/born-free/same-2.md": "pager three", "templates/t.md": "pager four", "other.md": "nothing",
	})
	e := p.exported(t, args{"query": "pager"})
	require.Equal(t, "Exported from vault paths: a/same.md, b/Same.md, projects/born-free/same-2.md", e.Provenance)
	var names []string
	for i, f := range e.Files {
		require.Equal(t, e.Exported[i].Output, f.Path)
		require.Contains(t, f.Content, "source_notes:\n  - a/same.md\n  - b/Same.md\n  - projects/born-free/same-2.md\n")
		names = append(names, f.Path)
	}
	require.Equal(t, []string{"same.md", "Same-2.md", "same-2-2.md"}, names)
	e = p.exported(t, args{"target": "pager", "project": "Born Free"})
	require.Equal(t, "Exported from vault paths: b/Same.md, projects/born-free/same-2.md", e.Provenance)
	require.Len(t, p.exported(t, args{"target": "templates/t.md"}).Files, 1, "a path is exported wherever it is")
	for _, c := range []struct {
		in   args
		code fault.Code
	}{
		{args{"target": "nothing that is there"}, ""},
		{args{"target": "zebra"}, fault.NotFound},
		{args{"target": "gone.md"}, fault.NotFound},
		{args{"target": "a/gone"}, fault.NotFound},
		{args{"target": "../a.md"}, fault.InvalidPath},
		{args{"target": "/a/b"}, fault.InvalidPath},
		{args{"target": "a/same.md", "project": "x"}, fault.InvalidParameter},
		{args{"target": "pager", "format": "pdf"}, fault.InvalidParameter},
		{args{"target": "pager", "page_token": "x"}, fault.InvalidParameter},
		{args{}, fault.InvalidParameter},
	} {
		if c.code != "" {
			f, _ := p.refused(t, "notes_export", c.in)
			require.Equal(t, c.code, f.Code, c.in)
		}
	}
}

// TestExportPages holds that a large export is whole over its pages, in parts where a file is larger than a page,
// and of one version.
func TestExportPages(t *testing.T) {
	files := map[string]string{}
	for i := range 6 {
		files[fmt.Sprintf("n%d.md", i)] = "pager\n" + strings.Repeat(string(rune('a'+i))+"\x01", 450_000)
	}
	p := open(t, files)
	got, pages, token := map[string]string{}, 0, ""
	rows := 0
	for {
		in := args{"vault": "v", "target": "pager"}
		if token != "" {
			in["page_token"] = token
		}
		answer, err := p.Invoke(t.Context(), "notes_export", marshalled(t, in))
		require.NoError(t, err)
		var e struct {
			Data anExport
			Meta struct {
				Next    string `json:"next_page_token"`
				HasMore bool   `json:"has_more"`
				Total   int
				Version string
			}
		}
		require.NoError(t, json.Unmarshal(answer, &e))
		require.Equal(t, 6, e.Meta.Total)
		for _, f := range e.Data.Files {
			got[f.Path] += f.Content
		}
		rows += len(e.Data.Exported)
		if pages++; pages == 1 {
			p.put(t, map[string]string{"n5.md": "pager, changed", "n6.md": "pager, new"})
		}
		if token = e.Meta.Next; !e.Meta.HasMore {
			break
		}
	}
	require.Greater(t, pages, 2)
	require.Equal(t, 6, rows)
	for name, text := range files {
		require.True(t, strings.HasSuffix(got[name], text), name)
	}
}

// TestExportCommand covers the command line: what the answer says is what was written, and nothing is written
// over.
func TestExportCommand(t *testing.T) {
	p := open(t, map[string]string{"a/same.md": "pager one", "b/same.md": "pager two"})
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	row := func(path, name string) string {
		return fmt.Sprintf(`{"path":%q,"output":%s}`, path, marshalled(t, filepath.Join(out, name)))
	}
	const provenance = `"provenance":"Exported from vault paths: a/same.md, b/same.md"}` + "\n"
	for i, names := range [][2]string{{"same.md", "same-2.md"}, {"same-3.md", "same-2-2.md"}} {
		got := p.shell(t, "", "export", "pager", out, "--json")
		require.Zero(t, got.Exit, got.Err)
		require.Equal(t, `{"exported":[`+row("a/same.md", names[0])+","+row("b/same.md", names[1])+"],"+provenance,
			got.Out, i)
	}
	page := filepath.Join(dir, "page.html")
	for _, want := range []string{page, filepath.Join(dir, "page-2.html")} {
		got := p.shell(t, "", "export", "a/same.md", page, "--format", "html", "--json")
		require.Zero(t, got.Exit, got.Err)
		require.Contains(t, got.Out, string(marshalled(t, want)))
		text, err := os.ReadFile(want)
		require.NoError(t, err)
		require.Contains(t, string(text), "<p>pager one</p>")
	}
	for code, line := range map[string][]string{
		"NOT_FOUND": {"export", "gone.md", out}, "INVALID_PATH": {"export", "../x.md", out},
		"INVALID_PARAMETER": {"export", "pager", out, "--format", "pdf"},
	} {
		got := p.shell(t, "", append(line, "--json")...)
		require.Equal(t, map[bool]int{true: 2, false: 1}[code == "NOT_FOUND"], got.Exit)
		require.Contains(t, got.Err, `"code":"`+code+`"}`)
		require.Empty(t, got.Out)
	}
	got := p.shell(t, "", "export", "pager", out)
	require.Zero(t, got.Exit)
	require.Contains(t, got.Out, "same-4.md", "people see what was written")
}

// TestExportsAtOnce holds that exports into one folder at once never share a file, and that each file is whole.
func TestExportsAtOnce(t *testing.T) {
	p := open(t, map[string]string{"a/same.md": "pager one", "b/same.md": "pager two"})
	out := filepath.Join(t.TempDir(), "out")
	const runs = 8
	var wg sync.WaitGroup
	answers := make([]string, runs)
	for i := range runs {
		wg.Go(func() { answers[i] = p.shell(t, "", "export", "pager", out, "--json").Out })
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, answer := range answers {
		var e anExport
		require.NoError(t, json.Unmarshal([]byte(answer), &e), answer)
		require.Len(t, e.Exported, 2)
		for _, row := range e.Exported {
			require.False(t, seen[row.Output], row.Output)
			seen[row.Output] = true
			text, err := os.ReadFile(row.Output)
			require.NoError(t, err)
			word := map[string]string{"a/same.md": "pager one", "b/same.md": "pager two"}[row.Path]
			require.True(t, strings.HasSuffix(string(text), "---\n"+word), "%s: %s", row.Output, text)
		}
	}
	left, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Len(t, left, 2*runs)
}
