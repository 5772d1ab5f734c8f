package localapp_test

import (
	"testing"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func TestEveryWayReadsThePast(t *testing.T) {
	everyWay(t, []tooltest.Story{readingThePast, telling, undoing(t)})
}

// readingThePast is a story about earlier versions. It begins with the fixture at v2.
var readingThePast = tooltest.Story{Name: "reading the past", Steps: []tooltest.Step{
	{Tool: "raven_new", Args: `{"vault":"main","type":"book","title":"Heat","content":"# Heat\n\nA thermometer. #warm\n\n- @due(2025-02-07) read\n"}`},
	{Tool: "raven_set", Args: `{"vault":"main","id":"people/alice","set":{"name":"Alicia"}}`},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"books/heat"}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"books/heat","as_of":"v3"}`, Want: `{"data":{"path":"books/heat.md","line_count":10},"meta":{"version":"v3"}}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"books/heat","as_of":"v2"}`, Code: fault.NotFound},
	{Tool: "raven_read", Args: `{"vault":"main","path":"books/heat","as_of":"v5"}`, Code: fault.NotFound},
	{Tool: "raven_object_get", Args: `{"vault":"main","id":"people/alice","as_of":"v2"}`, Want: `{"data":{"object":{"fields":{"name":"Alice"}}},"meta":{"version":"v2"}}`},
	{Tool: "raven_object_get", Args: `{"vault":"main","id":"people/alice","as_of":"v4"}`, Want: `{"data":{"object":{"fields":{"name":"Alicia"}}},"meta":{"version":"v4"}}`},
	{Tool: "raven_object_list", Args: `{"vault":"main","type":"book","as_of":"v4"}`, Want: `{"data":{"items":[{"id":"books/heat"}]},"meta":{"total":1,"version":"v4"}}`},
	{Tool: "raven_trait_list", Args: `{"vault":"main","trait_type":"due","as_of":"v3","value":"2025-02-07"}`, Want: `{"data":{"items":[{"file_path":"books/heat.md"}]},"meta":{"version":"v3"}}`},
	{Tool: "raven_tag", Args: `{"vault":"main","tag":"warm","as_of":"v3"}`, Want: `{"meta":{"total":1,"version":"v3"}}`},
	{Tool: "raven_tag", Args: `{"vault":"main","tag":"warm"}`, Want: `{"meta":{"total":0,"version":"v5"}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"thermometer","as_of":"v4"}`, Want: `{"data":{"items":[{"id":"books/heat"}]},"meta":{"total":1,"version":"v4"}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"thermometer","as_of":"v2"}`, Want: `{"meta":{"total":0,"version":"v2"}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"thermometer","as_of":"v5"}`, Want: `{"meta":{"total":0,"version":"v5"}}`},
	{Tool: "raven_stats", Args: `{"vault":"main","as_of":"v1"}`, Want: `{"data":{"file_count":0},"meta":{"version":"v1"}}`},
	{Tool: "raven_stats", Args: `{"vault":"main","as_of":"v0"}`, Want: `{"data":{"file_count":0},"meta":{"version":"v0"}}`},
	{Tool: "raven_stats", Args: `{"vault":"main","as_of":"yesterday"}`, Want: `{"data":{"file_count":0},"meta":{"version":"v0"}}`},
	{Tool: "raven_stats", Args: `{"vault":"main","as_of":"2025-02-01"}`, Want: `{"meta":{"version":"v5"}}`},
	{Tool: "raven_stats", Args: `{"vault":"main","as_of":"2025-02-01T14:30:00Z"}`, Want: `{"meta":{"version":"v5"}}`},
	{Tool: "raven_stats", Args: `{"vault":"main","as_of":"2025-02-01T14:29"}`, Want: `{"meta":{"version":"v0"}}`},
	{Tool: "raven_stats", Args: `{"vault":"main","as_of":"1 hours ago"}`, Want: `{"meta":{"version":"v0"}}`},
	{Tool: "raven_stats", Args: `{"vault":"main","as_of":"past"}`, Want: `{"meta":{"version":"v0"}}`},
	{Tool: "raven_stats", Args: `{"vault":"main","as_of":"future"}`, Want: `{"meta":{"version":"v5"}}`},
	{Tool: "raven_date", Args: `{"vault":"main","date":"today","as_of":"v2"}`, Want: `{"data":{"date":"2025-02-01"},"meta":{"version":"v2"}}`},
	{Tool: "raven_schema_type", Args: `{"vault":"main","name":"book","as_of":"v1"}`, Code: fault.InvalidType},
	{Tool: "raven_stats", Args: `{"vault":"main","as_of":"v6"}`, Code: fault.NotFound, Want: `{"error":{"details":{"argument":"as_of","latest_version":"v5"}}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"x","as_of":"v6"}`, Code: fault.NotFound, Want: `{"error":{"details":{"argument":"as_of","latest_version":"v5"}}}`},
	{Tool: "raven_stats", Args: `{"vault":"main","as_of":"someday"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"argument":"as_of","allowed":["v42","today"]}}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"x","as_of":"V2"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"argument":"as_of"}}}`},
	{Tool: "raven_set", Args: `{"vault":"main","id":"people/alice","set":{"name":"A"},"as_of":"v2"}`, Code: fault.InvalidValue},
}}

var telling = tooltest.Story{Name: "telling the history", Steps: []tooltest.Step{
	{Tool: "raven_set", Args: `{"vault":"main","id":"people/alice","set":{"email":"a@example.test"}}`},
	{Tool: "raven_add", Args: `{"vault":"main","to":"people/alice#tasks","text":"@due(2025-02-07) tea"}`},
	{Tool: "raven_edit", Args: `{"vault":"main","id":"people/alice","old_str":"Keeps","new_str":"Kept"}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/alice"}`, Want: `{"data":{"id":"people/alice","items":[
		{"version":"v5","ts":"2025-02-01T14:30:00Z","op":"update","tool":"raven_edit","principal":"local","path":"people/alice.md","changes":{"content":{"added":1,"removed":1}}},
		{"version":"v4","op":"update","tool":"raven_add","changes":{},"inside":[{"op":"create","entity":"trait","parent":"people/alice#tasks","value":"2025-02-07"}],"inside_total":1},
		{"version":"v3","op":"update","changes":{"email":{"new":"a@example.test"}}},
		{"version":"v2","op":"create","tool":"team_vault_import"}]},"meta":{"count":4,"has_more":false,"version":"v5"}}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"alice","limit":1}`, Want: `{"data":{"items":[{"version":"v5"}]},"meta":{"count":1,"has_more":true}}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/alice","as_of":"v3"}`, Want: `{"data":{"items":[{"version":"v3"},{"version":"v2"}]},"meta":{"count":2,"version":"v3"}}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/alice#tasks"}`, Want: `{"data":{"id":"people/alice#tasks","items":[{"version":"v4","op":"update","inside_total":1},{"version":"v2","op":"create"}]},"meta":{"count":2}}`},
	{Tool: "raven_trait_list", Args: `{"vault":"main","trait_type":"due","value":"2025-02-07","slim":true}`, Want: `{"data":{"items":[{"id":"due-c9b2925b"}]}}`},
	{Tool: "raven_trait_update", Args: `{"vault":"main","id":"due-c9b2925b","set":{"value":"2025-02-08"}}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"due-c9b2925b"}`, Want: `{"data":{"items":[{"version":"v6","op":"update","changes":{"value":{"old":"2025-02-07","new":"2025-02-08"}}},{"version":"v4","op":"create","value":"2025-02-07","content":"tea","parent":"people/alice#tasks","changes":{}}]},"meta":{"count":2}}`},
	{Tool: "raven_trait_delete", Args: `{"vault":"main","id":"due-c9b2925b"}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"due-c9b2925b"}`, Want: `{"data":{"items":[{"version":"v7","op":"delete"},{"version":"v6"},{"version":"v4"}]}}`},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/alice#tasks"}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/alice#tasks"}`, Want: `{"data":{"items":[{"version":"v8","op":"delete"},{"version":"v7","op":"update"},{"version":"v6"},{"version":"v4"},{"version":"v2","op":"create"}]}}`},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/alice"}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/alice.md"}`, Want: `{"data":{"id":"people/alice","items":[{"version":"v9","op":"delete","tool":"raven_delete","fields":{"name":"Alice"}},{"version":"v8"},{"version":"v7"},{"version":"v6"},{"version":"v5"},{"version":"v4"},{"version":"v3"},{"version":"v2"}]}}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/alice#notes"}`, Want: `{"data":{"items":[{"version":"v9","op":"delete"},{"version":"v2","op":"create"}]}}`},
	{Tool: "raven_new", Args: `{"vault":"main","type":"person","title":"Alice"}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/alice"}`, Want: `{"data":{"items":[{"version":"v10","op":"create","tool":"raven_new"}]},"meta":{"count":1}}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/alice","as_of":"v9"}`, Want: `{"data":{"items":[{"version":"v9","op":"delete"}]},"meta":{"count":8}}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"schema.yaml"}`, Want: `{"data":{"items":[{"version":"v2","op":"create","path":"schema.yaml"}]}}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/nobody"}`, Code: fault.NotFound},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/bob#none"}`, Code: fault.NotFound},
	{Tool: "raven_history", Args: `{"vault":"main","id":".trash/people/alice"}`, Code: fault.NotFound},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/bob","page_token":"x"}`, Code: fault.InvalidValue},
	{Tool: "raven_history", Args: `{"vault":"main"}`, Code: fault.MissingRequired},
}}

