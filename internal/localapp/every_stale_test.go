package localapp_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// stale is a story of calls with a version that is older than the last change of their target, and
// which would also be refused for another reason: each is a CONFLICT nevertheless.
var stale = tooltest.Story{Name: "stale", Steps: []tooltest.Step{
	{Tool: "raven_set", Args: `{"vault":"main","id":"people/alice","set":{"email":"a@example.test"}}`},
	{Tool: "raven_add", Args: `{"vault":"main","to":"people/alice#tasks","text":"@due(2025-02-07) tea"}`},
	outdated("raven_edit", `"id":"people/alice","old_str":"absent","new_str":"x"`),
	outdated("raven_edit", `"id":"people/alice#gone","old_str":"absent","new_str":"x"`),
	outdated("raven_set", `"id":"people/alice","set":{"type":"x","tags":[[1]]}`),
	outdated("raven_set", `"id":"due-c9b2925b","set":{"value":"x"}`),
	outdated("raven_unset", `"id":"people/alice","unset":["name"]`),
	outdated("raven_delete", `"id":"people/alice#gone"`),
	outdated("raven_add", `"to":"people/alice","text":"# Heading"`),
	outdated("raven_add", `"to":"people/alice#gone","text":" "`),
	outdated("raven_new", `"type":"person","title":"Alice"`),
	outdated("raven_new", `"type":"nothing","path":"people/alice"`),
	outdated("raven_upsert", `"type":"project","title":"x","path":"people/alice"`),
	outdated("raven_upsert", `"type":"person","title":"Alice","fields":{"tags":[[1]]}`),
	outdated("raven_trait_create", `"trait_type":"nothing","parent_id":"people/alice","content":"a\nb"`),
	outdated("raven_trait_update", `"id":"due-c9b2925b","set":{"value":"never"}`),
	outdated("raven_trait_delete", `"id":"people/alice:trait:0"`),
	outdated("raven_batch", `"operations":[{"op":"add","data":{"to":"inbox","text":"x"}},{"op":"update","entity":"object","data":{"id":"people/alice","set":{"tags":[[1]]}}}]`),
	outdated("notes_write", `"path":"people/alice.md","content":"x"`),
	outdated("notes_write", `"path":"people/alice.md","frontmatter":{"tags":[[1]]}`),
	outdatedNode("tree_update_payload_property", `"nodeId":"people/alice","propertyName":"nodeId","newValue":1`),
	outdatedNode("tree_update_payload", `"nodeId":"people/alice","patch":{"nodeId":1}`),
	outdatedNode("tree_update_nodes", `"filter":"nodeId = people/alice","patch":{"nodeId":1}`),
	outdatedNode("tree_tag_node", `"nodeId":"people/alice#notes","tags":["x"]`),
	outdatedNode("tree_untag_node", `"nodeId":"people/alice","tags":["x"]`),
	outdatedNode("tree_add_child", `"parentNodeId":"people/alice","payloadType":"nothing","payloadProps":{}`),
	outdatedNode("tree_remove_node", `"nodeId":"people/alice#notes"`),
	outdatedNode("tree_move_node", `"nodeId":"inbox","newParentId":"people/alice"`),
	outdatedNode("tree_move_before", `"nodeId":"people/alice#tasks","siblingId":"people/alice#notes"`),
	outdatedNode("tree_move_after", `"nodeId":"people/alice#notes","siblingId":"people/alice#tasks"`),
	outdatedNode("tree_sort_children", `"parentId":"people/alice","byProp":"title"`),
	outdatedNode("tree_copy_subtree", `"sourceId":"inbox","targetParentId":"people/alice"`),
	outdatedNode("tree_clone_node", `"nodeId":"people/alice#notes","targetParentId":"people/alice"`),
	outdatedNode("tree_import_merge", `"json":{"nodeId":"people/alice","payload":{"nodeId":1}}`),
	outdatedNode("tree_snapshot_restore", `"snapshotId":"none"`),
	outdated("raven_undo", `"version":"v3"`),
	outdated("raven_reindex", `"full":true`),
	outdated("raven_move", `"source":"people/alice","destination":"people/bob"`),
	outdated("raven_section", `"op":"move","id":"people/alice#notes","after":"nowhere"`),
	outdated("raven_check_fix", `"id":"people/alice","issues":["nothing"]`),
	outdated("raven_reclassify", `"id":"people/alice","type":"nothing"`),
	outdated("team_vault_import", `"notes":[{"path":"people/alice.md","text":"x"},{"path":"inbox.md","text":"x"}]`),
	// A target that did not change since is no conflict: the call is refused for its other problem.
	{Tool: "raven_edit", Args: `{"vault":"main","id":"people/bob","old_str":"absent","new_str":"x","if_version":"v2"}`, Code: fault.InvalidValue},
	{Tool: "raven_new", Args: `{"vault":"main","type":"person","title":"Bob","if_version":"v2"}`, Code: fault.DuplicateID},
	{Tool: "raven_edit", Args: `{"vault":"main","id":"people/alice","old_str":"absent","new_str":"x","if_version":"v4"}`, Code: fault.InvalidValue},
	{Tool: "raven_edit", Args: `{"vault":"main","id":"people/alice","old_str":"absent","new_str":"x","if_version":"v99"}`, Code: fault.Conflict},
	{Tool: "raven_edit", Args: `{"vault":"main","id":"people/alice","old_str":"absent","new_str":"x","if_version":"4"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"argument":"if_version"}}}`},
	{Tool: "raven_query_save", Args: `{"vault":"main","name":"a b","query":"x","if_version":"v99"}`, Code: fault.Conflict},
	{Tool: "raven_query_remove", Args: `{"vault":"main","name":"none","if_version":"v99"}`, Code: fault.Conflict},
	{Tool: "raven_schema_add", Args: `{"vault":"main","kind":"type","name":"page","if_version":"v99"}`, Code: fault.Conflict},
	{Tool: "raven_schema_update", Args: `{"vault":"main","kind":"type","name":"none","description":"x","if_version":"v99"}`, Code: fault.Conflict},
	{Tool: "raven_schema_remove", Args: `{"vault":"main","kind":"type","name":"none","if_version":"v99"}`, Code: fault.Conflict},
	// Tools of the tenant, whose versions are its own.
	{Tool: "team_vault_create", Args: `{"name":"two"}`},
	outdatedHere("team_vault_create", `"name":"two"`),
	outdatedHere("team_vault_set", `"name":"two","readonly":true`),
	outdatedHere("team_vault_delete", `"name":"two"`),
	outdatedHere("team_vault_restore", `"name":"two"`),
	outdatedHere("team_vault_erase", `"name":"two","confirm":"two"`),
	outdatedHere("team_tenant_erase", `"confirm":"local"`),
}}

