package notes_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// file is the text of a file of the vault; empty: there is none.
func (p *place) file(t testing.TB, path string) string {
	t.Helper()
	answer, err := p.Invoke(t.Context(), "team_vault_export", json.RawMessage(`{"vault":"v"}`))
	require.NoError(t, err)
	var e struct {
		Data struct{ Notes []struct{ Path, Text string } }
	}
	require.NoError(t, json.Unmarshal(answer, &e))
	for _, n := range e.Data.Notes {
		if n.Path == path {
			return n.Text
		}
	}
	return ""
}

// shell runs command lines on the vault.
func (p *place) shell(t testing.TB, stdin string, line ...string) tooltest.Printed {
	t.Helper()
	return tooltest.Shell{
		Tools: p.catalogue.Tools(), Connect: tooltest.InProcess(p.catalogue, auth.LocalCaller()), Stdin: stdin,
		Env: map[string]string{"ROOKERY_VAULT": "v"},
	}.Run(t, line...)
}

const headed = "---\n# a comment\nb: 'one' # two\na: [x, y]\n---\n\n# T\n"

// TestWrite covers A17 58 and 59, and what stays of a note (N18 to N20, N23). upstream is what the system of the
// document writes, where that is something else.
func TestWrite(t *testing.T) {
	for name, c := range map[string]struct {
		was, args, want, upstream string
	}{
		"a new note":             {"", `"content":"# A\n"`, "# A\n", "---\n{}\n---\n# A\n"},
		"a new note, no break":   {"", `"content":"# A"`, "# A\n", "---\n{}\n---\n# A"},
		"a new note, no text":    {"", `"content":""`, "", "---\n{}\n---\n"},
		"a new note of fields":   {"", `"frontmatter":{"b":1,"a":"x"}`, "---\na: x\nb: 1\n---\n", ""},
		"a new note of both":     {"", `"content":"t","frontmatter":{"a":"x"}`, "---\na: x\n---\nt\n", ""},
		"its own head":           {"", `"content":"---\na: 1\n---\nt\n","frontmatter":{"b":2}`, "---\na: 1\nb: 2\n---\nt\n", ""},
		"another text":           {headed, `"content":"new"`, strings.Replace(headed, "\n# T\n", "new\n", 1), ""},
		"another text, by alias": {headed, `"body":"\nnew\n"`, strings.Replace(headed, "# T\n", "new\n", 1), ""},
		"no text":                {headed, `"content":""`, strings.Replace(headed, "\n# T\n", "", 1), ""},
		"appended":               {headed, `"content":"more","append":true`, headed + "more", ""},
		"appended to nothing":    {"", `"content":"more","append":true`, "more", ""},
		"appended twice": {headed + "more", `"content":"\nand more\n","append":true`,
			headed + "more\nand more\n", ""},
		"appended behind a head": {"---\na: 1\n---", `"content":"x","append":true`, "---\na: 1\n---\nx", ""},
		"a field":                {headed, `"frontmatter":{"b":"three"}`, strings.Replace(headed, "'one'", "'three'", 1), ""},
		"a field and a text": {headed, `"content":"n","frontmatter":{"c":true}`,
			"---\n# a comment\nb: 'one' # two\na: [x, y]\nc: true\n---\nn\n", ""},
		"a field removed": {headed, `"frontmatter":{"b":null,"zz":null}`,
			strings.Replace(headed, "b: 'one' # two\n", "", 1), ""},
		"a list":             {headed, `"frontmatter":{"a":["z",2,true]}`, strings.Replace(headed, "[x, y]", "[z, 2, true]", 1), ""},
		"carriage returns":   {"---\r\na: 1\r\n---\r\nx\r\n", `"content":"y\nz","frontmatter":{"b":2}`, "---\r\na: 1\r\nb: 2\r\n---\r\ny\r\nz\r\n", ""},
		"a mark":             {"\ufeff---\na: 1\n---\nx\n", `"content":"y"`, "\ufeff---\na: 1\n---\ny\n", ""},
		"a head, not closed": {"---\na: 1\n---", `"content":"y"`, "---\na: 1\n---\ny\n", ""},
		"like a head":        {"text\n", `"content":"---\na: 1\n---\n"`, "\n---\na: 1\n---\n", "---\n{}\n---\n---\na: 1\n---\n"},
		"a bad head, a text": {"---\na: [\n---\nx\n", `"content":"y"`, "---\na: [\n---\ny\n", ""},
		"a bad head, more":   {"---\na: [\n---\nx\n", `"content":"y","append":true`, "---\na: [\n---\nx\ny", ""},
		"a map, a text":      {"---\na: {b: 1}\n---\nx\n", `"content":"y"`, "---\na: {b: 1}\n---\ny\n", ""},
		"a map, a field":     {"---\na: {b: 1}\n---\nx\n", `"frontmatter":{"c":1}`, "---\na: {b: 1}\nc: 1\n---\nx\n", ""},
		"reserved":           {headed, `"content":"n","frontmatter":{"knowtation_editor":"me"}`, strings.Replace(headed, "\n# T\n", "n\n", 1), ""},
		"only reserved":      {headed, `"frontmatter":{"author_kind":null}`, headed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"other.md": "kept"}
			if c.was != "" {
				files["in/n.md"] = c.was
			}
			p := open(t, files)
			answer, err := p.Invoke(t.Context(), "notes_write",
				json.RawMessage(`{"vault":"v","envelope":false,"path":"./in//n.md",`+c.args+`}`))
			require.NoError(t, err, string(answer))
			require.Equal(t, `{"path":"in/n.md","written":true}`, string(answer))
			require.Equal(t, c.want, p.file(t, "in/n.md"))
			require.Equal(t, "kept", p.file(t, "other.md"))
		})
	}
}

