package localapp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestEveryWayRemembers runs the examples of spec/rum-retrieval-api.md, unchanged, and the refusals
// of the family, over every way in.
func TestEveryWayRemembers(t *testing.T) {
	everyWay(t, []tooltest.Story{remembering, forgetting, refusingMemories, beingAgents})
}

// TestUsageOfMemories checks that memories are counted, and that their limit is reported.
func TestUsageOfMemories(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"one", "two"} {
		done(t, p.catalogue(), "memory_store", map[string]any{"vault": "main", "key": name,
			"intent":  map[string]any{"goal": name, "task_type": "other"},
			"outcome": map[string]any{"success": true, "summary": "s"}})
	}
	require.Empty(t, tooltest.Missing(
		json.RawMessage(`{"data":{"memories":2,"items":[{"name":"main","memories":2}],"limits":{"vault_memories":200000}}}`),
		done(t, p.catalogue(), "team_usage", map[string]any{})))
	require.Empty(t, tooltest.Missing(json.RawMessage(`{"data":{"limits":{"vault_memories":200000}}}`),
		done(t, p.catalogue(), "team_whoami", map[string]any{})))
}

// memoryLines returns the arguments of memory_import for lines of JSON. With them, memories have
// the ids that the examples of the document use.
func memoryLines(lines ...string) string {
	data, err := json.Marshal(map[string]any{"vault": "main", "files": []map[string]string{
		{"path": "memories.jsonl", "content": strings.Join(lines, "\n") + "\n"},
	}})
	if err != nil {
		panic(err) // never: texts can be marshaled
	}
	return string(data)
}

var exampleLines = []string{
	`{"id":"mem_def456","created_at":1705363200,"tags":["auth"],"intent":{"goal":"Performance optimization requested","task_type":"investigation"},"outcome":{"success":true,"summary":"Identified auth as bottleneck"}}`,
	`{"id":"mem_xyz789","created_at":1705363300,"tags":["auth","jwt"],"links":{"caused_by":["mem_def456"]},"intent":{"goal":"Add caching to auth","task_type":"feature_add"},"outcome":{"success":false,"summary":"Caused race condition"}}`,
	`{"id":"mem_abc123","created_at":"2024-01-16T00:03:20Z","tags":["auth","jwt"],"links":{"caused_by":["mem_xyz789"]},"intent":{"goal":"Fix race condition in auth","task_type":"bug_fix"},` +
		`"actions":[{"type":"file_edit","file_path":"src/auth/interceptor.ts","diff_hash":"d1"}],"outcome":{"success":true,"summary":"Added mutex lock"}}`,
	`{"id":"mem_ghi789","agent_id":"agent_subagent_002","session_id":"s1","created_at":1705363500,"intent":{"goal":"Add rate limiting to the API","task_type":"feature_add"},` +
		`"actions":[{"type":"file_edit","file_path":"src/api/orders.ts"}],"outcome":{"success":false,"summary":"Too strict","failure_category":"logic_error"}}`,
	`{"kind":"chapter","id":"chapter_abc","title":"Keys","summary":"A","learnings":["Always rotate keys"],"start":1,"end":2,"memories":[],"tags":["authentication","security"],"origin":"manual","created":5}`,
	`{"kind":"chapter","id":"chapter_def","summary":"B","learnings":["Tokens expire"],"start":3,"end":4,"memories":[],"tags":["authentication"],"origin":"auto","created":6}`,
	`{"kind":"chapter","id":"chapter_ghi","summary":"C","learnings":["Avoid long sessions","Tokens expire"],"start":5,"end":6,"memories":[],"tags":["authentication","security"],"origin":"manual","created":7}`,
	`{"kind":"wisdom","id":"wisdom_abc123","summary":"W","insights":["Always rotate keys"],"patterns":[],"best_practices":[],"start":1,"end":6,"chapters":["chapter_abc"],"created":8}`,
}