// undoing returns the story of calls about the vault held, which it creates.
func undoing(t testing.TB) tooltest.Story {
	return holding(t, "undoing",
		// v3: an edit is undone, and then the undo too.
		tooltest.Step{Tool: "raven_set", Args: `{"vault":"held","id":"people/thor","set":{"name":"Donar"}}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v3","dry_run":true}`, Want: `{"data":{"dry_run":true,"undone":{"version":"v3","tool":"raven_set"},"would_modify_files":[{"path":"people/thor.md","action":"modify","line":3,"old_content":"name: Donar","new_content":"name: Thor"}],"side_effects":[]}}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v3","idempotency_key":"k"}`, Want: `{"data":{"action":"updated","undone":{"version":"v3","ts":"2025-02-01T14:30:00Z","tool":"raven_set","principal":"local"},"files":[{"path":"people/thor.md","action":"modify"}],"files_total":1},"meta":{"version":"v4","files_modified":["people/thor.md"]}}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v3","idempotency_key":"k"}`, Want: `{"data":{"action":"updated","undone":{"version":"v3"}},"meta":{"version":"v4","replayed":true}}`},
		tooltest.Step{Tool: "raven_object_get", Args: `{"vault":"held","id":"people/thor"}`, Want: `{"data":{"object":{"fields":{"name":"Thor"}}}}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v3"}`, Code: fault.Conflict, Want: `{"error":{"details":{"changed":[{"path":"people/thor.md","version":"v4"}],"changed_total":1,"changed_after":[{"version":"v4","tool":"raven_undo"}],"undone":true,"latest_version":"v4"},"fixes":["raven_history {\"vault\":\"held\",\"id\":\"people/thor\"}"]}}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v4"}`, Want: `{"data":{"undone":{"tool":"raven_undo"}},"meta":{"version":"v5"}}`},
		tooltest.Step{Tool: "raven_object_get", Args: `{"vault":"held","id":"people/thor"}`, Want: `{"data":{"object":{"fields":{"name":"Donar"}}}}`},
		// v6: a deletion is undone, and then the undo too, twice.
		tooltest.Step{Tool: "raven_delete", Args: `{"vault":"held","id":"people/freya"}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v6"}`, Want: `{"data":{"files":[{"path":".trash/people/freya.md","action":"delete"},{"path":"people/freya.md","action":"create"}]},"meta":{"version":"v7"}}`},
		tooltest.Step{Tool: "raven_history", Args: `{"vault":"held","id":"people/freya"}`, Want: `{"data":{"items":[{"version":"v7","op":"create","tool":"raven_undo"},{"version":"v6","op":"delete"},{"version":"v2","op":"create"}]}}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v7"}`, Want: `{"data":{"files":[{"path":"people/freya.md","action":"delete"},{"path":".trash/people/freya.md","action":"create"}]},"meta":{"version":"v8"}}`},
		tooltest.Step{Tool: "raven_read", Args: `{"vault":"held","path":"people/freya"}`, Code: fault.NotFound},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v8"}`, Want: `{"meta":{"version":"v9"}}`},
		tooltest.Step{Tool: "raven_read", Args: `{"vault":"held","path":"people/freya","lines":"6"}`, Want: `{"data":{"content":"# Freya\n"}}`},
		// v10: the creation of a note that was deleted since is no change that can be undone.
		tooltest.Step{Tool: "raven_new", Args: `{"vault":"held","type":"person","title":"Sif"}`},
		tooltest.Step{Tool: "raven_delete", Args: `{"vault":"held","id":"people/sif"}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v10"}`, Code: fault.Conflict, Want: `{"error":{"details":{"changed":[{"path":"people/sif.md"}],"changed_after":[{"version":"v11","tool":"raven_delete"}],"latest_version":"v11","undone":true},"fixes":["raven_history {\"vault\":\"held\",\"id\":\"people/sif\"}"]}}`},
		tooltest.Step{Tool: "raven_new", Args: `{"vault":"held","type":"person","title":"Sif"}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v11"}`, Code: fault.Conflict, Want: `{"error":{"details":{"changed":[{"path":"people/sif.md","version":"v12"}],"changed_after":[{"version":"v12","tool":"raven_new"}],"undo_first":["v12"],"undone":false},"fixes":["raven_undo {\"vault\":\"held\",\"version\":\"v12\"}","raven_history {\"vault\":\"held\",\"id\":\"people/sif\"}"]}}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v12","if_version":"v11"}`, Code: fault.Conflict},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v12","if_version":"v12"}`, Want: `{"data":{"files":[{"path":"people/sif.md","action":"delete"}]},"meta":{"version":"v13"}}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v11","dry_run":true}`, Want: `{"data":{"would_modify_files":[{"path":".trash/people/sif.md","action":"delete"},{"path":"people/sif.md","action":"create"}]}}`},
		// A whole import is undone, and restored.
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v2"}`, Code: fault.Conflict},
		tooltest.Step{Tool: "team_vault_import", Args: `{"vault":"held","mode":"replace","notes":[{"path":"a.md","text":"a\n"},{"path":"b.md","text":"b\n"},{"path":"people/thor.md","text":"# T\n"}]}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v14"}`, Want: `{"data":{"files":[{"path":"a.md","action":"delete"},{"path":"b.md","action":"delete"},{"path":"people/thor.md","action":"modify"}],"files_total":3},"meta":{"version":"v15"}}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v15"}`, Want: `{"meta":{"version":"v16"}}`},
		tooltest.Step{Tool: "raven_read", Args: `{"vault":"held","path":"b"}`, Want: `{"data":{"content":"b\n"}}`},
		// Versions that cannot be undone.
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v1"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"argument":"version"}}}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v0"}`, Code: fault.InvalidValue},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"v17"}`, Code: fault.NotFound, Want: `{"error":{"details":{"argument":"version","latest_version":"v16"}}}`},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held","version":"16"}`, Code: fault.InvalidValue},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"held"}`, Code: fault.MissingRequired},
		tooltest.Step{Tool: "raven_undo", Args: `{"vault":"none","version":"v1"}`, Code: fault.NotFound},
	)
}
