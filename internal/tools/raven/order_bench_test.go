package raven_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/bench/corpus"
)

// cpuTime is how long the process has run on a processor: on a busy machine that is what a call takes.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measured runs a call once for each step of a benchmark, and reports what it took on a processor. What must be done
// before each call is not measured.
func measured(b *testing.B, before, call func(n int)) {
	b.Helper()
	var spent time.Duration
	n := 0
	for b.Loop() {
		b.StopTimer()
		before(n)
		b.StartTimer()
		began := cpuTime()
		call(n)
		spent += cpuTime() - began
		n++
	}
	b.ReportMetric(spent.Seconds()*1e3/float64(n), "cpu-ms/op")
}

// corpusPlace has a generated vault.
func corpusPlace(b *testing.B, n int) *place {
	b.Helper()
	p := open(b, nil)
	p.cached = 64 << 20 // as a server has
	p.serve(b)
	files := map[string]string{}
	for f := range corpus.Vault(1, n) {
		if files[f.Path] = f.Text; len(files) == 1000 {
			p.write(b, files)
			clear(files)
		}
	}
	p.write(b, files)
	return p
}

// BenchmarkCheck measures a check of a generated vault of 10,000 notes.
func BenchmarkCheck(b *testing.B) {
	p := corpusPlace(b, 10_000)
	measured(b, func(int) {}, func(int) { p.answer(b, "raven_check", args{}) })
}

// BenchmarkCheckBroken measures a check of 10,000 notes in which 80,000 references lead to nothing.
func BenchmarkCheckBroken(b *testing.B) {
	p := open(b, nil)
	for from := 0; from < 10_000; from += 1000 {
		files := map[string]string{}
		for i := from; i < from+1000; i++ {
			var text strings.Builder
			for k := range 8 {
				fmt.Fprintf(&text, "See [[gone %d-%d]].\n", i, k)
			}
			files[fmt.Sprintf("notes/n%05d.md", i)] = text.String()
		}
		p.write(b, files)
	}
	measured(b, func(int) {}, func(int) { p.answer(b, "raven_check", args{}) })
}

// hotPlace is a vault of 10,000 notes with references to one of two people: 5,000 in 3,000 notes, and 10.
func hotPlace(b *testing.B) *place {
	b.Helper()
	p := open(b, map[string]string{
		"schema.yaml":    batchSchema,
		"people/hot.md":  "---\ntype: person\nname: Hot\n---\n# Hot\n\n## Part\n\nText.\n",
		"people/mild.md": "---\ntype: person\nname: Mild\n---\n# Mild\n",
	})
	for from := 0; from < 10_000; from += 1000 {
		files := map[string]string{}
		for i := from; i < from+1000; i++ {
			files[fmt.Sprintf("notes/n%05d.md", i)] = hotNote(i)
		}
		p.write(b, files)
	}
	return p
}

// hotNote is a note of hotPlace.
func hotNote(i int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "---\nrating: %d\n---\n# N%d\n\nOf [[notes/n%05d]].\n", i%5, i, (i+7)%10_000)
	if i%10 < 3 {
		fmt.Fprintf(&text, "\nMet [[people/hot]] today.\n")
		if i%30 < 20 {
			fmt.Fprintf(&text, "\n- @due(2026-03-05) call [[people/hot|her]]\n")
		}
	}
	if i < 1000 {
		fmt.Fprintf(&text, "\nSee [[people/hot#part]].\n")
	}
	if i%1000 == 0 {
		fmt.Fprintf(&text, "\nAsk [[people/mild]].\n")
	}
	return text.String()
}

// BenchmarkMove measures a move of an object with about 6,000 references in 3,700 of 10,000 notes, and of one with
// 10, until it is durable in the log.
func BenchmarkMove(b *testing.B) {
	p := hotPlace(b)
	for _, name := range []string{"mild", "hot"} {
		b.Run(name, func(b *testing.B) {
			at := "people/" + name
			measured(b, func(int) {}, func(n int) {
				to := fmt.Sprintf("moved/%s%d", name, n)
				e := p.must(b, "raven_move", args{"source": at, "destination": to}, nil)
				b.ReportMetric(float64(len(e.Meta["files_modified"].([]any))), "files")
				at = to
			})
			p.must(b, "raven_move", args{"source": at, "destination": "people/" + name}, nil)
		})
	}
}

// BenchmarkSectionRename measures the rename of a section with 1,000 references in as many notes.
func BenchmarkSectionRename(b *testing.B) {
	p := hotPlace(b)
	at := "people/hot#part"
	measured(b, func(int) {}, func(n int) {
		e := p.must(b, "raven_section", args{"op": "rename", "id": at, "title": fmt.Sprintf("Part %d", n)}, nil)
		b.ReportMetric(float64(len(e.Meta["files_modified"].([]any))), "files")
		at = fmt.Sprintf("people/hot#part-%d", n)
	})
}

// BenchmarkCheckFix measures the correction of 1,000 references in 1,000 of 10,000 notes.
func BenchmarkCheckFix(b *testing.B) {
	p := hotPlace(b)
	short := map[string]string{}
	for i := range 1000 {
		short[fmt.Sprintf("notes/n%05d.md", i*10+9)] = fmt.Sprintf("# Short %d\n\nMet [[hot]].\n", i)
	}
	measured(b, func(int) { p.write(b, short) }, func(int) {
		var out struct {
			Fixed int `json:"fixed_total"`
		}
		p.must(b, "raven_check_fix", args{"issues": list{"short_ref_could_be_full_path"}}, &out)
		require.Equal(b, 1000, out.Fixed)
	})
}

// BenchmarkSchema measures an addition to the schema of 10,000 notes, and a change of a type that all of them have.
func BenchmarkSchema(b *testing.B) {
	p := benchVault(b, 10_000)
	b.Run("add", func(b *testing.B) {
		measured(b, func(int) {}, func(n int) {
			p.must(b, "raven_schema_add", args{"kind": "trait", "name": fmt.Sprintf("t%d-%d", b.N, n), "value_type": "date"}, nil)
		})
	})
	b.Run("change", func(b *testing.B) {
		measured(b, func(int) {}, func(n int) {
			p.must(b, "raven_schema_update", args{"kind": "field", "type": "person", "name": "rating", "max": 100 + n%2}, nil)
		})
	})
}

// BenchmarkLog measures pages of the log of a generated vault: one in a commit of 1,000 notes with 28,000 events, a
// filter that holds for nothing, and the log of one note.
func BenchmarkLog(b *testing.B) {
	p := corpusPlace(b, 10_000)
	for name, in := range map[string]args{
		"import": {"all": true}, "none": {"all": true, "op": "delete"}, "id": {"id": corpus.Hot},
	} {
		b.Run(name, func(b *testing.B) {
			measured(b, func(int) {}, func(int) { p.must(b, "raven_log", in, nil) })
		})
	}
}
