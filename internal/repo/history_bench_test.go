package repo_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
)

// BenchmarkHistoryOfAnImport measures the newest change of a note of an import of 1,000 notes, and
// the older one of a note that was edited since, in a process that has not read the import yet. The
// log is in the table or, if folded, in a segment.
func BenchmarkHistoryOfAnImport(b *testing.B) {
	for _, folded := range []bool{false, true} {
		b.Run(fmt.Sprintf("folded=%v", folded), func(b *testing.B) { benchmarkHistory(b, folded) })
	}
}

func benchmarkHistory(b *testing.B, folded bool) {
	e := repotest.Embedded(b)
	open := func() *repo.Vault {
		v, err := repo.NewVault(repo.VaultOptions{
			Name: "team", Part: "v", Table: e.Table, Bucket: e.Bucket, Texts: repo.NewTexts(64 << 20), Now: time.Now,
		})
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
	v := open()
	if err := v.Create(b.Context(), caller(), nil); err != nil {
		b.Fatal(err)
	}
	update := func(all ...edit) {
		if _, err := v.Update(b.Context(), caller(), edits(all...)); err != nil {
			b.Fatal(err)
		}
	}
	const notes = 1000
	var all []edit
	for i := range notes {
		all = append(all, edit{fmt.Sprintf("notes/n%04d.md", i), importedText(i)})
	}
	update(all...)
	for i := 0; i < notes; i += 2 {
		update(edit{all[i].path, all[i].text + "more\n"})
	}
	if folded {
		if err := v.Compact(b.Context(), eventlog.Compaction{All: true}); err != nil {
			b.Fatal(err)
		}
	}
	for name, odd := range map[string]int{"newest": 1, "edited": 0} {
		b.Run(name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				b.StopTimer()
				v := open()
				idx, err := v.Read(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				f, _ := idx.File(all[r.IntN(notes/2)*2+odd].path)
				b.StartTimer()
				for _, err := range v.Revisions(b.Context(), f.Path, f.Version) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// importedText returns a note with traits and sections, which an import describes in events.
func importedText(i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntype: project\nstatus: active\n---\n# Note %d\n\n", i)
	for j := range 8 {
		fmt.Fprintf(&b, "## Part %d\n\n@due(2026-11-%02d) do %d of [[notes/n%04d]]\n\n%s\n\n", j, j+1, j*i, i*7%1000,
			strings.Repeat(fmt.Sprint("words ", i*j, " of it "), 10))
	}
	return b.String()
}
