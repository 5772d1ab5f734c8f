package index_test

import (
	"bytes"
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

const respellSchema = "types:\n  person: {fields: {boss: {type: ref}}, traits: [due]}\n" +
	"traits:\n  due: {type: date}\n  who: {type: ref}\n"

// respelled replaces the targets of the references of a note that to gives another one, and returns
// the new text and what NewRespelled needs. ok is false if there are none.
func respelled(n *index.Note, text string, to func(target string) string) (string, []index.Respelling, bool) {
	var all []index.Respelling
	var out strings.Builder
	at := 0
	for i, r := range n.Refs {
		target := to(r.Target)
		if r.InField || r.Bare || r.IsFile() || target == r.Target {
			continue
		}
		inner, isWiki := strings.CutPrefix(strings.TrimPrefix(text[r.Position():], "!"), "[[")
		inner = strings.TrimLeft(inner, " \t")
		if !isWiki || !strings.HasPrefix(inner, r.Target) {
			continue
		}
		start := len(text) - len(inner)
		span := markdown.Span{Start: start, End: start + len(r.Target)}
		all = append(all, index.Respelling{Ref: i, At: span, Target: target})
		out.WriteString(text[at:start] + target)
		at = span.End
	}
	out.WriteString(text[at:])
	return out.String(), all, len(all) > 0
}

// TestRespelled checks that the note of a text with other targets, derived from the note before, is
// the one that the parser finds, and for which notes it is not derived.
func TestRespelled(t *testing.T) {
	to := func(target string) string {
		return cmp.Or(map[string]string{"a": "x/longer a", "people/b": "b", "odd*": "x", "c": "c`"}[target], target)
	}
	for text, derived := range map[string]bool{
		"See [[a]].\n": true,
		"# T\n\nSee [[a|the a]], ![[people/b]] and [[ a#s ]].\n\n## S\n\n[[a]] [[z]] [[a]]\n\n## R\n\n[x](y.pdf).\n": true,
		"---\ntype: person\nboss: a\ndue: 2026-03-02\n---\n[[a]]\n\n- @due(2026-03-02) ^b\n":                         true,
		"## S\n::person(boss=[[a]])\n\n![[people/b]]\n\n## T\n[[a]]\n":                                               true,
		"# T\n[[a]] right below\n":           true,
		"[[a]] *[[a]]* `[[a]]` <b>[[a]]</b>": true,
		"| [[a\\|x]] | [[a]] |\n|---|---|\n": true,
		"- [ ] do [[a]]\n":                   false, // the line of a task contains it
		"- @who([[a]])\n":                    false,
		"# T [[a]]\n\ntext\n":                false,
		"T\n===\n\n[[a]]\n":                  false, // an underlined heading may have several lines
		"> ## Quoted\n\n[[a]]\n":             false,
		"[[odd*]]\n":                         false,
		"[[c]]\n":                            false,
	} {
		before := index.Empty().With(commit(1, "schema.yaml", respellSchema, "n.md", text))
		was, _ := before.Note("n.md")
		next, all, ok := respelled(was, text, to)
		require.True(t, ok, text)
		got := index.NewRespelled(was, []byte(text), []byte(next), all)
		require.Equal(t, derived, got != nil, text)
		requireRespelled(t, before, was, next, got)
		require.Nil(t, index.NewRespelled(was, []byte(text+" "), []byte(next+" "), all), "it is not the text of the note")
	}
}

// requireRespelled requires that a commit with a derived note gives the index that one without gives.
func requireRespelled(t require.TestingT, before *index.Index, was *index.Note, text string, got *index.Parsed) {
	if got == nil {
		return
	}
	for _, nodes := range [][]index.UID{nil, was.NodeIDs()} {
		c := commit(2, "n.md", text)
		c.Changes[0].Nodes = nodes
		want := before.With(c)
		c.Changes[0].Parsed = got
		require.True(t, bytes.Equal(want.AppendImage(nil), before.With(c).AppendImage(nil)), "%q", text)
	}
	parsed := index.ParseText("n.md", []byte(text), nil).Note()
	require.Equal(t, parsed.Units(), got.Note().Units(), "%q", text)
}

// respellLines are lines of which TestRespelledLikeParsed makes notes.
var respellLines = []string{
	"", "", "", "text", "# T", "## S", "### Deeper [[a]]", "S\n---", "[[a]]\n===", "    [[a]]", "> [[a]]", "> ## Q",
	"- [[a]] and [[people/b|B]]", "  - ![[a]]", "- # In a list", "![[a]]", "See [[a#s]] and [[ people/b ]].",
	"[[[a]], [[a]]]",
	"::person(boss=[[a]])", "@due(2026-03-02) [[a]]", "- [ ] [[a]]", "@who([[a]]) x", "#tag [[a]]#tag2",
	"para ^block",
	"| [[a]] | [[b\\|c]] |", "|---|---|", "```", "`[[a]]` [[a]]", "<b>", "<!-- [[a]]", "-->",
	"*[[a]]* _[[a]]_ **[[b", "[x]: y [[a]]",
	"[[a]]: /url", "[x]([[a]])", "[[[a]](https://x)", "[[a]](b.md)", "[a][[a]]", "\\[[a]] \\![[a]]", "[[a|",
	"[[a|x]] [[a|]]",
	"[[ünï/çod é]]", "@id(pin) @due [[z]]", strings.Repeat("word [[a]] ", 40), strings.Repeat("x", 700) + ". [[people/b]]",
	"---", "===", "***", "1. [[a]]", "www.x.y [[a]] http://x/[[a]]", "a_[[a]]_b [[people/b]]__c", "\t[[a]]",
}

// TestRespelledLikeParsed checks NewRespelled with random notes and targets.
func TestRespelledLikeParsed(t *testing.T) {
	heads := []string{
		"", "---\ntype: person\nboss: a\n---\n", "---\ntype: person\nboss: \"[[a]]\"\ndue: 2026-03-02\n---\n",
		"---\ntitle: \"[[a]]\"\n---\n", "---\n: bad\n---\n", "\ufeff",
	}
	targets := []string{
		"a", "people/b", "x", "longer/than it was", "a#s", "a.b", "ünï", "a-b_c", "#s", "..", "a b", "_a_", "---", "1.",
		"www.x.y", "a*b", "", " a", "a\u0301", "a|b", "a]",
	}
	derived, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom(respellLines), 1, 14).Draw(t, "lines")
		text := rapid.SampledFrom(heads).Draw(t, "head") + strings.Join(lines, "\n") +
			rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(t, "end")
		if rapid.IntRange(0, 9).Draw(t, "crlf") == 0 {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		before := index.Empty().With(commit(1, "schema.yaml", respellSchema, "n.md", text))
		was, _ := before.Note("n.md")
		next, edits, ok := respelled(was, text, func(target string) string {
			if rapid.Bool().Draw(t, "keeps") {
				return target
			}
			return rapid.SampledFrom(targets).Draw(t, "target")
		})
		if !ok {
			return
		}
		got := index.NewRespelled(was, []byte(text), []byte(next), edits)
		if all++; got != nil {
			derived++
		}
		requireRespelled(t, before, was, next, got)
	})
	if all >= 40 { // about a quarter of the notes is derived
		require.Positive(t, derived)
	}
}
