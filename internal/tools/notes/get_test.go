package notes_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGetNote covers the shapes of the document and the rows of A1 on frontmatter and dates. upstream is empty
// where ours is the same.
func TestGetNote(t *testing.T) {
	for name, c := range map[string]struct{ text, want, upstream string }{
		"a fixture": {"---\ndate: 2025-03-01\nproject: foo\ntags: [a, b]\n---\n\n# Inbox one\n\nBody of inbox one.\n",
			`{"date":"2025-03-01T00:00:00.000Z","project":"foo","tags":["a","b"]},"body":"\n# Inbox one\n\nBody of inbox one."`, ""},
		"no frontmatter":    {"# A\n\nb\n", `{},"body":"# A\n\nb\n"`, ""},
		"order of keys":     {"---\nz: 1\na: {y: 1, b: [2]}\nm: x\n---\nb", `{"z":1,"a":{"y":1,"b":[2]},"m":"x"},"body":"b"`, ""},
		"a time":            {"---\nd: 2025-03-01 10:00:00\n---\n", `{"d":"2025-03-01T10:00:00.000Z"},"body":""`, ""},
		"quoted":            {"---\nd: \"2025-03-01\"\n---\n", `{"d":"2025-03-01"},"body":""`, ""},
		"no date":           {"---\nd: 2025-3-1\n---\n", `{"d":"2025-3-1"},"body":""`, ""},
		"nothing":           {"---\nd:\n---\n", `{"d":null},"body":""`, ""},
		"true":              {"---\nd: true\n---\n", `{"d":true},"body":""`, ""},
		"a zone":            {"---\nd: 2025-03-01T10:00:00+02:00\n---\n", `{"d":"2025-03-01T08:00:00.000Z"},"body":""`, ""},
		"infinity":          {"---\nd: .inf\n---\n", `{"d":null},"body":""`, ""},
		"many digits":       {"---\nd: 12345678901234567890\n---\n", `{"d":12345678901234567890},"body":""`, `{"d":12345678901234567000}`},
		"zeros":             {"---\nd: 017\n---\n", `{"d":17},"body":""`, ""},
		"no final newline":  {"---\na: 1\n---", `{},"body":"---\na: 1\n---"`, ""},
		"an empty block":    {"---\n---\nb\n", `{},"body":"---\n---\nb\n"`, ""},
		"dots":              {"---\na: 1\n...\nb\n", `{},"body":"---\na: 1\n...\nb\n"`, ""},
		"blank on a fence":  {"---\na: 1\n--- \nb\n", `{},"body":"---\na: 1\n--- \nb\n"`, ""},
		"a mark":            {"\ufeff---\na: 1\n---\nb\n", `{},"body":"` + "\ufeff" + `---\na: 1\n---\nb\n"`, ""},
		"a blank line":      {"\n---\na: 1\n---\nb\n", `{},"body":"\n---\na: 1\n---\nb\n"`, ""},
		"a list":            {"---\n- a\n---\nb\n", `{},"body":"b"`, `["a"]`},
		"a key twice":       {"---\na: 1\na: 2\n---\nb\n", `{},"body":"b"`, ""},
		"no YAML":           {"---\na: [\n---\nb\n", `{},"body":"b"`, ""},
		"carriage returns":  {"---\r\na: 1\r\n---\r\n\r\nb\r\n", `{"a":1},"body":"\r\nb"`, ""},
		"blanks at the end": {"---\na: 1\n---\nb \u00a0\ufeff\n\n", `{"a":1},"body":"b"`, ""},
		"signs":             {"---\na: <b> & c\n---\n<b>&\n", `{"a":"<b> & c"},"body":"<b>&"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, map[string]string{"inbox/one.md": c.text})
			require.Equal(t, `{"path":"inbox/one.md","frontmatter":`+c.want+`}`,
				p.bare(t, "notes_get", args{"path": "inbox/one.md"}))
		})
	}
}

// TestGetPart covers the flags of the document.
func TestGetPart(t *testing.T) {
	p := open(t, map[string]string{"a/b.md": "---\nk: v\n---\ntext\n", "empty.md": "", "inbox/planning.md": ""})
	for _, path := range []string{"a/b.md", "a/b", " ./a//b.md ", `a\b.md`, "a/./b", "a/b.md/"} {
		require.Equal(t, `{"path":"a/b.md","body":"text"}`,
			p.bare(t, "notes_get", args{"path": path, "body_only": true}), path)
	}
	require.Equal(t, `{"path":"a/b.md","frontmatter":{"k":"v"}}`,
		p.bare(t, "notes_get", args{"path": "a/b.md", "frontmatter_only": true}))
	require.Equal(t, `{"path":"empty.md","frontmatter":{},"body":""}`, p.bare(t, "notes_get", args{"path": "empty"}))
	for _, c := range []struct {
		in         args
		code, want string
	}{
		{args{"path": "a/b", "body_only": true, "frontmatter_only": true}, "INVALID_PARAMETER",
			`{"error":"body_only and frontmatter_only exclude each other","code":"INVALID_PARAMETER"}`},
		{args{"path": "gone.md"}, "NOT_FOUND", `{"error":"there is no note at that path","code":"NOT_FOUND"}`},
		{args{"path": "a"}, "NOT_FOUND", `{"error":"there is no note at that path","code":"NOT_FOUND"}`},
		{args{}, "INVALID_PARAMETER", ""},
		{args{"path": ""}, "INVALID_PARAMETER", ""},
		{args{"path": "../a/b.md"}, "INVALID_PATH", `{"error":"a path must not contain the folder ..","code":"INVALID_PATH"}`},
	} {
		f, answer := p.refused(t, "notes_get", c.in)
		require.Equal(t, c.code, string(f.Code))
		if c.want != "" {
			require.Equal(t, c.want, answer)
		}
	}
	f, _ := p.refused(t, "notes_get", args{"path": "inbox/planing"})
	require.Equal(t, []string{`notes_get {"vault":"v","path":"inbox/planning.md"}`}, f.Fixes)
}
