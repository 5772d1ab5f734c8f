package localapp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
	"github.com/rookeryhq/rookery/internal/vault"
)

// standup is the vault of reference/raven.md §6.2 and §6.3, with more traits.
var standup = map[string]string{
	"schema.yaml": `version: 1
types:
  person:
    default_path: people/
    name_field: name
    fields: { name: { type: string, required: true } }
    traits: { due: {}, priority: {}, highlight: {}, status: { required: true } }
  meeting:
    fields: { time: { type: string }, attendees: { type: "ref[]", target: person } }
  project: { default_path: projects/, fields: { title: { type: string } } }
traits:
  due: { type: date }
  priority: { type: enum, values: [low, medium, high], default: medium }
  status: { type: enum, values: [todo, in_progress, done, blocked] }
  assignee: { type: ref, target: person }
  highlight: { type: boolean }
  effort: { type: number, min: 1, max: 8 }
  remind: { type: datetime }
  note: { type: string }
  areas: { type: "string[]" }
  reviewers: { type: "ref[]", target: person }
  holidays: { type: "date[]" }
  list: { type: string }
  switch: { type: enum, values: ["true", "false"], default: "false" }
`,
	"people/freya.md": "---\ntype: person\nname: Freya\ndue: 2026-03-06 # soon\npriority: low\nstatus: todo\n---\n",
	"people/thor.md":  "---\ntype: person\nname: Thor\npriority: high\nstatus: blocked\n---\n",
	"daily/2026-03-02.md": "---\ntype: date\n---\n\n# Monday, March 2, 2026\n\n## Weekly Standup\n" +
		"::meeting(id=standup, time=09:00, attendees=[[[people/freya]], [[people/thor]]])\n\n" +
		"- @priority @effort(3) Agree on the plan\n" +
		"- @due(2026-03-06) @assignee([[people/freya]]) Send estimate\n\nMore text.\n\n" +
		"### Details\n\n- @due(2026-03-09) Deep\n\n## Tasks\n\n- @status(todo) Ship it\n",
	"projects/mill.md": "---\ntype: project\ntitle: Mill\n---\n\n# Mill\n\n" +
		"- @remind(2025-02-01T09:00) @highlight Turn\n- @due(2025-02-01) @status(done) Grind\n" +
		"- @due(2025-02-02) @areas([wheel, stone]) Mend\n- @due(2025-01-25) @reviewers([[[thor]]]) Late\n" +
		"- @due @holidays([2025-02-01, 2025-12-24]) Someday\n- @note(5) @highlight(false) Five\n",
	"projects/mill/sub.md": "# Sub\n\n@due(2025-02-01) Paragraph\n",
	"projects/millet.md":   "# Millet\n\n- @due(2025-02-01) Sow\n",
	"a/thor.md":            "# Another\n",
	"a/twin.md":            "# One\n",
	"b/twin.md":            "# Other\n",
}

// imported returns the steps that create a vault of files.
func imported(name string, files map[string]string) []tooltest.Step {
	data, err := json.Marshal(map[string]any{"vault": name, "notes": notesOf(files)})
	if err != nil {
		panic(err) // never: texts marshal
	}
	return []tooltest.Step{
		{Tool: "team_vault_create", Args: `{"name":"` + name + `"}`},
		{Tool: "team_vault_import", Args: string(data)},
	}
}

// within returns a story about its own vault, called r, in which all its calls are made.
func within(name string, files map[string]string, steps []tooltest.Step) tooltest.Story {
	s := tooltest.Story{Name: name, Steps: imported("r", files)}
	for _, step := range steps {
		step.Args = strings.Replace(step.Args, `{`, `{"vault":"r",`, 1)
		step.Args = strings.Replace(step.Args, `,}`, `}`, 1)
		s.Steps = append(s.Steps, step)
	}
	return s
}

func TestEveryWayTraits(t *testing.T) {
	everyWay(t, []tooltest.Story{
		within("traits read", standup, traitReads),
		within("traits created", standup, traitCreates),
		within("traits updated", standup, traitUpdates),
		within("traits deleted", standup, traitDeletes),
		within("traits in all places", everyPlace, traitPlaces),
		within("tasks", taskVault, taskSteps),
	})
}

const estimate = `{"id":"due-e2bae6c0","trait_type":"due","value":"2026-03-06",
 "content":"@due(2026-03-06) @assignee([[people/freya]]) Send estimate","content_text":"Send estimate",
 "file_path":"daily/2026-03-02.md","line_number":11,
 "parent":{"id":"daily/2026-03-02#standup","type":"meeting","heading":"Weekly Standup","fields":{"time":"09:00","attendees":["people/freya","people/thor"]}},
 "file_root":{"id":"daily/2026-03-02","type":"daily","fields":{"date":"2026-03-02"}},
 "refs":[{"target_raw":"people/freya","target_id":"people/freya","target_type":"person","target_name":"Freya","display_text":null}],
 "sibling_traits":{"assignee":"people/freya"},"other_traits":{"assignee":"people/freya"},
 "first_seen_at":"2025-02-01T14:30:00Z","last_modified_at":"2025-02-01T14:30:00Z","created_at":"2025-02-01T14:30:00Z"}`

