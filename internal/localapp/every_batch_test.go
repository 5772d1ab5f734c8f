package localapp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func TestEveryWayActs(t *testing.T) {
	everyWay(t, []tooltest.Story{batched, bulk, validated, loggedStory})
}

// batched checks a batch, its failures and its plan over every way.
var batched = tooltest.Story{Name: "batch", Steps: []tooltest.Step{
	{Tool: "raven_batch", Args: `{"vault":"main","operations":[{"op":"create","entity":"object","data":{"type":"page","path":"m"}},{"op":"add","data":{"text":"See [[nobody]]","to":"m"}}],"dry_run":true}`,
		Want: `{"ok":true,"data":{"dry_run":true,"results":[{"index":0,"op":"create","entity":"object","ok":true,"data":{"would_create":{"id":"m"}}},{"index":1,"op":"add","ok":true,"data":{"would_update":{"id":"m"}}}],"would_modify_files":[{"path":"m.md","action":"create"}]},"warnings":[{"code":"REF_NOT_FOUND","index":1}],"meta":{"total_operations":2,"successful":2,"failed":0}}`},
	{Tool: "raven_batch", Args: `{"vault":"main","idempotency_key":"b1","operations":[{"op":"create","entity":"object","data":{"type":"page","path":"m"}},{"op":"add","data":{"text":"one","to":"m"}},{"op":"update","entity":"object","data":{"id":"gone","set":{"a":"b"}}}],"options":{"atomic":false}}`,
		Code: fault.BatchFailed,
		Want: `{"ok":false,"error":{"code":"BATCH_FAILED","failed_at":2,"details":{"cause":"NOT_FOUND"}},"data":{"rolled_back":false,"results":[{"index":0,"ok":true},{"index":1,"ok":true},{"index":2,"op":"update","ok":false,"error":{"code":"NOT_FOUND"}}]},"meta":{"total_operations":3,"successful":2,"failed":1}}`},
	{Tool: "raven_batch", Args: `{"vault":"main","idempotency_key":"b1","operations":[{"op":"create","entity":"object","data":{"type":"page","path":"m"}},{"op":"add","data":{"text":"one","to":"m"}},{"op":"update","entity":"object","data":{"id":"gone","set":{"a":"b"}}}],"options":{"atomic":false}}`,
		Code: fault.BatchFailed, Want: `{"error":{"failed_at":2},"data":{"rolled_back":false},"meta":{"replayed":true}}`},
	{Tool: "raven_batch", Args: `{"vault":"main","operations":[{"op":"add","data":{"text":"two","to":"m"}},{"op":"delete","entity":"object","data":{"id":"gone"}}]}`,
		Code: fault.BatchFailed, Want: `{"error":{"failed_at":1},"data":{"rolled_back":true}}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"m","envelope":false}`, Want: `{"content":"---\ntype: page\n---\n\n- one\n"}`},
	{Tool: "raven_batch", Args: `{"vault":"main","operations":[{"op":"make","data":{}},{"op":"add","data":{"txt":"x"}}],"atomic":false}`,
		Code: fault.BatchFailed, Want: `{"error":{"failed_at":0,"details":{"cause":"INVALID_VALUE"}},"data":{"results":[{"index":0,"error":{"code":"INVALID_VALUE","details":{"argument":"op"}}},{"index":1,"op":"add"}]}}`},
	{Tool: "raven_batch", Args: `{"vault":"main","operations":[]}`, Code: fault.MissingRequired},
	{Tool: "raven_batch", Args: `{"vault":"main"}`, Code: fault.MissingRequired},
	{Tool: "raven_batch", Args: `{"vault":"main","operations":[{"op":"add","data":{"text":"x"},"more":1}]}`, Code: fault.InvalidValue},
	{Tool: "raven_batch", Args: `{"vault":"main","envelope":false,"operations":[{"op":"delete","entity":"object","data":{"id":"gone"}}]}`,
		Code: fault.BatchFailed, Want: `{"code":"BATCH_FAILED","failed_at":0}`},
}}

