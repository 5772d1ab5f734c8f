package localapp_test

// A promise is one tool that the documents and CONTRACT §4 name, with its own arguments; those
// that every tool, every page or every mutation has are not repeated.
type promise struct {
	Tool    string
	Args    []string
	Aliases map[string][]string // other names of arguments
	Names   []string            // other names of the tool
	Words   []string            // how the command line calls it
	Later   map[string]string   // arguments that are not here yet, and why
	Why     string              // why the tool as a whole is not here yet; empty: it is here
}

// Reasons for what is not here yet. Each is a step of the product that brings it whole.
const (
	withCloud = "webhooks come with the cloud"
)

// timeFilters are the filters of objects and traits by when they were made and changed.
var timeFilters = []string{
	"created_today", "created_this_week", "created_after", "created_before", "created_since",
	"modified_today", "modified_this_week", "modified_after", "modified_before", "modified_since",
}

// noteFilters are the arguments of the tools that list notes.
var noteFilters = []string{
	"folder", "project", "tag", "since", "until", "chain", "entity", "episode", "network", "wallet_address",
	"payment_status", "content_scope",
}

// promises are all tools, family by family. A test requires each one that is here with each of its
// arguments, and requires that none of the others is.
var promises = []promise{
	// raven: spec/raven-agent-improvements.md, CONTRACT §4.
	{Tool: "raven_schema", Words: []string{"schema"}},
	{Tool: "raven_schema_types", Words: []string{"schema types"}},
	{Tool: "raven_schema_type", Args: []string{"name"}, Words: []string{"schema type"}},
	{Tool: "raven_schema_commands", Words: []string{"schema commands"}},
	{Tool: "raven_schema_traits", Words: []string{"schema traits"}},
	{Tool: "raven_schema_trait", Args: []string{"name"}, Words: []string{"schema trait"}},
	{Tool: "raven_schema_validate", Words: []string{"schema validate"}},
	{Tool: "raven_schema_init", Words: []string{"schema init"}},
	{Tool: "raven_schema_add", Args: schemaArgs,
		Names: []string{"raven_schema_add_type", "raven_schema_add_trait", "raven_schema_add_field"},
		Words: []string{"schema add type", "schema add trait", "schema add field"}},
	{Tool: "raven_schema_update", Args: append([]string{"unset", "add_traits", "remove_traits"}, schemaArgs...),
		Aliases: map[string][]string{"add_traits": {"add_trait"}, "remove_traits": {"remove_trait"}},
		Names:   []string{"raven_schema_update_type", "raven_schema_update_trait", "raven_schema_update_field"},
		Words:   []string{"schema update type", "schema update trait", "schema update field"}},
	{Tool: "raven_schema_remove", Args: []string{"kind", "type", "name", "force"},
		Names: []string{"raven_schema_remove_type", "raven_schema_remove_trait", "raven_schema_remove_field"},
		Words: []string{"schema remove type", "schema remove trait", "schema remove field"}},
	{Tool: "raven_object_list", Args: append([]string{"type", "field", "depth", "slim"},
		timeFilters...), Words: []string{"object list"}},
	{Tool: "raven_object_get", Args: []string{"id", "depth", "slim"}, Words: []string{"object get"}},
	{Tool: "raven_read", Args: []string{"path", "lines", "references", "backlinks"},
		Words: []string{"read"}},
	{Tool: "raven_new", Args: []string{"type", "title", "path", "fields", "content", "template"},
		Aliases: map[string][]string{"fields": {"field"}}, Names: []string{"raven_object_create"},
		Words: []string{"new", "object create"}},
	{Tool: "raven_set", Args: []string{"id", "set", "unset", "query", "filter", "plan_token"},
		Names:   []string{"raven_object_update"},
		Aliases: map[string][]string{"id": {"object_id", "reference", "trait_id"}, "set": {"fields"}},
		Words:   []string{"set", "object update"}},
	{Tool: "raven_unset", Args: []string{"id", "unset", "query", "filter", "plan_token"},
		Words: []string{"unset"}, Aliases: map[string][]string{"unset": {"fields"}}},
	{Tool: "raven_delete", Args: []string{"id", "force", "erase", "query", "filter", "plan_token"},
		Names:   []string{"raven_object_delete"},
		Aliases: map[string][]string{"id": {"object_id", "reference"}},
		Words:   []string{"delete", "object delete"}},
	{Tool: "raven_add", Args: []string{"text", "to", "timestamp", "as"}, Words: []string{"add"}},
	{Tool: "raven_edit", Args: []string{"id", "old_str", "new_str", "edits"},
		Aliases: map[string][]string{"id": {"reference"}}, Words: []string{"edit"}},
	{Tool: "raven_stats", Words: []string{"stats"}},
	{Tool: "raven_reindex", Args: []string{"full", "pending"}, Words: []string{"reindex"}},
	{Tool: "raven_upsert", Args: []string{"type", "title", "path", "fields", "content"},
		Aliases: map[string][]string{"fields": {"field"}}, Words: []string{"upsert"}},
	{Tool: "raven_move", Args: []string{"source", "destination", "update_refs", "query", "filter", "plan_token"},
		Aliases: map[string][]string{"source": {"id", "reference"}}, Words: []string{"move"}},
	{Tool: "raven_reclassify", Args: []string{"id", "type", "fields", "force", "plan_token"},
		Words:   []string{"reclassify"},
		Aliases: map[string][]string{"id": {"object_id", "reference"}, "fields": {"field"}}},
	{Tool: "raven_section", Args: []string{"op", "id", "file", "title", "level", "after", "before", "under"},
		Aliases: map[string][]string{"title": {"new_heading_text"}},
		Words:   []string{"section create", "section move", "section rename", "section delete"}},
	{Tool: "raven_trait_list", Args: append([]string{
		"trait_type", "value", "parent_type", "path", "done", "depth", "slim"}, timeFilters...),
		Names: []string{"raven_trait"}, Words: []string{"trait", "trait list"}},
	{Tool: "raven_trait_get", Args: []string{"id", "depth", "slim"}, Words: []string{"trait get"}},
	{Tool: "raven_trait_create", Args: []string{
		"trait_type", "value", "parent_id", "content", "other_traits"},
		Words: []string{"trait create"}},
	{Tool: "raven_trait_update", Args: []string{"id", "set", "unset", "query", "filter", "plan_token"},
		Aliases: map[string][]string{"id": {"object_id", "reference", "trait_id"}, "set": {"fields"}},
		Words:   []string{"trait update"}},
	{Tool: "raven_trait_delete", Args: []string{"id"}, Words: []string{"trait delete"}},
	{Tool: "raven_query", Args: []string{"name", "query", "filter", "list", "inputs", "sort", "ids", "count_only",
		"depth", "slim"}, Aliases: map[string][]string{"name": {"query_name", "query_string"}},
		Words: []string{"query"}},
	{Tool: "raven_query_list", Words: []string{"query list"}},
	{Tool: "raven_query_save", Args: []string{
		"name", "query", "types", "traits", "filters", "tags", "args", "description"},
		Words: []string{"query save"}},
	{Tool: "raven_query_remove", Args: []string{"name"}, Words: []string{"query remove"}},
	{Tool: "raven_backlinks", Args: []string{"target"}, Words: []string{"backlinks"},
		Aliases: map[string][]string{"target": {"reference"}}},
	{Tool: "raven_outlinks", Args: []string{"target"}, Words: []string{"outlinks"},
		Aliases: map[string][]string{"target": {"reference"}}},
	{Tool: "raven_resolve", Args: []string{"reference"}, Words: []string{"resolve"}},
	{Tool: "raven_type", Args: []string{"name", "list", "depth", "slim"}, Words: []string{"type"},
		Aliases: map[string][]string{"name": {"type_name"}}},
	{Tool: "raven_tag", Args: []string{"tag", "list", "depth", "slim"}, Words: []string{"tag"}},
	{Tool: "raven_date", Args: []string{"date", "depth", "slim"}, Words: []string{"date", "daily"}},
	{Tool: "raven_untyped", Words: []string{"untyped"}},
	{Tool: "raven_search", Args: []string{"query", "type", "explain"}, Words: []string{"object search"}},
	{Tool: "raven_log", Args: []string{
		"since", "until", "id", "op", "entity", "type", "actor", "path", "all"}, Words: []string{"log"}},
	{Tool: "raven_history", Args: []string{"id", "diff"}, Words: []string{"history"},
		Aliases: map[string][]string{"id": {"reference", "trait_id"}}},
	{Tool: "raven_undo", Args: []string{"version"}, Words: []string{"undo"}},
	{Tool: "raven_batch", Args: []string{"operations", "options", "atomic", "stop_on_error"},
		Words: []string{"batch"}},
	{Tool: "raven_validate", Args: []string{"type", "input"}, Words: []string{"validate"}},
	{Tool: "raven_check", Args: []string{"id", "type", "trait", "issues", "exclude", "errors_only", "strict",
		"create_missing"}, Words: []string{"check"}},
	{Tool: "raven_check_fix", Args: []string{"id", "type", "trait", "issues", "exclude", "errors_only", "strict",
		"plan_token"}, Words: []string{"check fix"}},
	{Tool: "raven_trash_list", Args: []string{"id"}, Words: []string{"trash list"}},
	{Tool: "raven_restore", Args: []string{"id", "confirm"}, Words: []string{"restore"}},

	// What helps to call them: prompts of CONTRACT §6, and completion (design 0009).
	{Tool: "raven_complete", Args: []string{"kind", "of", "prefix"}, Words: []string{"complete"}},
	{Tool: "raven_prompt_start_work", Args: []string{"path"}, Words: []string{"prompt start-work"}},
	{Tool: "raven_prompt_record_learnt", Args: []string{"about"},
		Words: []string{"prompt record-learnt"}},
	{Tool: "raven_prompt_weekly_summary", Args: []string{"to"},
		Words: []string{"prompt weekly-summary"}},

	// notes: spec/knowtation-cli-json.md.
	{Tool: "notes_search", Args: append([]string{
		"query", "order", "fields", "snippet_chars", "count_only", "keyword", "explain", "match"}, noteFilters...),
		Words: []string{"search"}},
	{Tool: "notes_list", Args: append([]string{"offset", "order", "fields", "count_only"}, noteFilters...),
		Words: []string{"list-notes"}},
	{Tool: "notes_complete", Args: []string{"kind", "prefix"}, Words: []string{"complete notes"}},
	{Tool: "notes_get", Args: []string{"path", "body_only", "frontmatter_only"}, Words: []string{"get-note"}},
	{Tool: "notes_outline", Args: []string{"path"}, Words: []string{"get-note-outline"}},
	{Tool: "notes_document_tree", Args: []string{"path"}, Words: []string{"get-document-tree"}},
	{Tool: "notes_metadata_facets", Args: []string{"path"}, Words: []string{"get-metadata-facets"}},
	{Tool: "notes_write", Args: []string{"path", "content", "frontmatter", "append"}, Words: []string{"write"},
		Aliases: map[string][]string{"content": {"body"}}},
	{Tool: "notes_export", Args: []string{"target", "format", "project"}, Words: []string{"export"},
		Aliases: map[string][]string{"target": {"path", "query"}}},
	{Tool: "notes_import", Args: []string{"type", "files", "project", "output_dir", "tags"}, Words: []string{"import"}},

	// orient: spec/vault-orientation.md.
	{Tool: "vault_overview", Words: []string{"overview"}},
	{Tool: "vault_tree", Args: []string{"depth", "directOnly"}, Words: []string{"tree"},
		Aliases: map[string][]string{"directOnly": {"direct_only"}}},
	{Tool: "vault_tags", Words: []string{"tags"}},
	{Tool: "vault_facets", Words: []string{"facets"}},
	{Tool: "vault_status", Words: []string{"status"}},

	// tree: spec/agent-interface.md.
	{Tool: "tree_get_node", Args: []string{"nodeId", "includedProperties", "excludedProperties"},
		Words:   []string{"node get"},
		Aliases: map[string][]string{"nodeId": {"node_id", "id"}}},
	{Tool: "tree_list_children", Args: []string{"nodeId", "includedProperties", "excludedProperties"},
		Words: []string{"node children"}},
	{Tool: "tree_get_path", Args: []string{"nodeId"}, Words: []string{"node path"}},
	{Tool: "tree_get_subtree", Args: []string{
		"nodeId", "depthLimit", "filters", "paging", "includedProperties", "excludedProperties"},
		Words: []string{"node subtree"}},
	{Tool: "tree_get_common_ancestor", Args: []string{"nodeIds"}, Words: []string{"node ancestor"}},
	{Tool: "tree_search",
		Args:  []string{"rootNodeId", "filters", "visibleOnly", "includedProperties", "excludedProperties"},
		Words: []string{"node search"}},
	{Tool: "tree_search_advanced", Args: []string{
		"rootId", "predicates", "sortBy", "visibleOnly", "includedProperties", "excludedProperties"},
		Words: []string{"node find"}},
	{Tool: "tree_select_nodes",
		Args:  []string{"queryDsl", "rootNodeId", "visibleOnly", "includedProperties", "excludedProperties"},
		Words: []string{"node select"}},
	{Tool: "tree_query_by_tag",
		Args:  []string{"tag", "rootNodeId", "includeNested", "includedProperties", "excludedProperties"},
		Words: []string{"node tagged"}},
	{Tool: "tree_get_tags", Args: []string{"nodeId"}, Words: []string{"node tags"}},
	{Tool: "tree_update_payload_property", Args: []string{"nodeId", "propertyName", "newValue"},
		Words: []string{"node set"}},
	{Tool: "tree_update_payload", Args: []string{"nodeId", "patch", "atomic"}, Words: []string{"node patch"}},
	{Tool: "tree_update_nodes", Args: []string{"filter", "patch", "continueOnError"}, Words: []string{"node update"}},
	{Tool: "tree_tag_node", Args: []string{"nodeId", "tags", "replaceExisting"}, Words: []string{"node tag"}},
	{Tool: "tree_untag_node", Args: []string{"nodeId", "tags"}, Words: []string{"node untag"}},
	{Tool: "tree_add_child", Args: []string{"parentNodeId", "payloadType", "payloadProps", "fileName", "position"},
		Words: []string{"node add"}},
	{Tool: "tree_remove_node", Args: []string{"nodeId", "recursive"}, Words: []string{"node remove"}},
	{Tool: "tree_move_node", Args: []string{"nodeId", "newParentId", "convert"}, Words: []string{"node move"}},
	{Tool: "tree_move_before", Args: []string{"nodeId", "siblingId"}, Words: []string{"node before"}},
	{Tool: "tree_move_after", Args: []string{"nodeId", "siblingId"}, Words: []string{"node after"}},
	{Tool: "tree_sort_children", Args: []string{"parentId", "byProp", "direction", "stable"},
		Words: []string{"node sort"}},
	{Tool: "tree_copy_subtree", Args: []string{"sourceId", "targetParentId", "mode"}, Words: []string{"node copy"}},
	{Tool: "tree_clone_node", Args: []string{"nodeId", "targetParentId"}, Words: []string{"node clone"}},
	{Tool: "tree_validate_tree", Args: []string{"rulesetId", "rootNodeId"}, Words: []string{"node validate"}},
	{Tool: "tree_lint_payload", Args: []string{"nodeId", "rulesetId"}, Words: []string{"node lint"}},
	{Tool: "tree_diff_subtree", Args: []string{
		"aId", "bId", "includePayloads", "includeStructure", "includeMetadata", "includeBody", "maxDepth"},
		Words: []string{"node diff"}},
	{Tool: "tree_get_view", Args: []string{
		"rootNodeId", "includeViewRoot", "defaultExpanded", "depthLimit", "includedProperties", "excludedProperties"},
		Words: []string{"view get"}},
	{Tool: "tree_export_view", Args: []string{"rootNodeId", "includeViewRoot"}, Words: []string{"view export"}},
	{Tool: "tree_import_view", Args: []string{"viewJson", "payloadTypes", "rootLookupStrategy"},
		Words: []string{"view import"}},
	{Tool: "tree_expand_node", Args: []string{"nodeId"}, Words: []string{"view expand"}},
	{Tool: "tree_collapse_node", Args: []string{"nodeId"}, Words: []string{"view collapse"}},
	{Tool: "tree_toggle_node", Args: []string{"nodeId"}, Words: []string{"view toggle"}},
	{Tool: "tree_expand_all", Args: []string{"rootNodeId"}, Words: []string{"view expand-all"}},
	{Tool: "tree_collapse_all", Args: []string{"rootNodeId"}, Words: []string{"view collapse-all"}},
	{Tool: "tree_set_expansion_recursive", Args: []string{"nodeId", "expanded", "maxDepth"},
		Words: []string{"view expansion"}},
	{Tool: "tree_set_filters", Args: []string{"scope", "included", "excluded", "replaceExisting"},
		Words: []string{"view filters"}},
	{Tool: "tree_bookmark", Args: []string{"nodeId", "label", "overwrite"}, Words: []string{"bookmark add"}},
	{Tool: "tree_list_bookmarks", Words: []string{"bookmark list"}},
	{Tool: "tree_remove_bookmark", Args: []string{"label"}, Words: []string{"bookmark remove"}},
	{Tool: "tree_export_subtree", Args: []string{"nodeId", "includeViewRoot", "format"},
		Words: []string{"node export"}},
	{Tool: "tree_import_merge", Args: []string{"json", "strategy", "matchBy", "targetId"},
		Words: []string{"node merge"}},
	{Tool: "tree_snapshot_create", Args: []string{"label", "rootNodeId"}, Words: []string{"snapshot create"}},
	{Tool: "tree_snapshot_list", Words: []string{"snapshot list"}},
	{Tool: "tree_snapshot_get", Args: []string{"snapshotId"}, Words: []string{"snapshot get"}},
	{Tool: "tree_snapshot_delete", Args: []string{"snapshotId"}, Words: []string{"snapshot delete"}},
	{Tool: "tree_snapshot_restore", Args: []string{"snapshotId"}, Words: []string{"snapshot restore"}},
	{Tool: "tree_snapshot_diff", Args: []string{
		"a", "b", "includePayloads", "includeStructure", "includeMetadata", "includeBody", "maxDepth"},
		Words: []string{"snapshot diff"}},

	// memory: spec/rum-retrieval-api.md, and what reference/memory-build.md §2 adds.
	{Tool: "memory_store", Args: append([]string{"key", "target_agent_id", "links"}, memoryParts...),
		Words: []string{"memory store"}},
	{Tool: "memory_update_memory", Args: append([]string{"memory_id", "links"}, memoryParts...),
		Words: []string{"memory update"}},
	{Tool: "memory_recall", Args: []string{
		"memory_id", "file", "intent", "task_type", "query", "success_only", "failures_only", "since",
		"before", "tags", "depth", "include_links", "strategy", "explain", "max_tokens"},
		Words: []string{"memory recall"}},
	{Tool: "memory_trace", Args: []string{"memory_id", "direction", "max_depth", "depth"},
		Words: []string{"memory trace"}},
	{Tool: "memory_list", Args: []string{"session_id", "since", "sort"}, Words: []string{"memory list"}},
	{Tool: "memory_link", Args: []string{"source_id", "target_id", "link_type"},
		Words: []string{"memory link"}},
	{Tool: "memory_identity", Args: []string{
		"action", "type", "parent_id", "specialization", "capabilities"}, Words: []string{"identity"}},
	{Tool: "memory_create_chapter", Args: []string{
		"memory_ids", "title", "tags", "topics", "min_memories", "auto_detect", "since", "before"},
		Words: []string{"chapter create"}},
	{Tool: "memory_list_chapters", Args: []string{"chapter_ids", "tags", "since", "before", "sort"},
		Words: []string{"chapter list"}},
	{Tool: "memory_synthesize", Args: []string{"chapter_ids", "tags", "min_chapters"},
		Words: []string{"wisdom synthesize"}},
	{Tool: "memory_recall_wisdom", Args: []string{"wisdom_id", "tags", "query", "include_chapters"},
		Words: []string{"wisdom recall"}},
	{Tool: "memory_check_file", Args: []string{"file", "intended_action"},
		Aliases: map[string][]string{"file": {"path"}}, Words: []string{"memory check-file"}},
	{Tool: "memory_delete_memory", Args: []string{"memory_id", "erase"}, Words: []string{"memory delete"}},
	{Tool: "memory_delete_chapter", Args: []string{"chapter_id"}, Words: []string{"chapter delete"}},
	{Tool: "memory_delete_wisdom", Args: []string{"wisdom_id"}, Words: []string{"wisdom delete"}},
	{Tool: "memory_history", Args: []string{"memory_id"}, Words: []string{"memory history"}},
	{Tool: "memory_export", Args: []string{"format", "tags"}, Words: []string{"memory export"}},
	{Tool: "memory_import", Args: []string{"files"}, Words: []string{"memory import"}},
	{Tool: "memory_complete", Args: []string{"kind", "prefix"}, Words: []string{"complete memory"}},
	{Tool: "memory_prompt_after_failure", Args: []string{"file"}, Words: []string{"prompt after-failure"}},

	// team: CONTRACT §4.
	{Tool: "team_whoami", Words: []string{"whoami"}},
	{Tool: "team_complete", Args: []string{"kind", "prefix"}, Words: []string{"complete vault"}},
	{Tool: "team_vault_list", Words: []string{"vault list", "vaults"}},
	{Tool: "team_vault_create", Args: []string{"name", "config"}, Words: []string{"vault create"}},
	{Tool: "team_vault_delete", Args: []string{"name"}, Words: []string{"vault delete"}},
	{Tool: "team_vault_restore", Args: []string{"name"}, Words: []string{"vault restore"}},
	{Tool: "team_vault_import", Args: []string{"notes", "mode"}, Words: []string{"vault import"}},
	{Tool: "team_vault_export", Words: []string{"vault export"}},
	{Tool: "team_vault_erase", Args: []string{"name", "confirm"}, Words: []string{"vault erase"}},
	{Tool: "team_vault_set", Args: []string{"name", "readonly", "secrets"},
		Words: []string{"vault set"}},
	{Tool: "team_token_create", Args: []string{
		"name", "role", "vaults", "tools", "prefix", "readonly", "expires_in"},
		Words: []string{"token create"}},
	{Tool: "team_token_list", Args: []string{"all"}, Words: []string{"token list"}},
	{Tool: "team_token_revoke", Args: []string{"id"}, Words: []string{"token revoke"}},
	{Tool: "team_member_set", Args: []string{
		"subject", "issuer", "role", "vaults", "prefix"}, Words: []string{"member set"}},
	{Tool: "team_member_list", Words: []string{"member list"}},
	{Tool: "team_member_remove", Args: []string{"subject", "issuer"},
		Words: []string{"member remove"}},
	{Tool: "team_issuer_set", Args: []string{
		"issuer", "name", "audience", "jwks_url", "claims", "role", "vaults", "roles_claim",
		"client_id"}, Words: []string{"issuer set"}},
	{Tool: "team_issuer_list", Words: []string{"issuer list"}},
	{Tool: "team_issuer_remove", Args: []string{"name"}, Words: []string{"issuer remove"}},
	{Tool: "team_complete_access", Args: []string{"kind", "prefix"},
		Words: []string{"complete access"}},
	{Tool: "team_audit", Args: []string{
		"since", "until", "agent", "principal", "tool", "target", "outcome"},
		Words: []string{"audit"}},
	{Tool: "team_audit_verify", Words: []string{"audit verify"}},
	{Tool: "team_usage", Words: []string{"usage"}},
	{Tool: "team_job_list", Args: []string{"state", "kind"}, Words: []string{"job list"}},
	{Tool: "team_job_get", Args: []string{"id"}, Words: []string{"job get"}},
	{Tool: "team_job_cancel", Args: []string{"id"}, Words: []string{"job cancel"}},
	{Tool: "team_webhook_set", Why: withCloud},
	{Tool: "team_webhook_list", Why: withCloud},
	{Tool: "team_webhook_remove", Why: withCloud},
	{Tool: "team_tenant_erase", Args: []string{"confirm"}, Words: []string{"tenant erase"}},
	{Tool: "team_tenant_export", Words: []string{"tenant export"}},
}

