package localapp_test

import (
	"testing"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// orientStories are the calls of orientation: its answers, its warnings and its refusals.
var orientStories = []tooltest.Story{
	{Name: "orientation", Steps: []tooltest.Step{
		{Tool: "vault_overview", Args: `{"vault":"main"}`, Want: `{"ok":true,"data":{"noteCount":11,` +
			`"topLevelFolders":[{"path":"people","noteCount":3},{"path":"projects","noteCount":2},{"path":"daily","noteCount":1},` +
			`{"path":"meetings","noteCount":1},{"path":"templates","noteCount":1},{"path":"ünï","noteCount":1}],` +
			`"topTags":[{"tag":"engineering","noteCount":1},{"tag":"platform","noteCount":1}],` +
			`"frontmatterFields":[{"name":"type","noteCount":7},{"name":"name","noteCount":3},{"name":"lead","noteCount":2},` +
			`{"name":"title","noteCount":2},{"name":"attendees","noteCount":1},{"name":"email","noteCount":1},{"name":"phone","noteCount":1},` +
			`{"name":"status","noteCount":1},{"name":"tags","noteCount":1},{"name":"time","noteCount":1}]},"meta":{}}`},
		{Tool: "vault_tree", Args: `{"vault":"main","depth":1}`, Want: `{"data":{"tree":{"path":"","noteCount":11,"childFolders":6,` +
			`"children":[{"path":"daily","noteCount":1,"childFolders":0,"children":[]},{"path":"meetings"},{"path":"people","noteCount":3},` +
			`{"path":"projects"},{"path":"templates"},{"path":"ünï"}]}}}`},
		{Tool: "vault_tree", Args: `{"vault":"main","directOnly":true,"limit":3}`, Want: `{"data":{"tree":{"path":"","noteCount":2,"childFolders":6,` +
			`"children":[{"path":"daily"},{"path":"meetings"}]}},"warnings":[{"code":"TREE_LIMIT_EXCEEDED","total":7}]}`},
		{Tool: "vault_tree", Args: `{"vault":"main","direct_only":true,"limit":1}`, Want: `{"data":{"tree":{"noteCount":2,"children":[]}}}`},
		{Tool: "vault_tags", Args: `{"vault":"main","limit":1}`, Want: `{"data":{"tags":[{"tag":"engineering","noteCount":1}]},` +
			`"warnings":[{"code":"TAGS_TRUNCATED","total":2}]}`},
		{Tool: "vault_tags", Args: `{"vault":"main","only":["tag"]}`, Want: `{"data":{"tags":[{"tag":"engineering"},{"tag":"platform"}]}}`},
		{Tool: "vault_facets", Args: `{"vault":"main","limit":2}`, Want: `{"data":{"facets":[{"name":"type","noteCount":7,"values":` +
			`[{"value":"person","noteCount":3},{"value":"project","noteCount":2},{"value":"date","noteCount":1},{"value":"meeting","noteCount":1}]},` +
			`{"name":"name","noteCount":3}]},"warnings":[{"code":"FACETS_TRUNCATED","total":10}]}`},
		{Tool: "vault_facets", Args: `{"vault":"main","envelope":false}`, Want: `{"facets":[{"name":"type"},{"name":"name"},{"name":"lead"},` +
			`{"name":"title"},{"name":"attendees"},{"name":"email"},{"name":"phone"},{"name":"status","values":[{"value":"active","noteCount":1}]},` +
			`{"name":"tags"},{"name":"time"}]}`},
		{Tool: "vault_status", Args: `{"vault":"main"}`, Want: `{"data":{"noteCount":11,"quarantinedCount":1,"committedAt":"2025-02-01T14:30:00Z",` +
			`"reindexRequired":false,"reindexReasons":[]}}`},
		{Tool: "vault_overview", Want: `{"data":{"noteCount":11}}`},
		{Tool: "team_vault_import", Args: `{"vault":"main","mode":"replace","notes":[{"path":"raven.yaml","text":"exclude: [people/, /inbox.md]\n"}]}`},
		{Tool: "vault_overview", Args: `{"vault":"main"}`, Want: `{"data":{"noteCount":7}}`},
		{Tool: "vault_facets", Args: `{"vault":"main","limit":1}`, Want: `{"data":{"facets":[{"name":"type","noteCount":4}]}}`},
		{Tool: "raven_read", Args: `{"vault":"main","path":"people/bob"}`, Code: fault.NotFound},
		{Tool: "vault_overview", Args: `{"vault":"main","as_of":"v0"}`, Want: `{"data":{"noteCount":0,"chunkCount":0,"topLevelFolders":[],` +
			`"topTags":[],"frontmatterFields":[]},"meta":{"version":"v0"}}`},
		{Tool: "team_vault_create", Args: `{"name":"bare"}`},
		{Tool: "vault_tree", Args: `{"vault":"bare"}`, Want: `{"data":{"tree":{"path":"","noteCount":0,"childFolders":0,"children":[]}}}`},
		{Tool: "vault_tags", Args: `{"vault":"bare"}`, Want: `{"data":{"tags":[]}}`},
		{Tool: "vault_facets", Args: `{"vault":"bare"}`, Want: `{"data":{"facets":[]}}`},
	}},
	{Name: "orientation refused", Steps: []tooltest.Step{
		{Tool: "vault_tree", Args: `{"vault":"main","depth":0}`, Code: fault.InvalidParameter, Want: `{"error":{"status":"invalid_argument","details":{"argument":"depth"}}}`},
		{Tool: "vault_tree", Args: `{"vault":"main","depth":11}`, Code: fault.InvalidParameter},
		{Tool: "vault_tree", Args: `{"vault":"main","limit":0}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"argument":"limit"}}}`},
		{Tool: "vault_tree", Args: `{"vault":"main","limit":501}`, Code: fault.InvalidParameter},
		{Tool: "vault_tags", Args: `{"vault":"main","limit":201}`, Code: fault.InvalidParameter},
		{Tool: "vault_facets", Args: `{"vault":"main","limit":0}`, Code: fault.InvalidParameter},
		{Tool: "vault_facets", Args: `{"vault":"main","limit":0,"depth":1}`, Code: fault.InvalidParameter, Want: `{"error":{"errors":[{"code":"INVALID_PARAMETER"},{"code":"INVALID_PARAMETER"}]}}`},
		{Tool: "vault_overview", Args: `{"vault":"main","limit":5}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"argument":"limit"}}}`},
		{Tool: "vault_tags", Args: `{"vault":"none"}`, Code: fault.NotFound},
		{Tool: "vault_status", Args: `{"vault":"main","as_of":"v99"}`, Code: fault.NotFound, Want: `{"error":{"details":{"argument":"as_of"}}}`},
		{Tool: "vault_status", Args: `{"vault":"main","as_of":"someday"}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"argument":"as_of"}}}`},
	}},
}

// TestEveryWayOrients runs the stories of orientation over every way in.
func TestEveryWayOrients(t *testing.T) { everyWay(t, orientStories) }
