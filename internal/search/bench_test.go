package search_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rookeryhq/rookery/internal/search"
)

const vaultSize = 10_000

// BenchmarkBuild also reports what the index of 10,000 notes keeps in memory.
func BenchmarkBuild(b *testing.B) {
	v := generated(1, vaultSize)
	changes := v.changes()
	size := 0
	for _, text := range v {
		size += len(text)
	}
	b.SetBytes(int64(size))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var x *search.Index
	for b.Loop() {
		x = search.Empty("english").WithAll(slices.Values(changes))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-kept")
	b.ReportMetric(float64(x.Units()), "units")
	runtime.KeepAlive(x)
	runtime.KeepAlive(changes)
}

// BenchmarkFold makes the same index note by note.
func BenchmarkFold(b *testing.B) {
	changes := generated(1, vaultSize).changes()
	for b.Loop() {
		x := search.Empty("english")
		for i := range changes {
			x = x.With(changes[i : i+1])
		}
	}
}

// BenchmarkWith changes one note of many, again and again, merging included.
func BenchmarkWith(b *testing.B) {
	changes := generated(1, vaultSize).changes()
	x := search.Empty("english").With(changes)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		x = x.With(changes[i%len(changes) : i%len(changes)+1])
		i++
	}
}

func BenchmarkSearch(b *testing.B) {
	v := generated(1, vaultSize)
	x := v.index("english")
	for i, c := range v.changes() {
		if i == 300 {
			break
		}
		x = x.With([]search.Change{c}) // as after a while of edits
	}
	for _, text := range []string{
		"lantern", "freya holm", "quietly gathers the winter harbour", "灯塔市场", "lantren",
		"lan*", `"copper garden"`, `"freya holm"`, `"灯塔市场"`, "ferry -bridge", "due priority status",
		"nowhere", "a* b* c* d* e* f* g* h*",
	} {
		q := search.ParseQuery(text)
		for _, withText := range []bool{false, true} {
			o := search.Options{}
			if withText {
				o.Text = v.text
			}
			name := fmt.Sprintf("%s text=%v", strings.ReplaceAll(text, " ", "_"), withText)
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := x.Search(q, o); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// cpuTime is how long the process has run on a processor: what it took on a busy machine is that.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// remembered is an index of memories, twenty in a thread, and some intents.
func remembered(n int) (*search.Index, []string) {
	var changes []search.Change
	var intents []string
	for path, text := range generated(3, n+n/8) {
		i := len(changes)
		if i == n {
			break
		}
		text = text[:min(len(text), 1000)]
		words := strings.Fields(text)
		changes = append(changes, search.Change{Doc: path, Note: turn{
			fmt.Sprint("agent", i%7), text, fmt.Sprint("session", i/20), i,
		}.note(i)})
		if from := len(words) / 2; i%(n/50) == 0 && from > 10 {
			intents = append(intents, strings.Join(words[from:min(from+8, len(words))], " "))
		}
	}
	return search.New(search.Memories(), "english").WithAll(slices.Values(changes)), intents
}

// BenchmarkMemories ranks memories for intents of eight words, explains five of them, and opens their image.
func BenchmarkMemories(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		x, intents := remembered(n)
		b.Run(fmt.Sprintf("search of %d", n), func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				q := search.PlainQuery(intents[i%len(intents)])
				if _, err := x.Search(q, search.Options{Limit: 5, Explain: true}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
		b.Run(fmt.Sprintf("ranking of %d", n), func(b *testing.B) {
			b.ReportAllocs()
			began := cpuTime()
			for i := 0; b.Loop(); i++ {
				q := search.PlainQuery(intents[i%len(intents)])
				if _, err := x.Search(q, search.Options{Limit: 5}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpuTime()-began).Seconds()*1e6/float64(b.N), "cpu-µs/op")
		})
		data := x.AppendImage(nil)
		b.Run(fmt.Sprintf("open image of %d", n), func(b *testing.B) {
			b.ReportMetric(float64(len(data))/1e6, "MB")
			for b.Loop() {
				if _, err := search.ReadImage(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkImage writes and opens the image of 10,000 notes, after some edits.
func BenchmarkImage(b *testing.B) {
	v := generated(1, vaultSize)
	x := search.Empty("english").WithAll(slices.Values(v.changes()))
	edits := v.changes()[:300]
	for i := range edits {
		x = x.With(edits[i : i+1])
	}
	data := x.AppendImage(nil)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		b.ReportMetric(float64(len(data))/1e6, "MB")
		for b.Loop() {
			x.AppendImage(nil)
		}
	})
	for _, shift := range []int{0, 1} {
		apart := append(make([]byte, shift), data...)[shift:]
		b.Run(fmt.Sprintf("open shift=%d", shift), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := search.ReadImage(apart); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
