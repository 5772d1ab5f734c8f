package localapp_test

import (
	"testing"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func TestEveryWayWritesAndExports(t *testing.T) {
	everyWay(t, []tooltest.Story{notesWritten, notesExported, notesImported})
}

// notesWritten checks the JSON block and the rules of the notes document on `write`.
var notesWritten = tooltest.Story{Name: "notes: write", Steps: []tooltest.Step{
	{Tool: "notes_write", Args: `{"vault":"main","envelope":false,"path":"inbox/new.md","content":"# New\n"}`,
		Want: `{"path":"inbox/new.md","written":true}`},
	{Tool: "notes_write", Args: `{"vault":"main","path":"inbox/new.md","content":"more","append":true}`,
		Want: `{"data":{"path":"inbox/new.md","written":true},"meta":{"version":"v4"}}`},
	{Tool: "notes_write", Args: `{"vault":"main","path":"inbox/new.md","frontmatter":{"status":"done","tags":["a","b"]}}`},
	{Tool: "notes_get", Args: `{"vault":"main","envelope":false,"path":"inbox/new.md"}`,
		Want: `{"path":"inbox/new.md","frontmatter":{"status":"done","tags":["a","b"]},"body":"# New\nmore"}`},
	{Tool: "notes_write", Args: `{"vault":"main","path":"inbox/new.md","content":"other\n","frontmatter":{"status":null},"dry_run":true}`,
		Want: `{"data":{"path":"inbox/new.md","written":false,"dry_run":true,"would_modify_files":[{"path":"inbox/new.md","action":"modify"}]}}`},
	{Tool: "notes_write", Args: `{"vault":"main","path":"inbox/new.md","frontmatter":{"status":null,"knowtation_editor":"me"}}`,
		Want: `{"data":{"written":true},"warnings":[{"code":"UNKNOWN_FIELD","field":"knowtation_editor"}]}`},
	{Tool: "notes_write", Args: `{"vault":"main","path":"people/alice.md","frontmatter":{"company":"[[companies/none]]"}}`,
		Want: `{"warnings":[{"code":"REF_NOT_FOUND","ref":"companies/none","suggested_type":"company"}]}`},
	{Tool: "notes_write", Args: `{"vault":"main","path":"broken.md","content":"mended\n","append":true}`},
	{Tool: "notes_write", Args: `{"vault":"main","path":"inbox/new.md"}`, Code: fault.InvalidParameter},
	{Tool: "notes_write", Args: `{"vault":"main","path":"inbox/new.md","append":true,"frontmatter":{"a":1}}`, Code: fault.InvalidParameter},
	{Tool: "notes_write", Args: `{"vault":"main","path":"../x.md","content":"x"}`, Code: fault.InvalidPath, Want: `{"error":{"details":{"argument":"path"}}}`},
	{Tool: "notes_write", Args: `{"vault":"main","path":"inbox/new","content":"x"}`, Code: fault.InvalidPath},
	{Tool: "notes_write", Args: `{"vault":"main","path":"INBOX.md","content":"x"}`, Code: fault.DuplicateID},
	{Tool: "notes_write", Args: `{"vault":"main","path":"broken.md","frontmatter":{"a":1}}`, Code: fault.InvalidParameter,
		Want: `{"error":{"location":{"file":"broken.md"}}}`},
	{Tool: "notes_write", Args: `{"vault":"main","path":"people/bob.md","frontmatter":{"name":null}}`, Code: fault.InvalidParameter},
	{Tool: "notes_write", Args: `{"vault":"main","path":"people/bob.md","frontmatter":{"m":{"k":1}}}`, Code: fault.InvalidParameter},
	{Tool: "notes_write", Args: `{"vault":"main","envelope":false,"path":"people/bob.md"}`, Code: fault.InvalidParameter,
		Want: `{"error":"give content, frontmatter, or both","code":"INVALID_PARAMETER"}`},
}}

// notesExported checks the JSON block and the rules of the notes document on `export`.
var notesExported = tooltest.Story{Name: "notes: export", Steps: []tooltest.Step{
	{Tool: "notes_export", Args: `{"vault":"main","envelope":false,"target":"people/bob.md"}`,
		Want: `{"exported":[{"path":"people/bob.md","output":"bob.md"}],"provenance":"Exported from vault paths: people/bob.md",` +
			`"files":[{"path":"bob.md","content":"---\ntype: person\nname: Bob\nsource_notes:\n  - people/bob.md\n---\n\n# Bob\n"}]}`},
	{Tool: "notes_export", Args: `{"vault":"main","target":"people/bob","format":"html"}`,
		Want: `{"data":{"exported":[{"path":"people/bob.md","output":"bob.html"}]},"meta":{"count":1,"total":1,"has_more":false}}`},
	{Tool: "notes_export", Args: `{"vault":"main","query":"zebrafinch"}`,
		Want: `{"data":{"provenance":"Exported from vault paths: broken.md, daily/2025-01-31.md, people/alice.md"},` +
			`"warnings":[{"code":"NOTE_QUARANTINED","path":"broken.md"}]}`},
	{Tool: "notes_export", Args: `{"vault":"main","path":"ünï/코드.md"}`, Want: `{"data":{"exported":[{"output":"코드.md"}]}}`},
	{Tool: "notes_export", Args: `{"vault":"main","target":"gone.md"}`, Code: fault.NotFound, Want: `{"error":{"details":{"argument":"target"}}}`},
	{Tool: "notes_export", Args: `{"vault":"main","target":"no such words"}`, Code: fault.NotFound},
	{Tool: "notes_export", Args: `{"vault":"main","target":"../people/bob.md"}`, Code: fault.InvalidPath},
	{Tool: "notes_export", Args: `{"vault":"main","target":"people/bob.md","project":"mill"}`, Code: fault.InvalidParameter},
	{Tool: "notes_export", Args: `{"vault":"main","target":"bob","format":"pdf"}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"allowed":["md","html"]}}}`},
	{Tool: "notes_export", Args: `{"vault":"main"}`, Code: fault.InvalidParameter},
}}

// notesImported checks the JSON block and the rules of the notes document on `import`.
var notesImported = tooltest.Story{Name: "notes: import", Steps: []tooltest.Step{
	{Tool: "notes_import", Args: `{"vault":"main","envelope":false,"type":"markdown","files":[{"path":"sub/one.md","content":"# One"}],"dry_run":true}`,
		Want: `{"imported":[{"path":"inbox/sub/one.md","source_id":"sub/one.md"}],"count":1,"dry_run":true}`},
	{Tool: "notes_import", Args: `{"vault":"main","envelope":false,"type":"markdown","files":[{"path":"sub/one.md","content":"# One"}]}`,
		Want: `{"imported":[{"path":"inbox/sub/one.md","source_id":"sub/one.md"}],"count":1}`},
	{Tool: "notes_import", Args: `{"vault":"main","type":"markdown","files":[{"path":"sub/one.md","content":"# Other"}]}`,
		Want: `{"data":{"imported":[],"count":0},"meta":{"skipped":1}}`},
	{Tool: "notes_import", Args: `{"vault":"main","type":"json-rows","project":"Mill","tags":["a,b"],"files":[{"path":"r.json","content":"[{\"id\":\"x\"},7]"}]}`,
		Code: fault.InvalidParameter, Want: `{"data":{"imported":[{"source_id":"x"}],"count":1},"error":{"message":"item 2 is not an object","location":{"file":"r.json"}}}`},
	{Tool: "notes_list", Args: `{"vault":"main","project":"mill","tag":"b","fields":"path+metadata"}`, Want: `{"data":{"total":1}}`},
	{Tool: "notes_import", Args: `{"vault":"main","type":"mif","output_dir":"memories","files":[{"path":"m.memory.json","content_base64":"eyJpZCI6ImoiLCJjb250ZW50IjoidGV4dCJ9"}]}`,
		Want: `{"data":{"imported":[{"path":"memories/m.md","source_id":"j"}]}}`},
	{Tool: "notes_import", Args: `{"vault":"main","type":"raven","files":[{"path":"new/a.md","content":"# A"},{"path":"a.png","content":"x"}]}`,
		Want: `{"data":{"imported":[{"path":"new/a.md","source_id":"new/a.md"}]},"meta":{"left_out":[{"path":"a.png"}]}}`},
	{Tool: "notes_import", Args: `{"vault":"main","type":"raven","files":[{"path":"new/a.md","content":"# B"}]}`, Code: fault.DuplicateID},
	{Tool: "notes_import", Args: `{"vault":"main","type":"memory","files":[{"path":"m.jsonl","content":"{"}]}`, Code: fault.InvalidParameter,
		Want: `{"error":{"location":{"file":"m.jsonl","line":1}}}`},
	{Tool: "notes_import", Args: `{"vault":"main","envelope":false,"type":"generic-csv","files":[{"path":"t.csv","content":"a\n\"x"}]}`, Code: fault.InvalidParameter,
		Want: `{"error":"t.csv:2: a field in quotes does not end as it must: with a quote before the separator or the end of the row","code":"INVALID_PARAMETER"}`},
	{Tool: "notes_import", Args: `{"vault":"main","type":"memory","files":[{"path":"m.jsonl","content":"{\"id\":\"mem_left\",\"intent\":{\"goal\":\"g\",\"task_type\":\"other\"},\"outcome\":{\"success\":true,\"summary\":\"s\"},\"links\":{\"caused_by\":[\"mem_none\"]}}"}]}`,
		Want: `{"data":{"count":1},"meta":{"left_out":[{"path":"m.jsonl:1","reason":"caused_by to mem_none does not lead to another memory"}]}}`},
	{Tool: "notes_import", Args: `{"vault":"main","type":"markdown","files":[{"path":"../x.md","content":"x"}]}`, Code: fault.InvalidPath},
	{Tool: "notes_import", Args: `{"vault":"main","type":"markdown","files":[]}`, Code: fault.InvalidParameter},
	{Tool: "notes_import", Args: `{"vault":"main","type":"pdf","files":[{"path":"x.pdf","content":"x"}]}`, Code: fault.InvalidParameter},
}}