// staleMemories are calls about memories that changed after the version of the calls.
var staleMemories = tooltest.Story{Name: "stale memories", Steps: []tooltest.Step{
	{Tool: "memory_import", Args: memoryLines(
		`{"id":"mem_a","key":"one","links":{"related_to":["mem_b"]},"intent":{"goal":"g","task_type":"other"},"outcome":{"success":true,"summary":"s"}}`,
		`{"id":"mem_b","intent":{"goal":"h","task_type":"other"},"outcome":{"success":true,"summary":"s"}}`,
		`{"kind":"links","id":"mem_a","related_to":["mem_b"]}`, `{"kind":"agent","id":"helper"}`,
		`{"kind":"chapter","id":"chapter_a","summary":"s","memories":["mem_a"]}`,
		`{"kind":"wisdom","id":"wisdom_a","summary":"s","chapters":["chapter_a"]}`,
	)},
	outdatedMemory("memory_store", `"key":"one","intent":{"goal":"g","task_type":"other"},"outcome":{"success":true,"summary":"s"}`),
	outdatedMemory("memory_update_memory", `"memory_id":"mem_a","tags":["x"]`),
	outdatedMemory("memory_link", `"source_id":"mem_a","target_id":"mem_b","link_type":"supersedes"`),
	outdatedMemory("memory_identity", `"action":"resume","agent_id":"helper"`),
	outdatedMemory("memory_delete_memory", `"memory_id":"mem_b"`),
	outdatedMemory("memory_delete_chapter", `"chapter_id":"chapter_a"`),
	outdatedMemory("memory_delete_wisdom", `"wisdom_id":"wisdom_a"`),
	{Tool: "memory_update_memory", Args: `{"vault":"main","if_version":"v3","memory_id":"mem_a","tags":["x"]}`},
}}

