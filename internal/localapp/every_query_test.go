package localapp_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func TestEveryWayQueries(t *testing.T) {
	asked := maps.Clone(standup)
	asked["raven.yaml"] = savedQueries
	everyWay(t, []tooltest.Story{
		within("queries", asked, queryReads),
		within("queries saved", asked, querySaves),
		within("queries of then", asked, queriesOfThen),
	})
}

// savedQueries are saved queries in both forms, with comments that an edit keeps.
const savedQueries = `# how we work
queries:
  # what is late
  late: "trait:due .value==past" # short
  of: {query: 'trait:due at(trait:assignee .value=={{args.who}}) | type:person .name=={{args.name}}', args: [who, name]}
  open:
    description: What is open
    types: [project]
    traits: [due, status]
    filters: {status: "todo,in_progress,"}
  section: section .level==3
`

// withIDs returns the ids of items, as a part of an answer.
func withIDs(list ...string) string {
	items := []string{}
	for _, id := range list {
		items = append(items, `{"id":"`+id+`"}`)
	}
	return `{"data":{"items":[` + strings.Join(items, ",") + `]}}`
}

var queryReads = []tooltest.Step{
	{Tool: "raven_query", Args: `{"query":"type:person"}`, Want: withIDs("people/freya", "people/thor")},
	{Tool: "raven_query", Args: `{"name":"type:person .name==freya"}`, Want: `{"data":{"query_kind":"type","type":"person","items":[{"id":"people/freya","fields":{"name":"Freya"},"refs":[]}]},"meta":{"count":1,"total":1,"has_more":false,"timezone":"UTC","week_start":"monday"}}`},
	{Tool: "raven_query", Args: `{"query_string":"type:person","slim":true}`, Want: `{"data":{"items":[{"id":"people/freya","type":"person","parent_id":null},{"id":"people/thor"}]}}`},
	{Tool: "raven_query", Args: `{"query":"trait:due .value==today"}`, Want: `{"data":{"query_kind":"trait","trait":"due","items":[{"content_text":"Grind","trait_type":"due"},{"content_text":"Paragraph"},{"content_text":"Sow"}]}}`},
	{Tool: "raven_query", Args: `{"query":"trait:due .value==2026-03-06 at(trait:assignee)"}`, Want: `{"data":{"items":[` + estimate + `]}}`},
	{Tool: "raven_query", Args: `{"query":"section","only":["id"]}`, Want: withIDs("daily/2026-03-02#details", "daily/2026-03-02#tasks")},
	{Tool: "raven_query", Args: `{"query":"section .level==3"}`, Want: `{"data":{"query_kind":"section","items":[{"id":"daily/2026-03-02#details","file_object_id":"daily/2026-03-02","file_path":"daily/2026-03-02.md","slug":"details","title":"Details","level":3,"line_end":18,"direct_line_end":18,"subtree_line_end":18,"parent_section_id":"daily/2026-03-02#standup"}]}}`},
	{Tool: "raven_query", Args: `{"query":"type:project | trait:highlight | section .level==2"}`, Want: `{"data":{"query_kind":"mixed","items":[{"kind":"section","slug":"tasks"},{"kind":"object","id":"projects/mill"},{"kind":"trait","content_text":"Turn"},{"kind":"trait","content_text":"Five"}]}}`},
	{Tool: "raven_query", Args: `{"query":"type:project contains(trait:due .value<=today at(trait:status .value==done))"}`, Want: withIDs("projects/mill")},
	{Tool: "raven_query", Args: `{"query":"type:* refs(people/freya)"}`, Want: withIDs("daily/2026-03-02", "daily/2026-03-02#standup")},
	{Tool: "raven_query", Args: `{"query":"type:person refd(type:meeting)","ids":true}`, Want: `{"data":{"query_kind":"type","ids":["people/freya","people/thor"]},"meta":{"total":2}}`},
	{Tool: "raven_query", Args: `{"query":"type:*","count_only":true}`, Want: `{"data":{"total":10},"meta":{"total":10}}`},
	{Tool: "raven_query", Args: `{"query":"type:person count"}`, Want: `{"data":{"total":2}}`},
	{Tool: "raven_query", Args: `{"query":"type:person sort:-.name"}`, Want: withIDs("people/thor", "people/freya")},
	{Tool: "raven_query", Args: `{"query":"type:person","sort":["-.name"]}`, Want: withIDs("people/thor", "people/freya")},
	{Tool: "raven_query", Args: `{"query":"type:person sort:.name","sort":[".name"]}`, Code: fault.InvalidValue},
	{Tool: "raven_query", Args: `{"query":"type:person","sort":["a b"]}`, Code: fault.InvalidValue},
	{Tool: "raven_query", Args: `{"query":"type:person","sort":[".nope"]}`, Code: fault.InvalidField},
	{Tool: "raven_query", Args: `{"query":"type:* limit:3","ids":true}`, Want: `{"data":{"ids":["a/thor","a/twin","b/twin"]},"meta":{"total":3,"has_more":false}}`},
	{Tool: "raven_query", Args: `{"query":"type:* content(\"estimate\")","ids":true}`, Want: `{"data":{"ids":["daily/2026-03-02","daily/2026-03-02#standup"]}}`},
	{Tool: "raven_query", Args: `{"query":"type:* content(\"\\\"send estimate\\\"\")","ids":true}`, Want: `{"data":{"ids":["daily/2026-03-02","daily/2026-03-02#standup"]}}`},
	{Tool: "raven_query", Args: `{"query":"type:* .first_seen_at==today","count_only":true}`, Want: `{"data":{"total":10}}`},
	{Tool: "raven_query", Args: `{"query":"type:person .name==nobody"}`, Want: `{"data":{"items":[]},"warnings":[{"code":"NO_RESULTS"}]}`},
	{Tool: "raven_query", Args: `{"filter":{"trait":"due","where":{"fields":{"value":"today"},"within":{"type":"project"}}}}`, Want: found("Grind")},
	{Tool: "raven_query", Args: `{"filter":[{"type":"person"},{"type":"project"}],"ids":true}`, Want: `{"data":{"query_kind":"type","ids":["people/freya","people/thor","projects/mill"]}}`},
	{Tool: "raven_query", Args: `{"filter":{"type":"person","where":{"fields":{"nme":"x"}}}}`, Code: fault.InvalidField, Want: `{"error":{"details":{"pointer":"/where/fields/nme","nearest":["name"]}}}`},
	{Tool: "raven_query", Args: `{"filter":{"typ":"person"}}`, Code: fault.InvalidQuery, Want: `{"error":{"details":{"pointer":"/typ","nearest":["type"]}}}`},
	{Tool: "raven_query", Args: `{"filter":{"type":"person"},"inputs":{"a":"b"}}`, Code: fault.InvalidValue},
	{Tool: "raven_query", Args: `{"query":"type:persn"}`, Code: fault.InvalidType, Want: `{"error":{"details":{"column":1,"available_types":["person","meeting","project"],"nearest":["person"]}}}`},
	{Tool: "raven_query", Args: `{"query":"type:person .status==tdo"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"column":22,"field":"status","nearest":["todo"],"allowed":["todo","in_progress"]}}}`},
	{Tool: "raven_query", Args: `{"query":"type:person .name=x"}`, Code: fault.InvalidQuery, Want: `{"error":{"details":{"column":18,"reason":"syntax"},"fixes":["write .name==value"]}}`},
	{Tool: "raven_query", Args: `{"query":"trait:due .value==this-wek .nope==1 refs(nobody)"}`, Code: fault.ValidationFailed, Want: `{"error":{"errors":[{"code":"INVALID_VALUE"},{"code":"INVALID_FIELD"},{"code":"INVALID_REF"}]}}`},
	{Tool: "raven_query", Args: `{"query":"type:* refs(twin)"}`, Code: fault.AmbiguousRef, Want: `{"error":{"details":{"matches":["a/twin","b/twin"]}}}`},
	{Tool: "raven_query", Args: `{}`, Code: fault.MissingRequired},
	{Tool: "raven_query", Args: `{"query":"type:person","name":"late"}`, Code: fault.InvalidValue},
	{Tool: "raven_query", Args: `{"query":"type:person","list":true}`, Code: fault.InvalidValue},
	{Tool: "raven_query", Args: `{"name":"late"}`, Want: `{"data":{"query_name":"late","query_kind":"trait","items":[{"content_text":"Late"}]}}`},
	{Tool: "raven_query", Args: `{"query_name":"open","ids":true}`, Want: `{"data":{"query_name":"open","query_kind":"mixed"},"meta":{"total":12}}`},
	{Tool: "raven_query", Args: `{"name":"section"}`, Want: `{"data":{"query_name":"section","items":[{"slug":"details"}]}}`},
	{Tool: "raven_query", Args: `{"name":"of","inputs":{"who":"people/freya","name":"Thor"}}`, Want: `{"data":{"query_kind":"mixed","items":[{"content_text":"Send estimate"},{"id":"people/thor"}]}}`},
	{Tool: "raven_query", Args: `{"name":"of","inputs":["name=Thor","people/freya"],"ids":true}`, Want: `{"data":{"ids":["due-e2bae6c0","people/thor"]}}`},
	{Tool: "raven_query", Args: `{"name":"of","inputs":["Freya"]}`, Code: fault.MissingRequired, Want: `{"error":{"details":{"missing":["name"]}}}`},
	{Tool: "raven_query", Args: `{"name":"of","inputs":["a","b","c"]}`, Code: fault.InvalidValue},
	{Tool: "raven_query", Args: `{"name":"of","inputs":{"whom":"x"}}`, Code: fault.InvalidValue},
	{Tool: "raven_query", Args: `{"name":"of","inputs":{"who":"x\" | type:person","name":"y"}}`, Code: fault.InvalidRef},
	{Tool: "raven_query", Args: `{"name":"lat"}`, Code: fault.NotFound, Want: `{"error":{"details":{"nearest":["late"]}}}`},
	{Tool: "raven_query", Args: `{"name":"due"}`, Code: fault.NotFound, Want: `{"error":{"fixes":[]}}`},
	{Tool: "raven_query", Args: `{"list":true}`, Want: `{"data":{"queries":[{"name":"late","query":"trait:due .value==past"},{"name":"of","args":["who","name"]},{"name":"open","types":["project"],"filters":{"status":"todo,in_progress,"}},{"name":"section"}]}}`},
	{Tool: "raven_query_list", Args: `{"limit":2}`, Want: `{"data":{"items":[{"name":"late"},{"name":"of"}]},"meta":{"total":4,"has_more":true}}`},
}

