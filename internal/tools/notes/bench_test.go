package notes_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkTools calls the tools that read, on 10,000 notes of about 1 KiB, or as many as ROOKERY_BENCH_NOTES says.
// The word harbour is in 1 % of them.
func BenchmarkTools(b *testing.B) {
	benchNotes := 10_000
	if n, err := strconv.Atoi(os.Getenv("ROOKERY_BENCH_NOTES")); err == nil {
		benchNotes = n
	}
	files := map[string]string{}
	body := strings.Repeat("words of a note about lamps and people, in lines of text\n", 16)
	for i := range benchNotes {
		word := ""
		if i%100 == 0 {
			word = "the harbour\n"
		}
		files[fmt.Sprintf("projects/p%d/note-%d.md", i%50, i)] = fmt.Sprintf(
			"---\ntitle: Note %d\ndate: 2026-01-%02d\ntags: [a, tag-%d, third-%d]\nentity: [E%d]\n---\n\n# Note\n\n%s%s", i, 1+i%28, i%20, i%3, i%7, body, word)
	}
	files["long.md"] = strings.Repeat("## A heading\n\n"+body[:400]+"\n\n", 2400)
	p := open(b, files)
	for _, c := range []struct {
		name, tool string
		in         args
	}{
		{"get", "notes_get", args{"path": "projects/p1/note-1.md"}},
		{"list", "notes_list", args{}},
		{"list of a tag", "notes_list", args{"tag": "Tag 3", "since": "2026-01-10"}},
		{"list of a tag of a third", "notes_list", args{"tag": "third-0", "order": "path"}},
		{"list of an entity", "notes_list", args{"entity": "e3", "folder": "projects", "order": "path"}},
		{"last of all", "notes_list", args{"offset": benchNotes - 200}},
		{"keyword", "notes_search", args{"query": "harbour", "keyword": true}},
		{"ranked", "notes_search", args{"query": "harbour", "tag": "a"}},
		{"outline of 1 MiB", "notes_outline", args{"path": "long"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			p.bare(b, c.tool, c.in)
			for b.Loop() {
				p.bare(b, c.tool, c.in)
			}
		})
	}
}
