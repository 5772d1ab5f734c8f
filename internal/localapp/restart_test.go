package localapp_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/tool"
)

// took matches the parts that may differ between two answers about the same version (CONTRACT §1).
var took = regexp.MustCompile(`"query_time_ms":\d+`)

// everyAnswer returns the answers of all reading tools about everything in the vault "v", by call.
func everyAnswer(t *testing.T, via tool.Invoker) map[string]string {
	t.Helper()
	all := map[string]string{}
	ask := func(name string, in args) json.RawMessage {
		if strings.HasPrefix(name, "raven_") || strings.HasSuffix(name, "port") {
			in["vault"] = "v"
		}
		data, err := json.Marshal(in)
		require.NoError(t, err)
		out, err := via.Invoke(t.Context(), name, data)
		require.NoError(t, err, "%s %s", name, data)
		all[fmt.Sprintf("%s %s", name, data)] = took.ReplaceAllString(string(out), "")
		return out
	}
	for _, name := range []string{
		"raven_schema", "raven_schema_types", "raven_schema_commands", "raven_stats",
		"team_vault_export", "team_whoami", "team_vault_list",
	} {
		ask(name, args{})
	}
	for _, typ := range []string{"item", "page", "section", "daily"} {
		ask("raven_schema_type", args{"name": typ})
		for token := ""; ; {
			in := args{"type": typ, "limit": 3}
			if token != "" {
				in["page_token"] = token
			}
			var page struct {
				Data struct{ Items []struct{ ID string } }
				Meta struct {
					Next string `json:"next_page_token"`
				}
			}
			require.NoError(t, json.Unmarshal(ask("raven_object_list", in), &page))
			for _, o := range page.Data.Items {
				ask("raven_object_get", args{"id": o.ID})
				ask("raven_read", args{"path": o.ID})
			}
			if token = page.Meta.Next; token == "" {
				break
			}
		}
	}
	return all
}

// TestOneStatePerVersion checks that the answers of all reading tools are the same, to the byte,
// after a restart, and after the index was rebuilt from the first commit (DESIGN §9).
func TestOneStatePerVersion(t *testing.T) {
	app, dir := openVault(t)
	via := local{app}
	files := map[string]string{
		"schema.yaml": soakSchema,
		"broken.md":   "---\ntype: [item\n---\ntext\n",
		"crlf.md":     "\ufeff---\r\ntype: item\r\nvalue: x\r\n---\r\n# Title\r\n\r\n## One\r\n",
		"deep/er.md":  "# Deep\n\n## Same\n\n### Under\n\n## Same\n\ntext",
		"empty.md":    "",
	}
	for i := range 12 {
		files[fmt.Sprintf("items/%02d.md", i)] = noteState{value: "none", token: "none"}.text()
	}
	put(t, via, files)
	for i := range 10 {
		id := fmt.Sprintf("items/%02d", i)
		must(t, via, "raven_set", args{"id": id, "set": args{"value": fmt.Sprint(i), "n": i}})
		must(t, via, "raven_add", args{"to": id, "text": "a line", "idempotency_key": id})
	}
	must(t, via, "raven_new", args{"type": "item", "title": "Später"})
	must(t, via, "raven_add", args{"text": "of a day", "to": "2026-11-21"})
	must(t, via, "raven_delete", args{"id": "items/03"})
	must(t, via, "raven_unset", args{"id": "items/04", "unset": []string{"n"}})
	must(t, via, "raven_edit", args{"id": "deep/er", "old_str": "Under", "new_str": "Below"})
	put(t, via, map[string]string{"items/05.md": "---\n: broken\n  - too\n---\n"})
	put(t, via, map[string]string{"schema.yaml": soakSchema + "      n: { type: number }\n"})
	must(t, via, "raven_reindex", nil) // so that a comparison is told before and after

	before := everyAnswer(t, via)
	require.Greater(t, len(before), 60)
	require.NoError(t, app.Close())
	app = open(t, dir)
	via = local{app}
	requireSameAnswers(t, before, everyAnswer(t, via))
	for _, full := range []bool{true, false} {
		must(t, via, "raven_reindex", args{"full": full})
		requireSameAnswers(t, before, everyAnswer(t, via))
	}
	require.NoError(t, app.Close())
	requireInStep(t, dir)
}

func requireSameAnswers(t *testing.T, want, got map[string]string) {
	t.Helper()
	require.Len(t, got, len(want))
	for call, answer := range want {
		require.Equal(t, answer, got[call], call)
	}
}