var remembering = tooltest.Story{Name: "remembering", Steps: []tooltest.Step{
	{Tool: "memory_import", Args: memoryLines(exampleLines...), Want: `{"data":{"created":4,"skipped":0,"others":6}}`},
	{Tool: "memory_import", Args: memoryLines(exampleLines...), Want: `{"data":{"created":0,"skipped":4,"others":0}}`},
	{Tool: "memory_store", Args: `{"vault":"main","intent":{"goal":"Fix JWT token expiry causing logout","task_type":"bug_fix","context":"Users reporting random logouts"},` +
		`"perception":{"observations":[{"what":"Token refresh logic missing","where":"src/auth/interceptor.ts","significance":"Root cause of issue"}]},` +
		`"reasoning":{"approach_chosen":"Add refresh interceptor with retry queue","why_chosen":"Handles concurrent requests, matches existing patterns",` +
		`"alternatives_considered":[{"approach":"Increase token TTL","why_rejected":"Security concern"}]},` +
		`"actions":[{"type":"file_edit","file_path":"src/auth/interceptor.ts","lines_affected":"45-89","diff_summary":"Added refreshToken() on 401 with request queue"}],` +
		`"outcome":{"success":true,"summary":"JWT refresh now works correctly","learnings":["Always handle refresh token expiry too"]},"tags":["auth","jwt","interceptor"]}`,
		Want: `{"data":{"stored_at":1738420200000,"indexed_files":["src/auth/interceptor.ts"]}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","file":"src/auth/interceptor.ts","depth":"outcome","limit":3}`,
		Want: `{"data":{"memories":[{"intent":{"goal":"Fix JWT token expiry causing logout"},"learnings":["Always handle refresh token expiry too"],"outcome":{"learnings":["Always handle refresh token expiry too"]}},` +
			`{"id":"mem_abc123","confidence":0.95,"created_at":1705363400000}],"query_strategy_used":"file","confidence":0.95,"total_matches":2}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","intent":"implement rate limiting","depth":"reasoning","include_links":true}`,
		Want: `{"data":{"memories":[{"id":"mem_ghi789","fuzzy":true,"links":{}}],"query_strategy_used":"pattern","total_matches":1}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","file":"src/api/orders.ts","failures_only":true,"depth":"full"}`,
		Want: `{"data":{"memories":[{"id":"mem_ghi789","actions":[{"type":"file_edit","file_path":"src/api/orders.ts"}],"outcome":{"failure_category":"logic_error"}}]}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","agent_id":"agent_subagent_002","since":1705363200,"depth":"summary","limit":10}`,
		Want: `{"data":{"memories":[{"id":"mem_ghi789","agent_id":"agent_subagent_002"}],"query_strategy_used":"query","confidence":0.95}}`},
	{Tool: "memory_trace", Args: `{"vault":"main","memory_id":"mem_abc123","direction":"causes","max_depth":3,"depth":"outcome"}`,
		Want: `{"data":{"origin":{"id":"mem_abc123","intent":{"goal":"Fix race condition in auth"},"outcome":{"success":true,"summary":"Added mutex lock"}},` +
			`"chain":[{"memory":{"id":"mem_xyz789","intent":{"goal":"Add caching to auth"},"outcome":{"success":false,"summary":"Caused race condition"}},"relationship":"caused_by","distance":1},` +
			`{"memory":{"id":"mem_def456","outcome":{"success":true,"summary":"Identified auth as bottleneck"}},"relationship":"caused_by","distance":2}],"total_nodes":3}}`},
	{Tool: "memory_update_memory", Args: `{"vault":"main","memory_id":"mem_abc123","outcome":{"learnings":["Token refresh also needs error boundary","Consider retry limit"]},"tags":["auth","jwt","retry-logic"]}`,
		Want: `{"data":{"memory_id":"mem_abc123","updated_at":1738420200000,"memory":{"created_at":1705363400000,"outcome":{"success":true,"summary":"Added mutex lock","learnings":["Token refresh also needs error boundary","Consider retry limit"]},"tags":["auth","jwt","retry-logic"],"links":{"caused_by":["mem_xyz789"]}}}}`},
	{Tool: "memory_update_memory", Args: `{"vault":"main","memory_id":"mem_def456","outcome":{"failure_reason":"Race condition in token refresh, not expiry issue","failure_category":"race_condition"}}`,
		Want: `{"data":{"memory":{"outcome":{"summary":"Identified auth as bottleneck","failure_category":"race_condition"}}}}`},
	{Tool: "memory_update_memory", Args: `{"vault":"main","memory_id":"mem_ghi789","reasoning":{"approach_chosen":"Implemented mutex lock for token refresh","why_chosen":"Prevents concurrent refresh calls from causing 401 cascade",` +
		`"alternatives_considered":[{"approach":"Debounce refresh calls","why_rejected":"Still allows race window between check and refresh"}]}}`,
		Want: `{"data":{"memory":{"reasoning":{"alternatives_considered":[{"approach":"Debounce refresh calls"}]}}}}`},
	{Tool: "memory_create_chapter", Args: `{"vault":"main","memory_ids":["mem_abc123","mem_def456","mem_ghi789"],"title":"JWT Authentication Overhaul"}`,
		Want: `{"data":{"memory_count":3,"origin":"manual","start_ts":1705363200000,"end_ts":1705363500000,"learnings":["Token refresh also needs error boundary","Consider retry limit"],"chapters":[{"title":"JWT Authentication Overhaul"}]}}`},
	{Tool: "memory_create_chapter", Args: `{"vault":"main","tags":["auth","jwt"],"min_memories":3}`, Want: `{"data":{"memory_count":3,"origin":"auto","start_ts":1705363300000,"total_created":1}}`},
	{Tool: "memory_create_chapter", Args: `{"vault":"main","tags":["jwt","auth"],"min_memories":3}`, Want: `{"data":{"memory_count":3,"total_created":0}}`},
	{Tool: "memory_list_chapters", Args: `{"vault":"main","tags":["auth"],"since":1705363200,"limit":5}`, Want: `{"data":{"chapters":[{"origin":"auto"},{"origin":"manual"}],"total":2}}`},
	{Tool: "memory_list_chapters", Args: `{"vault":"main","chapter_ids":["chapter_def"]}`, Want: `{"data":{"chapters":[{"id":"chapter_def","summary":"B"}],"total":1}}`},
	{Tool: "memory_synthesize", Args: `{"vault":"main","chapter_ids":["chapter_abc","chapter_def","chapter_ghi"]}`,
		Want: `{"data":{"summary":"Synthesis across 3 chapters: A | B | C","insights":["Always rotate keys","Tokens expire","Avoid long sessions"],"patterns":["authentication","security"],"best_practices":["Always rotate keys","Avoid long sessions"],"chapter_count":3,"start_ts":1,"end_ts":6}}`},
	{Tool: "memory_synthesize", Args: `{"vault":"main","tags":["authentication"],"min_chapters":3}`, Want: `{"data":{"chapter_count":3}}`},
	{Tool: "memory_recall_wisdom", Args: `{"vault":"main","wisdom_id":"wisdom_abc123"}`, Want: `{"data":{"wisdom":[{"id":"wisdom_abc123","summary":"W"}],"total":1}}`},
	{Tool: "memory_recall_wisdom", Args: `{"vault":"main","tags":["security"],"include_chapters":true,"limit":3}`, Want: `{"data":{"wisdom":[{"chapter_ids":["chapter_abc","chapter_def","chapter_ghi"]},{}],"total":2}}`},
	// the patterns of usage of the document
	{Tool: "memory_check_file", Args: `{"vault":"main","file":"src/auth/interceptor.ts","intended_action":"fix the race condition in auth"}`, Want: `{"data":{"memory_count":2,"failure_count":0,"message":"[RUM] interceptor.ts has 2 memories"}}`},
	{Tool: "memory_check_file", Args: `{"vault":"main","file":"orders.ts","intended_action":"rate limiting for the API"}`, Want: `{"data":{"total":1,"failure_count":1,"conflict":{"memory_id":"mem_ghi789"}}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","file":"src/api/orders.ts","failures_only":true,"depth":"reasoning"}`, Want: `{"data":{"memories":[{"reasoning":{"approach_chosen":"Implemented mutex lock for token refresh"}}]}}`},
	{Tool: "memory_list", Args: `{"vault":"main","sort":"recent","limit":5}`, Want: `{"data":{"memories":[{"intent_goal":"Fix JWT token expiry causing logout"},{"id":"mem_abc123"},{"id":"mem_xyz789","outcome_success":false},{"id":"mem_def456"}],"total":4}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","memory_id":"mem_abc123","depth":"full"}`, Want: `{"data":{"memories":[{"id":"mem_abc123","confidence":1}],"query_strategy_used":"direct","confidence":1}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","memory_id":"mem_abc123","depth":"complete","explain":true}`, Want: `{"data":{"memories":[{"actions":[{"diff_hash":"d1"}],"explanation":{"level":"direct","match":"exact","fit":"rule"}}]}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","task_type":"bug_fix","depth":"complete","max_tokens":5000}`, Want: `{"data":{"total_matches":2}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","memory_id":"mem_abc123","depth":"outcome","as_of":"v3"}`, Want: `{"data":{"memories":[{"id":"mem_abc123","outcome":{"summary":"Added mutex lock"}}]},"meta":{"version":"v3"}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","query":"nothing like it whatsoever","depth":"summary"}`, Want: `{"data":{"memories":[],"confidence":0,"total_matches":0},"warnings":[{"code":"NO_RESULTS"}]}`},
	{Tool: "memory_export", Args: `{"vault":"main","tags":["retry-logic"]}`, Want: `{"data":{"format":"jsonl","memories":1,"files":[{"path":"memories.jsonl"}]}}`},
	{Tool: "memory_export", Args: `{"vault":"main","format":"markdown","agent_id":"agent_subagent_002"}`, Want: `{"data":{"files":[{"path":"memories/2024-01-16-add-rate-limiting-to-the-api-ghi789.md"}]}}`},
	{Tool: "memory_complete", Args: `{"vault":"main","kind":"memory","prefix":"mem_abc1"}`, Want: `{"data":{"items":["mem_abc123"]}}`},
}}

