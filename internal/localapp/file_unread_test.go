package localapp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestFileUnread checks that every change of a note whose file cannot be read has a warning about
// it, over every way in, and that no other change has.
func TestFileUnread(t *testing.T) {
	const text = "---\ntype: page\n---\n# A\n\nbuy nails @due(2026-12-01)\n"
	for _, way := range waysIn() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			e := way.open(t)
			warned := func(name, in, why string) {
				t.Helper()
				answer := e.call(t, tooltest.NewCall(t, name, in))
				want := `{"ok":true,"warnings":[{"code":"FILE_UNREAD","path":"a.md"}]}`
				require.Empty(t, tooltest.Missing(json.RawMessage(want), answer), "%s", answer)
				require.Contains(t, string(answer), why)
			}
			silent := func(name, in string) {
				t.Helper()
				answer := e.call(t, tooltest.NewCall(t, name, in))
				require.Contains(t, string(answer), `"ok":true`)
				require.NotContains(t, string(answer), "FILE_UNREAD")
			}
			notes, err := json.Marshal(map[string]any{
				"vault": "main", "notes": notesOf(map[string]string{"a.md": text, "b.md": text}),
			})
			require.NoError(t, err)
			silent("team_vault_import", string(notes))
			file := filepath.Join(e.dir, "tenants", "local", "vaults", "main", "notes", "a.md")
			require.NoError(t, os.WriteFile(file, []byte("caf\xe9\n"), 0o600))

			const latin = "it is not UTF-8"
			warned("raven_add", `{"vault":"main","text":"one","to":"a.md","idempotency_key":"k"}`, latin)
			warned("raven_add", `{"vault":"main","text":"one","to":"a.md","idempotency_key":"k"}`, latin)
			warned("raven_edit", `{"vault":"main","path":"a.md","old_str":"one","new_str":"two"}`, latin)
			silent("raven_add", `{"vault":"main","text":"one","to":"a.md","dry_run":true}`)
			silent("raven_add", `{"vault":"main","text":"one","to":"b.md"}`)

			large := strings.Repeat("a line of many\n", repo.MaxNote/15+1)
			require.NoError(t, os.WriteFile(file, []byte(large), 0o600))
			const size = "it is larger than 1024 KiB"
			warned("raven_set", `{"vault":"main","id":"a","set":{"title":"A"}}`, size)
			warned("raven_trait_create", `{"vault":"main","parent_id":"a","trait_type":"due",`+
				`"value":"2026-12-02","content":"sell nails"}`, size)
			warned("raven_delete", `{"vault":"main","id":"a"}`, size)
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			silent("raven_add", `{"vault":"main","text":"two","to":"b.md"}`)
		})
	}
}

// TestNoLineIsLost serves a folder to an agent that adds a line to a note, and to a person whose
// editor saves the old text, to the byte: immediately after it, and after the file could not be
// read.
func TestNoLineIsLost(t *testing.T) {
	const old = "# A\n\nwhat a person wrote\n"
	for _, bad := range []string{"", "caf\xe9\n", strings.Repeat(old, repo.MaxNote/len(old)+1)} {
		t.Run(fmt.Sprintf("%d bytes", len(bad)), func(t *testing.T) {
			t.Parallel()
			p, clock := newPerson(t, map[string]string{"a.md": old}), newClock()
			cfg := p.config("v")
			cfg.Now = clock.time
			serve := func() *localapp.App {
				app, err := openApp(t.Context(), cfg)
				require.NoError(t, err)
				require.NoError(t, app.CaughtUp(t.Context()))
				return app
			}
			app := serve()
			clock.pass(1)
			if bad != "" {
				p.write("v/a.md", bad)
			}
			must(t, local{app}, "raven_add", args{"text": "acknowledged", "to": "a.md"})
			if bad != "" {
				clock.pass(1)
				require.NoError(t, app.Close())
				app = serve()
			}
			p.write("v/a.md", old)
			must(t, local{app}, "raven_reindex", nil)
			require.Contains(t, read(t, local{app}, "a"), "acknowledged")
			file, err := os.ReadFile(p.path("v/a.md"))
			require.NoError(t, err)
			require.Equal(t, read(t, local{app}, "a"), string(file))

			clock.pass(1)
			p.write("v/a.md", old)
			must(t, local{app}, "raven_reindex", nil)
			require.Equal(t, old, read(t, local{app}, "a"), "the line was in the file for an hour")
			require.NoError(t, app.Close())
		})
	}
}
