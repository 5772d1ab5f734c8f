package localapp_test

import (
	"fmt"
	"testing"

	"github.com/rookeryhq/rookery/internal/localapp"
)

// BenchmarkWrites measures notes_write in comparison with raven_set, which changes a field of a
// note too. The goal is 1.1 times the time of raven_set.
func BenchmarkWrites(b *testing.B) {
	app, err := openApp(b.Context(), localapp.Config{Data: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer app.Close()
	via := local{app}
	must(b, via, "team_vault_create", args{"name": "v"})
	const notes = 1000
	files := map[string]string{}
	for i := range notes {
		files[fmt.Sprintf("notes/n%d.md", i)] = fmt.Sprintf("---\nstatus: s%d\ntags: [a, b]\n---\n# N%d\n\ntext\n", i, i)
	}
	put(b, via, files)
	path := func(i int) string { return fmt.Sprintf("notes/n%d", i%notes) }
	for _, c := range []struct {
		name, tool string
		args       func(i int) args
	}{
		{"raven_set", "raven_set", func(i int) args { return args{"id": path(i), "set": args{"status": fmt.Sprint("r", i)}} }},
		{"notes_write fields", "notes_write", func(i int) args {
			return args{"path": path(i) + ".md", "frontmatter": args{"status": fmt.Sprint("w", i)}}
		}},
		{"notes_write content", "notes_write", func(i int) args {
			return args{"path": path(i) + ".md", "content": fmt.Sprint("# N\n\ntext ", i, "\n")}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				must(b, via, c.tool, c.args(i))
				i++
			}
		})
	}
}