var forgetting = tooltest.Story{Name: "forgetting", Steps: []tooltest.Step{
	{Tool: "memory_import", Args: memoryLines(exampleLines...)}, // v3
	{Tool: "memory_link", Args: `{"vault":"main","source_id":"mem_ghi789","target_id":"mem_abc123","link_type":"led_to"}`, Want: `{"data":{"created":true}}`},
	{Tool: "memory_link", Args: `{"vault":"main","source_id":"mem_abc123","target_id":"mem_ghi789","link_type":"caused_by"}`, Want: `{"data":{"created":false}}`},
	{Tool: "memory_delete_memory", Args: `{"vault":"main","memory_id":"mem_abc123","dry_run":true}`, Want: `{"data":{"deleted":true,"dry_run":true}}`},
	{Tool: "memory_delete_memory", Args: `{"vault":"main","memory_id":"mem_abc123"}`, Want: `{"data":{"deleted":true}}`}, // v5
	{Tool: "memory_delete_memory", Args: `{"vault":"main","memory_id":"mem_abc123"}`, Want: `{"data":{"deleted":false}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","memory_id":"mem_abc123","depth":"summary"}`, Code: fault.NotFound},
	{Tool: "memory_recall", Args: `{"vault":"main","memory_id":"mem_ghi789","depth":"summary","include_links":true}`, Want: `{"data":{"memories":[{"links":{}}]}}`},
	{Tool: "memory_history", Args: `{"vault":"main","memory_id":"mem_abc123"}`, Want: `{"data":{"items":[{"version":"v5","op":"delete"},{"version":"v3","op":"create"}]}}`},
	{Tool: "raven_undo", Args: `{"vault":"main","version":"v5"}`, Want: `{"data":{"undone":{"tool":"memory_delete_memory"},"files":[]}}`}, // v6
	{Tool: "memory_recall", Args: `{"vault":"main","memory_id":"mem_abc123","depth":"summary","include_links":true}`, Want: `{"data":{"memories":[{"links":{"caused_by":["mem_xyz789","mem_ghi789"]}}]}}`},
	{Tool: "raven_undo", Args: `{"vault":"main","version":"v5"}`, Code: fault.Conflict},
	{Tool: "memory_delete_chapter", Args: `{"vault":"main","chapter_id":"chapter_abc"}`, Want: `{"data":{"deleted":true}}`},
	{Tool: "memory_delete_wisdom", Args: `{"vault":"main","wisdom_id":"wisdom_abc123"}`, Want: `{"data":{"deleted":true}}`},
	{Tool: "memory_recall_wisdom", Args: `{"vault":"main"}`, Want: `{"data":{"wisdom":[],"total":0},"warnings":[{"code":"NO_RESULTS"}]}`},
	{Tool: "memory_list", Args: `{"vault":"main","as_of":"v5"}`, Want: `{"data":{"total":2}}`},
}}

