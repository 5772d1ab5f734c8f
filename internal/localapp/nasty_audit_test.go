package localapp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestAuditOfLargeCommits checks that a page of the audit log reads a limited part of commits with
// large texts, whatever its arguments, and that the pages together have each commit once.
func TestAuditOfLargeCommits(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	in := local{app}
	const times = 24
	for i := range times {
		put(t, in, map[string]string{"large.md": fmt.Sprint(strings.Repeat("lorem ", 170_000), i)})
	}
	for _, filter := range []string{``, `"tool":"team_vault_import",`, `"tool":"no_such",`} {
		found, pages, token := 0, 0, ""
		for {
			args := fmt.Sprintf(`{%s"page_token":%q}`, filter, token)
			var out json.RawMessage
			var err error
			_, bytes := tooltest.Allocated(func() {
				out, err = in.Invoke(t.Context(), "team_audit", json.RawMessage(args))
			})
			require.NoError(t, err)
			require.LessOrEqual(t, bytes, uint64(maxAllocated), "page %d", pages)
			var page struct {
				Data struct{ Entries []struct{ Operation string } }
				Meta struct {
					Next string `json:"next_page_token"`
				}
			}
			require.NoError(t, json.Unmarshal(out, &page))
			for _, e := range page.Data.Entries {
				if e.Operation == "team_vault_import" {
					found++
				}
			}
			if pages++; page.Meta.Next == "" {
				break
			}
			token = page.Meta.Next
		}
		require.Greater(t, pages, 1)
		if filter != `"tool":"no_such",` {
			require.Equal(t, times, found)
		} else {
			require.Zero(t, found)
		}
	}
}
