package rookery_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery"
)

// maxAnswer is the number of bytes that no answer exceeds (CONTRACT §9).
const maxAnswer = 4 << 20

// largeVault is a vault with these notes, brought in by one call.
func largeVault(t *testing.T, notes map[string]string) (r *rookery.Rookery, data string) {
	t.Helper()
	data = t.TempDir()
	r, err := rookery.Open(t.Context(), rookery.Config{Data: data})
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() }) // the test may have closed it
	_, err = invoke(t, r, "team_vault_create", `{"name":"v"}`)
	require.NoError(t, err)
	list := []map[string]string{}
	for path, text := range notes {
		list = append(list, map[string]string{"path": path, "text": text})
	}
	args, err := json.Marshal(map[string]any{"vault": "v", "notes": list})
	require.NoError(t, err)
	_, err = invoke(t, r, "team_vault_import", string(args))
	require.NoError(t, err)
	return r, data
}

// asked is an answer that is no larger than one may be.
func asked(t *testing.T, r *rookery.Rookery, tool, args string) json.RawMessage {
	t.Helper()
	answer, err := r.Invoke(t.Context(), tool, json.RawMessage(args))
	require.NoError(t, err)
	require.LessOrEqual(t, len(answer), maxAnswer, tool)
	return answer
}

// TestExportOfOneLargeCommit covers that what one commit adds to the audit log comes in as many pages
// as it needs, and that they are the audit log when they are put together.
func TestExportOfOneLargeCommit(t *testing.T) {
	const notes, lines = 6, 4000
	texts := map[string]string{"schema.yaml": "traits:\n  due:\n    type: date\n"}
	for i := range notes {
		var b strings.Builder
		for n := range lines {
			fmt.Fprintf(&b, "- @due(2026-03-02) line %d of \"note\" %d\n", n, i)
		}
		texts[fmt.Sprintf("note-%d.md", i)] = b.String()
	}
	r, data := largeVault(t, texts)
	var audit strings.Builder
	parts, token := 0, ""
	for {
		var page struct {
			Data struct {
				Notes []struct {
					Path, Text string
					Part       int
				}
			}
			Meta struct {
				Next string `json:"next_page_token"`
			}
		}
		answer := asked(t, r, "team_vault_export", fmt.Sprintf(`{"vault":"v","page_token":%q}`, token))
		require.NoError(t, json.Unmarshal(answer, &page))
		for _, n := range page.Data.Notes {
			if n.Path == ".raven/audit.log" {
				parts++
				require.Equal(t, parts, n.Part)
				audit.WriteString(n.Text)
			}
		}
		if token = page.Meta.Next; token == "" {
			break
		}
	}
	require.Greater(t, parts, 2)
	require.NoError(t, r.Close()) // which writes the audit log of the folder to its end
	file, err := os.ReadFile(filepath.Join(
		data, "tenants", "local", "vaults", "v", "notes", ".raven", "audit.log"))
	require.NoError(t, err)
	require.Equal(t, len(file), audit.Len())
	require.Equal(t, string(file), audit.String())
}

// TestPageOfLargeObjects covers that a page has so few objects that they fit into an answer, and that
// none is left out.
func TestPageOfLargeObjects(t *testing.T) {
	texts := map[string]string{}
	for i := range 100 {
		var fields strings.Builder
		for n := range 15 {
			fmt.Fprintf(&fields, "about-%d: x%s\n", n, strings.Repeat(`"`, 2000)) // two bytes each in JSON
		}
		texts[fmt.Sprintf("note-%d.md", i)] = "---\n" + fields.String() + "---\n"
	}
	r, _ := largeVault(t, texts)
	seen, pages, token := map[string]bool{}, 0, ""
	for ok := true; ok; ok = token != "" {
		var page struct {
			Data struct{ Items []struct{ ID string } }
			Meta struct {
				Next string `json:"next_page_token"`
			}
		}
		answer := asked(t, r, "raven_object_list",
			fmt.Sprintf(`{"vault":"v","limit":200,"page_token":%q}`, token))
		require.NoError(t, json.Unmarshal(answer, &page))
		for _, o := range page.Data.Items {
			seen[o.ID] = true
		}
		pages, token = pages+1, page.Meta.Next
	}
	require.Len(t, seen, len(texts))
	require.Greater(t, pages, 1)
}

// TestPlanOfManyLargeFiles covers that the plan of a change of many files shows a part of the lines that
// differ in each, as many as fit, and counts the others.
func TestPlanOfManyLargeFiles(t *testing.T) {
	const notes = 9
	texts := map[string]string{}
	for i := range notes {
		texts[fmt.Sprintf("note-%d.md", i)] = strings.Repeat("before ", 80_000)
	}
	r, _ := largeVault(t, texts)
	list := []map[string]string{}
	for path := range texts {
		list = append(list, map[string]string{"path": path, "text": strings.Repeat("after ", 80_000)})
	}
	args, err := json.Marshal(map[string]any{"vault": "v", "notes": list, "mode": "replace"})
	require.NoError(t, err)
	_, err = invoke(t, r, "team_vault_import", string(args))
	require.NoError(t, err)
	var answer struct {
		Data struct {
			Files []struct {
				Cut bool   `json:"content_cut"`
				Old string `json:"old_content"`
				New string `json:"new_content"`
			} `json:"would_modify_files"`
			Effects []string `json:"side_effects"`
		}
	}
	data := asked(t, r, "raven_undo", `{"vault":"v","version":"v3","dry_run":true}`)
	require.NoError(t, json.Unmarshal(data, &answer))
	require.Len(t, answer.Data.Files, notes)
	require.Empty(t, answer.Data.Effects)
	for _, f := range answer.Data.Files {
		require.True(t, f.Cut)
		require.LessOrEqual(t, len(f.Old), 20<<10)
		require.LessOrEqual(t, len(f.New), 20<<10)
	}
}