// memoryParts are the arguments of the tools that write a memory.
var memoryParts = []string{
	"intent", "outcome", "perception", "reasoning", "actions", "tags", "importance",
}

var schemaArgs = []string{
	"kind", "type", "name", "value_type", "default_path", "name_field", "description", "fields",
	"traits", "values", "default", "required", "target", "min", "max",
}

// promisedWarnings are the codes of CONTRACT §1, and whether a tool that is here can warn with it.
var promisedWarnings = map[string]string{
	"UNKNOWN_FIELD": "", "NOTE_QUARANTINED": "", "WARNINGS_TRUNCATED": "", "NO_RESULTS": "",
	"REF_NOT_FOUND": "", "HAS_BACKLINKS": "",
	"TOP_LEVEL_FOLDERS_TRUNCATED": "", "TOP_TAGS_TRUNCATED": "",
	"FRONTMATTER_FIELDS_TRUNCATED": "", "TREE_LIMIT_EXCEEDED": "",
	"TAGS_TRUNCATED": "", "FACETS_TRUNCATED": "",
	"INDEX_STALE": "", "INDEX_PENDING": "", "INDEX_UPDATING": "",
	"INDEX_UNKNOWN": "", "INDEX_INCOMPATIBLE": "", "FILE_UNREAD": "", "NOTE_NOT_INDEXED": "",
	"SEMANTIC_UNAVAILABLE": "", "SECRET_FOUND": withCloud,
}