var querySaves = []tooltest.Step{
	{Tool: "raven_query_save", Args: `{"name":"mine","query":"type:person .name=={{args.who}}","description":"Mine","dry_run":true}`, Want: `{"data":{"action":"created","dry_run":true,"would_modify_files":[{"path":"raven.yaml","action":"modify"}]}}`},
	{Tool: "raven_query_save", Args: `{"name":"mine","query":"type:person .name=={{args.who}}","description":"Mine"}`, Want: `{"data":{"action":"created","query":{"name":"mine","description":"Mine","query":"type:person .name=={{args.who}}"}},"meta":{"file_modified":"raven.yaml","reindex_required":false}}`},
	{Tool: "raven_query_save", Args: `{"name":"mine","query":"type:person .name=={{args.who}}","description":"Mine"}`, Want: `{"data":{"action":"unchanged"}}`},
	{Tool: "raven_query", Args: `{"name":"mine","inputs":["thor"]}`, Want: withIDs("people/thor")},
	{Tool: "raven_query_save", Args: `{"name":"late","query":"trait:due .value<today","args":[]}`, Want: `{"data":{"action":"updated"}}`},
	{Tool: "raven_query_save", Args: `{"name":"open","traits":["status"],"filters":["status=todo,blocked"]}`, Want: `{"data":{"action":"updated","query":{"name":"open","traits":["status"],"filters":{"status":"todo,blocked"}}}}`},
	{Tool: "raven_query", Args: `{"name":"open"}`, Want: `{"data":{"query_kind":"trait","trait":"status"},"meta":{"total":3}}`},
	{Tool: "raven_query_remove", Args: `{"name":"of"}`, Want: `{"data":{"action":"deleted","name":"of"}}`},
	{Tool: "team_vault_export", Args: `{}`, Want: `{"data":{"notes":[{"path":"raven.yaml","text":"# how we work\nqueries:\n  # what is late\n  late: # short\n    query: \"trait:due .value<today\"\n  open:\n    traits: [status]\n    filters:\n      status: \"todo,blocked\"\n  section: section .level==3\n  mine:\n    description: Mine\n    query: \"type:person .name=={{args.who}}\"\n"}]}}`},
	{Tool: "raven_query_remove", Args: `{"name":"of"}`, Code: fault.NotFound},
	{Tool: "raven_query_save", Args: `{"name":"a b","query":"section"}`, Code: fault.InvalidValue},
	{Tool: "raven_query_save", Args: `{"name":"list","query":"section"}`, Code: fault.InvalidValue},
	{Tool: "raven_query_save", Args: `{"name":"x"}`, Code: fault.MissingRequired},
	{Tool: "raven_query_save", Args: `{"name":"x","query":"section","types":["person"]}`, Code: fault.InvalidValue},
	{Tool: "raven_query_save", Args: `{"name":"x","query":"section .nope==1"}`, Code: fault.InvalidField},
	{Tool: "raven_query_save", Args: `{"name":"x","query":"section ."}`, Code: fault.InvalidQuery},
	{Tool: "raven_query_save", Args: `{"name":"x","query":"type:{{args.t}}","args":["u"]}`, Code: fault.InvalidValue},
	{Tool: "raven_query_save", Args: `{"name":"x","types":["persn"]}`, Code: fault.InvalidType},
	{Tool: "raven_query_save", Args: `{"name":"x","traits":["due"],"filters":{"status":"todo"}}`, Code: fault.InvalidValue},
	{Tool: "raven_query_save", Args: `{"name":"x","traits":["status"],"filters":{"status":"later"}}`, Code: fault.InvalidValue},
}

