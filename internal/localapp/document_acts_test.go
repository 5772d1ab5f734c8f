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

// office returns the vault of the document's examples of batches, queries and the log.
func office() map[string]string {
	files := maps.Clone(agenda)
	files["people/bob.md"] = "---\ntype: person\nname: Bob\n---\n"
	files["raven.yaml"] = "queries:\n  tasks: {description: Open tasks, traits: [due, status], filters: {status: \"todo,in_progress,\"}}\n" +
		"  overdue: {traits: [due], filters: {due: past}}\n"
	return files
}

// strictOffice returns a vault in which a person needs an address.
func strictOffice() map[string]string {
	return map[string]string{
		"schema.yaml": "types:\n  person: {default_path: people/, name_field: name, fields: {name: {type: string, required: true}, email: {type: string, required: true}}}\n",
	}
}

// documentOperations are the operations of the document's batch.
const documentOperations = `{"op":"create","entity":"object","data":{"type":"meeting","path":"meetings/planning","fields":{"time":"2025-02-01T14:00"}}},` +
	`{"op":"create","entity":"trait","data":{"trait_type":"due","value":"2025-02-05","parent_id":"meetings/planning","content":"Send agenda"}},` +
	`{"op":"update","entity":"trait","data":{"id":"due-abc123","set":{"value":"2025-02-10"}}}`

// officeCalls are the document's calls for batches, queries and the log, with the parts of their
// answers that it shows. Deviations that reference/raven.md §6.1 decides are as there.
var officeCalls = []tooltest.Step{
	// Batch Error Response: nothing is written.
	{Tool: "raven_batch", Args: `{"operations":[` + strings.Replace(documentOperations, "due-abc123", "due-gone", 1) + `],"options":{"atomic":true,"stop_on_error":true}}`,
		Code: fault.BatchFailed, Want: `{"ok":false,"error":{"code":"BATCH_FAILED","failed_at":2},"data":{"results":[{"index":0,"op":"create","ok":true,"data":{"id":"meetings/planning"}},{"index":1,"op":"create","ok":true,"data":{"trait_type":"due"}},{"index":2,"op":"update","ok":false,"error":{"code":"NOT_FOUND"}}],"rolled_back":true},"meta":{"total_operations":3,"successful":2,"failed":1}}`},
	{Tool: "raven_object_get", Args: `{"id":"meetings/planning"}`, Code: fault.NotFound},
	// Batch Options: validate without making changes.
	{Tool: "raven_batch", Args: `{"operations":[` + documentOperations + `],"options":{"dry_run":true}}`,
		Want: `{"ok":true,"data":{"dry_run":true,"results":[{"index":0,"ok":true},{"index":1,"ok":true},{"index":2,"ok":true}]}}`},
	{Tool: "raven_object_get", Args: `{"id":"meetings/planning"}`, Code: fault.NotFound},
	// Batch Input Format, Batch Response.
	{Tool: "raven_batch", Args: `{"operations":[` + documentOperations + `],"options":{"atomic":true,"stop_on_error":true}}`,
		Want: `{"ok":true,"data":{"results":[{"index":0,"op":"create","ok":true,"data":{"id":"meetings/planning","type":"meeting"}},{"index":1,"op":"create","ok":true,"data":{"id":"` + idOf("meetings/planning", "due", "Send agenda") + `","trait_type":"due"}},{"index":2,"op":"update","ok":true,"data":{"id":"due-abc123","updated_fields":["value"]}}]},"meta":{"total_operations":3,"successful":3,"failed":0}}`},
	// The log.
	{Tool: "raven_log", Args: `{"since":"24 hours ago","op":"create","entity":"object","path":"meetings/"}`,
		Want: `{"ok":true,"data":{"entries":[{"op":"create","entity":"object","id":"meetings/planning","type":"meeting"}]},"meta":{"count":1}}`},
	{Tool: "raven_log", Args: `{"since":"24 hours ago","op":"create","entity":"trait","path":"meetings/"}`,
		Want: `{"ok":true,"data":{"entries":[{"op":"create","entity":"trait","id":"` + idOf("meetings/planning", "due", "Send agenda") + `","parent":"meetings/planning","trait":"due","value":"2025-02-05"}]},"meta":{"count":1}}`},
	{Tool: "raven_log", Args: `{"id":"due-abc123","op":"update"}`,
		Want: `{"ok":true,"data":{"entries":[{"op":"update","entity":"trait","id":"due-abc123","changes":{"value":{"old":"2025-02-01","new":"2025-02-10"}}}]}}`},
	// Saved queries.
	{Tool: "raven_query", Args: `{"name":"tasks"}`, Want: `{"ok":true,"data":{"query_name":"tasks","query_kind":"trait"},"meta":{"total":4}}`},
	{Tool: "raven_query", Args: `{"name":"overdue"}`, Want: `{"ok":true,"data":{"query_name":"overdue","query_kind":"trait","trait":"due","items":[]}}`},
	// Pre-Flight Validation.
	{Tool: "raven_validate", Args: `{"type":"object","input":{"type":"person","fields":{"name":"Carol"}}}`,
		Want: `{"ok":true,"data":{"valid":true,"normalized":{"type":"person","path":"people/carol","fields":{"name":"Carol"}}}}`},
}

// strictCalls are the document's validations of an invalid input.
var strictCalls = []tooltest.Step{
	{Tool: "raven_validate", Args: `{"type":"object","input":{"type":"person","fields":{"name":"Bob"}}}`,
		Want: `{"ok":true,"data":{"valid":false,"errors":[{"code":"MISSING_REQUIRED","field":"email","message":"Field 'email' is required for type 'person'"}]}}`},
}

// TestEveryWayDocumentActs checks the document's examples of batches, the log, saved queries and
// validation.
func TestEveryWayDocumentActs(t *testing.T) {
	everyWay(t, []tooltest.Story{
		within("the document on batches", office(), officeCalls), within("the document on validation", strictOffice(), strictCalls),
	})
}

// TestDocumentActLines checks the document's command lines for them, unchanged except for the name
// of the program.
func TestDocumentActLines(t *testing.T) {
	p := newPlace(t)
	for _, step := range imported("r", office()) {
		over(t, tooltest.Invoking("catalogue", p.catalogue()), step)
	}
	s := p.shell("r")
	for _, line := range []string{
		`rookery query tasks --json`, `rookery query overdue --json`, `rookery query --list --json`, `rookery check --json`,
		`rookery log --since yesterday --json`, `rookery log --since "24 hours ago" --json`, `rookery log --id people/alice --json`,
		`rookery log --op create --entity trait --json`, `rookery log --op update --json`, `rookery log --op delete --json`,
		`rookery log --entity object --json`, `rookery log --entity trait --json`, `rookery log --all --json`,
		`rookery validate --type object --input '{"type": "person", "fields": {"name": "Bob"}}' --json`,
		`rookery batch --input '{"operations": [` + documentOperations + `]}' --atomic --dry-run --json`,
		`rookery batch --input '{"operations": [` + documentOperations + `]}' --json`,
	} {
		printed := s.Run(t, tooltest.Words(line)[1:]...)
		require.Zero(t, printed.Exit, "%s: %s%s", line, printed.Out, printed.Err)
		require.Empty(t, tooltest.CodeOf(t, json.RawMessage(printed.Out)), line)
	}
}
