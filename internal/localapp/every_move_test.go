package localapp_test

import (
	"testing"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// moving is a story of moving notes, and of the references to them.
var moving = tooltest.Story{Name: "moves", Steps: []tooltest.Step{
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[
		{"path":"use.md","text":"[[people/bob]] [[Bob]] [b](people/bob.md) [[people/bob#nope|x]]\n- @assignee(people/bob) go\n"},
		{"path":"x/bob2.md","text":"see [[use]]\n\n## One\n"}]}`},
	{Tool: "raven_move", Args: `{"vault":"main","source":"people/bob","destination":"team/","dry_run":true}`, Want: `{"data":{"dry_run":true,"source":"people/bob","destination":"team/bob","side_effects":["people/bob goes by team/bob"]}}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"people/bob"}`},
	{Tool: "raven_move", Args: `{"vault":"main","source":"people/bob","destination":"team/"}`, Want: `{"data":{"action":"updated","source":"people/bob","destination":"team/bob","id":"team/bob","type":"person","file":"team/bob.md","object":{"id":"team/bob","first_seen_at":"2025-02-01T14:30:00Z"}},"meta":{"version":"v4"}}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"use"}`, Want: `{"data":{"content":"[[team/bob]] [[Bob]] [b](team/bob.md) [[team/bob#nope|x]]\n- @assignee(people/bob) go\n"}}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"people/bob"}`, Code: fault.NotFound},
	{Tool: "raven_history", Args: `{"vault":"main","id":"team/bob"}`, Want: `{"data":{"items":[{"version":"v4","tool":"raven_move"},{"version":"v2","tool":"team_vault_import"}]}}`},
	{Tool: "raven_move", Args: `{"vault":"main","source":"team/bob","destination":"team/bob"}`, Want: `{"data":{"action":"unchanged"}}`},
	{Tool: "raven_move", Args: `{"vault":"main","source":"team/bob","destination":"team/Bob"}`, Want: `{"data":{"action":"updated","id":"team/Bob"}}`},
	{Tool: "raven_undo", Args: `{"vault":"main","version":"v5"}`},
	{Tool: "raven_undo", Args: `{"vault":"main","version":"v4"}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"use"}`, Want: `{"data":{"content":"[[people/bob]] [[Bob]] [b](people/bob.md) [[people/bob#nope|x]]\n- @assignee(people/bob) go\n"}}`},
	{Tool: "raven_object_get", Args: `{"vault":"main","id":"people/bob"}`, Want: `{"data":{"object":{"first_seen_at":"2025-02-01T14:30:00Z"}}}`},
	{Tool: "raven_move", Args: `{"vault":"main","source":"people/bob","destination":"projects/bob","update_refs":false}`, Want: `{"data":{"action":"updated","updated_refs":[],"updated_refs_total":0}}`},
	{Tool: "raven_move", Args: `{"vault":"main","id":"use","destination":"a/b/use.md"}`, Want: `{"data":{"id":"a/b/use","updated_refs":[]}}`},
	{Tool: "raven_move", Args: `{"vault":"main","source":"people/alice","destination":"x/bob2"}`, Code: fault.DuplicateID, Want: `{"error":{"details":{"id":"x/bob2"}}}`},
	{Tool: "raven_move", Args: `{"vault":"main","source":"people/alice","destination":"X/BOB2"}`, Code: fault.DuplicateID},
	{Tool: "raven_move", Args: `{"vault":"main","source":"x/bob2#one","destination":"y"}`, Code: fault.InvalidValue},
	{Tool: "raven_move", Args: `{"vault":"main","source":"people/nobody","destination":"y"}`, Code: fault.NotFound},
	{Tool: "raven_move", Args: `{"vault":"main","source":"people/alice","destination":"../y"}`, Code: fault.InvalidPath},
	{Tool: "raven_move", Args: `{"vault":"main","source":"people/alice","destination":""}`, Code: fault.MissingRequired},
	{Tool: "raven_move", Args: `{"vault":"main","source":"2025-01-31","destination":"notes/day"}`, Code: fault.InvalidValue},
	{Tool: "raven_move", Args: `{"vault":"main","source":"people/alice"}`, Code: fault.MissingRequired},
	{Tool: "raven_move", Args: `{"vault":"main","source":"people/alice","destination":"y","if_version":"v1"}`, Code: fault.Conflict},
	{Tool: "raven_move", Args: `{"vault":"main","source":"people/alice","destination":"y","idempotency_key":"m1"}`, Want: `{"data":{"id":"y"}}`},
	{Tool: "raven_move", Args: `{"vault":"main","source":"people/alice","destination":"y","idempotency_key":"m1"}`, Want: `{"data":{"id":"y"},"meta":{"replayed":true}}`},
}}

func TestEveryWayMoves(t *testing.T) { everyWay(t, []tooltest.Story{moving}) }