var queriesOfThen = []tooltest.Step{
	{Tool: "raven_query_save", Args: `{"name":"late","query":"type:person"}`, Want: `{"meta":{"version":"v3"}}`},
	{Tool: "raven_new", Args: `{"type":"person","title":"Odin","fields":{"status":"todo"}}`},
	{Tool: "raven_query", Args: `{"name":"late","ids":true}`, Want: `{"data":{"ids":["people/freya","people/odin","people/thor"]}}`},
	{Tool: "raven_query", Args: `{"name":"late","ids":true,"as_of":"v3"}`, Want: `{"data":{"ids":["people/freya","people/thor"]},"meta":{"version":"v3"}}`},
	{Tool: "raven_query", Args: `{"name":"late","as_of":"v2"}`, Want: `{"data":{"trait":"due","items":[{"content_text":"Late"}]}}`},
	{Tool: "raven_query", Args: `{"query":"type:* content(\"odin\")","count_only":true,"as_of":"v3"}`, Want: `{"data":{"total":0}}`},
	{Tool: "raven_query", Args: `{"query":"type:* content(\"odin\")","count_only":true}`, Want: `{"data":{"total":1}}`},
	{Tool: "raven_query_list", Args: `{"as_of":"v2"}`, Want: `{"data":{"items":[{"name":"late","query":"trait:due .value==past"}]}}`},
}

