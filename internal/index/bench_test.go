package index_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"rookery/internal/index"
)

const vaultSize = 10_000

// sample is the text of one of the notes of a vault of 20 MB.
func sample(i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntype: person\nname: Person %d\ncompany: \"[[firms/f%d]]\"\nage: %d\n"+
		"tags: [a, b, c]\n---\n# Person %d\n\n", i, i%100, i%90, i)
	for section := range 6 {
		fmt.Fprintf(&b, "## Section %d\n\n%s\n", section, strings.Repeat("Some words of text. ", 15))
	}
	return b.String()
}

func sampleCommits() []index.Commit {
	commits := []index.Commit{commit(1, "schema.yaml", people)}
	for i := range vaultSize {
		path := fmt.Sprintf("people/group-%02d/person-%05d.md", i%50, i)
		commits = append(commits, commit(uint64(i+2), path, sample(i)))
	}
	return commits
}

// BenchmarkBuild also reports what the index of 10,000 notes keeps in memory.
func BenchmarkBuild(b *testing.B) {
	commits := sampleCommits()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var x *index.Index
	for b.Loop() {
		x = index.Build(slices.Values(commits))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-kept")
	runtime.KeepAlive(x)
	runtime.KeepAlive(commits)
}

func BenchmarkWith(b *testing.B) {
	x := index.Build(slices.Values(sampleCommits()))
	small := commit(vaultSize+2, "people/group-07/person-00507.md", sample(5))
	b.Run("note", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x.With(small)
		}
	})
	b.Run("schema", func(b *testing.B) {
		changed := commit(vaultSize+2, "schema.yaml", people+"  task: {}\n")
		for b.Loop() {
			x.With(changed)
		}
	})
	b.Run("schema of every note", func(b *testing.B) {
		changed := commit(vaultSize+2, "schema.yaml", "types: {task: {}}\n")
		for b.Loop() {
			x.With(changed)
		}
	})
}

func BenchmarkPage(b *testing.B) {
	x := index.Build(slices.Values(sampleCommits()))
	for b.Loop() {
		n := 0
		for range x.OfType("person", "people/group-25/") {
			if n++; n == 50 {
				break
			}
		}
	}
}