// staleViews are calls that change the view of a session, or bookmarks, after the view changed in a
// version that is newer than that of the calls.
var staleViews = tooltest.Story{Name: "stale views", Steps: []tooltest.Step{
	{Tool: "raven_set", Args: `{"vault":"main","id":"people/alice","set":{"email":"a@example.test"}}`},
	{Tool: "tree_collapse_node", Args: `{"vault":"main","versionToken":"v3","nodeId":"people/"}`},
	outdatedView("tree_expand_node", `"nodeId":"nowhere"`),
	outdatedView("tree_collapse_node", `"nodeId":"nowhere"`),
	outdatedView("tree_toggle_node", `"nodeId":"people/"`),
	outdatedView("tree_expand_all", `"rootNodeId":"nowhere"`),
	outdatedView("tree_collapse_all", `"rootNodeId":"/"`),
	outdatedView("tree_set_expansion_recursive", `"nodeId":"nowhere","expanded":true`),
	outdatedView("tree_set_filters", `"included":["email"]`),
	outdatedView("tree_import_view", `"viewJson":{"rootNodeId":"nowhere","view":{"nodeId":"nowhere"}}`),
	outdatedView("tree_bookmark", `"nodeId":"nowhere","label":"x"`),
	outdatedView("tree_remove_bookmark", `"label":"none"`),
	{Tool: "tree_snapshot_create", Args: `{"vault":"main","versionToken":"v99","label":" "}`, Code: fault.InvalidParameter},
	{Tool: "tree_snapshot_create", Args: `{"vault":"main","versionToken":"v99","label":"x","rootNodeId":"nowhere"}`, Code: fault.Conflict},
	{Tool: "tree_snapshot_delete", Args: `{"vault":"main","versionToken":"v99","snapshotId":"none"}`, Code: fault.Conflict},
	// The view did not change since.
	{Tool: "tree_expand_node", Args: `{"vault":"main","versionToken":"v3","nodeId":"nowhere"}`, Code: fault.NotFound},
	{Tool: "tree_toggle_node", Args: `{"vault":"main","versionToken":"v3","nodeId":"people/"}`},
}}

// outdatedView returns a call about the view of a session with the version v2.
func outdatedView(name, args string) tooltest.Step {
	return tooltest.Step{
		Tool: name, Args: `{"vault":"main","versionToken":"v2",` + args + `}`, Code: fault.Conflict,
		Want: `{"error":{"details":{"latestVersion":"v3","changed":"view"}}}`,
	}
}

// outdatedMemory returns a call about a memory of the vault main with the version v2.
func outdatedMemory(name, args string) tooltest.Step {
	return tooltest.Step{
		Tool: name, Args: `{"vault":"main","if_version":"v2",` + args + `}`, Code: fault.Conflict,
		Want: `{"error":{"details":{"latest_version":"v3"}}}`,
	}
}

// outdated returns a call about the vault main with the version v2.
func outdated(name, args string) tooltest.Step {
	return tooltest.Step{
		Tool: name, Args: `{"vault":"main","if_version":"v2",` + args + `}`, Code: fault.Conflict,
		Want: `{"error":{"message":"it changed after v2: the latest version is v4","details":{"latest_version":"v4"}}}`,
	}
}

// outdatedNode returns a call of a tool of the tree, whose own message says what changed.
func outdatedNode(name, args string) tooltest.Step {
	s := outdated(name, args)
	s.Want = `{"error":{"details":{"latest_version":"v4","latestVersion":"v4"}}}`
	return s
}

// outdatedHere returns a call about the tenant with its first version.
func outdatedHere(name, args string) tooltest.Step {
	return tooltest.Step{
		Tool: name, Args: `{"if_version":"v1",` + args + `}`, Code: fault.Conflict,
	}
}

func TestEveryWayLooksAtIfVersionFirst(t *testing.T) {
	everyWay(t, []tooltest.Story{stale, staleMemories, staleViews})
}

// notStale are the mutations that the story of stale calls omits, with the reasons. Those of a
// hosted server have such calls in internal/tools/team.
var notStale = map[string]string{
	"raven_restore":     "what it changes is in the trash",
	"team_token_create": "it changes nothing that is there",

	"memory_create_chapter": "it changes nothing that is there",
	"memory_synthesize":     "it changes nothing that is there",
	"memory_import":         "it changes nothing that is there",

	"raven_schema_init":  "it changes nothing that is there",
	"raven_check":        "it makes only what is not there",
	"notes_import":       "it changes nothing that is there",
	"team_token_revoke":  "ids of tokens are random",
	"team_job_cancel":    "ids of jobs are random",
	"team_issuer_set":    "issuers are those of a hosted server",
	"team_issuer_remove": "issuers are those of a hosted server",
	"team_member_set":    "members are those of a hosted server",
	"team_member_remove": "members are those of a hosted server",
}

// TestEveryMutationMayBeStale checks that the story of stale calls has every mutation with the
// argument if_version.
func TestEveryMutationMayBeStale(t *testing.T) {
	told := map[string]bool{}
	for _, s := range slices.Concat(stale.Steps, staleMemories.Steps, staleViews.Steps) {
		told[s.Tool] = told[s.Tool] || s.Code == fault.Conflict
	}
	for _, made := range allTools() {
		if _, takes := made.Arg("if_version"); takes && made.Kind.Changes() && notStale[made.Name] == "" {
			require.True(t, told[made.Name], "no stale call of %s", made.Name)
		}
	}
}
