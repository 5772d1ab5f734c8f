package markdown_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// mostParsed is how many bytes it may allocate to parse a note of 1 MiB, whatever is in it.
const mostParsed = 56 << 20

// full is a text of 1 MiB, or a little less, of one piece that repeats.
func full(piece string) string { return strings.Repeat(piece, (1<<20-64)/len(piece)) }

// TestWorstNotes covers that to parse a note allocates a bounded number of bytes: pieces of all kinds, as often as a
// note has room for them, each at the beginning of a block, on one line, and behind a bracket, which may begin a link.
func TestWorstNotes(t *testing.T) {
	pieces := []string{
		"# h\n", "- x\n", "[[a]]", "@d(x) ", "@d\n", "*a* ", "> a\n\n", "#a ", "#a\n\n", "`a` ", "[", "[[[", "a\n\n",
		"[a](b) ", "![a](b)", "<a>", "---\n\n", "[a]: b\n", "[a]: b\n\n", "a\n=\n", "&amp;", "<a:b>", "a\n", "```\n",
		"<p>\n\n", "**", "_a_", "a  \n", "# h\n::type(a)\n", "\\*", "> > > > a\n\n", "a ^a\n\n", "- #a\n", "- @d [[a]]\n",
		"1. a\n", "- [ ] @d\n", "@d([a]) ", "\x00", "\xff", "\n", "|a|b|\n", "é",
	}
	texts := map[string]string{
		"values":         "---\na: [" + full("b,") + "]\n---\n",
		"lists":          "---\na: [" + full("[b],") + "]\n---\n",
		"lines":          "---\n" + full("a: b\n") + "---\n",
		"items":          "---\na:\n" + full("- b\n") + "---\n",
		"references":     "---\na:\n" + full("- \"[[b]]\"\n") + "---\n",
		"a long list":    "@d([" + full("x,") + "])\n",
		"deep lists":     "@d(" + full("[") + ")\n",
		"many arguments": "# h\n::type(a, " + full("x=1, ") + ")\n",
	}
	for _, piece := range pieces {
		texts[piece] = full(piece)
		texts["in a line: "+piece] = "[ " + full(strings.ReplaceAll(piece, "\n", " "))
		texts["in a heading: "+piece] = "# " + full(strings.ReplaceAll(piece, "\n", " "))
		texts["a quarter: "+piece] = "[ " + full(piece)[:256<<10] + strings.Repeat(" lorem", 120_000)
	}
	for name, text := range texts {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		markdown.Parse([]byte(text))
		runtime.ReadMemStats(&after)
		require.LessOrEqual(t, int(after.TotalAlloc-before.TotalAlloc)>>20, mostParsed>>20, "MiB for %q", name)
	}
}

// things is how many headings, traits and references of a note are indexed (index.MaxThings).
const things = 20_000

// TestAllThatIsIndexedIsRead covers that a note with as many things as are indexed of one note is read as a whole.
func TestAllThatIsIndexedIsRead(t *testing.T) {
	for _, piece := range []string{
		"# heading\n\n", "- @due(2026-01-01) a\n", "lorem [[fields]] ", "- #tag @due\n", "text [[a]]\n\n", "  - @a\n",
	} {
		doc := markdown.Parse([]byte(strings.Repeat(piece, things)))
		require.False(t, doc.Crowded, piece)
		require.GreaterOrEqual(t, len(doc.Headings)+len(doc.Traits)+len(doc.References), things, piece)
	}
}