// bulk checks calls that change all results of a query: the plan, the call with its token, and the
// refusal of a call without a token or with that of another plan.
var bulk = tooltest.Story{Name: "bulk", Steps: []tooltest.Step{
	{Tool: "raven_new", Args: `{"vault":"main","type":"person","title":"Sif"}`},
	{Tool: "raven_set", Args: `{"vault":"main","query":"type:person","set":{"email":"x@example.test"}}`, Code: fault.MissingRequired,
		Want: `{"error":{"details":{"argument":"plan_token"}}}`},
	{Tool: "raven_set", Args: `{"vault":"main","id":"people/sif","query":"type:person","set":{"email":"x@example.test"}}`, Code: fault.InvalidValue},
	{Tool: "raven_set", Args: `{"vault":"main","query":"type:person .name==Sif","set":{"email":"x@example.test"},"dry_run":true}`,
		Want: `{"data":{"dry_run":true,"items":[{"id":"people/sif","file":"people/sif.md","status":"updated"}],"total":1,"modified":1,"would_modify_files":[{"path":"people/sif.md","action":"modify"}]}}`},
	{Tool: "raven_set", Args: `{"vault":"main","query":"type:person .name==Sif","set":{"email":"other@example.test"},"plan_token":"$plan_token"}`, Code: fault.InvalidValue},
	{Tool: "raven_set", Args: `{"vault":"main","query":"type:person .name==Sif","set":{"email":"x@example.test"},"plan_token":"$plan_token"}`,
		Want: `{"data":{"action":"updated","total":1,"modified":1,"unchanged":0,"skipped":0},"meta":{"files_modified":["people/sif.md"]}}`},
	{Tool: "raven_set", Args: `{"vault":"main","query":"type:person .name==Sif","set":{"email":"x@example.test"},"plan_token":"$plan_token"}`, Code: fault.Conflict},
	{Tool: "raven_unset", Args: `{"vault":"main","filter":{"type":"person","where":{"fields":{"name":"Sif"}}},"unset":["email"],"dry_run":true}`,
		Want: `{"data":{"dry_run":true,"total":1,"modified":1}}`},
	{Tool: "raven_unset", Args: `{"vault":"main","filter":{"type":"person","where":{"fields":{"name":"Sif"}}},"unset":["email"],"plan_token":"$plan_token"}`,
		Want: `{"data":{"action":"updated","modified":1}}`},
	{Tool: "raven_trait_create", Args: `{"vault":"main","trait_type":"due","value":"2026-03-05","parent_id":"people/sif","content":"Ask"}`},
	{Tool: "raven_trait_update", Args: `{"vault":"main","query":"trait:due within(people/sif)","set":{"value":"2026-03-06"},"dry_run":true}`,
		Want: `{"data":{"dry_run":true,"total":1,"modified":1}}`},
	{Tool: "raven_trait_update", Args: `{"vault":"main","query":"trait:due within(people/sif)","set":{"value":"2026-03-06"},"plan_token":"$plan_token"}`,
		Want: `{"data":{"action":"updated","modified":1}}`},
	{Tool: "raven_delete", Args: `{"vault":"main","query":"type:person .name==Sif","dry_run":true}`,
		Want: `{"data":{"dry_run":true,"items":[{"id":"people/sif","status":"deleted"}],"total":1}}`},
	{Tool: "raven_delete", Args: `{"vault":"main","query":"type:person .name==Sif","plan_token":"$plan_token"}`,
		Want: `{"data":{"action":"deleted","modified":1}}`},
	{Tool: "raven_object_get", Args: `{"vault":"main","id":"people/sif"}`, Code: fault.NotFound},
}}

