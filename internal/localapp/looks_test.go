package localapp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// seldomLook are the tools that read and do not go through all notes or memories of a vault, by the
// data that they read instead. For tools that are not listed, each check of the context counts.
var seldomLook = map[string]string{
	"memory_recall":     "the best of the memories with a word; TestLongReadingsLook has some with a filter",
	"memory_check_file": "the memories of a file", "memory_list_chapters": "a page", "raven_validate": "the input of one call", "memory_recall_wisdom": "wisdom",
	"memory_prompt_after_failure": "no vault", "memory_history": "one memory", "memory_trace": "the links of a memory",
	"notes_document_tree": "one note", "notes_export": "one note", "notes_get": "one note",
	"notes_metadata_facets": "counts of the index", "notes_outline": "one note",
	"raven_backlinks": "a page", "raven_outlinks": "one note", "raven_resolve": "a name", "raven_tag": "a page",
	"raven_trait_list":  "a page; TestLongReadingsLook has one with a filter",
	"raven_object_list": "a page; TestLongReadingsLook has one with a filter",
	"raven_untyped":     "a page", "raven_date": "a day", "raven_complete": "entries with a prefix",
	"raven_object_get": "one note", "raven_read": "one note", "raven_trait_get": "one note", "raven_type": "a page",
	"raven_history": "the changes of one note", "raven_search": "notes with a word; TestLongReadingsLook has a common one",
	"raven_stats": "counts of the index", "raven_prompt_record_learnt": "no vault",
	"raven_prompt_start_work": "no vault", "raven_prompt_weekly_summary": "no vault",
	"raven_schema": "the schema", "raven_schema_commands": "no vault", "raven_schema_trait": "the schema",
	"raven_schema_traits": "the schema", "raven_schema_type": "the schema", "raven_schema_types": "the schema",
	"raven_schema_validate": "the schema", "team_audit": "a page", "team_audit_verify": "commits, few of which were added",
	"team_complete": "names of vaults", "team_complete_access": "names", "team_issuer_list": "a page",
	"team_job_get": "one job", "team_job_list": "a page", "team_member_list": "a page", "team_tenant_export": "a page",
	"team_token_list": "a page", "team_usage": "counts", "team_vault_export": "a page", "team_vault_list": "a page",
	"tree_get_node": "one node", "tree_list_children": "a folder", "tree_get_path": "one node", "tree_get_common_ancestor": "some nodes",
	"tree_get_subtree": "a page", "tree_get_view": "a page", "tree_export_view": "a view", "tree_list_bookmarks": "bookmarks", "tree_get_tags": "one node", "tree_lint_payload": "one node", "tree_diff_subtree": "two nodes",
	"tree_snapshot_list": "a page", "tree_export_subtree": "one node", "tree_snapshot_get": "one snapshot",
	"team_whoami": "no vault", "vault_facets": "counts of the index", "vault_overview": "counts of the index",
	"vault_status": "counts of the index", "vault_tags": "counts of the index", "vault_tree": "counts of the index",
}

// TestEveryReadingLooks checks that every tool which goes through all notes or memories of a vault
// checks meanwhile whether its call has ended: the number of checks grows with the vault. The
// others are in seldomLook.
func TestEveryReadingLooks(t *testing.T) {
	s := newPrepared(t, noon).stage(t)
	defer s.close(t)
	tools := s.app.Catalogue.Tools()
	looks := func() map[string]int {
		all := map[string]int{}
		for _, c := range readings(t) {
			n, err := c.run(t, tools, atNoon)
			require.NoError(t, err, c.tool)
			all[c.tool] = max(all[c.tool], n)
		}
		return all
	}
	looks() // the first search makes its index
	few := looks()
	const memories = 1000
	for _, folder := range []string{"many", "more", "most", "gone"} {
		var files []args
		for i := range 1000 {
			files = append(files, args{
				"path": fmt.Sprintf("%s/n%d.md", folder, i), "text": "---\nname: one\n---\n\n- @due(2026-01-01) a line\n",
			})
		}
		must(t, local{s.app}, "team_vault_import", args{"vault": "main", "notes": files})
	}
	queries := "queries:\n"
	for i := range 2000 {
		queries += fmt.Sprintf("  q%d: type:page\n", i)
	}
	must(t, local{s.app}, "team_vault_import", args{
		"vault": "main", "notes": []args{{"path": "raven.yaml", "text": queries}}, "mode": "replace",
	})
	gone := args{"vault": "main", "query": `type:page startswith(.id, "gone/")`}
	plan := into[struct {
		Token string `json:"plan_token"`
	}](t, must(t, local{s.app}, "raven_delete", with(gone, "dry_run", true)))
	must(t, local{s.app}, "raven_delete", with(gone, "plan_token", plan.Token))
	line := `{"intent":{"goal":"mend a wheel","task_type":"other"},"outcome":{"success":true,"summary":"a line"}}` + "\n"
	for range 2 {
		must(t, local{s.app}, "memory_import", args{"vault": "main", "files": []args{
			{"path": "many.jsonl", "content": strings.Repeat(line, memories)},
		}})
	}
	looks()
	for name, n := range looks() {
		if seldomLook[name] == "" {
			require.GreaterOrEqual(t, n-few[name], 3, name)
		}
	}
}