var refusingMemories = tooltest.Story{Name: "refusing memories", Steps: []tooltest.Step{
	{Tool: "memory_store", Args: `{"vault":"main","intent":{"goal":"g","task_type":"bugfix"},"outcome":{"success":true,"summary":"s"}}`, Code: fault.InvalidQuery, Want: `{"error":{"details":{"path":"intent.task_type"}}}`},
	{Tool: "memory_store", Args: `{"vault":"main","intent":{"gaol":"g","task_type":"other"},"outcome":{"success":true,"summary":"s"}}`, Code: fault.InvalidQuery, Want: `{"error":{"errors":[{"details":{"path":"intent.gaol","nearest":["goal"]}},{"details":{"path":"intent.goal"}}]}}`},
	{Tool: "memory_store", Args: `{"vault":"main","outcome":{"success":true,"summary":"s"}}`, Code: fault.InvalidQuery},
	{Tool: "memory_store", Args: `{"vault":"main","intent":{"goal":"g","task_type":"other"},"outcome":{"success":true,"summary":"s"},"importance":2}`, Code: fault.InvalidQuery, Want: `{"error":{"details":{"argument":"importance"}}}`},
	{Tool: "memory_store", Args: `{"vault":"main","intent":{"goal":"g","task_type":"other"},"outcome":{"success":true,"summary":"s"},"links":{"led_to":["mem_nope"]}}`, Code: fault.NotFound, Want: `{"error":{"details":{"missing":["mem_nope"]}}}`},
	{Tool: "memory_store", Args: `{"vault":"main","intent":{"goal":"g","task_type":"other"},"outcome":{"success":true,"summary":"s"},"target_agent_id":"nobody"}`, Code: fault.NotFound},
	{Tool: "memory_update_memory", Args: `{"vault":"main","memory_id":"mem_nope"}`, Code: fault.NotFound},
	{Tool: "memory_recall", Args: `{"vault":"main","depth":"summary"}`, Code: fault.InvalidQuery, Want: `{"error":{"details":{"available":["memory_id","file","intent","task_type","agent_id","query"]}}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","tags":["a"],"depth":"summary"}`, Code: fault.InvalidQuery},
	{Tool: "memory_recall", Args: `{"vault":"main","query":"q"}`, Code: fault.InvalidQuery, Want: `{"error":{"details":{"argument":"depth"}}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","query":"q","depth":"tiny"}`, Code: fault.InvalidQuery},
	{Tool: "memory_recall", Args: `{"vault":"main","query":"q","depth":"summary","limit":0}`, Code: fault.InvalidQuery},
	{Tool: "memory_recall", Args: `{"vault":"main","query":"q","depth":"summary","since":"yesterday"}`, Code: fault.InvalidQuery, Want: `{"error":{"details":{"argument":"since"}}}`},
	{Tool: "memory_recall", Args: `{"vault":"main","query":"q","depth":"summary","success_only":true,"failures_only":true}`, Code: fault.InvalidQuery},
	{Tool: "memory_recall", Args: `{"vault":"main","query":"q","depth":"summary","strategy":"semantic"}`, Code: fault.EmbeddingUnavailable},
	{Tool: "memory_recall", Args: `{"vault":"main","file":"f","depth":"summary","strategy":"semantic"}`, Code: fault.InvalidQuery},
	{Tool: "memory_recall", Args: `{"vault":"main","memory_id":"mem_nope","depth":"summary","envelope":false}`, Code: fault.NotFound, Want: `{"code":"NOT_FOUND","details":{"id":"mem_nope"}}`},
	{Tool: "memory_trace", Args: `{"vault":"main","memory_id":"mem_nope","direction":"both","depth":"summary"}`, Code: fault.NotFound},
	{Tool: "memory_trace", Args: `{"vault":"main","memory_id":"m","direction":"sideways","depth":"full","max_depth":11}`, Code: fault.InvalidQuery, Want: `{"error":{"errors":[{},{},{}]}}`},
	{Tool: "memory_list", Args: `{"vault":"main","limit":201}`, Code: fault.InvalidQuery},
	{Tool: "memory_list", Args: `{"vault":"main","page_token":"x"}`, Code: fault.InvalidQuery},
	{Tool: "memory_link", Args: `{"vault":"main","source_id":"m","target_id":"m","link_type":"related_to"}`, Code: fault.InvalidQuery},
	{Tool: "memory_link", Args: `{"vault":"main","source_id":"m","target_id":"n","link_type":"related_to"}`, Code: fault.NotFound},
	{Tool: "memory_create_chapter", Args: `{"vault":"main"}`, Code: fault.InvalidQuery},
	{Tool: "memory_create_chapter", Args: `{"vault":"main","memory_ids":["mem_nope"]}`, Code: fault.NotFound},
	{Tool: "memory_create_chapter", Args: `{"vault":"main","tags":["none"]}`, Code: fault.InvalidQuery, Want: `{"error":{"details":{"reason":"not_enough_memories","found":0}}}`},
	{Tool: "memory_list_chapters", Args: `{"vault":"main","chapter_ids":["chapter_nope"]}`, Code: fault.NotFound},
	{Tool: "memory_synthesize", Args: `{"vault":"main"}`, Code: fault.InvalidQuery, Want: `{"error":{"details":{"reason":"not_enough_chapters"}}}`},
	{Tool: "memory_recall_wisdom", Args: `{"vault":"main","wisdom_id":"wisdom_nope"}`, Code: fault.NotFound},
	{Tool: "memory_check_file", Args: `{"vault":"main"}`, Code: fault.InvalidQuery},
	{Tool: "memory_history", Args: `{"vault":"main","memory_id":"mem_nope"}`, Code: fault.NotFound},
	{Tool: "memory_export", Args: `{"vault":"main","page_token":"x"}`, Code: fault.InvalidQuery},
	{Tool: "memory_import", Args: memoryLines(`{"intent":1}`), Code: fault.InvalidQuery, Want: `{"error":{"location":{"file":"memories.jsonl","line":1}}}`},
	{Tool: "memory_import", Args: memoryLines(exampleLines[0], `not JSON`), Code: fault.InvalidQuery, Want: `{"error":{"location":{"line":2}}}`},
	{Tool: "memory_import", Args: memoryLines(`{"id":"mem_x","created_at":9999999999,"intent":{"goal":"g","task_type":"other"},"outcome":{"success":true,"summary":"s"}}`), Code: fault.InvalidQuery},
	{Tool: "memory_import", Args: memoryLines(`{"id":"a/b","intent":{"goal":"g","task_type":"other"},"outcome":{"success":true,"summary":"s"}}`), Code: fault.InvalidQuery},
	{Tool: "memory_import", Args: memoryLines(`{"kind":"note","id":"x"}`), Code: fault.InvalidQuery},
	{Tool: "memory_delete_memory", Args: `{"vault":"main","memory_id":"mem_nope","erase":true}`, Code: fault.NotFound},
	{Tool: "memory_identity", Args: `{"vault":"main","action":"dance"}`, Code: fault.InvalidQuery},
}}

