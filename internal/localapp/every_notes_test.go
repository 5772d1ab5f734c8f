package localapp_test

import (
	"testing"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestEveryWayReadsNotes checks the JSON blocks of spec/knowtation-cli-json.md over every way in.
// The answers of all ways are compared to the byte, so the order of keys is the same too.
func TestEveryWayReadsNotes(t *testing.T) {
	everyWay(t, []tooltest.Story{readingNotes, listingNotes, refusingNotes})
}

var readingNotes = tooltest.Story{Name: "reading notes", Steps: []tooltest.Step{
	{Tool: "notes_get", Args: `{"vault":"main","path":"projects/mill"}`, Want: `{"data":{"path":"projects/mill.md","frontmatter":{"type":"project","title":"Mill","lead":"[[people/alice]]"},"body":"# Mill"},"meta":{"version":"v2"}}`},
	{Tool: "notes_get", Args: `{"path":"projects/mill.md","body_only":true,"envelope":false}`, Want: `{"path":"projects/mill.md","body":"# Mill"}`},
	{Tool: "notes_get", Args: `{"path":"projects/mill.md","frontmatter_only":true,"envelope":false}`, Want: `{"path":"projects/mill.md","frontmatter":{"title":"Mill"}}`},
	{Tool: "notes_get", Args: `{"path":"people/windows.md"}`, Want: `{"data":{"frontmatter":{}}}`},
	{Tool: "notes_get", Args: `{"path":"ünï/코드.md","as_of":"v2"}`, Want: `{"data":{"body":"# Kode\n"}}`},
	{Tool: "notes_outline", Args: `{"path":"people/alice.md"}`, Want: `{"data":{"schema":"knowtation.note_outline/v1","path":"people/alice.md","title":"alice","headings":[{"level":1,"text":"Alice","id":"h1-alice-0001"},{"level":2,"text":"Notes","id":"h2-notes-0002"},{"level":3,"text":"Deep","id":"h3-deep-0003"},{"level":2,"text":"Tasks","id":"h2-tasks-0004"}],"truncated":false}}`},
	{Tool: "notes_document_tree", Args: `{"path":"people/alice.md"}`, Want: `{"data":{"schema":"knowtation.document_tree/v0","path":"people/alice.md","title":"alice","root":{"children":[{"id":"h1-alice-0001","level":1,"text":"Alice","children":[{"id":"h2-notes-0002","children":[{"id":"h3-deep-0003","children":[]}]},{"id":"h2-tasks-0004","children":[]}]}]},"truncated":false}}`},
	{Tool: "notes_metadata_facets", Args: `{"path":"people/alice.md"}`, Want: `{"data":{"schema":"knowtation.metadata_facets/v0","path":"people/alice.md","facets":{"project":null,"tags":["engineering","platform"],"date":null,"updated":null,"causal_chain_id":null,"entity":[],"episode_id":null},"inferred":{"folder":"people","source_type":null},"truncated":false}}`},
	{Tool: "notes_metadata_facets", Args: `{"path":"projects/canal.md","envelope":false}`, Want: `{"facets":{"project":"canal-md"},"inferred":{"folder":"projects"}}`},
}}

var listingNotes = tooltest.Story{Name: "listing notes", Steps: []tooltest.Step{
	{Tool: "notes_list", Args: `{"vault":"main","folder":"projects"}`, Want: `{"data":{"notes":[{"path":"projects/canal.md","title":"Canal","project":"canal-md","tags":[],"date":null},{"path":"projects/mill.md"}],"total":2},"meta":{"count":2,"total":2,"has_more":false}}`},
	{Tool: "notes_list", Args: `{"folder":"people","fields":"path","limit":1}`, Want: `{"data":{"notes":[{"path":"people/alice.md"}],"total":3},"meta":{"has_more":true,"next_offset":1}}`},
	{Tool: "notes_list", Args: `{"tag":"Platform","fields":"full","envelope":false}`, Want: `{"notes":[{"path":"people/alice.md","frontmatter":{"phone":"555"}}],"total":1}`},
	{Tool: "notes_list", Args: `{"count_only":true,"envelope":false}`, Want: `{"total":10}`},
	{Tool: "notes_list", Args: `{"tag":"none"}`, Want: `{"data":{"notes":[],"total":0},"warnings":[{"code":"NO_RESULTS"}]}`},
	{Tool: "notes_search", Args: `{"query":"zebrafinch","keyword":true,"fields":"path"}`, Want: `{"data":{"results":[{"path":"broken.md","score":1,"project":null,"tags":[]},{"path":"daily/2025-01-31.md"},{"path":"people/alice.md","tags":["engineering","platform"]}],"query":"zebrafinch","mode":"keyword"}}`},
	{Tool: "notes_search", Args: `{"query":"likes tea"}`, Want: `{"data":{"results":[{"path":"people/alice.md","snippet":"## Notes - Likes tea"}],"query":"likes tea","mode":"keyword"},"warnings":[{"code":"SEMANTIC_UNAVAILABLE"}]}`},
	{Tool: "notes_search", Args: `{"query":"zebrafinch","count_only":true,"envelope":false,"keyword":true}`, Want: `{"count":3,"query":"zebrafinch","mode":"keyword"}`},
	{Tool: "notes_search", Args: `{"query":"코드","keyword":true,"order":"date"}`, Want: `{"data":{"results":[{"path":"ünï/코드.md"}]}}`},
	{Tool: "notes_complete", Args: `{"kind":"note_tag","prefix":"pl"}`, Want: `{"data":{"items":["platform"]}}`},
}}

var refusingNotes = tooltest.Story{Name: "refusing calls on notes", Steps: []tooltest.Step{
	{Tool: "notes_get", Args: `{"path":"nowhere.md"}`, Code: fault.NotFound},
	{Tool: "notes_get", Args: `{"path":"/etc/passwd"}`, Code: fault.InvalidPath},
	{Tool: "notes_get", Args: `{"path":"../x.md","envelope":false}`, Code: fault.InvalidPath, Want: `{"error":"a path must not contain the folder ..","code":"INVALID_PATH"}`},
	{Tool: "notes_get", Args: `{"path":"inbox","body_only":true,"frontmatter_only":true}`, Code: fault.InvalidParameter},
	{Tool: "notes_outline", Args: `{}`, Code: fault.InvalidParameter},
	{Tool: "notes_list", Args: `{"limit":101}`, Code: fault.InvalidParameter},
	{Tool: "notes_search", Args: `{"query":"x","limit":101}`, Code: fault.InvalidLimit},
	{Tool: "notes_search", Args: `{}`, Code: fault.InvalidParameter},
}}