// TestWriteRefuses covers what is refused, before anything is written.
func TestWriteRefuses(t *testing.T) {
	const schema = "version: 1\ntypes:\n  person:\n    fields:\n      name: { type: string, required: true }\n" +
		"      age: { type: number }\n      boss: { type: ref, target: person }\n"
	files := map[string]string{
		"schema.yaml": schema, "a.md": "# A\n", "p.md": "---\ntype: person\nname: P\n---\n",
		"bad.md": "---\nx: 1\na: [\n---\n", "map.md": "---\na: {b: 1}\n---\n",
	}
	p := open(t, files)
	for name, c := range map[string]struct{ args, code, message string }{
		"nothing":         {`"path":"a.md"`, "INVALID_PARAMETER", "give content, frontmatter, or both"},
		"no fields":       {`"path":"a.md","frontmatter":{}`, "INVALID_PARAMETER", "give content, frontmatter, or both"},
		"append alone":    {`"path":"a.md","append":true,"frontmatter":{"a":1}`, "INVALID_PARAMETER", "append needs content"},
		"a map":           {`"path":"a.md","frontmatter":{"m":{"k":1}}`, "INVALID_PARAMETER", "Field 'm' must be"},
		"a number":        {`"path":"p.md","frontmatter":{"age":"old"}`, "INVALID_PARAMETER", "age"},
		"of a new type":   {`"path":"a.md","frontmatter":{"type":"person","age":"old"}`, "INVALID_PARAMETER", "age"},
		"a target":        {`"path":"p.md","frontmatter":{"boss":"[[a]]"}`, "INVALID_PARAMETER", "must refer to a person"},
		"required":        {`"path":"p.md","frontmatter":{"name":null}`, "INVALID_PARAMETER", `type person requires the field "name"`},
		"two problems":    {`"path":"p.md","frontmatter":{"name":null,"age":"x"}`, "INVALID_PARAMETER", "2 problems found"},
		"a bad head":      {`"path":"bad.md","content":"x","frontmatter":{"b":1}`, "INVALID_PARAMETER", "line 4"},
		"a bad key":       {`"path":"a.md","frontmatter":{"a\nb":1}`, "INVALID_PARAMETER", ""},
		"no ending":       {`"path":"a","content":"x"`, "INVALID_PATH", "ends in .md"},
		"a folder's file": {`"path":"x/_folder.md","content":"x"`, "INVALID_PATH", ""},
		"another case":    {`"path":"A.md","content":"x"`, "DUPLICATE_ID", ""},
		"too large": {`"path":"a.md","content":"` + strings.Repeat("x", 1<<20) + `","append":true`,
			"NOTE_TOO_LARGE", ""},
		"a changed note": {`"path":"a.md","content":"x","if_version":"v0"`, "CONFLICT", ""},
		"no version":     {`"path":"a.md","content":"x","if_version":"new"`, "INVALID_PARAMETER", "if_version"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := p.Invoke(t.Context(), "notes_write", json.RawMessage(`{"vault":"v",`+c.args+`}`))
			require.Error(t, err, string(answer))
			require.Equal(t, c.code, string(fault.Of(err).Code))
			require.Contains(t, fault.Of(err).Message, c.message)
		})
	}
	f, _ := p.refused(t, "notes_write", args{"path": "bad.md", "frontmatter": args{"b": 1}})
	require.Equal(t, "bad.md", f.Location.File)
	require.Equal(t, 4, f.Location.Line)
	for path, text := range files {
		require.Equal(t, text, p.file(t, path))
	}
}

