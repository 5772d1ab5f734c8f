package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// edited merges changes of the nodes of a note, by address below it, and returns the text.
func edited(t *testing.T, text string, changes map[string]args) (p *place, answer args) {
	t.Helper()
	p = open(t, map[string]string{"n.md": text})
	return p, p.merge(t, changedNodes(p.exported(t, "n"), changes), args{"strategy": "upsert"})
}

// changedNodes returns an export in which nodes have other members.
func changedNodes(node args, changes map[string]args) args {
	_, slug, _ := strings.Cut(node["nodeId"].(string), "#")
	for name, v := range changes[slug] {
		node[name] = v
	}
	for _, child := range node["children"].([]any) {
		changedNodes(child.(args), changes)
	}
	return node
}

// TestManySectionsArePatched covers that sections of a note that are patched together get the texts that they would get
// one after the other.
func TestManySectionsArePatched(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		changes    map[string]args
	}{
		"titles, fields and bodies": {
			"---\na: 1\n---\n\n# N\n\ntext\n\n## A\n\na\n\n### B\n::section(x=1)\n\nb\n\n## C\n\nc\n",
			"---\na: 2\n---\n\n# N\n\nother\n\n## Aa\n::section(n=1)\n\na\n\n### B\n::section(x=2)\n\nbb\n\n## Cc\n",
			map[string]args{
				"": {"body": "other", "payload": args{"a": 2}}, "a": {"title": "Aa", "payload": args{"n": 1}},
				"b": {"body": "bb", "payload": args{"x": 2}}, "c": {"title": "Cc", "body": ""},
			},
		},
		"line breaks of the note": {
			"# N\r\n\r\n## A\r\n\r\na\r\n\r\n## B\r\n\r\nb\r\n", "# N\r\n\r\n## A\r\n\r\nx\r\ny\r\n\r\n## B\r\n\r\nz\r\n",
			map[string]args{"a": {"body": "x\ny"}, "b": {"body": "z"}},
		},
		"a byte order mark": {"\ufeff## A\n\na\n\n## B\n\nb\n", "\ufeff## Aa\n\na\n\n## Bb\n\nb\n",
			map[string]args{"a": {"title": "Aa"}, "b": {"title": "Bb"}}},
		"headings of level 1":   {"# A\n\na\n\n# B\n\nb\n", "# Aa\n\na\n\n# Bb\n\nb\n", map[string]args{"a": {"title": "Aa"}, "b": {"title": "Bb"}}},
		"headings in quotes":    {"# N\n\n## A\n\n> ## Q\n\n## B\n\nb\n\n## C\n\nc\n", "# N\n\n## Aa\n\n> ## Q\n\n## B\n\nbb\n\n## C\n\ncc\n", map[string]args{"a": {"title": "Aa"}, "b": {"body": "bb"}, "c": {"body": "cc"}}},
		"underlined headings":   {"A\n---\n\na\n\nB\n---\n\nb\n", "A\n---\n\nx\n\nBb\n---\n\nb\n", map[string]args{"a": {"body": "x"}, "b": {"title": "Bb"}}},
		"no blank lines":        {"# N\n## A\n## B\nb\n## C\n", "# N\n## A\n\nx\n\n## B\ny\n## C\n\nz\n", map[string]args{"a": {"body": "x"}, "b": {"body": "y"}, "c": {"body": "z"}}},
		"no line break at last": {"# N\n\n## A\n\na\n\n## B\n\nb", "# N\n\n## A\n\nx\n\n## B\n\ny\n", map[string]args{"a": {"body": "x"}, "b": {"body": "y"}}},
	} {
		t.Run(name, func(t *testing.T) {
			p, answer := edited(t, c.text, c.changes)
			require.Equal(t, c.want, p.file(t, "n.md"))
			require.Equal(t, fmt.Sprint(len(c.changes)), fmt.Sprint(answer["updated"]))
		})
	}
}

// TestSectionsThatCannotBePatched covers that a patch that would change other sections is named, and nothing written.
func TestSectionsThatCannotBePatched(t *testing.T) {
	text := "# N\n\n## A\n\na\n\n## B\n::section(x=1)\n\n[see]: /x\n\n## C\n\nc\n\n## D [see]\n\nd\n"
	for name, c := range map[string]struct {
		node   string
		change args
		reason string
	}{
		"an open fence":                        {"b", args{"body": "```\nx"}, "malformed_markdown"},
		"an open comment":                      {"b", args{"body": "<!-- x"}, "malformed_markdown"},
		"a heading":                            {"b", args{"body": "x\n\n# y"}, "body_escapes_section"},
		"markup in a title":                    {"b", args{"title": "a `b`"}, "type_mismatch"},
		"a definition that a heading uses":     {"b", args{"body": "x"}, "malformed_markdown"},
		"the content, which has other members": {"b", args{"payload": args{"content": "x"}}, "internal_property"},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, map[string]string{"n.md": text})
			root := changedNodes(p.exported(t, "n"), map[string]args{"a": {"body": "other"}, c.node: c.change, "c": {"body": "other"}})
			f := p.refused(t, "import_merge", p.with(t, args{"json": root}))
			require.Equal(t, c.reason, f.Details["reason"], "%v", f)
			require.Equal(t, "n#"+c.node, f.Details["nodeId"])
			require.Len(t, f.Errors, 1)
			require.Equal(t, text, p.file(t, "n.md"))
		})
	}
}

// BenchmarkPatchedSections merges changes of all sections of one note. Its time grows with the length of the note.
func BenchmarkPatchedSections(b *testing.B) {
	for _, count := range []int{250, 1000, 4000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			text := "# N\n"
			for i := range count {
				text += fmt.Sprintf("\n## S%d\n::section(n=%d)\n\ntext of the section\n", i, i)
			}
			p := open(b, map[string]string{"n.md": text})
			root, n := p.exported(b, "n"), 0
			for b.Loop() {
				n++
				for _, node := range root["children"].([]any) {
					node.(args)["body"], node.(args)["payload"] = fmt.Sprint("text ", n), args{"n": n}
				}
				p.write(b, "import_merge", args{"json": root})
			}
		})
	}
}
