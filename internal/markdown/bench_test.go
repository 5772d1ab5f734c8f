package markdown_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// patterns are texts that a careless parser takes quadratic time for when they are repeated.
var patterns = []string{
	">", "> ", ">\n", "- ", "-\n", "* ", "1. ", "+\t", "#", "# ", "#\n", "[", "[a", "](", "![", "`", "``\n", "*", "*a",
	"_", "~", "~\n", "---\n", "=\n", "a\n", "<", "<a", "<!", "\n", " ", "\t", "\r", "\\", "&", ":", "|\n", "\x00", "\xff",
	"@", "@a", "@a ", "@a(", "@a(b)", "@id(a) @b ", "(@a", "[[", "[[a", "[[a|", "[[a]]", "[[a|b`]] ", "[[[a]], ", "#", "#a ", "#a",
	"::a(", "## A\n::a(b=[", "[a](", "[a](b", "[a](b 'c", "[a](<", "![a](b) ", "[a][b] ", "*a_ ", "_a*", "**a ", "*_", "`@a``", "\\`", "a `` b ` ",
	"<a b='", "<a b=\"", "<!--", "<?", "<a@", "a <b c", "]]", "|", ")(", "- @a\n", "## A\n@a\n", "## A\n::a\nb: c\n\n",
	"[a]: /b\n", "[a]: /b '\n", "# *a_ **b* [c](d\n", "\n\n- a\n\n  b\n", "> > > > a\n\n",
}

// BenchmarkParseRepeated parses 64 KiB and 1 MiB of a pattern. The rates of the two are about the
// same where the time is linear.
func BenchmarkParseRepeated(b *testing.B) {
	for _, pattern := range patterns {
		for _, size := range []int{1 << 16, 1 << 20} {
			text := []byte(strings.Repeat(pattern, size/len(pattern)))
			b.Run(fmt.Sprintf("%q/%dKiB", pattern, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					markdown.Parse(text)
				}
			})
		}
	}
}

// BenchmarkFrontmatterRepeated does the same inside a frontmatter.
func BenchmarkFrontmatterRepeated(b *testing.B) {
	for _, pattern := range []string{"[", "- ", "? ", "a\n", "\"", "'", "# \n", "|\n", "&a ", "*a ", "[[", ": "} {
		for _, size := range []int{1 << 16, 1 << 20} {
			text := []byte("---\na: " + strings.Repeat(pattern, size/len(pattern)) + "\n---\n")
			b.Run(fmt.Sprintf("%q/%dKiB", pattern, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					markdown.Parse(text)
				}
			})
		}
	}
}

// BenchmarkDeclarationRepeated does the same inside a declaration.
func BenchmarkDeclarationRepeated(b *testing.B) {
	for _, pattern := range []string{"a=1,", "[", "(", "[a,", "\"", "\"a\",", "[[", "[[a|", "[[a]],", "a=[b],", "()", "\\\""} {
		for _, size := range []int{1 << 16, 1 << 20} {
			text := []byte("## A\n::t(a=" + strings.Repeat(pattern, size/len(pattern)) + ")\n")
			b.Run(fmt.Sprintf("%q/%dKiB", pattern, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					markdown.Parse(text)
				}
			})
		}
	}
}

// BenchmarkNote parses, and edits, a note of an ordinary size.
func BenchmarkNote(b *testing.B) {
	var note strings.Builder
	note.WriteString("---\ntype: project\nstatus: active\ntags: [a, b]\nowner: \"[[people/freya]]\"\n---\n# Title\n")
	for i := range 10 {
		fmt.Fprintf(&note, "\n## Section %d\n\nSome *text* with a [[link/%d]] in it, and more of it, so that "+
			"the note is of the length that notes have.\n\n- an item\n- @due(2026-03-0%d) another #tag\n", i, i, i)
	}
	text := []byte(note.String())
	b.Run("Parse", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			markdown.Parse(text)
		}
	})
	b.Run("SetFields", func(b *testing.B) {
		for b.Loop() {
			if _, err := markdown.SetFields(text, pairs("status", "done")); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOutline outlines a megabyte of prose, with 6,000 headings and with few.
func BenchmarkOutline(b *testing.B) {
	const prose = "A paragraph with *stars*, a [link](x) and `code`, and so on.\nAnother line of it.\n\n- an item\n- another\n\n"
	for name, text := range map[string]string{
		"headings": strings.Repeat("## A heading of some words\n\n"+prose, 1_000_000/(len(prose)+28)),
		"prose":    strings.Repeat("# A\n\n"+strings.Repeat(prose, 1000), 1_000_000/(1000*len(prose)+5)),
		"lines":    strings.Repeat(strings.Repeat("words and words of a long paragraph ", 10)+"\n\n", 1_000_000/362),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, _, err := markdown.Outline([]byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
