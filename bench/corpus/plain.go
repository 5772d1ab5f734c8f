package corpus

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
)

// RareWord is a word that one of a hundred of the Plain notes has, and no other.
const RareWord = "harbourmaster"

// LongPath is the path of the last of the Plain notes, whose body is nearly as long as an outline reads: a
// megabyte of prose below headings. HalfPath is that of a note of half that length.
const (
	LongPath = "long/whole.md"
	HalfPath = "long/half.md"
)

// Plain yields n notes as people without a schema write them: in projects and other folders, with title, tags and
// dates in the frontmatter, about a KiB of prose, and no traits. Two of them are long. The same seed and n give the
// same bytes, in the same order.
func Plain(seed uint64, n int) iter.Seq[File] {
	words := strings.Fields(english)
	return func(yield func(File) bool) {
		for i := range n - 2 {
			if !yield(plain(rand.New(rand.NewPCG(seed, uint64(i))), words, i)) {
				return
			}
		}
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		if yield(File{HalfPath, longText(r, words, 500_000)}) {
			yield(File{LongPath, longText(r, words, 999_000)})
		}
	}
}

// plain makes the note at position i.
func plain(r *rand.Rand, words []string, i int) File {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %s %d\ntags: [%s, topic-%d]\n", pick(r, words), i,
		pick(r, []string{"note", "idea", "log"}), r.IntN(40))
	if r.IntN(10) > 0 {
		fmt.Fprintf(&b, "date: 20%02d-%02d-%02d\n", 20+r.IntN(7), 1+r.IntN(12), 1+r.IntN(28))
	}
	if r.IntN(3) == 0 {
		fmt.Fprintf(&b, "entity: [Company %d, %s]\nstatus: %s\n", r.IntN(50), pick(r, words),
			pick(r, []string{"open", "done"}))
	}
	if r.IntN(10) == 0 {
		fmt.Fprintf(&b, "causal_chain_id: chain %d\n", r.IntN(200))
	}
	fmt.Fprintf(&b, "---\n\n# %s\n\n", pick(r, words))
	prose(&b, r, words, 400+r.IntN(1200))
	if i%100 == 7 {
		b.WriteString("\nThe " + RareWord + " knows.\n")
	}
	folder := fmt.Sprintf("projects/project-%d", r.IntN(60))
	switch r.IntN(10) {
	case 0:
		folder = "inbox"
	case 1, 2:
		folder = fmt.Sprintf("areas/area-%d/year-%d", r.IntN(12), r.IntN(6))
	}
	return File{fmt.Sprintf("%s/note-%d.md", folder, i), b.String()}
}

// prose writes sentences until there are so many bytes more.
func prose(b *strings.Builder, r *rand.Rand, words []string, bytes int) {
	for end := b.Len() + bytes; b.Len() < end; {
		for range 6 + r.IntN(8) {
			b.WriteString(pick(r, words) + " ")
		}
		b.WriteString(pick(r, words) + ".\n")
		if r.IntN(5) == 0 {
			b.WriteByte('\n')
		}
	}
}

// longText writes a body of so many bytes, with a heading before each few hundred.
func longText(r *rand.Rand, words []string, bytes int) string {
	var b strings.Builder
	for b.Len() < bytes-1000 {
		fmt.Fprintf(&b, "\n%s A *%s* and `%s`\n\n", strings.Repeat("#", 1+r.IntN(4)), pick(r, words), pick(r, words))
		prose(&b, r, words, 300)
	}
	return b.String()
}
