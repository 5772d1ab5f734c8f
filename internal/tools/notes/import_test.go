package notes_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// textFile is an entry of `files`.
func textFile(path, content string) args { return args{"path": path, "content": content} }

// imported is the answer of an import.
type imported struct {
	OK   bool
	Data struct {
		Imported []struct {
			Path     string
			SourceID string `json:"source_id"`
		}
		Count  int
		DryRun bool `json:"dry_run"`
	}
	Meta struct {
		Skipped int
		LeftOut []struct{ Path, Reason string } `json:"left_out"`
	}
	Error struct {
		Code     string
		Details  map[string]any
		Location struct{ File string }
		Errors   []struct{ Code string }
	}
}

// imports makes a call with the envelope.
func (p *place) imports(t testing.TB, in args) imported {
	t.Helper()
	in["vault"] = "v"
	answer, _ := p.Invoke(t.Context(), "notes_import", marshalled(t, in))
	var out imported
	require.NoError(t, json.Unmarshal(answer, &out), "%s", answer)
	return out
}

// paths are the paths of the notes that were made.
func (i imported) paths() []string {
	paths := []string{}
	for _, n := range i.Data.Imported {
		paths = append(paths, n.Path)
	}
	return paths
}

// text is the text of a note.
func (p *place) text(t testing.TB, path string) string {
	t.Helper()
	var all struct {
		Notes []struct{ Path, Text string }
	}
	require.NoError(t, json.Unmarshal([]byte(p.bare(t, "team_vault_export", args{})), &all))
	for _, n := range all.Notes {
		if n.Path == path {
			return n.Text
		}
	}
	require.Fail(t, "there is no note", "%s", path)
	return ""
}

// TestImportShape covers the bare answers of the document, to the byte.
func TestImportShape(t *testing.T) {
	p := open(t, nil)
	in := args{"type": "markdown", "files": []args{textFile("a.md", "# A"), textFile("b/c.md", "c\n")}}
	in["dry_run"] = true
	require.Equal(t, `{"imported":[{"path":"inbox/a.md","source_id":"a.md"},{"path":"inbox/b/c.md","source_id":"b/c.md"}],"count":2,"dry_run":true}`,
		p.bare(t, "notes_import", in))
	require.Equal(t, `{"notes":[],"total":0}`, p.bare(t, "notes_list", nil))
	delete(in, "dry_run")
	require.Equal(t, `{"imported":[{"path":"inbox/a.md","source_id":"a.md"},{"path":"inbox/b/c.md","source_id":"b/c.md"}],"count":2}`,
		p.bare(t, "notes_import", in))
	require.Equal(t, "---\nsource: markdown\nsource_id: a.md\ndate: 2026-03-01\n---\n# A", p.text(t, "inbox/a.md"))
	require.Equal(t, `{"imported":[],"count":0}`, p.bare(t, "notes_import", in))

	_, answer := p.refused(t, "notes_import", args{"type": "json-rows", "files": []args{textFile("r.json", "[{},\n{")}})
	require.Equal(t, `{"error":"r.json:2: the file is not whole JSON: it ends too early","code":"INVALID_PARAMETER"}`, answer)
}

// TestImportKeepsFrontmatter covers that a note of Markdown keeps what it says, to the byte, and gets what it lacks.
func TestImportKeepsFrontmatter(t *testing.T) {
	p := open(t, nil)
	out := p.imports(t, args{
		"type": "markdown", "project": "My Apollo", "output_dir": `.\old/`, "tags": []string{"x, z", "#a"},
		"files": []args{
			textFile("a.md", "---\n# keep\ntitle: 'A'   # this too\ncreated: 2024-05-01\ntags: [a, \"b c\"]\n---\n\nbody\r\n"),
			textFile("b.md", "---\nsource: blog\nsource_id: 7\ndate: last week\nknowtation_editor: me\n---\nb"),
			textFile("c.md", "---\n\"unclosed: [\n---\nc"),
		},
	})
	require.True(t, out.OK)
	require.Equal(t, []string{"old/a.md", "old/b.md", "old/c.md"}, out.paths())
	require.Equal(t, "---\n# keep\ntitle: 'A'   # this too\ncreated: 2024-05-01\ntags: [a, b c, x, z]\n"+
		"source: markdown\nsource_id: a.md\ndate: 2024-05-01\nproject: my-apollo\n---\n\nbody\r\n", p.text(t, "old/a.md"))
	require.Contains(t, p.text(t, "old/b.md"), "source: blog\nsource_id: 7\ndate: last week\nknowtation_editor: me\n")
	require.Equal(t, "7", out.Data.Imported[1].SourceID)
	require.Equal(t, "---\n\"unclosed: [\n---\nc", p.text(t, "old/c.md"))
}

