package merge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rookeryhq/rookery/internal/merge"
)

// words makes lines of a note: paragraphs, items and blank lines.
func words(r *rand.Rand, lines int) []string {
	var all []string
	for i := range lines {
		switch i % 4 {
		case 0:
			all = append(all, "\n")
		case 1:
			all = append(all, fmt.Sprintf("- item %d of the list\n", r.IntN(1000)))
		default:
			all = append(all, fmt.Sprintf("the words %d of %d\n", r.IntN(1000), r.IntN(1000)))
		}
	}
	return all
}

// touched changes every n-th line.
func touched(lines []string, n, first int) []byte {
	var b strings.Builder
	for i, line := range lines {
		if i%n == first {
			line = fmt.Sprintf("changed by %d at %d\n", first, i)
		}
		b.WriteString(line)
	}
	return []byte(b.String())
}

const frontmatter = "---\ntitle: A note\ntags: [a, b]\nstatus: open\n---\n"

func BenchmarkTexts(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	same := strings.Split(strings.Repeat("- a\n,- b\n,", 25_000), ",")
	for _, c := range []struct {
		name  string
		lines []string
		every int
	}{
		{"5KB", words(r, 220), 40}, {"1MiB", words(r, 50_000), 1000},
		{"1MiB/everywhere", words(r, 50_000), 10}, {"equal lines", same, 10},
		{"equal lines/few", same, 1000},
	} {
		base := []byte(frontmatter + strings.Join(c.lines, ""))
		ours := append([]byte(frontmatter), touched(c.lines, c.every, 1)...)
		theirs := append([]byte(frontmatter), touched(c.lines, c.every, 6)...)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(base)))
			for b.Loop() {
				merge.Texts(base, ours, theirs)
			}
		})
	}
}

// BenchmarkTextsUnlike merges texts that have little in common, and few different lines.
func BenchmarkTextsUnlike(b *testing.B) {
	for _, kinds := range []int{2, 10, 1000, 1 << 30} {
		for _, lines := range []int{5_000, 50_000} {
			r := rand.New(rand.NewPCG(1, 2))
			text := func() []byte {
				var s strings.Builder
				for range lines {
					fmt.Fprintf(&s, "- the line number %d\n", r.IntN(kinds))
				}
				return []byte(s.String())
			}
			base, ours, theirs := text(), text(), text()
			b.Run(fmt.Sprintf("kinds=%d/lines=%d", kinds, lines), func(b *testing.B) {
				for b.Loop() {
					merge.Texts(base, ours, theirs)
				}
			})
		}
	}
}

// BenchmarkMeasure compares a note of 10 KB with 1,000 earlier versions, of which each changed a line
// of the one before.
func BenchmarkMeasure(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	lines := words(r, 450)
	var versions [][]byte
	for i := range 1000 {
		lines[r.IntN(len(lines))] = fmt.Sprintf("changed by version %d\n", i)
		versions = append(versions, []byte(strings.Join(lines, "")))
	}
	found := []byte(strings.Join(append(lines, "one more\n"), ""))
	b.ReportMetric(float64(len(found)), "bytes")
	for b.Loop() {
		m := merge.NewMeasure(found)
		for _, v := range versions {
			m.Distance(v)
		}
	}
}
