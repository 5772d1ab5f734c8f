package localapp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// benchNotes is the number of notes in the vault of the benchmarks.
const benchNotes = 5000

// BenchmarkAnswers measures calls that have a goal of 3 ms, in process.
func BenchmarkAnswers(b *testing.B) {
	app, err := openApp(b.Context(), localapp.Config{Data: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer app.Close()
	via := local{app}
	must(b, via, "team_vault_create", args{"name": "v"})
	var ids []string
	files, size := map[string]string{}, 0
	flush := func() {
		put(b, via, files)
		clear(files)
		size = 0
	}
	for f := range corpus.Vault(1, benchNotes) {
		if size += len(f.Text); size > 2<<20 || len(files) == 1000 {
			flush()
		}
		files[f.Path] = f.Text
		ids = append(ids, strings.TrimSuffix(f.Path, ".md"))
	}
	flush()
	for _, c := range []struct {
		name, tool string
		args       func(i int) args
	}{
		{"history", "raven_history", func(i int) args { return args{"id": ids[1+i*7%(len(ids)-1)]} }},
		{"phrase", "raven_search", func(i int) args {
			return args{"query": []string{`"the harbour"`, `"after the"`, `"a lantern"`}[i%3]}
		}},
		{"no word", "raven_search", func(i int) args { return args{"query": fmt.Sprint("ropwalk", []string{"", "s", "ed"}[i%3])} }},
		{"objects by a value", "raven_object_list", func(i int) args {
			return args{"field": args{"status": []string{"planned", "active", "done"}[i%3]}}
		}},
		{"read", "raven_read", func(i int) args { return args{"path": ids[1+i*7%(len(ids)-1)]} }},
		{"words", "raven_search", func(i int) args { return args{"query": "harbour lantern"} }},
	} {
		must(b, via, c.tool, c.args(0))
		b.Run(c.name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				must(b, via, c.tool, c.args(i))
				i++
			}
		})
	}
}