// TestQueryIsTheList checks that a query of a trait gives the same answer as the list of the trait,
// to the byte, and that the pages of a query are complete, even if notes are created between them.
func TestQueryIsTheList(t *testing.T) {
	p := newPlace(t)
	call := func(name string, args map[string]any) map[string]any {
		var answer map[string]any
		require.NoError(t, json.Unmarshal(done(t, p.catalogue(), name, args), &answer))
		return answer
	}
	items := func(answer map[string]any) any { return answer["data"].(map[string]any)["items"] }
	for _, name := range []string{"due", "priority"} {
		for depth := range 3 {
			listed := call("raven_trait_list", map[string]any{"vault": "main", "trait_type": name, "depth": depth})
			found := call("raven_query", map[string]any{"vault": "main", "query": "trait:" + name, "depth": depth})
			require.Equal(t, items(listed), items(found), "%s at depth %d", name, depth)
		}
	}
	args := map[string]any{"vault": "main", "query": "type:* | section sort:-.id", "ids": true}
	args["limit"] = 200
	whole := call("raven_query", args)["data"].(map[string]any)["ids"].([]any)
	var paged []any
	args["limit"] = 2
	for {
		page := call("raven_query", args)
		paged = append(paged, page["data"].(map[string]any)["ids"].([]any)...)
		token, more := page["meta"].(map[string]any)["next_page_token"]
		if !more {
			break
		}
		args["page_token"] = token
	}
	require.Equal(t, whole, paged)
}