// found returns the answer of a list of due traits, by their texts.
func found(texts ...string) string {
	items := []string{}
	for _, text := range texts {
		items = append(items, fmt.Sprintf(`{"content_text":%q}`, text))
	}
	return fmt.Sprintf(`{"data":{"items":[%s]},"meta":{"count":%d,"total":%d,"has_more":false,"timezone":"UTC","week_start":"monday","version":"v2"}}`,
		strings.Join(items, ","), len(texts), len(texts))
}

const nothing = `{"data":{"items":[]},"warnings":[{"code":"NO_RESULTS"}],"meta":{"count":0,"total":0}}`

var traitReads = []tooltest.Step{
	{Tool: "raven_trait_get", Args: `{"id":"due-e2bae6c0"}`, Want: `{"data":{"trait":` + estimate + `},"meta":{"version":"v2"}}`},
	{Tool: "raven_trait_get", Args: `{"id":"daily/2026-03-02.md:11"}`, Want: `{"data":{"trait":` + estimate + `}}`},
	{Tool: "raven_trait_get", Args: `{"id":"daily/2026-03-02:trait:2"}`, Want: `{"data":{"trait":` + estimate + `}}`},
	{Tool: "raven_trait_get", Args: `{"id":"daily/2026-03-02.md:trait:0"}`, Want: `{"data":{"trait":{"trait_type":"priority","value":"medium","from_default":true,"sibling_traits":{"effort":3}}}}`},
	{Tool: "raven_trait_get", Args: `{"id":"people/freya:4"}`, Want: `{"data":{"trait":{"trait_type":"due","value":"2026-03-06","content":"people/freya","content_text":"people/freya","line_number":4,"parent":{"id":"people/freya","type":"person"},"sibling_traits":{"priority":"low"}}}}`},
	{Tool: "raven_trait_get", Args: `{"id":"due-e2bae6c0","slim":true}`, Want: `{"data":{"trait":{"id":"due-e2bae6c0","trait_type":"due","value":"2026-03-06","parent_id":"daily/2026-03-02#standup"}}}`},
	{Tool: "raven_trait_get", Args: `{"id":"due-e2bae6c0","depth":2}`, Want: `{"data":{"trait":{"parent":{"parent":{"id":"daily/2026-03-02","type":"daily","heading":null,"fields":{"date":"2026-03-02"}}},"refs":[{"target_fields":{"name":"Freya"}}]}}}`},
	{Tool: "raven_trait_get", Args: `{"id":"due-e2bae6c0","depth":3}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_get", Args: `{"id":"due-e2bae6c0","depth":1,"slim":true}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_get", Args: `{"id":"due-00000000"}`, Code: fault.NotFound},
	{Tool: "raven_trait_get", Args: `{"id":"daily/2026-03-02.md:1"}`, Code: fault.NotFound},
	{Tool: "raven_trait_get", Args: `{"id":"daily/2026-03-02.md:trait:99"}`, Code: fault.NotFound},
	{Tool: "raven_trait_get", Args: `{"id":"daily/2026-03-02.md:trait:9999999999"}`, Code: fault.NotFound},
	{Tool: "raven_trait_get", Args: `{"id":"nowhere.md:3"}`, Code: fault.NotFound},
	{Tool: "raven_trait_get", Args: `{"id":"people/freya"}`, Code: fault.NotFound},

	{Tool: "raven_trait_list", Args: `{"trait_type":"due","path":"daily"}`, Want: `{"data":{"items":[` + estimate + `,{"content_text":"Deep"}]}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due"}`, Want: found("Send estimate", "Deep", "people/freya", "Grind", "Mend", "Late", "Someday", "Paragraph", "Sow")},
	{Tool: "raven_trait", Args: `{"trait_type":"due","slim":true}`, Want: `{"data":{"items":[{"id":"due-e2bae6c0","trait_type":"due","value":"2026-03-06","parent_id":"daily/2026-03-02#standup"}]}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","depth":2,"path":"daily"}`, Want: `{"data":{"items":[{"parent":{"parent":{"id":"daily/2026-03-02"}}},{"parent":{"id":"daily/2026-03-02#details","type":"section","parent":{"id":"daily/2026-03-02#standup","type":"meeting"}}}]}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"today"}`, Want: found("Grind", "Paragraph", "Sow")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"2025-02-01"}`, Want: found("Grind", "Paragraph", "Sow")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"1 minute ago"}`, Want: found("Grind", "Paragraph", "Sow")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"2025-02-01T23:59"}`, Want: found("Grind", "Paragraph", "Sow")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"tomorrow"}`, Want: found("Mend")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"this-week"}`, Want: found("Grind", "Mend", "Paragraph", "Sow")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"past"}`, Want: found("Late")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"7 days ago"}`, Want: found("Late")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"1 weeks ago"}`, Want: found("Late")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"future"}`, Want: found("Send estimate", "Deep", "people/freya", "Mend")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"next-week"}`, Want: nothing},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"soon"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"argument":"value","allowed":["today","this-week","past","future"]}}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"remind","value":"today"}`, Want: found("Turn")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"remind","value":"2025-02-01T23:00"}`, Want: found("Turn")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"remind","value":"yesterday"}`, Want: nothing},
	{Tool: "raven_trait_list", Args: `{"trait_type":"holidays","value":"2025-12-24"}`, Want: found("Someday")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"priority","value":"medium"}`, Want: `{"data":{"items":[{"content_text":"Agree on the plan","value":"medium","from_default":true}]},"meta":{"total":1}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"priority","value":"high"}`, Want: found("people/thor")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"priority","value":"urgent"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"allowed":["low","medium","high"]}}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"effort","value":"3.0"}`, Want: found("Agree on the plan")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"effort","value":"99"}`, Want: nothing},
	{Tool: "raven_trait_list", Args: `{"trait_type":"effort","value":"much"}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_list", Args: `{"trait_type":"highlight","value":"true"}`, Want: found("Turn")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"highlight","value":"false"}`, Want: found("Five")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"highlight","value":"yes"}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_list", Args: `{"trait_type":"note","value":"5"}`, Want: found("Five")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"assignee","value":"freya"}`, Want: found("Send estimate")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"assignee","value":"[[people/freya]]"}`, Want: found("Send estimate")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"assignee","value":"people/thor"}`, Want: nothing},
	{Tool: "raven_trait_list", Args: `{"trait_type":"assignee","value":"a]b"}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_list", Args: `{"trait_type":"areas","value":"stone"}`, Want: found("Mend")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"areas","value":"wood"}`, Want: nothing},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","parent_type":"meeting"}`, Want: found("Send estimate", "Deep")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"status","parent_type":"daily"}`, Want: found("Ship it")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"status","parent_type":"date"}`, Want: found("Ship it")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"status","parent_type":"section"}`, Want: found("Ship it")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","parent_type":"person"}`, Want: found("people/freya")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","parent_type":"project","value":"past"}`, Want: found("Late")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","parent_type":"persn"}`, Code: fault.InvalidType, Want: `{"error":{"details":{"available_types":["person","daily","section"]}}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","path":"projects/mill"}`, Want: found("Grind", "Mend", "Late", "Someday")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","path":"projects/mill.md"}`, Want: found("Grind", "Mend", "Late", "Someday")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","path":"projects/mill/"}`, Want: found("Paragraph")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","path":"projects","value":"today"}`, Want: found("Grind", "Paragraph", "Sow")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","path":"projects/mill","value":"today"}`, Want: found("Grind")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","path":"proj"}`, Want: nothing},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","path":"nowhere.md"}`, Want: nothing},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","path":"../x"}`, Code: fault.InvalidPath},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","path":"/"}`, Code: fault.InvalidPath},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","created_today":true,"path":"daily"}`, Want: found("Send estimate", "Deep")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","modified_since":"1 hours ago","value":"past"}`, Want: found("Late")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","created_before":"today"}`, Want: nothing},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","created_after":"2025-01-20","parent_type":"meeting"}`, Want: found("Send estimate", "Deep")},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","created_after":"soon"}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_list", Args: `{"trait_type":"dew"}`, Code: fault.InvalidTrait, Want: `{"error":{"details":{"available_traits":["due","priority"]},"fixes":["did you mean due?"]}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"priority","value":"urgent","parent_type":"persn","path":"../x","created_since":"soon"}`, Code: fault.ValidationFailed, Want: `{"error":{"errors":[{"code":"INVALID_VALUE"},{"code":"INVALID_TYPE"},{"code":"INVALID_PATH"},{"code":"INVALID_VALUE"}]}}`},
	{Tool: "raven_trait_list", Args: `{}`, Code: fault.MissingRequired},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","limit":2}`, Want: `{"data":{"items":[{"content_text":"Send estimate"},{"content_text":"Deep"}]},"meta":{"count":2,"total":9,"has_more":true}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"today","limit":1}`, Want: `{"data":{"items":[{"content_text":"Grind"}]},"meta":{"count":1,"total":3,"has_more":true}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","page_token":"x"}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_list", Args: `{"trait_type":"list"}`, Want: nothing},
}

var traitCreates = []tooltest.Step{
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"tomorrow","parent_id":"daily/2026-03-02#standup","content":"Review the proposal"}`,
		Want: `{"data":{"action":"created","trait_type":"due","value":"2025-02-02","content":"Review the proposal","parent":{"id":"daily/2026-03-02#standup","type":"meeting"},"trait":{"value":"2025-02-02","line_number":15,"content":"@due(2025-02-02) Review the proposal","sibling_traits":{},"first_seen_at":"2025-02-01T14:30:00Z"}},"meta":{"version":"v3","file_modified":"daily/2026-03-02.md","files_modified":["daily/2026-03-02.md"],"reindex_required":false}}`},
	{Tool: "raven_read", Args: `{"path":"daily/2026-03-02","lines":"13-17"}`, Want: `{"data":{"content":"More text.\n\n- @due(2025-02-02) Review the proposal\n\n### Details\n"}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"2026-03-03","parent_id":"daily/2026-03-02","content":"Review the plan","dry_run":true}`,
		Want: `{"data":{"dry_run":true,"would_create":{"id":"due-274c19ab","trait_type":"due","value":"2026-03-03","content":"Review the plan","parent":{"id":"daily/2026-03-02","type":"daily"}},"would_modify_files":[{"path":"daily/2026-03-02.md","action":"modify","line":7,"new_content":"- @due(2026-03-03) Review the plan\n"}],"side_effects":[]}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"2026-03-03","parent_id":"2026-03-02","content":"Review the plan","other_traits":{"status":"todo","assignee":"people/freya","highlight":true,"areas":["a","b"]}}`,
		Want: `{"data":{"id":"due-274c19ab","trait":{"content":"@due(2026-03-03) @areas([a, b]) @assignee([[people/freya]]) @highlight @status(todo) Review the plan","content_text":"Review the plan","sibling_traits":{"areas":["a","b"],"assignee":"people/freya","highlight":true,"status":"todo"}}},"warnings":[]}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"2026-03-03","parent_id":"daily/2026-03-02","content":"Review the plan"}`, Want: `{"data":{"id":"due-274c19ab-2"}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"2026-03-03","parent_id":"daily/2026-03-02","content":"Review the plan"}`, Want: `{"data":{"id":"due-274c19ab-3"}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"highlight","parent_id":"projects/mill","content":"(see there)"}`, Want: `{"data":{"value":true,"content":"(see there)","trait":{"content":"@highlight() (see there)","line_number":14}}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"highlight","value":"false","parent_id":"projects/mill","content":"dull"}`, Want: `{"data":{"value":false,"trait":{"content":"@highlight(false) dull"}}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"priority","parent_id":"projects/mill","content":"by default"}`, Want: `{"data":{"value":"medium","trait":{"from_default":true,"content":"@priority by default"}}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"effort","value":"5","parent_id":"projects/mill","content":"Ünïcode 木 [[people/nobody]]","other_traits":["reviewers=people/thor,people/sif","switch=true"]}`,
		Want: `{"data":{"value":5,"content":"Ünïcode 木 [[people/nobody]]","trait":{"content":"@effort(5) @reviewers([[[people/thor]], [[people/sif]]]) @switch(true) Ünïcode 木 [[people/nobody]]"}},"warnings":[{"code":"REF_NOT_FOUND","ref":"people/sif","suggested_type":"person"},{"code":"REF_NOT_FOUND","ref":"people/nobody"}]}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"tomorrow","content":"First of the day","dry_run":true}`,
		Want: `{"data":{"would_create":{"parent":{"id":"daily/2025-02-02","type":"daily"}},"would_modify_files":[{"path":"daily/2025-02-02.md","action":"create","content_preview":"---\ntype: date\n---\n\n# Sunday, February 2, 2025\n\n- @due(2025-02-01) First of the day\n"}],"side_effects":["the daily note daily/2025-02-02.md is made"]}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"daily/2025-02-02","content":"First of the day"}`, Want: `{"data":{"parent":{"id":"daily/2025-02-02","type":"daily"},"trait":{"line_number":7}},"meta":{"file_modified":"daily/2025-02-02.md"}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"daily/2025-02-02","content":"@id(important-task) The critical thing"}`, Want: `{"data":{"id":"important-task","content":"The critical thing"}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"note","value":"once","parent_id":"a/twin","content":"x","idempotency_key":"k1"}`, Want: `{"data":{"action":"created"}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"note","value":"once","parent_id":"a/twin","content":"x","idempotency_key":"k1"}`, Want: `{"data":{"action":"created","trait_type":"note","value":"once","parent":{"id":"a/twin"},"trait":{"value":"once","parent":{"id":"a/twin"}}},"meta":{"replayed":true}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"note","value":"twice","parent_id":"a/twin","content":"x","idempotency_key":"k1"}`, Code: fault.KeyReused},
	{Tool: "raven_trait_create", Args: `{"trait_type":"note","value":"x","parent_id":"a/twin","content":"x","if_version":"v2"}`, Code: fault.Conflict},

	{Tool: "raven_trait_create", Args: `{"trait_type":"due","parent_id":"projects/mill","content":"x"}`, Code: fault.MissingRequired, Want: `{"error":{"details":{"field":"due"}}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"soon","parent_id":"projects/mill","content":"x"}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_create", Args: `{"trait_type":"priority","value":"urgent","parent_id":"projects/mill","content":"x"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"allowed":["low","medium","high"]}}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"effort","value":"9","parent_id":"projects/mill","content":"x"}`, Code: fault.InvalidField, Want: `{"error":{"details":{"constraint":{"min":1,"max":8}}}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"dew","value":"x","parent_id":"projects/mill","content":"x"}`, Code: fault.InvalidTrait, Want: `{"error":{"details":{"available_traits":["due"]}}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"projects/nothing","content":"x"}`, Code: fault.NotFound},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"projects/mill#nothing","content":"x"}`, Code: fault.NotFound},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"twin","content":"x"}`, Code: fault.AmbiguousRef, Want: `{"error":{"details":{"matches":["a/twin","b/twin"]}}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"projects/mill","content":"one\ntwo"}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"projects/mill","content":"one\u0000two"}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"projects/mill","content":"one\u2028two"}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"projects/mill","content":"   "}`, Code: fault.MissingRequired},
	{Tool: "raven_trait_create", Args: `{"trait_type":"note","value":"a) b","parent_id":"projects/mill","content":"x"}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_create", Args: `{"trait_type":"note","value":"a\nb","parent_id":"projects/mill","content":"x"}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"projects/mill","content":"x","other_traits":{"due":"today"}}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"projects/mill","content":"x","other_traits":{"id":"y"}}`, Code: fault.InvalidTrait},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"projects/mill","content":"x","other_traits":{"status":5}}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"soon","parent_id":"nothing","content":"a\nb","other_traits":{"status":"x","dew":1}}`, Code: fault.ValidationFailed, Want: `{"error":{"errors":[{"code":"INVALID_VALUE"},{"code":"INVALID_TRAIT"},{"code":"INVALID_VALUE"},{"code":"INVALID_VALUE"},{"code":"NOT_FOUND"}]}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due"}`, Code: fault.ValidationFailed},
}

var traitUpdates = []tooltest.Step{
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"value":"2026-03-20"},"dry_run":true}`,
		Want: `{"data":{"dry_run":true,"would_update":{"id":"due-e2bae6c0","changes":{"value":{"old":"2026-03-06","new":"2026-03-20"}}},"would_modify_files":[{"path":"daily/2026-03-02.md","action":"modify","line":11,"old_content":"- @due(2026-03-06) @assignee([[people/freya]]) Send estimate","new_content":"- @due(2026-03-20) @assignee([[people/freya]]) Send estimate"}],"side_effects":[]}}`},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"value":"tomorrow"}}`,
		Want: `{"data":{"action":"updated","id":"due-e2bae6c0","updated_fields":["value"],"new_values":{"value":"2025-02-02"},"trait":{"id":"due-e2bae6c0","value":"2025-02-02","line_number":11}},"meta":{"version":"v3","file_modified":"daily/2026-03-02.md"}}`},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":["value=2025-02-02"]}`, Want: `{"data":{"action":"unchanged","updated_fields":["value"]},"meta":{"version":"v3","files_modified":[]}}`},
	{Tool: "raven_trait_update", Args: `{"trait_id":"due-e2bae6c0","fields":["due=today"]}`, Want: `{"data":{"new_values":{"due":"2025-02-01"},"trait":{"value":"2025-02-01"}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"status":"done","priority":"high","assignee":"[[people/thor]]"}}`,
		Want: `{"data":{"id":"due-e2bae6c0","updated_fields":["assignee","priority","status"],"new_values":{"status":"done","priority":"high","assignee":"people/thor"},"trait":{"content":"@due(2025-02-01) @priority(high) @status(done) @assignee([[people/thor]]) Send estimate","sibling_traits":{"assignee":"people/thor","priority":"high","status":"done"}}}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"status","value":"done"}`, Want: `{"data":{"items":[{"content_text":"Send estimate","sibling_traits":{"due":"2025-02-01"}},{"content_text":"Grind"}]},"meta":{"total":2}}`},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"status":"todo"},"unset":["priority","note"],"dry_run":true}`,
		Want: `{"data":{"would_update":{"changes":{"status":{"old":"done","new":"todo"},"priority":{"old":"high","new":null},"note":{"old":null,"new":null}}}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"status":"todo"},"unset":["priority","note"]}`,
		Want: `{"data":{"updated_fields":["note","priority","status"],"new_values":{"status":"todo","priority":null,"note":null},"missing_fields":["note"],"trait":{"content":"@due(2025-02-01) @status(todo) @assignee([[people/thor]]) Send estimate"}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"value":"2025-03-01"},"unset":["status","assignee"]}`, Want: `{"data":{"trait":{"id":"due-e2bae6c0","content":"@due(2025-03-01) Send estimate","sibling_traits":{}}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","unset":["value"]}`, Code: fault.MissingRequired, Want: `{"error":{"location":{"file":"daily/2026-03-02.md","line":11}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"value":null}}`, Code: fault.MissingRequired},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"value":"soon"}}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"value":5}}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"dew":"x"}}`, Code: fault.InvalidTrait, Want: `{"error":{"details":{"available_traits":["due","priority","status"]},"fixes":["did you mean due?"]}}`},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"content":"x"}}`, Code: fault.InvalidTrait},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","unset":["dew"]}`, Code: fault.InvalidTrait},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"status":"todo"},"unset":["status"]}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"value":"today","due":"today"}}`, Code: fault.InvalidValue},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"value":"soon","status":"x","effort":9,"dew":1}}`, Code: fault.ValidationFailed, Want: `{"error":{"errors":[{"code":"INVALID_TRAIT"},{"code":"INVALID_FIELD"},{"code":"INVALID_VALUE"},{"code":"INVALID_VALUE"}]}}`},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0"}`, Code: fault.MissingRequired},
	{Tool: "raven_trait_update", Args: `{"id":"due-00000000","set":{"value":"today"}}`, Code: fault.NotFound},
	{Tool: "raven_trait_update", Args: `{"id":"daily/2026-03-02.md:11","set":{"value":"today"}}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"id":"due-e2bae6c0"}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"daily/2026-03-02:trait:2","set":{"value":"today"}}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"id":"due-e2bae6c0"}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"daily/2026-03-02.md:1","set":{"value":"today"}}`, Code: fault.NotFound},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"value":"today"},"if_version":"v2"}`, Code: fault.Conflict},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"assignee":"people/nobody"}}`, Want: `{"data":{"new_values":{"assignee":"people/nobody"}},"warnings":[{"code":"REF_NOT_FOUND","ref":"people/nobody","suggested_type":"person"}]}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("daily/2026-03-02#standup", "priority", "Agree on the plan") + `","set":{"value":"high"}}`, Want: `{"data":{"trait":{"value":"high","content":"@priority(high) @effort(3) Agree on the plan"}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("daily/2026-03-02#standup", "priority", "Agree on the plan") + `","unset":["value"]}`, Want: `{"data":{"new_values":{"value":null},"trait":{"value":"medium","from_default":true,"content":"@priority @effort(3) Agree on the plan"}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("projects/mill", "highlight", "Five") + `","unset":["value"]}`, Want: `{"data":{"trait":{"value":true,"content":"@note(5) @highlight Five"}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("projects/mill", "due", "Mend") + `","set":{"switch":true}}`, Want: `{"data":{"trait":{"content":"@due(2025-02-02) @switch(true) @areas([wheel, stone]) Mend"}}}`},

	// In the frontmatter.
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("people/freya", "due", "people/freya") + `","set":{"value":"tomorrow","priority":"high","highlight":true}}`,
		Want: `{"data":{"action":"updated","new_values":{"value":"2025-02-02","priority":"high","highlight":true},"trait":{"value":"2025-02-02","line_number":4,"sibling_traits":{"priority":"high","highlight":true}}}}`},
	{Tool: "raven_read", Args: `{"path":"people/freya"}`, Want: `{"data":{"content":"---\ntype: person\nname: Freya\ndue: 2025-02-02 # soon\npriority: high\nstatus: todo\nhighlight: true\n---\n"}}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("people/freya", "due", "people/freya") + `","unset":["highlight"]}`, Want: `{"data":{"trait":{"sibling_traits":{"priority":"high"}}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("people/freya", "due", "people/freya") + `","unset":["status"]}`, Code: fault.MissingRequired},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("people/freya", "due", "people/freya") + `","set":{"effort":2}}`, Code: fault.InvalidTrait, Want: `{"error":{"details":{"available_traits":["due","priority","highlight","status"]}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("people/freya", "due", "people/freya") + `","unset":["value"]}`, Code: fault.MissingRequired},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("people/freya", "due", "people/freya") + `","set":{"value":"soon"}}`, Code: fault.InvalidValue},

	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"value":"2025-05-05"},"idempotency_key":"k"}`, Want: `{"data":{"action":"updated"}}`},
	{Tool: "raven_trait_update", Args: `{"id":"due-e2bae6c0","set":{"value":"2025-05-05"},"idempotency_key":"k"}`, Want: `{"data":{"action":"updated","new_values":{"value":"2025-05-05"},"trait":{"id":"due-e2bae6c0"}},"meta":{"replayed":true}}`},
}

var traitDeletes = []tooltest.Step{
	{Tool: "raven_trait_delete", Args: `{"id":"due-e2bae6c0","dry_run":true}`,
		Want: `{"data":{"dry_run":true,"would_delete":{"id":"due-e2bae6c0"},"would_modify_files":[{"path":"daily/2026-03-02.md","action":"modify","line":11,"old_content":"- @due(2026-03-06) @assignee([[people/freya]]) Send estimate","new_content":"- @assignee([[people/freya]]) Send estimate"}]}}`},
	{Tool: "raven_trait_delete", Args: `{"id":"daily/2026-03-02.md:11"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"id":"due-e2bae6c0"}}}`},
	{Tool: "raven_trait_delete", Args: `{"id":"due-e2bae6c0","idempotency_key":"k"}`, Want: `{"data":{"action":"deleted","id":"due-e2bae6c0","trait":` + estimate + `},"meta":{"version":"v3","file_modified":"daily/2026-03-02.md"}}`},
	{Tool: "raven_trait_delete", Args: `{"id":"due-e2bae6c0","idempotency_key":"k"}`, Want: `{"data":{"action":"deleted","trait":{"id":"due-e2bae6c0"}},"meta":{"replayed":true}}`},
	{Tool: "raven_trait_delete", Args: `{"id":"due-e2bae6c0"}`, Code: fault.NotFound},
	{Tool: "raven_trait_get", Args: `{"id":"due-e2bae6c0"}`, Code: fault.NotFound},
	{Tool: "raven_trait_delete", Args: `{"id":"` + idOf("people/freya", "due", "people/freya") + `"}`, Want: `{"data":{"action":"deleted","trait":{"content":"people/freya"}}}`},
	{Tool: "raven_read", Args: `{"path":"people/freya"}`, Want: `{"data":{"content":"---\ntype: person\nname: Freya\npriority: low\nstatus: todo\n---\n"}}`},
	{Tool: "raven_trait_delete", Args: `{"id":"` + idOf("people/freya", "status", "people/freya") + `"}`, Code: fault.MissingRequired, Want: `{"error":{"location":{"file":"people/freya.md","line":5}}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"today","parent_id":"a/twin","content":"@id(p)"}`, Want: `{"data":{"id":"p","content":""}}`},
	{Tool: "raven_trait_delete", Args: `{"id":"p"}`, Want: `{"data":{"action":"deleted"}}`},
	{Tool: "raven_read", Args: `{"path":"a/twin"}`, Want: `{"data":{"content":"# One\n\n"}}`},
	{Tool: "raven_trait_delete", Args: `{"id":"` + idOf("projects/mill", "due", "Mend") + `","if_version":"v1"}`, Code: fault.Conflict},
	{Tool: "raven_trait_delete", Args: `{}`, Code: fault.MissingRequired},
}

// idOf returns the id that a trait has by its text (reference/raven.md §6.4).
func idOf(parent, typ, text string) string { return vault.TraitID(parent, typ, text) }

// everyPlace has traits at every place where they can be.
var everyPlace = map[string]string{
	"schema.yaml": standup["schema.yaml"],
	"n.md": "\ufeff---\r\ntype: page\r\n---\r\n# N\r\n\r\n| a | b |\r\n|---|---|\r\n| @due(2025-01-01) cell | @status(todo) |\r\n\r\n" +
		"> - @due(2025-01-01) quoted\r\n\r\n1. @due(2025-01-01) first\r\n2. [ ] @due(2025-01-01) boxed @priority\r\n\r\n" +
		"plain @due(2025-01-01) between\r\n\r\n- @due(2025-01-01) same\r\n- @due(2025-01-01) same\r\n- @due(2025-01-01) same\r\n- @due(2025-01-01) @due(2025-01-02) both\r\n",
}

var traitPlaces = []tooltest.Step{
	{Tool: "raven_trait_list", Args: `{"trait_type":"due"}`, Want: `{"data":{"items":[{"line_number":8},{"content_text":"quoted","line_number":10},{"content_text":"first"},{"content_text":"[ ] boxed"},{"content_text":"plain between"},{"id":"` + idOf("n", "due", "same") + `"},{"id":"` + idOf("n", "due", "same") + `-2"},{"id":"` + idOf("n", "due", "same") + `-3"},{"content_text":"both","sibling_traits":{"due":"2025-01-02"}},{"content_text":"both","sibling_traits":{"due":"2025-01-01"}}]},"meta":{"total":10}}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("n", "due", "| cell | |") + `","set":{"value":"2025-09-01"}}`, Want: `{"data":{"action":"updated","trait":{"sibling_traits":{"status":"todo"}}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("n", "due", "quoted") + `","set":{"value":"2025-09-02","status":"todo"}}`, Want: `{"data":{"action":"updated"}}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("n", "due", "first") + `","set":{"status":"done"}}`, Want: `{"data":{"action":"updated"}}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("n", "due", "[ ] boxed") + `","set":{"priority":"high"}}`, Want: `{"data":{"action":"updated"}}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("n", "due", "plain between") + `","set":{"highlight":true}}`, Want: `{"data":{"action":"updated"}}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("n", "due", "same") + `-2","set":{"value":"2025-09-03"}}`, Want: `{"data":{"id":"` + idOf("n", "due", "same") + `-2","trait":{"line_number":18}}}`},
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("n", "due", "both") + `-2","set":{"value":"2025-09-04"}}`, Want: `{"data":{"trait":{"content":"@due(2025-01-01) @due(2025-09-04) both"}}}`},
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"2025-09-05","parent_id":"n","content":"last"}`, Want: `{"data":{"trait":{"line_number":21}}}`},
	{Tool: "raven_trait_delete", Args: `{"id":"` + idOf("n", "due", "same") + `"}`, Want: `{"data":{"action":"deleted"}}`},
	{Tool: "raven_trait_get", Args: `{"id":"` + idOf("n", "due", "same") + `"}`, Code: fault.NotFound},
	{Tool: "raven_trait_get", Args: `{"id":"` + idOf("n", "due", "same") + `-3"}`, Want: `{"data":{"trait":{"value":"2025-01-01"}}}`},
	{Tool: "raven_trait_get", Args: `{"id":"` + idOf("n", "due", "same") + `-2"}`, Want: `{"data":{"trait":{"value":"2025-09-03"}}}`},
	{Tool: "raven_read", Args: `{"path":"n"}`, Want: `{"data":{"content":` + quoted("\ufeff---\r\ntype: page\r\n---\r\n# N\r\n\r\n| a | b |\r\n|---|---|\r\n| @due(2025-09-01) cell | @status(todo) |\r\n\r\n"+
		"> - @due(2025-09-02) @status(todo) quoted\r\n\r\n1. @due(2025-01-01) @status(done) first\r\n2. [ ] @due(2025-01-01) boxed @priority(high)\r\n\r\n"+
		"plain @due(2025-01-01) @highlight between\r\n\r\n- same\r\n- @due(2025-09-03) same\r\n- @due(2025-01-01) same\r\n- @due(2025-01-01) @due(2025-09-04) both\r\n- @due(2025-09-05) last\r\n") + `}}`},
}

// TestTraitPages checks that the pages of each kind of list are the list, in its order.
func TestTraitPages(t *testing.T) {
	p := newPlace(t)
	inv := p.catalogue()
	for _, step := range imported("r", standup) {
		over(t, tooltest.Invoking("catalogue", inv), step)
	}
	for _, filter := range []map[string]any{
		{}, {"value": "future"}, {"path": "projects"}, {"created_today": true},
		{"parent_type": "project"}, {"value": "this-week", "modified_since": "2 days ago"},
	} {
		filter["vault"], filter["trait_type"], filter["only"] = "r", "due", []string{"id"}
		whole := pageOf(t, done(t, inv, "raven_trait_list", filter))
		require.Greater(t, len(whole.Data.Items), 2)
		var paged []any
		filter["limit"] = 2
		for more := true; more; {
			got := pageOf(t, done(t, inv, "raven_trait_list", filter))
			require.Equal(t, len(whole.Data.Items), got.Meta.Total)
			paged = append(paged, got.Data.Items...)
			filter["page_token"], more = got.Meta.Next, got.Meta.Next != ""
		}
		require.Equal(t, whole.Data.Items, paged, "%v", filter)
	}
}

type traitPage struct {
	Data struct{ Items []any }
	Meta struct {
		Total int
		Next  string `json:"next_page_token"`
	}
}

func pageOf(t testing.TB, answer json.RawMessage) traitPage {
	t.Helper()
	var p traitPage
	require.NoError(t, json.Unmarshal(answer, &p))
	return p
}

func over(t testing.TB, way tooltest.Way, step tooltest.Step) {
	t.Helper()
	answer, carried := way.Call(t, tooltest.NewCall(t, step.Tool, step.Args))
	require.True(t, carried)
	require.Empty(t, tooltest.CodeOf(t, answer), "%s", answer)
}

// TestTraitWriters checks that concurrent edits of two traits of one note and of the lines above
// them all take effect, in any order, and that the ids do not change (reference/raven.md §6.4).
func TestTraitWriters(t *testing.T) {
	const rounds = 20
	app, dir := openVault(t)
	c, stop := serve(t, app)
	put(t, c, map[string]string{
		"schema.yaml": standup["schema.yaml"],
		"n.md":        "# N\n\nTop.\n\n## Tasks\n\n- @due(2025-01-01) one\n- @due(2025-01-01) two\n",
	})
	ids := []string{idOf("n#tasks", "due", "one"), idOf("n#tasks", "due", "two")}
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			for i := range rounds {
				day := fmt.Sprintf("2025-03-%02d", i+1)
				a, err := call(t.Context(), c, "raven_trait_update", args{
					"id": id, "set": args{"value": day, "effort": i%8 + 1},
				})
				if assert.NoError(t, err) {
					var got struct{ ID, Action string }
					assert.NoError(t, json.Unmarshal(a.Data, &got))
					assert.Equal(t, []string{id, "updated"}, []string{got.ID, got.Action})
				}
			}
		})
	}
	all.Go(func() {
		for i := range rounds {
			_, err := call(t.Context(), c, "raven_edit", args{
				"id": "n", "old_str": "Top.\n", "new_str": fmt.Sprintf("Top.\n\n- line %d\n", i),
			})
			assert.NoError(t, err)
		}
	})
	all.Wait()
	text := read(t, c, "n.md")
	for i := range rounds {
		require.Contains(t, text, fmt.Sprintf("- line %d\n", i))
	}
	for i, id := range ids {
		got := into[struct {
			Trait struct {
				Value    string
				Text     string         `json:"content_text"`
				Siblings map[string]any `json:"sibling_traits"`
			}
		}](t, must(t, c, "raven_trait_get", args{"id": id}))
		require.Equal(t, "2025-03-20", got.Trait.Value)
		require.Equal(t, []string{"one", "two"}[i], got.Trait.Text)
		require.Equal(t, map[string]any{"effort": 4.0}, got.Trait.Siblings)
	}
	stop()
	require.NoError(t, app.Close())
	again := open(t, dir)
	for _, id := range ids {
		must(t, local{again}, "raven_trait_get", args{"id": id})
	}
	require.NoError(t, again.Close())
	requireInStep(t, dir)
}