// TestWriteOnce covers dry runs (N24), keys and versions.
func TestWriteOnce(t *testing.T) {
	p := open(t, map[string]string{"a.md": "one\n"})
	require.Equal(t, `{"path":"a.md","written":false,"dry_run":true,"would_modify_files":[{"path":"a.md",`+
		`"action":"modify","line":2,"new_content":"two"}]}`,
		p.bare(t, "notes_write", args{"path": "a.md", "content": "two", "append": true, "dry_run": true}))
	require.Equal(t, "one\n", p.file(t, "a.md"))
	for range 2 {
		p.bare(t, "notes_write", args{"path": "a.md", "content": "two\n", "append": true, "idempotency_key": "k"})
	}
	require.Equal(t, "one\ntwo\n", p.file(t, "a.md"))
	f, _ := p.refused(t, "notes_write", args{"path": "a.md", "content": "x", "append": true, "idempotency_key": "k"})
	require.Equal(t, fault.KeyReused, f.Code)

	answer, err := p.Invoke(t.Context(), "notes_write", json.RawMessage(
		`{"vault":"v","path":"a.md","frontmatter":{"knowtation_editor":1,"b":2},"content":"see [[nobody]]"}`))
	require.NoError(t, err)
	require.Contains(t, string(answer), `"code":"UNKNOWN_FIELD","message":"the field knowtation_editor is not written: `+
		`the log records the authors of a note"`)
	require.Contains(t, string(answer), `"code":"REF_NOT_FOUND"`)
	require.Equal(t, "---\nb: 2\n---\nsee [[nobody]]\n", p.file(t, "a.md"))
}

// TestWriteCommand covers the command line of the document: text as a word and on standard input, several fields
// behind one flag, one line of JSON, and exit codes.
func TestWriteCommand(t *testing.T) {
	p := open(t, map[string]string{"a.md": "one\n"})
	const written = `{"path":"b.md","written":true}` + "\n"
	require.Equal(t, tooltest.Printed{Out: written},
		p.shell(t, "# B\n\ntext a=b\n", "write", "b.md", "--stdin", "--frontmatter", "status=done", "n=3", "tags=a,b", "--json"))
	require.Equal(t, "---\nn: 3\nstatus: done\ntags:\n  - a\n  - b\n---\n# B\n\ntext a=b\n", p.file(t, "b.md"))
	require.Equal(t, tooltest.Printed{Out: written},
		p.shell(t, "", "write", "b.md", "more=1", "--append", "--json"), "content that looks like a field")
	require.True(t, strings.HasSuffix(p.file(t, "b.md"), "text a=b\nmore=1"))
	require.Zero(t, p.shell(t, "", "write", "b.md", "two words").Exit)
	got := p.shell(t, "", "write", "b.md", "x", "--envelope")
	require.Contains(t, got.Out, `{"ok":true,"data":{"path":"b.md","written":true},"warnings":[],"meta":{`)
	for name, c := range map[string]struct {
		exit int
		line []string
		want string
	}{
		"nothing":         {1, []string{"write", "b.md"}, "INVALID_PARAMETER"},
		"no path":         {1, []string{"write"}, "INVALID_PARAMETER"},
		"a bad path":      {1, []string{"write", "../b.md", "x"}, "INVALID_PATH"},
		"unknown":         {1, []string{"write", "b.md", "x", "--bogus"}, "INVALID_PARAMETER"},
		"changed":         {2, []string{"write", "b.md", "x", "--if-version", "v1"}, "CONFLICT"},
		"a word too many": {1, []string{"write", "b.md", "x", "y"}, "INVALID_PARAMETER"},
	} {
		t.Run(name, func(t *testing.T) {
			got := p.shell(t, "", append(c.line, "--json")...)
			require.Equal(t, c.exit, got.Exit, got.Err)
			require.Empty(t, got.Out)
			require.Equal(t, 1, strings.Count(got.Err, "\n"))
			require.Contains(t, got.Err, `"code":"`+c.want+`"}`)
		})
	}
}

