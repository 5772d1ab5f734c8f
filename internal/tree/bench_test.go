package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// BenchmarkTree walks and selects in a vault of 10,000 notes and 100,000 nodes, in folders of 100 notes.
func BenchmarkTree(b *testing.B) {
	files := map[string]string{}
	for i := range 10_000 {
		text := fmt.Sprintf("---\nstatus: s%d\n---\n\n# N\n\ntext\n", i%10)
		files[fmt.Sprintf("f%03d/n%d.md", i/100, i)] = text + strings.Repeat("\n## S\n\ntext\n", 9)
	}
	x := indexOf(files)
	for name, c := range map[string]struct{ query, root string }{
		"select over all": {"status = s3", "/"}, "select sections over all": {"level = 2 AND title = none", "/"}, "select by title over all": {"title = none", "/"},
		"select below a folder of 100": {"status = s3", "f007/"},
	} {
		q, err := tree.Parse(c.query)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				t := tree.New(x)
				e := tree.NewEvaluator(t, vault.Clock{Now: noon})
				top, _ := t.Find(c.root)
				for n := range t.Walk(top, nil) {
					e.Holds(q, n)
				}
			}
		})
	}
}
