package rookery_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery"
)

// benchNotes is how many notes the vault of BenchmarkCalls has.
const benchNotes = 1000

// BenchmarkCalls measures whole calls in process, to compare two releases.
func BenchmarkCalls(b *testing.B) {
	r := filled(b)
	var sets atomic.Int64
	set := func(b *testing.B) {
		n := sets.Add(1)
		ask(b, r, "raven_set", map[string]any{
			"object_id": fmt.Sprintf("n/%d", n%benchNotes), "fields": map[string]any{"status": fmt.Sprint("x", n)},
		})
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			ask(b, r, "raven_read", map[string]any{"path": fmt.Sprintf("n/%d.md", i%benchNotes)})
		}
	})
	b.Run("search", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			ask(b, r, "raven_search", map[string]any{"query": fmt.Sprintf("alpha%d beta", i%500)})
		}
	})
	b.Run("set", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			set(b)
		}
	})
	b.Run("set by 64", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(next *testing.PB) {
			for next.Next() {
				set(b)
			}
		})
	})
}

// filled is a data directory with a vault of generated notes, which is searchable.
func filled(b *testing.B) *rookery.Rookery {
	b.Helper()
	r, err := rookery.Open(b.Context(), rookery.Config{Data: b.TempDir()})
	require.NoError(b, err)
	b.Cleanup(func() { _ = r.Close() })
	ask(b, r, "team_vault_create", map[string]any{"name": "demo"})
	rnd := rand.New(rand.NewPCG(1, 1))
	words := strings.Fields("alpha beta gamma delta people project river stone meeting plan ship note team")
	notes := make([]map[string]any, benchNotes)
	for i := range notes {
		var text strings.Builder
		fmt.Fprintf(&text, "---\ntype: page\nstatus: s%d\n---\n# Note %d\n\n", i%7, i)
		for j := range 300 {
			fmt.Fprintf(&text, "%s%d ", words[rnd.IntN(len(words))], rnd.IntN(500))
			if j%40 == 39 {
				fmt.Fprintf(&text, "[[n/%d]]\n\n", rnd.IntN(benchNotes))
			}
		}
		notes[i] = map[string]any{"path": fmt.Sprintf("n/%d.md", i), "text": text.String()}
	}
	ask(b, r, "team_vault_import", map[string]any{"notes": notes})
	ask(b, r, "raven_search", map[string]any{"query": "alpha1"})
	return r
}

// ask calls a tool in the vault demo.
func ask(b *testing.B, r *rookery.Rookery, name string, args map[string]any) {
	b.Helper()
	if name != "team_vault_create" {
		args["vault"] = "demo"
	}
	data, err := json.Marshal(args)
	require.NoError(b, err)
	_, err = r.Invoke(b.Context(), name, data)
	require.NoError(b, err)
}
