package orient_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/eventlog"
)

// BenchmarkAnswers measures the five answers in process, at 10,000 notes or as many as ROOKERY_BENCH_NOTES says.
// Every note has tags of its own, and every tenth is in a folder of its own.
func BenchmarkAnswers(b *testing.B) {
	notes := 10_000
	if n, err := strconv.Atoi(os.Getenv("ROOKERY_BENCH_NOTES")); err == nil {
		notes = n
	}
	p := open(b)
	p.fresh(b, "main")
	texts := map[string]string{}
	for f := range corpus.Vault(1, notes) {
		texts[f.Path] = f.Text
		if n := len(texts); n%10 == 0 {
			texts[fmt.Sprintf("own/%d/a/b.md", n)] = fmt.Sprintf("---\ntags: [own, t%d, u%d]\nstatus: s%d\n---\n", n, n, n%500)
		}
		if len(texts) >= 2000 {
			p.write(b, "main", texts)
			clear(texts)
		}
	}
	p.write(b, "main", texts)
	require.NoError(b, p.vault(b, "main").Compact(b.Context(), eventlog.Compaction{All: true}))
	for name, in := range map[string]args{
		"vault_overview": {}, "vault_tree": {"depth": 10, "limit": 500}, "vault_tags": {"limit": 200}, "vault_facets": {"limit": 200},
		"vault_status": {},
	} {
		in["vault"] = "main"
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := p.call(name, in)
				require.NoError(b, err)
			}
		})
	}
}