// laterCommands are the first words of command lines that the raven document and CONTRACT §4 and §7
// name and that no tool of today stands behind, and why they are not here yet.
var laterCommands = map[string]string{
	"dead-letters": withCloud,
}

// promisedCodes are the codes of CONTRACT §2, row by row, with the HTTP status and the exit code of each.
var promisedCodes = []struct {
	Status     string
	HTTP, Exit int
	Codes      []string
}{
	{"invalid_argument", 400, 2, []string{
		"INVALID_TYPE", "INVALID_TRAIT", "INVALID_FIELD", "INVALID_VALUE", "INVALID_REF",
		"AMBIGUOUS_REF", "MISSING_REQUIRED", "VALIDATION_FAILED", "INVALID_QUERY",
		"INVALID_PARAMETER", "INVALID_LIMIT", "INVALID_PATH", "BATCH_FAILED", "BATCH_TOO_LARGE",
		"NOTE_TOO_LARGE", "IDEMPOTENCY_KEY_REUSED",
	}},
	{"unauthenticated", 401, 3, []string{"UNAUTHENTICATED", "TOKEN_EXPIRED"}},
	{"forbidden", 403, 3, []string{"PERMISSION_DENIED", "READ_ONLY"}},
	{"not_found", 404, 4, []string{"NOT_FOUND"}},
	{"conflict", 409, 5, []string{"CONFLICT", "DUPLICATE_ID", "INDEX_BUSY", "IN_PROGRESS"}},
	{"conflict", 409, 4, []string{"INDEX_NOT_FOUND"}},
	{"conflict", 409, 7, []string{"INDEX_INCOMPATIBLE"}},
	{"rate_limited", 429, 8, []string{"RATE_LIMITED", "QUOTA_EXCEEDED"}},
	{"internal", 500, 2, []string{"INTERNAL", "SCHEMA_ERROR", "INDEX_ERROR", "FILE_ERROR"}},
	{"unavailable", 503, 6, []string{"UNAVAILABLE", "STORAGE_ERROR", "EMBEDDING_UNAVAILABLE"}},
}
