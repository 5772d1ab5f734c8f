package localapp_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// sharedNames are the arguments that CONTRACT §3 defines for many tools.
var sharedNames = []string{
	"vault", "limit", "page_token", "if_version", "idempotency_key", "dry_run", "agent_id",
	"session", "only", "envelope", "as_of",
	"pageToken", "versionToken", "idempotencyKey", "dryRun", // as the tree family spells them
}

// ownArgs returns the arguments of a tool that are not shared.
func ownArgs(made *tool.Tool) []string {
	own := []string{}
	for _, a := range made.Args {
		brief := made.Briefs() && a.Name == tool.SlimArg
		if !slices.Contains(sharedNames, a.Name) && !brief {
			own = append(own, a.Name)
		}
	}
	return own
}

// TestPromises checks that each tool of the documents exists with its arguments, or does not exist,
// as the list says.
func TestPromises(t *testing.T) {
	promised := map[string]bool{}
	for _, p := range promises {
		require.False(t, promised[p.Tool], "%s stands in the list twice", p.Tool)
		promised[p.Tool] = true
		made := known(p.Tool)
		if p.Why != "" {
			require.Nil(t, made, "%s is here, and the list says that it is not", p.Tool)
			for _, name := range p.Names {
				require.Nil(t, known(name), name)
			}
			continue
		}
		require.NotNil(t, made, p.Tool)
		require.ElementsMatch(t, p.Args, ownArgs(made), p.Tool)
		for name := range p.Later {
			_, has := made.Arg(name)
			require.False(t, has, "%s has %s, and the list says that it has not", p.Tool, name)
		}
		for name, aliases := range p.Aliases {
			a, has := made.Arg(name)
			require.True(t, has, "%s %s", p.Tool, name)
			require.Subset(t, a.Aliases, aliases, "%s %s", p.Tool, name)
		}
		require.ElementsMatch(t, p.Names, made.Aliases, p.Tool)
		require.ElementsMatch(t, p.Words, wordsOf(made), p.Tool)
	}
	for _, made := range allTools() {
		require.True(t, promised[made.Name], "%s stands in no document", made.Name)
	}
}

// known returns the tool with a name or alias, or nil.
func known(name string) *tool.Tool {
	for _, made := range allTools() {
		if made.Name == name || slices.Contains(made.Aliases, name) {
			return made
		}
	}
	return nil
}

func wordsOf(made *tool.Tool) []string {
	var words []string
	for _, way := range made.Commands {
		words = append(words, way.Words)
	}
	return words
}

// TestSharedArguments checks the arguments of CONTRACT §3 that many tools have.
func TestSharedArguments(t *testing.T) {
	paged := []string{"raven_object_list", "raven_trait_list", "raven_search", "raven_backlinks",
		"raven_outlinks", "raven_type", "raven_tag", "raven_date", "raven_untyped", "raven_history", "raven_log", "raven_trash_list",
		"raven_query", "raven_query_list", "notes_export", "team_vault_list", "team_vault_export", "team_token_list",
		"team_member_list", "team_issuer_list", "team_audit", "team_job_list", "team_tenant_export",
		"memory_list", "memory_history", "memory_export", "tree_list_children", "tree_get_subtree", "tree_search",
		"tree_search_advanced", "tree_select_nodes", "tree_query_by_tag", "tree_validate_tree", "tree_get_view", "tree_snapshot_list"}
	for _, made := range allTools() {
		has := func(name string) bool { _, ok := made.Arg(name); return ok }
		for _, name := range []string{"agent_id", "session", "envelope", "only"} {
			require.True(t, has(name), "%s takes %s", made.Name, name)
		}
		means := func(m tool.Meaning) bool { _, ok := made.ArgFor(m); return ok }
		for _, m := range []tool.Meaning{tool.MeansVersion, tool.MeansKey} {
			require.Equal(t, made.MayMutate() || made.Kind == tool.View, means(m), "%s and %s", made.Name, m)
		}
		require.Equal(t, made.MayMutate(), means(tool.MeansDry), "%s shows its plan", made.Name)
		isPaged := slices.Contains(paged, made.Name) || len(made.Completes) > 0
		require.Equal(t, isPaged, means(tool.MeansToken), made.Name)
		changes := made.Kind.Changes() && made.Reads == nil
		ofNow := made.Family.Name == "team" || changes || made.Aid() || made.Anywhere ||
			made.Unversioned
		require.Equal(t, !ofNow, has("as_of"), made.Name)
		if made.Family.Name != "team" {
			require.True(t, has("vault"), made.Name)
		}
	}
}

