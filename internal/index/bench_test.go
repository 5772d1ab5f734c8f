package index_test

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/index"
)

const vaultSize = 10_000

// sampleCommits bring a generated vault, a note each.
func sampleCommits() []index.Commit {
	var commits []index.Commit
	for f := range corpus.Vault(1, vaultSize) {
		commits = append(commits, commit(uint64(len(commits)+1), f.Path, f.Text))
	}
	return commits
}

// busy are commits of a vault in which 50,000 references lead to one note, half of them from other
// notes, and another note has 10,000 traits.
func busy() []index.Commit {
	var refs, traits strings.Builder
	for i := range 25 {
		fmt.Fprintf(&refs, "- @due(2026-03-%02d) word %d [[people/hot]]\n", i%28+1, i)
	}
	for i := range 10_000 {
		fmt.Fprintf(&traits, "- @due(2026-03-%02d) word %d\n", i%28+1, i/3)
	}
	commits := []index.Commit{
		commit(1, "schema.yaml", "traits: {due: date}\n"),
		commit(2, "people/hot.md", "# Hot\n\n## Notes\n", "many.md", traits.String()),
	}
	for i := range 2000 {
		commits = append(commits, commit(uint64(i+3), fmt.Sprintf("n/%04d.md", i), refs.String()))
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
	commits := sampleCommits()
	x, schema := index.Build(slices.Values(commits)), string(commits[0].Changes[0].Text)
	small := commits[5000]
	b.Run("note", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x.With(small)
		}
	})
	b.Run("schema", func(b *testing.B) {
		changed := commit(vaultSize+2, "schema.yaml", schema+"\n  extra: {type: number}\n")
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

// take reads the first n of a list.
func take[T any](b *testing.B, list iter.Seq[T], n int) {
	for range list {
		if n--; n == 0 {
			return
		}
	}
	b.Fatalf("%d are missing", n)
}

func BenchmarkLookups(b *testing.B) {
	x := index.Build(slices.Values(sampleCommits()))
	for name, look := range map[string]func(){
		"objects":     func() { take(b, x.Objects("meeting", index.Location{Path: "meetings/m"}), 50) },
		"traits":      func() { take(b, x.Traits("due", index.Location{Path: "daily/2026"}), 50) },
		"with":        func() { take(b, x.TraitsWith("status", "done").After(index.Location{}), 50) },
		"resolve":     func() { x.Resolve("freya-holm") },
		"resolve arg": func() { x.Resolve("people/Freya Holm") },
		"created":     func() { take(b, x.Created(at(5000), at(6000)), 50) },
		"backlinks":   func() { take(b, x.Resolver().Backlinks(corpus.Hot, index.Location{}), 50) },
		"count":       func() { x.Resolver().CountBacklinks(corpus.Hot) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				look()
			}
		})
	}
}

// BenchmarkNames looks names up in a vault of 10,000 notes, where one is named like a heading of 5,000 others, and
// gives a note that name: neither costs more than for a name that no other thing has.
func BenchmarkNames(b *testing.B) {
	commits := sampleCommits()
	for i := range commits {
		if c := &commits[i]; i%2 == 0 && strings.HasSuffix(c.Changes[0].Path, ".md") {
			c.Changes[0].Text = append(slices.Clip(c.Changes[0].Text), "\n## Crowded\n\nText.\n"...)
		}
	}
	x := index.Build(slices.Values(commits))
	last := uint64(len(commits))
	x = x.With(commit(last+1, "Crowded.md", "# Crowded\n", "Alone.md", "# Alone\n", "refs.md", "[[Crowded]] [[Alone]]\n"))
	for _, name := range []string{"Crowded", "Alone"} {
		b.Run("resolve/"+name, func(b *testing.B) {
			for b.Loop() {
				x.Resolve(name)
			}
		})
		b.Run("slug/"+name, func(b *testing.B) {
			for b.Loop() {
				x.Resolve(strings.ToLower(name))
			}
		})
		b.Run("backlinks/"+name, func(b *testing.B) {
			for b.Loop() {
				x.Resolver().CountBacklinks(name)
			}
		})
		b.Run("edit/"+name, func(b *testing.B) {
			for b.Loop() {
				x.With(commit(last+2, name+".md", "# "+name+"\n\nEdited.\n"))
			}
		})
		b.Run("rename/"+name, func(b *testing.B) {
			for b.Loop() {
				x.With(commit(last+2, name+".md", "# Other\n", "to/"+name+".md", "# "+name+"\n"))
			}
		})
	}
}

