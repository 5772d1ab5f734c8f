package localapp_test

import (
	"testing"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestEveryWayReadsNodes checks the tools of spec/agent-interface.md for nodes, queries, payload,
// tags and rules over every way in.
func TestEveryWayReadsNodes(t *testing.T) {
	everyWay(t, []tooltest.Story{readingNodes, changingNodes, movingNodes, refusingNodes, snapshotting, merging})
}

var readingNodes = tooltest.Story{Name: "reading nodes", Steps: []tooltest.Step{
	{Tool: "tree_get_node", Args: `{"vault":"main","nodeId":"people/alice"}`, Want: `{"data":{"node":{"nodeId":"people/alice","kind":"note","payloadType":"person","name":"Alice","path":"people/alice.md","depth":2},"ancestors":[{"nodeId":"/","name":""},{"nodeId":"people/","name":"people"}],"versionToken":"v2"},"meta":{"version":"v2"}}`},
	{Tool: "tree_get_node", Args: `{"nodeId":"people/alice#notes","includedProperties":["name"],"envelope":false}`, Want: `{"node":{"nodeId":"people/alice#notes","name":"Notes"}}`},
	{Tool: "tree_list_children", Args: `{"nodeId":"people/alice"}`, Want: `{"data":{"items":[{"nodeId":"people/alice#notes"},{"nodeId":"people/alice#tasks"}]},"meta":{"count":2,"total":2,"has_more":false}}`},
	{Tool: "tree_get_path", Args: `{"nodeId":"people/alice#deep"}`, Want: `{"data":{"path":[{"nodeId":"/","depth":0},{"nodeId":"people/"},{"nodeId":"people/alice"},{"nodeId":"people/alice#notes"},{"nodeId":"people/alice#deep","depth":4}]}}`},
	{Tool: "tree_get_subtree", Args: `{"vault":"main","nodeId":"people/alice","depthLimit":1}`, Want: `{"data":{"node":{"nodeId":"people/alice","children":[{"nodeId":"people/alice#notes"},{"nodeId":"people/alice#tasks"}]}}}`},
	{Tool: "tree_get_common_ancestor", Args: `{"nodeIds":["people/alice#notes","people/alice#deep"],"envelope":false}`, Want: `{"nodeId":"people/alice#notes"}`},
	{Tool: "tree_search", Args: `{"vault":"main","rootNodeId":"people/","filters":[{"path":"name","op":"eq","value":"ALICE"}]}`, Want: `{"data":{"items":[{"nodeId":"people/alice","ancestors":[{"nodeId":"/"},{"nodeId":"people/"}]}]}}`},
	{Tool: "tree_search_advanced", Args: `{"vault":"main","rootId":"people/alice","predicates":{"op":"or","predicates":[{"path":"level","op":"gt","value":2}]},"sortBy":"name"}`, Want: `{"data":{"items":[{"nodeId":"people/alice#deep"}]}}`},
	{Tool: "tree_select_nodes", Args: `{"vault":"main","queryDsl":"under people/alice and level = 2"}`, Want: `{"data":{"items":[{"nodeId":"people/alice#notes"},{"nodeId":"people/alice#tasks"}]}}`},
	{Tool: "tree_query_by_tag", Args: `{"tag":"Engineering","envelope":false}`, Want: `{"items":[{"nodeId":"people/alice"}]}`},
	{Tool: "tree_get_tags", Args: `{"nodeId":"people/alice#notes"}`, Want: `{"data":{"nodeId":"people/alice#notes","tags":[]}}`},
	{Tool: "tree_validate_tree", Args: `{"rulesetId":"order"}`, Want: `{"data":{"violations":[]}}`},
	{Tool: "tree_lint_payload", Args: `{"nodeId":"people/alice","rulesetId":"schema"}`},
	{Tool: "tree_export_subtree", Args: `{"vault":"main","nodeId":"people/alice#notes"}`, Want: `{"data":{"format":"json","nodeCount":2,"json":{"nodeId":"people/alice#notes","kind":"section","payloadType":"section","title":"Notes","level":2,"payload":{},"children":[{"nodeId":"people/alice#deep","children":[]}]}}}`},
	{Tool: "tree_export_subtree", Args: `{"vault":"main","nodeId":"people/alice","format":"pdf"}`, Code: fault.InvalidParameter},
	{Tool: "tree_diff_subtree", Args: `{"aId":"people/alice","bId":"people/alice","envelope":false}`, Want: `{"structure":[],"payload":[],"metadata":[]}`},
}}

var changingNodes = tooltest.Story{Name: "changing nodes", Steps: []tooltest.Step{
	{Tool: "tree_tag_node", Args: `{"vault":"main","nodeId":"people/alice#notes","tags":["one"],"versionToken":"v2"}`, Want: `{"data":{"nodeId":"people/alice#notes","tags":["one"],"idMap":{},"versionToken":"v3"}}`},
	{Tool: "tree_untag_node", Args: `{"vault":"main","nodeId":"people/alice#notes","tags":["ONE"],"versionToken":"v3"}`, Want: `{"data":{"tags":[]},"meta":{"version":"v4"}}`},
	{Tool: "tree_update_payload_property", Args: `{"vault":"main","nodeId":"people/alice#notes","propertyName":"title","newValue":"Remarks","versionToken":"v4"}`, Want: `{"data":{"nodeId":"people/alice#remarks","status":"updated","idMap":{"people/alice#notes":"people/alice#remarks"}}}`},
	{Tool: "tree_update_payload", Args: `{"vault":"main","nodeId":"people/alice#remarks","patch":{"a":"x","uid":"y"},"versionToken":"v5"}`, Want: `{"data":{"results":{"a":"updated","uid":"internal_property"}}}`},
	{Tool: "tree_update_nodes", Args: `{"vault":"main","filter":"a = x","patch":{"a":null},"versionToken":"v6","dryRun":true}`, Want: `{"data":{"matched":1,"updated":1,"dry_run":true,"would_modify_files":[{"path":"people/alice.md"}],"versionToken":"v6"}}`},
	{Tool: "tree_update_nodes", Args: `{"vault":"main","filter":"a = x","patch":{"a":null},"versionToken":"v6","envelope":false}`, Want: `{"results":[{"nodeId":"people/alice#remarks","status":"updated"}],"versionToken":"v7"}`},
}}

var movingNodes = tooltest.Story{Name: "moving nodes", Steps: []tooltest.Step{
	{Tool: "tree_add_child", Args: `{"vault":"main","parentNodeId":"people/alice#notes","payloadType":"section","payloadProps":{"title":"First","body":"Text."},"position":0,"versionToken":"v2"}`, Want: `{"data":{"nodeId":"people/alice#first","idMap":{},"versionToken":"v3"}}`},
	{Tool: "tree_move_after", Args: `{"vault":"main","nodeId":"people/alice#first","siblingId":"people/alice#deep","versionToken":"v3"}`, Want: `{"data":{"nodeId":"people/alice#first","versionToken":"v4"}}`},
	{Tool: "tree_move_before", Args: `{"nodeId":"people/alice#first","siblingId":"people/alice#deep","versionToken":"v4","envelope":false}`, Want: `{"nodeId":"people/alice#first","versionToken":"v5"}`},
	{Tool: "tree_sort_children", Args: `{"vault":"main","parentId":"people/alice#notes","byProp":"title","direction":"asc","versionToken":"v5"}`, Want: `{"data":{"order":["people/alice#deep","people/alice#first"],"versionToken":"v6"}}`},
	{Tool: "tree_move_node", Args: `{"vault":"main","nodeId":"people/alice#first","newParentId":"people/bob","versionToken":"v6"}`, Want: `{"data":{"nodeId":"people/bob#first","idMap":{"people/alice#first":"people/bob#first"},"versionToken":"v7"}}`},
	{Tool: "tree_copy_subtree", Args: `{"vault":"main","sourceId":"people/bob#first","targetParentId":"people/alice","mode":"reference","versionToken":"v7"}`, Want: `{"data":{"nodeId":"people/alice#first","created":["people/alice#first"],"reference":{"targetId":"people/bob#first"},"versionToken":"v8"}}`},
	{Tool: "tree_clone_node", Args: `{"vault":"main","nodeId":"people/bob#first","targetParentId":"people/bob","versionToken":"v8"}`, Want: `{"data":{"nodeId":"people/bob#first-2","versionToken":"v9"}}`},
	{Tool: "tree_remove_node", Args: `{"vault":"main","nodeId":"people/bob#first","versionToken":"v9"}`, Want: `{"data":{"removed":["people/bob#first"],"removedTotal":1,"danglingRefs":[],"redirectedRefs":["people/alice#first"],"idMap":{"people/bob#first-2":"people/bob#first"},"versionToken":"v10"}}`},
	{Tool: "tree_move_node", Args: `{"vault":"main","nodeId":"people/","newParentId":"people/","versionToken":"v10"}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"reason":"cycle"}}}`},
	{Tool: "tree_remove_node", Args: `{"vault":"main","nodeId":"people/","versionToken":"v10"}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"reason":"folder_not_empty"}}}`},
}}

var refusingNodes = tooltest.Story{Name: "refusing calls on nodes", Steps: []tooltest.Step{
	{Tool: "tree_get_node", Args: `{"nodeId":"nowhere"}`, Code: fault.NotFound},
	{Tool: "tree_select_nodes", Args: `{"vault":"main","queryDsl":"a ~~ b"}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"position":2,"reason":"syntax"}}}`},
	{Tool: "tree_tag_node", Args: `{"vault":"main","nodeId":"people/alice","tags":["a"]}`, Code: fault.Conflict, Want: `{"error":{"details":{"latestVersion":"v2"}}}`},
	{Tool: "tree_tag_node", Args: `{"vault":"main","nodeId":"people/alice","tags":["a"],"versionToken":"999"}`, Code: fault.Conflict},
	{Tool: "tree_update_payload_property", Args: `{"vault":"main","nodeId":"people/alice","propertyName":"Children","newValue":1,"versionToken":"v2"}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"reason":"internal_property"}}}`},
	{Tool: "tree_list_children", Args: `{"nodeId":"people/","limit":0}`, Code: fault.InvalidParameter},
	{Tool: "tree_validate_tree", Args: `{"rulesetId":"nope"}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"reason":"unknown_ruleset"}}}`},
}}

var merging = tooltest.Story{Name: "merging exports", Steps: []tooltest.Step{
	{Tool: "tree_import_merge", Args: `{"vault":"main","json":{"nodeId":"people/alice","children":[{"nodeId":"people/alice#new","title":"New","body":"x"}]},"versionToken":"v2"}`, Want: `{"data":{"created":1,"unchanged":1,"nodes":[{"nodeId":"people/alice#new","status":"created"}],"idMap":{},"versionToken":"v3"}}`},
	{Tool: "tree_import_merge", Args: `{"vault":"main","json":{"nodeId":"people/alice","children":[{"nodeId":"people/alice#new","title":"New","body":"x"}]},"strategy":"upsert","matchBy":"path","versionToken":"v3"}`, Want: `{"data":{"created":0,"unchanged":2,"nodes":[]},"meta":{"version":"v3"}}`},
	{Tool: "tree_import_merge", Args: `{"vault":"main","json":{"nodeId":"people/alice","payload":{"uid":1}},"versionToken":"v3"}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"reason":"internal_property","nodeId":"people/alice"}}}`},
}}

var snapshotting = tooltest.Story{Name: "snapshots", Steps: []tooltest.Step{
	{Tool: "tree_snapshot_create", Args: `{"vault":"main","label":"s","rootNodeId":"people/","versionToken":"v2"}`, Want: `{"data":{"label":"s","nodeId":"people/","version":"v2","versionToken":"v2"}}`},
	{Tool: "tree_snapshot_list", Args: `{"vault":"main"}`, Want: `{"data":{"snapshots":[{"label":"s","nodeId":"people/"}]},"meta":{"count":1,"has_more":false}}`},
	{Tool: "tree_snapshot_get", Args: `{"vault":"main","snapshotId":"s"}`, Want: `{"data":{"snapshot":{"label":"s","version":"v2"}}}`},
	{Tool: "tree_tag_node", Args: `{"vault":"main","nodeId":"people/alice#notes","tags":["one"],"versionToken":"v2"}`},
	{Tool: "tree_snapshot_diff", Args: `{"vault":"main","a":"s"}`, Want: `{"data":{"structure":[],"payload":[],"metadata":[{"nodeId":"people/alice#notes","property":"tags"}],"summary":{"metadata":1}}}`},
	{Tool: "tree_snapshot_restore", Args: `{"vault":"main","snapshotId":"s","versionToken":"v2"}`, Code: fault.Conflict, Want: `{"error":{"details":{"latestVersion":"v3","changed":"/"}}}`},
	{Tool: "tree_snapshot_restore", Args: `{"vault":"main","snapshotId":"s","versionToken":"v3"}`, Want: `{"data":{"created":[],"updated":["people/alice"],"removed":[],"idMap":{},"versionToken":"v4"}}`},
	{Tool: "tree_snapshot_diff", Args: `{"vault":"main","a":"s","b":"current","envelope":false}`, Want: `{"structure":[],"payload":[],"metadata":[]}`},
	{Tool: "tree_snapshot_delete", Args: `{"vault":"main","snapshotId":"s","versionToken":"v4"}`, Want: `{"data":{"label":"s"}}`},
	{Tool: "tree_snapshot_get", Args: `{"vault":"main","snapshotId":"s"}`, Code: fault.NotFound},
}}