// validated checks the validation of an input over every way.
var validated = tooltest.Story{Name: "validate", Steps: []tooltest.Step{
	{Tool: "raven_validate", Args: `{"vault":"main","type":"object","input":{"type":"person","fields":{"name":"Thor"}}}`,
		Want: `{"ok":true,"data":{"valid":true,"normalized":{"type":"person","path":"people/thor","fields":{"name":"Thor"}}}}`},
	{Tool: "raven_validate", Args: `{"vault":"main","type":"object","input":{"type":"person","path":"people/bob"}}`,
		Want: `{"ok":true,"data":{"valid":false,"errors":[{"code":"MISSING_REQUIRED","field":"name"},{"code":"DUPLICATE_ID"}]}}`},
	{Tool: "raven_validate", Args: `{"vault":"main","type":"batch","input":{"operations":[{"op":"add","data":{"text":"x","to":"gone/gone"}}]}}`,
		Want: `{"data":{"valid":false,"errors":[{"code":"NOT_FOUND","index":0}]}}`},
	{Tool: "raven_validate", Args: `{"vault":"main","type":"note","input":{"path":"x","text":"See [[nobody]].\n"}}`,
		Want: `{"data":{"valid":false,"errors":[{"code":"INVALID_REF"}]}}`},
	{Tool: "raven_validate", Args: `{"vault":"main","type":"file","input":{}}`, Code: fault.InvalidValue},
	{Tool: "raven_validate", Args: `{"vault":"main","input":{}}`, Code: fault.MissingRequired},
}}

// loggedStory checks the log over every way.
var loggedStory = tooltest.Story{Name: "log", Steps: []tooltest.Step{
	{Tool: "raven_new", Args: `{"vault":"main","type":"person","title":"Thor"}`},
	{Tool: "raven_set", Args: `{"vault":"main","id":"people/thor","set":{"email":"t@example.test"}}`},
	{Tool: "raven_log", Args: `{"vault":"main","id":"people/thor"}`,
		Want: `{"data":{"entries":[{"op":"create","entity":"object","id":"people/thor","type":"person","tool":"raven_new"},{"op":"update","id":"people/thor","changes":{"email":{"old":null,"new":"t@example.test"}}}]},"meta":{"count":2,"has_more":false,"timezone":"UTC"}}`},
	{Tool: "raven_log", Args: `{"vault":"main","all":true,"limit":1,"op":"update"}`, Want: `{"data":{"entries":[{"op":"update"}]}}`},
	{Tool: "raven_log", Args: `{"vault":"main","since":"tomorrow"}`, Want: `{"data":{"entries":[]},"warnings":[{"code":"NO_RESULTS"}]}`},
	{Tool: "raven_log", Args: `{"vault":"main","since":"someday"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"argument":"since"}}}`},
	{Tool: "raven_log", Args: `{"vault":"main","op":"make"}`, Code: fault.InvalidValue},
	{Tool: "raven_log", Args: `{"vault":"main","id":"no/such"}`, Code: fault.NotFound},
}}

// TestBatchInputs checks the ways to pass the operations of a batch, and an input to validate, on
// the command line: as JSON, as a file, and on standard input.
func TestBatchInputs(t *testing.T) {
	for name, c := range map[string]struct {
		words []string
		input string
	}{
		"batch":    {[]string{"batch"}, `{"operations":[{"op":"add","data":{"text":"x","to":"inbox"}}]}`},
		"validate": {[]string{"validate", "--type", "object"}, `{"type":"person","title":"Sif"}`},
	} {
		file := filepath.Join(t.TempDir(), "input.json")
		require.NoError(t, os.WriteFile(file, []byte(c.input), 0o600))
		var first string
		for _, in := range [][]string{{"--input", c.input}, {"--input", file}, {"--input-file", file}, {"--stdin"}} {
			s := openDocument(t).shell("told")
			s.Stdin = c.input
			printed := s.Run(t, append(append(c.words, in...), "--json")...)
			require.Zero(t, printed.Exit, "%s %q: %s%s", name, in, printed.Out, printed.Err)
			answer := tooltest.Comparable(json.RawMessage(printed.Out))
			if first == "" {
				first = answer
			}
			require.Equal(t, first, answer, "%s %q", name, in)
		}
	}
}