// BenchmarkBusy works on a note that 50,000 references lead to, and on one with 10,000 traits.
func BenchmarkBusy(b *testing.B) {
	commits := busy()
	x := index.Build(slices.Values(commits))
	last := uint64(len(commits))
	traits := string(commits[1].Changes[1].Text)
	for name, work := range map[string]func(){
		"backlinks": func() { take(b, x.Resolver().Backlinks("people/hot", index.Location{Path: "n/1"}), 50) },
		"count":     func() { x.Resolver().CountBacklinks("people/hot") },
		"hot note":  func() { x.With(commit(last+1, "people/hot.md", "# Hot\n\nchanged\n")) },
		"other":     func() { x.With(commit(last+1, "n/0100.md", "- @due(2026-03-01) word [[people/hot]]\n")) },
		"traits":    func() { x.With(commit(last+1, "many.md", "- @due(2026-03-01) new\n"+traits)) },
		"one line":  func() { x.With(commit(last+1, "many.md", strings.ReplaceAll(traits, "\n", " "))) },
		"page":      func() { take(b, x.Traits("due", index.Location{Path: "many.md", Line: 5000}), 50) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				work()
			}
		})
	}
}

// BenchmarkEvents tells of a line more: of a note of an ordinary size, and of one with 10,000
// traits.
func BenchmarkEvents(b *testing.B) {
	commits := sampleCommits()
	schema, ordinary := string(commits[0].Changes[0].Text), commits[5002].Changes[0]
	for _, file := range []corpus.File{
		{Path: ordinary.Path, Text: string(ordinary.Text)},
		corpus.Agenda("2026-03-01", 10_000),
	} {
		now := file.Text + "\nA line.\n"
		x := index.Empty().With(commit(1, "schema.yaml", schema, file.Path, file.Text))
		y := x.With(commit(2, file.Path, now))
		b.Run(file.Path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				index.Events(x, y, file.Path, index.Texts{Old: []byte(file.Text), New: []byte(now)})
			}
		})
	}
}

// BenchmarkImage also reports how long the image of 10,000 notes is, and what the index that is read of
// it keeps in memory.
func BenchmarkImage(b *testing.B) {
	image := index.Build(slices.Values(sampleCommits())).AppendImage(nil)
	b.Run("read", func(b *testing.B) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		b.ReportAllocs()
		var x *index.Index
		for b.Loop() {
			x, _ = index.ReadImage(image)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-kept")
		b.ReportMetric(float64(len(image))/1e6, "MB-image")
		runtime.KeepAlive(x)
	})
	b.Run("append", func(b *testing.B) {
		x, _ := index.ReadImage(image)
		b.ReportAllocs()
		for b.Loop() {
			image = x.AppendImage(image[:0])
		}
	})
}

// BenchmarkNearest is the cost of an id that names nothing, in a vault of 10,000 notes.
func BenchmarkNearest(b *testing.B) {
	x := index.Build(slices.Values(sampleCommits()))
	var some string
	for n := range x.Notes("") {
		some = n.ID
	}
	b.ReportAllocs()
	for b.Loop() {
		x.Nearest(some + "x")
	}
}

// BenchmarkImport takes 10,000 notes in, in commits that grow as those of a first reading do.
func BenchmarkImport(b *testing.B) {
	var all []index.Change
	for _, c := range sampleCommits() {
		all = append(all, c.Changes...)
	}
	var commits []index.Commit
	for done := 0; done < len(all); {
		n := min(max(500, done/2), 2000, len(all)-done)
		commits = append(commits, index.Commit{
			Seq: uint64(len(commits) + 1), Time: time.Unix(int64(len(commits)), 0), Changes: all[done : done+n],
		})
		done += n
	}
	b.ReportAllocs()
	for b.Loop() {
		x := index.Empty()
		for _, c := range commits {
			x = x.With(c)
		}
	}
}