// TestWriteKeepsBytes holds that a write changes nothing but the fields that it names and the body, whatever the
// head is.
func TestWriteKeepsBytes(t *testing.T) {
	p := open(t, nil)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "eol")
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{
			"# a comment", "a: 1", "b: 'q' # why", "c: [x, y]", "d:", "  - 1", "e: \"[[n]]\"", "f: |", "  text", "",
			"g: {h: 1}", "i: [", "--- ", "é: ü", "a: 2", "x: 2025-03-01",
		}), 0, 6).Draw(rt, "lines")
		mark := rapid.SampledFrom([]string{"", "\ufeff"}).Draw(rt, "mark")
		head := mark + "---" + eol + strings.Join(append(lines, "---"), eol) + eol
		body := rapid.SampledFrom([]string{"", "t", "# T" + eol + eol + "x" + eol}).Draw(rt, "body")
		path := fmt.Sprintf("n%d.md", n)
		_, at := markdown.ReadHead([]byte(head + body))
		p.put(t, map[string]string{path: head + body})

		p.bare(t, "notes_write", args{"path": path, "content": "new"})
		kept := (head + body)[:at]
		require.Equal(rt, kept+"new"+eol, p.file(t, path))

		in := args{"path": path, "frontmatter": args{"zz": "v", "b": nil}}
		answer, err := p.call(t, "notes_write", in)
		if err != nil {
			require.Equal(rt, fault.InvalidParameter, fault.Of(err).Code, answer)
			require.Equal(rt, kept+"new"+eol, p.file(t, path))
			return
		}
		var want []string
		for line := range strings.Lines(p.file(t, path)) {
			if !strings.HasPrefix(line, "zz: ") {
				want = append(want, line)
			}
		}
		var was []string
		for line := range strings.Lines(kept + "new" + eol) {
			if !strings.HasPrefix(line, "b: ") {
				was = append(was, line)
			}
		}
		require.Equal(rt, was, want)
	})
}

// TestWritesAtOnce holds that of many calls at once none is lost: each appends its line.
func TestWritesAtOnce(t *testing.T) {
	p := open(t, map[string]string{"a.md": "---\nk: v\n---\n"})
	const calls = 20
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			_, err := p.call(t, "notes_write", args{"path": "a.md", "content": fmt.Sprintf("line %d\n", i), "append": true})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text := p.file(t, "a.md")
	require.True(t, strings.HasPrefix(text, "---\nk: v\n---\n"))
	for i := range calls {
		require.Equal(t, 1, strings.Count(text, fmt.Sprintf("line %d\n", i)))
	}
}

// TestReadWrite holds that a body which was read can be written again, and changes nothing.
func TestReadWrite(t *testing.T) {
	for _, text := range []string{headed, "# A\n\nb\n", "---\na: 1\n---\nb\n", "---\r\na: 1\r\n---\r\n\r\nb\r\nc\r\n"} {
		p := open(t, map[string]string{"a.md": text})
		var got struct{ Body string }
		require.NoError(t, json.Unmarshal([]byte(p.bare(t, "notes_get", args{"path": "a"})), &got))
		p.bare(t, "notes_write", args{"path": "a.md", "content": got.Body})
		require.Equal(t, text, p.file(t, "a.md"))
	}
}
