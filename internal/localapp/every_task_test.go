package localapp_test

import (
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// taskVault is a vault of tasks without a schema.
var taskVault = map[string]string{
	"Projects/Boat.md": "---\ntype: project\nstatus: open\n---\n\n# Boat\n\n- [ ] Paint the hull 📅 2026-12-01\n" +
		"- [x] Buy rope ✅ 2026-01-02\n- [ ] Check engine 🔁 every month 📅 2026-12-05\n- [/] Sand [due:: 2026-11-30]\n- plain\n",
	"Projects/House.md": "---\ntype: project\nstatus: open\n---\n\n- @urgent Roof\n- @urgent Door\n- @urgent(false) Wall\n",
	"Projects/Car.md":   "---\ntype: project\nstatus: done\n---\n",
}

var taskSteps = []tooltest.Step{
	{Tool: "raven_trait_list", Args: `{"trait_type":"task"}`, Want: `{"data":{"items":[
		{"trait_type":"task","value":"todo","checkbox":" ","done":false,"fields":{"due":"2026-12-01"}},
		{"value":"done","checkbox":"x","done":true,"fields":{"done_on":"2026-01-02"}},
		{"value":"todo","fields":{"due":"2026-12-05","recurring":true}},
		{"value":"in-progress","checkbox":"/","fields":{"due":"2026-11-30"}}]},"meta":{"count":4,"total":4}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"task","done":true}`, Want: `{"data":{"items":[{"value":"done"}]},"meta":{"count":1}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"task","done":false}`, Want: `{"meta":{"count":3}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"task","value":"in-progress"}`, Want: `{"meta":{"count":1,"total":1}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"task","value":"open"}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_list", Args: `{"trait_type":"task","done":"maybe"}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due"}`, Code: fault.InvalidTrait},
	{Tool: "raven_trait_get", Args: `{"id":"Projects/Boat.md:8"}`, Want: `{"data":{"trait":{"trait_type":"task","value":"todo"}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"Projects/Boat.md:8","set":{"status":"done"}}`, Code: fault.InvalidValue},
	{Tool: "raven_schema_init", Args: `{"dry_run":true}`, Want: `{"data":{"dry_run":true,"path":"schema.yaml",
		"types":[{"name":"project","notes":3,"default_path":"Projects/","fields":[{"name":"status","type":"string","count":3}]}],
		"would_modify_files":[{"path":"schema.yaml","action":"create"}]}}`},
	{Tool: "raven_schema_init", Args: `{}`, Want: `{"data":{"action":"created","path":"schema.yaml"},"meta":{"version":"v3"}}`},
	{Tool: "raven_schema_init", Args: `{}`, Code: fault.DuplicateID},
	{Tool: "raven_schema_type", Args: `{"name":"project"}`, Want: `{"data":{"type":{"name":"project"}}}`},
}
