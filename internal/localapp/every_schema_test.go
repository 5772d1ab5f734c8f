package localapp_test

import (
	"testing"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// defining is a story of changing a schema.
var defining = tooltest.Story{Name: "schema edits", Steps: []tooltest.Step{
	{Tool: "raven_schema_add", Args: `{"vault":"main","kind":"type","name":"paper","default_path":"papers/","name_field":"title","fields":{"pages":"number"},"dry_run":true}`, Want: `{"data":{"kind":"type","name":"paper","dry_run":true,"side_effects":[],"would_modify_files":[{"path":"schema.yaml","action":"modify"}],"changes":{"types.paper.fields.title":{"old":null,"new":{"type":"string","required":true}}}}}`},
	{Tool: "raven_schema_add", Args: `{"vault":"main","kind":"type","name":"paper","default_path":"papers/","name_field":"title","fields":{"pages":"number"}}`, Want: `{"data":{"action":"created","kind":"type","name":"paper","definition":{"name":"paper","default_path":"papers/","name_field":"title"}},"meta":{"version":"v3","file_modified":"schema.yaml"}}`},
	{Tool: "raven_schema_add", Args: `{"vault":"main","kind":"trait","name":"mood","value_type":"enum","values":["good","bad"],"default":"good"}`, Want: `{"data":{"action":"created","definition":{"type":"enum","values":["good","bad"],"default":"good"}}}`},
	{Tool: "raven_schema_add", Args: `{"vault":"main","kind":"field","type":"paper","name":"by","value_type":"ref","target":"person"}`, Want: `{"data":{"action":"created","type":"paper","name":"by","definition":{"type":"ref","target":"person","required":false},"changes":{"types.paper.fields.by":{"old":null,"new":{"type":"ref","target":"person"}}}}}`},
	{Tool: "raven_schema_update", Args: `{"vault":"main","kind":"type","name":"paper","add_trait":["mood"],"unset":["default_path"]}`, Want: `{"data":{"action":"updated","definition":{"default_path":null,"traits":{"mood":{"required":false}}}}}`},
	{Tool: "raven_schema_update", Args: `{"vault":"main","kind":"field","type":"paper","name":"pages","min":1}`, Want: `{"data":{"action":"updated","changes":{"types.paper.fields.pages":{"old":{"type":"number"},"new":{"type":"number","min":1}}}}}`},
	{Tool: "raven_schema_update", Args: `{"vault":"main","kind":"field","type":"paper","name":"pages","min":1}`, Want: `{"data":{"action":"unchanged","changes":{}}}`},
	{Tool: "raven_new", Args: `{"vault":"main","type":"paper","title":"Ash","fields":{"pages":3}}`},
	{Tool: "raven_schema_update", Args: `{"vault":"main","kind":"field","type":"paper","name":"pages","min":5}`, Code: fault.ValidationFailed, Want: `{"error":{"details":{"total":1},"errors":[{"code":"INVALID_FIELD","location":{"file":"ash.md","line":3}}]}}`},
	{Tool: "raven_schema_add", Args: `{"vault":"main","kind":"field","type":"paper","name":"isbn","required":true}`, Code: fault.ValidationFailed},
	{Tool: "raven_schema_add", Args: `{"vault":"main","kind":"type","name":"page"}`, Code: fault.InvalidType},
	{Tool: "raven_schema_add", Args: `{"vault":"main","kind":"trait","name":"mood"}`, Code: fault.DuplicateID},
	{Tool: "raven_schema_add", Args: `{"vault":"main","kind":"thing","name":"mood"}`, Code: fault.InvalidValue},
	{Tool: "raven_schema_update", Args: `{"vault":"main","kind":"trait","name":"mood","values":["bad"],"default":"bad"}`, Want: `{"data":{"action":"updated"}}`},
	{Tool: "raven_schema_remove", Args: `{"vault":"main","kind":"field","type":"paper","name":"by"}`, Want: `{"data":{"action":"deleted","definition":{"target":"person"}}}`},
	{Tool: "raven_schema_remove", Args: `{"vault":"main","kind":"type","name":"paper"}`, Code: fault.ValidationFailed, Want: `{"error":{"errors":[{"code":"INVALID_TYPE","details":{"id":"ash"}}]}}`},
	{Tool: "raven_schema_remove", Args: `{"vault":"main","kind":"type","name":"paper","force":true}`, Want: `{"data":{"action":"deleted","side_effects":["1 object becomes a page; its text is kept"]}}`},
	{Tool: "raven_object_get", Args: `{"vault":"main","id":"ash"}`, Want: `{"data":{"object":{"type":"page"}}}`},
	{Tool: "raven_schema_remove", Args: `{"vault":"main","kind":"type","name":"paper"}`, Code: fault.InvalidType},
	{Tool: "raven_log", Args: `{"vault":"main","id":"schema.yaml","op":"update"}`, Want: `{"data":{"entries":[{"changes":{"types.paper":{"old":null}}}]}}`},
}}

func TestEveryWayEditsTheSchema(t *testing.T) { everyWay(t, []tooltest.Story{defining}) }
