package query_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/search"
)

const vaultSize = 10_000

// corpusVault is a generated vault.
func corpusVault(b *testing.B) *testVault {
	b.Helper()
	v := &testVault{files: map[string][]byte{}}
	var commits []index.Commit
	for f := range corpus.Vault(1, vaultSize) {
		v.files[f.Path] = []byte(f.Text)
		commits = append(commits, index.Commit{
			Seq: uint64(len(commits) + 1), Time: begin.Add(time.Duration(len(commits)) * time.Minute),
			Changes: []index.Change{{Path: f.Path, Text: []byte(f.Text)}},
		})
	}
	x := index.Build(slices.Values(commits))
	v.state = query.State{Index: x, Clock: clock}
	words, texts, err := v.search()
	require.NoError(b, err)
	v.state.Search = func() (*search.Index, func(string) ([]byte, error), error) { return words, texts, nil }
	return v
}

// measured are queries by what they cost: the root alone, one level, several levels, text.
var measured = []struct{ name, text string }{
	{"root", "type:project"},
	{"trait", "trait:due"},
	{"trait-value", "trait:due .value==2026-03-02"},
	{"trait-past", "trait:due .value==past"},
	{"field", "type:project .status==active"},
	{"contains", "type:project contains(trait:due)"},
	{"contains-value", "type:project contains(trait:due .value==past)"},
	{"contains-any", "type:* contains(trait:due .value==past)"},
	{"within-any", "trait:due within(section .level==2)"},
	{"within", "trait:due within(type:project)"},
	{"at", "trait:due at(trait:priority .value==high)"},
	{"refs-target", "type:* refs(type:person .name==x)"},
	{"refs", "type:project refs(type:person)"},
	{"refd", "type:person refd(type:project)"},
	{"four-deep", "type:person refd(type:project contains(section has(trait:due at(trait:priority .value==high))))"},
	{"content", `type:* content("meeting project")`},
	{"matches", `type:project matches(.title, "^[A-M].*e")`},
}

// cpuTime is how long the process has run on a processor: what it took on a busy machine is that.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkQuery answers a page of each query at 10,000 notes.
func BenchmarkQuery(b *testing.B) {
	v := corpusVault(b)
	for _, m := range measured {
		b.Run(m.name, func(b *testing.B) {
			q, err := query.Parse(m.text)
			require.NoError(b, err)
			var a query.Answer
			began := cpuTime()
			for b.Loop() {
				if a, err = query.Find(q, v.state, query.Page{Limit: 50}); err != nil {
					b.Skip(err)
				}
			}
			b.ReportMetric((cpuTime()-began).Seconds()*1e3/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(a.Visits), "visits")
			b.ReportMetric(float64(a.Total), "found")
		})
	}
}

// BenchmarkParseAndCheck reads a query and checks it against the schema.
func BenchmarkParseAndCheck(b *testing.B) {
	v := smallVault(b)
	for b.Loop() {
		q, err := query.Parse("type:project .status==active contains(trait:due .value<=today at(trait:priority)) refs(people/freya)")
		require.NoError(b, err)
		require.NoError(b, query.Check(q, v.state.Env()))
	}
}
