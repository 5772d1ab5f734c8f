package localapp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// reindexed is the answer of raven_reindex.
type reindexed struct {
	DryRun     bool `json:"dry_run"`
	Indexed    int  `json:"files_indexed"`
	Deleted    int  `json:"files_deleted"`
	Created    int  `json:"files_created"`
	Changed    int  `json:"files_changed"`
	Moved      int  `json:"files_moved"`
	Restored   int  `json:"files_restored"`
	Conflicts  int
	Discovered int
	Modified   int
	Removed    int
	Held       heldBatch
	Errors     []struct {
		File    string
		Line    int
		Message string
	}
}

// touched returns the number of files that the call ingested or wrote again.
func (r *reindexed) touched() int {
	return r.Deleted + r.Created + r.Changed + r.Moved + r.Restored + r.Conflicts
}

// TestReindex checks the answer of a reindex against the ingested edits, that a dry run has the
// same answer and writes nothing, and that a repetition has the answer of the first call.
func TestReindex(t *testing.T) {
	app, dir := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	via := local{app}
	notes := numbered(30)
	notes["a.md"], notes["b.md"] = "one\n", "two\n"
	before := put(t, via, notes).version(t)
	for path, text := range map[string]string{"a.md": "mine\n", "made.md": "new\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(folderOf(dir), path), []byte(text), 0o600))
	}
	require.NoError(t, os.Remove(filepath.Join(folderOf(dir), "b.md")))
	removeNumbered(t, dir, 25) // more than the guard lets through, so that all wait for a word

	must(t, via, "raven_reindex", nil)
	want := into[reindexed](t, must(t, via, "raven_reindex", args{"dry_run": true, "pending": "accept"}))
	require.True(t, want.DryRun)
	require.Equal(t, []int{26, 1, 1, 0}, []int{want.Deleted, want.Created, want.Changed, want.Restored})
	require.Equal(t, []int{1, 1, 26}, []int{want.Discovered, want.Modified, want.Removed})
	require.Empty(t, want.Held.Paths)
	require.EqualValues(t, before, must(t, via, "raven_stats", nil).version(t))

	keyed := args{"pending": "accept", "idempotency_key": "k"}
	refused(t, fault.Conflict, via, "raven_reindex", args{"pending": "accept", "if_version": "v1"})
	first := must(t, via, "raven_reindex", keyed)
	told := into[reindexed](t, first)
	want.DryRun, want.Indexed = false, told.Indexed
	require.Equal(t, want, told)
	require.Equal(t, 7, told.Indexed)
	require.Equal(t, "mine\n", read(t, via, "a"))

	again := must(t, via, "raven_reindex", keyed)
	require.True(t, again.Meta.Replayed)
	require.JSONEq(t, string(first.Data), string(again.Data))
	f := refused(t, fault.InvalidValue, via, "raven_reindex", args{"pending": "accept"})
	require.Contains(t, f.Message, "no batch needs confirmation")
	require.Empty(t, into[reindexed](t, must(t, via, "raven_reindex", args{"full": true})).Errors)
}

// TestPendingByEveryWay checks that a batch is held, reported and decided about over every way in.
func TestPendingByEveryWay(t *testing.T) {
	for _, way := range waysIn() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			e := way.open(t)
			ask := func(name, in string) json.RawMessage {
				return e.call(t, tooltest.NewCall(t, name, in))
			}
			notes, err := json.Marshal(map[string]any{
				"vault": "main", "notes": notesOf(numbered(25)),
			})
			require.NoError(t, err)
			ask("team_vault_import", string(notes))
			remove := func() {
				for path := range numbered(25) {
					require.NoError(t, os.Remove(filepath.Join(
						e.dir, "tenants", "local", "vaults", "main", "notes", path)))
				}
			}
			has := func(want string, answer json.RawMessage) {
				require.Empty(t, tooltest.Missing(json.RawMessage(want), answer), "%s", answer)
			}

			has(`{"error":{"code":"INVALID_VALUE","details":{"allowed":["accept","discard"]}}}`,
				ask("raven_reindex", `{"vault":"main","pending":"perhaps"}`))
			has(`{"error":{"code":"INVALID_VALUE","details":{"argument":"pending"}}}`,
				ask("raven_reindex", `{"vault":"main","pending":"discard"}`))
			remove()
			const held = `{"data":{"held":{"count":25,"removed":25}},` +
				`"warnings":[{"code":"INDEX_PENDING","count":25}]}`
			has(held, ask("raven_reindex", `{"vault":"main"}`))
			has(held, ask("raven_stats", `{"vault":"main"}`))
			has(`{"data":{"files_restored":25,"files_deleted":0}}`,
				ask("raven_reindex", `{"vault":"main","pending":"discard"}`))
			has(`{"data":{"freshness":"fresh","file_count":36}}`, ask("raven_stats", `{"vault":"main"}`))
			remove()
			has(held, ask("raven_reindex", `{"vault":"main"}`))
			has(`{"data":{"files_deleted":25,"files_indexed":11}}`,
				ask("raven_reindex", `{"vault":"main","pending":"accept"}`))
			has(`{"data":{"freshness":"fresh","file_count":11}}`, ask("raven_stats", `{"vault":"main"}`))
		})
	}
}