// TestLaterCommands checks that a planned command does not exist yet, and that the existing ones
// are in the documents.
func TestLaterCommands(t *testing.T) {
	for words, why := range laterCommands {
		require.NotEmpty(t, why)
		for _, made := range allTools() {
			for _, there := range wordsOf(made) {
				require.False(t, there == words || strings.HasPrefix(there, words+" "), there)
			}
		}
	}
}

// TestCodes checks that the codes are those of CONTRACT §2, each with its status.
func TestCodes(t *testing.T) {
	var all []string
	for _, row := range promisedCodes {
		for _, code := range row.Codes {
			c := fault.Code(code)
			all = append(all, code)
			require.Equal(t, row.Status, string(c.Status()), code)
			require.Equal(t, row.HTTP, fault.New(c, "").HTTP(), code)
			require.Equal(t, row.Exit, c.Exit(), code)
		}
	}
	var has []string
	for _, c := range fault.Codes() {
		has = append(has, string(c))
	}
	require.ElementsMatch(t, all, has)
}

// TestWarnings checks that the document of each tool lists its warnings, and that all of them are
// in CONTRACT §1.
func TestWarnings(t *testing.T) {
	prose := ""
	for _, made := range allTools() {
		prose += made.Prose().Text
	}
	for code, why := range promisedWarnings {
		if code != "WARNINGS_TRUNCATED" {
			require.Equal(t, why == "", strings.Contains(prose, code), code)
		}
	}
}

// resources are the words with which the routes of the families begin (CONTRACT §4).
var resources = map[string]string{
	"raven": "objects traits schema queries log batch validate check reindex backlinks outlinks " +
		"dates tagged types untyped stats files trash resolve object-search complete prompts",
	"notes":  "notes search note-outline document-tree metadata-facets export import note-complete",
	"orient": "overview tree tags facets status",
	"memory": "memories chapters wisdom agents memory-complete memory-prompts",
	"tree":   "nodes view node-search node-tags bookmarks rules snapshots",
	"team":   "vaults tokens members issuers webhooks audit usage whoami jobs tenant complete",
}

// TestRoutes checks the rule of CONTRACT §5: list and get are GET, create is POST, update is PATCH,
// delete is DELETE, and any other verb is POST on its own word.
func TestRoutes(t *testing.T) {
	bases := map[string]string{
		"raven": "/v1/vaults/{vault}", "notes": "/v1/vaults/{vault}", "orient": "/v1/vaults/{vault}",
		"memory": "/v1/vaults/{vault}", "tree": "/v1/vaults/{vault}", "team": "/v1",
	}
	for _, made := range allTools() {
		family := made.Family.Name
		require.Equal(t, bases[family], made.Family.Base)
		segments := strings.Split(strings.TrimPrefix(made.Route.Path, "/"), "/")
		require.Contains(t, strings.Fields(resources[family]), segments[0], made.Name)
		for i, s := range segments {
			parameter := strings.HasPrefix(s, "{")
			require.True(t, !parameter || i == len(segments)-1 || s == "{vault}", made.Route.Path)
		}
		if settled, ok := settledRoutes[made.Name]; ok {
			require.Equal(t, settled, made.Route.Method+" "+made.Route.Path, made.Name)
			continue
		}
		require.Equal(t, methodOf(made), made.Route.Method, "%s %s", made.Name, made.Route.Path)
		if verb := verbOf(made); made.Route.Method == http.MethodPost && !isCreation(verb) {
			require.Equal(t, verb, strings.TrimPrefix(segments[len(segments)-1], "{"), made.Name)
		}
	}
}