var beingAgents = tooltest.Story{Name: "being agents", Steps: []tooltest.Step{
	{Tool: "memory_identity", Args: `{"vault":"main","action":"info"}`, Want: `{"data":{"agent_id":"local","type":"main","memory_count":0,"created_at":0,"last_active":0}}`},
	{Tool: "memory_identity", Args: `{"vault":"main","action":"resume"}`, Code: fault.NotFound, Want: `{"error":{"fixes":["memory_identity {\"vault\":\"main\",\"action\":\"register\"}"]}}`},
	{Tool: "memory_identity", Args: `{"vault":"main","action":"register","type":"subagent"}`, Code: fault.InvalidQuery},
	{Tool: "memory_identity", Args: `{"vault":"main","action":"register","type":"subagent","parent_id":"nobody"}`, Code: fault.NotFound},
	{Tool: "memory_identity", Args: `{"vault":"main","action":"register","specialization":"tests","capabilities":["go","go"]}`, Want: `{"data":{"type":"main","session_count":1,"memory_count":0,"specialization":"tests","capabilities":["go"]}}`},
	{Tool: "memory_identity", Args: `{"vault":"main","action":"resume"}`, Want: `{"data":{"type":"main","session_count":2}}`},
	{Tool: "memory_identity", Args: `{"vault":"main","action":"resume","agent_id":"nobody"}`, Code: fault.NotFound},
	{Tool: "memory_store", Args: `{"vault":"main","agent_id":"helper","session":"s1","key":"one","intent":{"goal":"Find the leak","task_type":"investigation"},"outcome":{"success":false,"summary":"Not found"}}`, Want: `{"data":{"created":true,"times":1}}`},
	{Tool: "memory_store", Args: `{"vault":"main","agent_id":"helper","session":"s1","key":"one","intent":{"goal":"Find the leak","task_type":"investigation"},"outcome":{"success":true,"summary":"Found"}}`, Want: `{"data":{"created":false,"times":2}}`},
	{Tool: "memory_list", Args: `{"vault":"main","agent_id":"helper","session_id":"s1"}`, Want: `{"data":{"memories":[{"intent_goal":"Find the leak","outcome_summary":"Found"}],"total":1}}`},
	{Tool: "memory_identity", Args: `{"vault":"main","action":"info","agent_id":"helper"}`, Want: `{"data":{"agent_id":"helper","memory_count":1,"success_rate":1,"session_count":0}}`},
	{Tool: "memory_identity", Args: `{"vault":"main","action":"info","as_of":"v0"}`, Want: `{"data":{"memory_count":0},"meta":{"version":"v0"}}`},
	{Tool: "memory_identity", Args: `{"vault":"main","action":"register","as_of":"v1"}`, Code: fault.InvalidQuery},
	{Tool: "memory_prompt_after_failure", Args: `{"vault":"main","file":"src/a.go"}`, Want: `{"data":{}}`},
}}
