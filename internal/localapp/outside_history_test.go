package localapp_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// A past is the answer of raven_history.
type past struct {
	Items []struct {
		Version, Op, Found, Path string
		Changes                  map[string]any
		Inside                   []struct{ Op, Found, ID, Parent string }
	}
}

// TestHistoryOfOutsideEdits checks that outside edits are in the history of the note, of its
// sections and of its traits, and in the audit log as the document says; that the ids and times of
// unchanged things stay; and that new things have the time of the commit that found them.
func TestHistoryOfOutsideEdits(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	app, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: dir, Now: clock.time})
	require.NoError(t, err)
	defer func() { require.NoError(t, app.Close()) }()
	via := local{app}
	must(t, via, "team_vault_create", args{"name": "v"})
	put(t, via, map[string]string{
		"schema.yaml": "version: 1\ntraits:\n  due: { type: date }\n  todo: { type: bool }\n",
		"a.md":        "# A\n\n- @due(2026-12-01) buy\n- @todo stays\n\n## Log\n\n- @due(2026-12-02) sell\n",
	})
	buy, sell, stays := traitOf(t, via, "buy"), traitOf(t, via, "sell"), traitOf(t, via, "stays")
	clock.pass(48)
	file := filepath.Join(folderOf(dir), "a.md")
	require.NoError(t, os.WriteFile(file, []byte(
		"# A\n\n- @todo stays\n- @todo new\n\n## Log\n\n- @due(2026-12-03) sell\n"), 0o600))
	told := into[reindexed](t, must(t, via, "raven_reindex", nil))
	require.Empty(t, told.Errors)
	fresh := traitOf(t, via, "new")

	history := func(id string) past {
		return into[past](t, must(t, via, "raven_history", args{"id": id}))
	}
	h := history("a")
	require.Len(t, h.Items, 2)
	require.Equal(t, "create", h.Items[1].Op)
	require.Equal(t, []string{"reindex", "modified"}, []string{h.Items[0].Op, h.Items[0].Found})
	found := map[string]string{}
	for _, in := range h.Items[0].Inside {
		require.Equal(t, "reindex", in.Op)
		found[in.ID] = in.Found + " in " + in.Parent
	}
	require.Equal(t, map[string]string{
		buy.ID: "removed in a", fresh.ID: "discovered in a", sell.ID: "modified in a#log",
	}, found)
	h = history("a#log")
	require.Len(t, h.Items, 2, "also the section in which a trait changed")
	require.Equal(t, sell.ID, h.Items[0].Inside[0].ID)
	h = history(sell.ID)
	require.Equal(t, map[string]any{"old": "2026-12-02", "new": "2026-12-03"}, h.Items[0].Changes["value"])
	require.Equal(t, "discovered", history(fresh.ID).Items[0].Found)
	require.Equal(t, "removed", history(buy.ID).Items[0].Found)
	require.Len(t, history(stays.ID).Items, 1)

	require.Equal(t, stays, traitOf(t, via, "stays"))
	require.Equal(t, sell.Seen, traitOf(t, via, "sell").Seen)
	ids := func(in args) (all []string) {
		for _, tr := range traitsOf(t, via, in) {
			all = append(all, tr.ID)
		}
		return all
	}
	require.Equal(t, []string{fresh.ID}, ids(args{"created_today": true}))
	require.ElementsMatch(t, []string{fresh.ID, sell.ID}, ids(args{"modified_today": true}))
	requireReindexLine(t, export(t, via)[".raven/audit.log"], buy.ID, fresh.ID, sell.ID)

	require.NoError(t, os.Rename(file, filepath.Join(folderOf(dir), "b.md")))
	require.Equal(t, 1, into[reindexed](t, must(t, via, "raven_reindex", nil)).Moved)
	require.Equal(t, stays, traitOf(t, via, "stays"), "a note that moves stays what it is")
	h = history("b")
	require.Len(t, h.Items, 3)
	require.Equal(t, "modified", h.Items[0].Found)
	require.Equal(t, "a.md", h.Items[2].Path)
	require.Len(t, history("b#log").Items, 3)
	token, pages := "", 0
	for more := true; more; pages++ {
		a := must(t, via, "raven_history", args{"id": "b", "limit": 1, "page_token": token})
		require.Equal(t, h.Items[pages:pages+1], into[past](t, a).Items)
		token, more = a.Meta.Next, a.Meta.Next != ""
	}
	require.Equal(t, 3, pages)
}

// A dated is a trait with its times.
type dated struct {
	ID      string
	Content string
	Seen    string `json:"first_seen_at"`
}

func traitsOf(t *testing.T, via local, in args) []dated {
	t.Helper()
	var all []dated
	for _, typ := range []string{"due", "todo"} {
		asked := args{"trait_type": typ}
		maps.Copy(asked, in)
		all = append(all, into[struct{ Items []dated }](t,
			must(t, via, "raven_trait_list", asked)).Items...)
	}
	return all
}

// traitOf returns the trait whose line has a text.
func traitOf(t *testing.T, via local, says string) dated {
	t.Helper()
	for _, tr := range traitsOf(t, via, nil) {
		if strings.Contains(tr.Content, says) {
			return tr
		}
	}
	require.Fail(t, "no such trait", says)
	return dated{}
}

// requireReindexLine requires that the last line of an audit log has the form that the document
// shows.
func requireReindexLine(t *testing.T, log, removed, discovered, modified string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(log), "\n")
	var line struct {
		TS, Op, File                  string
		Discovered, Modified, Removed []string
		Changes                       map[string]map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &line))
	require.Equal(t, []string{"reindex", "a.md"}, []string{line.Op, line.File})
	require.NotEmpty(t, line.TS)
	require.Equal(t, []string{"trait:" + discovered}, line.Discovered)
	require.Equal(t, []string{"trait:" + removed}, line.Removed)
	require.Equal(t, []string{"trait:" + modified}, line.Modified)
	require.Contains(t, line.Changes["trait:"+modified], "value")
}
