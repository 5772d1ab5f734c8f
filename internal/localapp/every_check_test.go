package localapp_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// checking is a story of checking a vault, and of fixing its problems.
var checking = tooltest.Story{Name: "checks", Steps: []tooltest.Step{
	{Tool: "raven_check", Args: `{"vault":"main","errors_only":true,"id":"people/bob"}`, Want: `{"data":{"file_count":1,"error_count":0,"warning_count":0,"issues":[]}}`},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"odd/a.md","text":"See [[bob]] and [[people/nobody]].\n\n- @due(2026-3-1) soon\n"}]}`},
	{Tool: "raven_check", Args: `{"vault":"main","id":"odd/"}`, Code: fault.ValidationFailed, Want: `{"error":{"errors":[
		{"code":"INVALID_REF","details":{"raven_code":"missing_reference","ref":"people/nobody","suggested_type":"person","confidence":"inferred"},"location":{"file":"odd/a.md","line":1}},
		{"code":"INVALID_VALUE","details":{"raven_code":"invalid_trait_value"},"location":{"file":"odd/a.md","line":3}}]},
		"data":{"file_count":1,"error_count":2,"warning_count":1,"issues":[{"code":"INVALID_REF","level":"warning","details":{"raven_code":"short_ref_could_be_full_path"}}]}}`},
	{Tool: "raven_check", Args: `{"vault":"main","id":"odd/a","issues":["short_ref_could_be_full_path"],"strict":true}`, Code: fault.ValidationFailed, Want: `{"data":{"error_count":1,"warning_count":0}}`},
	{Tool: "raven_check", Args: `{"vault":"main","id":"odd/a","exclude":["INVALID_REF","invalid_trait_value"]}`, Want: `{"data":{"error_count":0,"issues":[]}}`},
	{Tool: "raven_check", Args: `{"vault":"main","issues":["none"]}`, Code: fault.InvalidValue},
	{Tool: "raven_check", Args: `{"vault":"main","id":"nowhere/"}`, Code: fault.NotFound},
	{Tool: "raven_check_fix", Args: `{"vault":"main","id":"odd/a","dry_run":true}`, Want: `{"data":{"dry_run":true,"fixed_total":2,"would_modify_files":[{"path":"odd/a.md","action":"modify"}]}}`},
	{Tool: "raven_check_fix", Args: `{"vault":"main","id":"odd/a","issues":["invalid_trait_value"]}`, Want: `{"data":{"action":"updated","fixed":[{"file_path":"odd/a.md","line":3,"code":"INVALID_VALUE","raven_code":"invalid_trait_value","old":"2026-3-1","new":"2026-03-01"}],"fixed_total":1,"skipped":[],"error_count":0}}`},
	{Tool: "raven_check_fix", Args: `{"vault":"main","id":"odd/","errors_only":true}`, Want: `{"data":{"action":"unchanged","fixed":[],"error_count":1,"warning_count":0}}`},
	{Tool: "raven_check_fix", Args: `{"vault":"main","id":"odd/"}`, Want: `{"data":{"action":"updated","fixed":[{"old":"bob","new":"people/bob"}],"error_count":1,"warning_count":0},"meta":{"files_modified":["odd/a.md"]}}`},
	{Tool: "raven_check_fix", Args: `{"vault":"main","id":"odd/a","plan_token":"q1.x"}`, Code: fault.InvalidValue},
}}

func TestEveryWayChecks(t *testing.T) { everyWay(t, []tooltest.Story{checking}) }

// TestCheckOfNothing checks that a check which could not begin returns no counts, which would look
// as if it had found nothing.
func TestCheckOfNothing(t *testing.T) {
	p := newPlace(t)
	resp, err := http.Get(p.base + "/v1/vaults/none/check") //nolint:noctx // the server is this test's
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	var answer map[string]json.RawMessage
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
	require.NotContains(t, answer, "data")
}