// TestImportNeverWritesOver covers names that are taken, and repeats: with the same export, with one that has more,
// and after notes were edited and moved.
func TestImportNeverWritesOver(t *testing.T) {
	p := open(t, map[string]string{"inbox/A.md": "mine", "inbox/Plan.md": "mine"})
	chats := func(n int) []args {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"id":"%d","title":"plan","mapping":{"m":{"message":{"content":{"parts":["text %d"]}}}}}`, i, i))
		}
		return []args{textFile("conversations.json", "["+strings.Join(all, ",")+"]")}
	}
	require.Equal(t, []string{"inbox/plan-2.md", "inbox/plan-3.md"},
		p.imports(t, args{"type": "chatgpt-export", "files": chats(2)}).paths())
	p.bare(t, "notes_write", args{"path": "inbox/plan-3.md", "content": "edited"})
	out := p.imports(t, args{"type": "chatgpt-export", "files": chats(3), "output_dir": "elsewhere"})
	require.Equal(t, []string{"elsewhere/plan.md"}, out.paths())
	require.Equal(t, 2, out.Meta.Skipped)
	require.Contains(t, p.text(t, "inbox/plan-3.md"), "edited")
	require.Equal(t, "mine", p.text(t, "inbox/Plan.md"))

	same := []args{textFile("a.md", "---\n\"unclosed: [\n---\n")} // has no fields to be found by
	require.Equal(t, []string{"inbox/a-2.md"}, p.imports(t, args{"type": "markdown", "files": same}).paths())
	require.Equal(t, 1, p.imports(t, args{"type": "markdown", "files": same}).Meta.Skipped)
	mapped := []args{textFile("m.md", "---\na: {b: 1}\n---\n")}
	require.Equal(t, []string{"inbox/m.md"}, p.imports(t, args{"type": "markdown", "files": mapped}).paths())
	p.bare(t, "notes_write", args{"path": "inbox/m.md", "content": "more", "append": true})
	require.Equal(t, 1, p.imports(t, args{"type": "markdown", "files": mapped}).Meta.Skipped)
}

// TestImportInPart covers that one element which cannot be a note does not stop the others, also in a repeat.
func TestImportInPart(t *testing.T) {
	p := open(t, nil)
	long := fmt.Sprintf(`[{"id":"a","memory":"ok"},{"id":"b","memory":%q},{"id":"c","memory":"ok"}]`, strings.Repeat("x", 1<<20))
	in := args{"type": "mem0-export", "idempotency_key": "k", "files": []args{textFile("m.json", long)}}
	for range 2 {
		out := p.imports(t, in)
		require.False(t, out.OK)
		require.Equal(t, "NOTE_TOO_LARGE", out.Error.Code)
		require.Equal(t, "b", out.Error.Details["source_id"])
		require.Equal(t, "m.json", out.Error.Location.File)
		require.Equal(t, []string{"inbox/mem0_a.md", "inbox/mem0_c.md"}, out.paths())
	}
	require.Contains(t, p.bare(t, "notes_list", nil), `"total":2`)
	out := p.imports(t, args{"type": "json-rows", "files": []args{textFile("r.json", `[1,{"id":"x"},2]`)}})
	require.Equal(t, "INVALID_PARAMETER", out.Error.Code)
	require.Len(t, out.Error.Errors, 2)
	require.Equal(t, 1, out.Data.Count)
}

// TestImportRefuses covers calls that write nothing.
func TestImportRefuses(t *testing.T) {
	p := open(t, map[string]string{"a.md": "mine"})
	md := []args{textFile("a.md", "x")}
	for _, c := range []struct {
		in   args
		code fault.Code
		arg  string
	}{
		{args{"type": "pdf", "files": md}, fault.InvalidParameter, "type"},
		{args{"type": "memory", "files": md, "project": "x"}, fault.InvalidParameter, "project"},
		{args{"type": "markdown", "files": []args{}}, fault.InvalidParameter, "files"},
		{args{"type": "markdown"}, fault.InvalidParameter, "files"},
		{args{"type": "markdown", "files": []args{{"path": "a.md", "content": "x", "content_base64": "eA=="}}}, fault.InvalidParameter, "files"},
		{args{"type": "markdown", "files": []args{{"path": "a.md", "content_base64": "%"}}}, fault.InvalidParameter, "files"},
		{args{"type": "markdown", "files": []args{textFile("../a.md", "x")}}, fault.InvalidPath, "files"},
		{args{"type": "markdown", "files": []args{textFile("C:/a.md", "x")}}, fault.InvalidPath, "files"},
		{args{"type": "markdown", "files": md, "output_dir": "../x"}, fault.InvalidPath, "output_dir"},
		{args{"type": "markdown", "files": md, "project": "日本"}, fault.InvalidParameter, "project"},
		{args{"type": "mem0-export", "files": md}, fault.InvalidParameter, "files"},
		{args{"type": "raven", "files": md, "tags": []string{"x"}}, fault.InvalidParameter, "tags"},
		{args{"type": "raven", "files": md}, fault.DuplicateID, "files"},
		{args{"type": "raven", "files": []args{textFile("x.png", "")}}, fault.InvalidParameter, "files"},
	} {
		f, _ := p.refused(t, "notes_import", c.in)
		require.Equal(t, c.code, f.Code, "%v", c.in)
		require.Equal(t, c.arg, f.Details["argument"], "%v", c.in)
	}
	out := p.imports(t, args{"type": "markdown", "files": md, "output_dir": ".trash"})
	require.Equal(t, "INVALID_PATH", out.Error.Code)
	require.Zero(t, out.Data.Count)
	require.Equal(t, `{"total":1}`, p.bare(t, "notes_list", args{"count_only": true}))
}

// TestImportArchive covers an archive as one file of a call.
func TestImportArchive(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range map[string]string{"n/a.md": "# A", ".obsidian/x.md": "x", "b.png": "x"} {
		to, err := w.Create(name)
		require.NoError(t, err)
		_, err = to.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	p := open(t, nil)
	out := p.imports(t, args{"type": "markdown", "files": []args{
		{"path": "x.zip", "content_base64": base64.StdEncoding.EncodeToString(b.Bytes())},
	}})
	require.Equal(t, []string{"inbox/n/a.md"}, out.paths())
	require.Equal(t, "b.png", out.Meta.LeftOut[0].Path)
}

// TestImportVault covers a vault with its settings: files at their own paths, as they are, and once.
func TestImportVault(t *testing.T) {
	p := open(t, nil)
	files := []args{
		textFile("schema.yaml", "version: 2\ntypes: {}\n"), textFile("people/freya.md", "# Freya"),
		textFile("x.png", "x"), textFile("people/THOR.MD", "# Thor"),
	}
	out := p.imports(t, args{"type": "raven", "files": files})
	require.True(t, out.OK, "%+v", out)
	require.Equal(t, []string{"schema.yaml", "people/freya.md", "people/THOR.MD"}, out.paths())
	require.Equal(t, "# Freya", p.text(t, "people/freya.md"))
	out = p.imports(t, args{"type": "raven", "files": files})
	require.Equal(t, 3, out.Meta.Skipped)
	require.Empty(t, out.paths())
}

// TestImportsAtOnce covers that an import which runs several times at once makes each note once.
func TestImportsAtOnce(t *testing.T) {
	p := open(t, nil)
	var rows []string
	for i := range 50 {
		rows = append(rows, fmt.Sprintf(`{"id":"m%d","memory":"text"}`, i))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			in := args{"vault": "v", "type": "mem0-export", "files": []args{textFile("m.json", "["+strings.Join(rows, ",")+"]")}}
			_, err := p.Invoke(t.Context(), "notes_import", marshalled(t, in))
			require.NoError(t, err)
		})
	}
	wg.Wait()
	require.Equal(t, `{"total":50}`, p.bare(t, "notes_list", args{"count_only": true}))
}
