package localapp_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/tooltest"
)

// differing is a story of histories with diffs.
var differing = tooltest.Story{Name: "what changed", Steps: []tooltest.Step{
	{Tool: "raven_set", Args: `{"vault":"main","id":"people/bob","set":{"email":"b@example.test"}}`},
	{Tool: "raven_add", Args: `{"vault":"main","to":"people/alice#tasks","text":"@due(2025-02-07) tea"}`},
	{Tool: "raven_edit", Args: `{"vault":"main","id":"people/alice","old_str":"Likes tea","new_str":"Likes coffee"}`},
	{Tool: "raven_trait_update", Args: `{"vault":"main","id":"due-c9b2925b","set":{"value":"2025-02-08"}}`},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/bob"}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/bob","diff":true}`, Want: `{"data":{"items":[
		{"version":"v7","diff":"@@ -1,7 +0,0 @@\n----\n-type: person\n-name: Bob\n-email: b@example.test\n----\n-\n-# Bob\n"},
		{"version":"v3","diff":"@@ -1,6 +1,7 @@\n ---\n type: person\n name: Bob\n+email: b@example.test\n ---\n \n # Bob\n"},
		{"version":"v2","diff":"@@ -0,0 +1,6 @@\n+---\n+type: person\n+name: Bob\n+---\n+\n+# Bob\n"}]}}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/alice#tasks","diff":true,"limit":2}`, Want: `{"data":{"items":[
		{"version":"v6","diff":"@@ -22,4 +22,4 @@\n \n - twice\n - twice\n-- @due(2025-02-07) tea\n+- @due(2025-02-08) tea\n"},
		{"version":"v4","diff":"@@ -22,3 +22,4 @@\n \n - twice\n - twice\n+- @due(2025-02-07) tea\n"}]}}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"due-c9b2925b","diff":true}`, Want: `{"data":{"items":[
		{"version":"v6","diff":"@@ -22,4 +22,4 @@\n \n - twice\n - twice\n-- @due(2025-02-07) tea\n+- @due(2025-02-08) tea\n"},
		{"version":"v4","diff":"@@ -22,3 +22,4 @@\n \n - twice\n - twice\n+- @due(2025-02-07) tea\n"}]}}`},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"long.md","text":"` + strings.Repeat(`0123456789\n`, 2000) + `"}]}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"long","diff":true}`, Want: `{"data":{"items":[{"version":"v8","diff_cut":true}]}}`},
}}

func TestEveryWayShowsWhatChanged(t *testing.T) {
	everyWay(t, []tooltest.Story{differing})
}

// TestLargeDiffs checks that the size of a diff is limited, and that it says how much is omitted.
func TestLargeDiffs(t *testing.T) {
	p := newPlace(t)
	way := tooltest.Invoking("catalogue", p.catalogue())
	notes := []args{{"path": "long.md", "text": strings.Repeat("0123456789\n", 2000)}}
	done(t, p.catalogue(), "team_vault_import", args{"vault": "main", "notes": notes})
	type history struct{ Items []struct{ Diff string } }
	h := dataOf[history](t, way, tooltest.NewCall(t, "raven_history", `{"vault":"main","id":"long","diff":true}`))
	require.Len(t, h.Items, 1)
	require.LessOrEqual(t, len(h.Items[0].Diff), 16<<10+40)
	lines := strings.Split(strings.TrimSuffix(h.Items[0].Diff, "\n"), "\n")
	require.Equal(t, "@@ -0,0 +1,2000 @@", lines[0])
	left := 2001 - (len(lines) - 1)
	require.Equal(t, "\\ "+strconv.Itoa(left)+" more lines", lines[len(lines)-1])
}

// TestDiffOnTheCommandLine checks how diffs are shown to people.
func TestDiffOnTheCommandLine(t *testing.T) {
	p := newPlace(t)
	done(t, p.catalogue(), "raven_set", args{"vault": "main", "id": "people/bob", "set": args{"name": "Robert"}})
	printed := p.shell("main").Run(t, "history", "people/bob", "--diff")
	require.Zero(t, printed.Exit, printed.Err)
	require.Contains(t, printed.Out, "v3  2025-02-01T14:30:00Z  update  raven_set  local  local\n"+
		"@@ -1,6 +1,6 @@\n ---\n type: person\n-name: Bob\n+name: Robert\n ---\n \n # Bob\n\n"+
		"v2  2025-02-01T14:30:00Z  create  team_vault_import  local  local\n"+
		"@@ -0,0 +1,6 @@\n+---\n+type: person\n+name: Bob\n+---\n+\n+# Bob\n")
	printed = p.shell("main").Run(t, "history", "people/bob")
	require.NotContains(t, printed.Out, "@@")
}