// settledRoutes are routes that reference/memory-build.md §2.35 and reference/families-build.md
// §4.3 define: the tools have the names of their documents, to which the rule does not apply.
var settledRoutes = map[string]string{
	"memory_store": "POST /memories", "memory_list": "GET /memories",
	"memory_update_memory": "PATCH /memories/{memory_id}", "memory_delete_memory": "DELETE /memories/{memory_id}",
	"memory_recall": "POST /memories/recall", "memory_trace": "POST /memories/trace",
	"memory_link": "POST /memories/link", "memory_check_file": "GET /memories/check-file",
	"memory_history": "GET /memories/history/{memory_id}", "memory_export": "GET /memories/export",
	"memory_import": "POST /memories/import", "memory_create_chapter": "POST /chapters",
	"memory_list_chapters": "GET /chapters", "memory_delete_chapter": "DELETE /chapters/{chapter_id}",
	"memory_synthesize": "POST /wisdom", "memory_recall_wisdom": "GET /wisdom",
	"memory_delete_wisdom": "DELETE /wisdom/{wisdom_id}", "memory_identity": "POST /agents",

	"tree_get_node": "GET /nodes/{nodeId}", "tree_list_children": "GET /nodes", "tree_get_path": "GET /view/path",
	"tree_get_subtree": "POST /view/subtree", "tree_get_common_ancestor": "GET /view/ancestor",
	"tree_search": "POST /node-search", "tree_search_advanced": "POST /node-search/advanced",
	"tree_select_nodes": "POST /node-search/select", "tree_query_by_tag": "GET /node-tags",
	"tree_get_tags": "GET /node-tags/{nodeId}", "tree_update_payload_property": "POST /nodes/property",
	"tree_update_payload": "PATCH /nodes/{nodeId}", "tree_update_nodes": "PATCH /nodes", "tree_tag_node": "POST /node-tags",
	"tree_add_child": "POST /nodes", "tree_remove_node": "DELETE /nodes/{nodeId}", "tree_move_node": "POST /nodes/move",
	"tree_move_before": "POST /nodes/move-before", "tree_move_after": "POST /nodes/move-after",
	"tree_sort_children": "POST /nodes/sort", "tree_copy_subtree": "POST /nodes/copy", "tree_clone_node": "POST /nodes/clone",
	"tree_untag_node": "POST /node-tags/untag", "tree_validate_tree": "GET /rules", "tree_lint_payload": "GET /rules/lint",
	"tree_diff_subtree": "GET /view/diff", "tree_get_view": "GET /view", "tree_export_view": "GET /view/export",
	"tree_import_view": "POST /view/import", "tree_expand_node": "POST /view/expand", "tree_collapse_node": "POST /view/collapse",
	"tree_toggle_node": "POST /view/toggle", "tree_expand_all": "POST /view/expand-all",
	"tree_collapse_all": "POST /view/collapse-all", "tree_set_expansion_recursive": "POST /view/expansion",
	"tree_set_filters": "POST /view/filters", "tree_bookmark": "POST /bookmarks", "tree_list_bookmarks": "GET /bookmarks",
	"tree_remove_bookmark": "DELETE /bookmarks/{label}",
	"tree_snapshot_create": "POST /snapshots", "tree_snapshot_list": "GET /snapshots", "tree_snapshot_get": "GET /snapshots/{snapshotId}",
	"tree_snapshot_delete": "DELETE /snapshots/{snapshotId}", "tree_snapshot_restore": "POST /snapshots/restore",
	"tree_snapshot_diff": "GET /snapshots/diff", "tree_export_subtree": "GET /view/export-subtree",
	"tree_import_merge": "POST /nodes/merge",
}

func verbOf(made *tool.Tool) string {
	return made.Name[strings.LastIndexByte(made.Name, '_')+1:]
}

// isCreation reports whether a verb adds something to a collection.
func isCreation(verb string) bool {
	return slices.Contains([]string{"new", "create", "import", "write"}, verb)
}

// structured reports whether the values of an argument are objects.
func structured(a tool.Arg) bool {
	s := a.Schema()
	free := s.Type == "" && !slices.Contains(s.Types, "string") // any JSON, or any object or list
	items := s.Items != nil && (s.Items.Type == "object" || slices.Contains(s.Items.Types, "object"))
	return !a.Shared && (free || s.Type == "object" || items)
}

// methodOf returns the method of a tool by the rule.
func methodOf(made *tool.Tool) string {
	switch verb := verbOf(made); {
	case made.Kind == tool.View, !made.Kind.Mutates() && slices.ContainsFunc(made.Args, structured):
		return http.MethodPost // also what does not fit into a query
	case !made.Kind.Mutates():
		return http.MethodGet
	case verb == "set", verb == "update":
		return http.MethodPatch
	case verb == "delete":
		return http.MethodDelete
	}
	return http.MethodPost
}
