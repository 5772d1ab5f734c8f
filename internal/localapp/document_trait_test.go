package localapp_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/tooltest"
)

// agenda is the vault of the document's examples of traits. Its weeks begin on Saturday, so that
// the document's Saturday and Wednesday are in one week.
var agenda = map[string]string{
	"rookery.yaml": "week_start: saturday\n",
	"schema.yaml": `version: 1
types:
  person: { default_path: people/, name_field: name, fields: { name: { type: string, required: true } }, traits: [due] }
  meeting: { fields: { time: { type: string }, attendees: { type: "ref[]", target: person } } }
  project: { default_path: projects/, traits: [due] }
traits:
  due: { type: date, description: Due date for tasks and deadlines }
  priority: { type: enum, values: [low, medium, high], default: medium }
  status: { type: enum, values: [todo, in_progress, done, blocked], default: todo }
  highlight: { type: boolean, default: false }
  assignee: { type: ref }
`,
	"people/alice.md": "---\ntype: person\nname: Alice Chen\n---\n",
	"daily/2025-02-01.md": "---\ntype: date\ntags: [work]\n---\n\n# Saturday, February 1, 2025\n\n" +
		"## Weekly Standup\n::meeting(id=standup, time=09:00, attendees=[[[people/alice]], [[people/bob]]])\n\n" +
		"- @due(2025-02-01) @assignee([[people/alice]]) @priority(high) @id(trait-abc123) Send estimate\n" +
		"- @due(2025-02-01) @id(due-abc123) Send estimate\n",
	"projects/site.md": "---\ntype: project\n---\n\n## Q1 Planning\n::project\n\n" +
		"- @due(2025-02-05) @priority(high) Submit quarterly report\n",
}

// agendaCalls are the document's calls about traits, with the parts of their answers that it shows.
// Deviations that reference/raven.md §6.1 decides are as there.
var agendaCalls = []tooltest.Step{
	// List Traits, Get Trait Details.
	{Tool: "raven_schema_traits", Args: `{}`, Want: `{"ok":true,"data":{"traits":[{"name":"due","type":"date","default":null},{"name":"priority","type":"enum","values":["low","medium","high"],"default":"medium"},{"name":"status","type":"enum","values":["todo","in_progress","done","blocked"],"default":"todo"},{"name":"highlight","type":"boolean","default":false},{"name":"assignee","type":"ref","target":null}]}}`},
	{Tool: "raven_schema_trait", Args: `{"name":"due"}`, Want: `{"ok":true,"data":{"trait":{"name":"due","type":"date","default":null,"used_by_types":["person","project"],"description":"Due date for tasks and deadlines"}}}`},
	// Trait Response Format, Rich Context, Slim Mode.
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"today"}`, Want: `{"ok":true,"data":{"items":[{"id":"trait-abc123","trait_type":"due","value":"2025-02-01","content_text":"Send estimate","file_path":"daily/2025-02-01.md","line_number":11,"parent":{"id":"daily/2025-02-01#standup","type":"meeting","heading":"Weekly Standup","fields":{"time":"09:00","attendees":["people/alice","people/bob"]}},"file_root":{"id":"daily/2025-02-01","type":"daily","fields":{"date":"2025-02-01","tags":["work"]}},"refs":[{"target_id":"people/alice","target_type":"person","target_name":"Alice Chen","display_text":null}],"sibling_traits":{"assignee":"people/alice","priority":"high"},"other_traits":{"priority":"high","assignee":"people/alice"},"first_seen_at":"2025-02-01T14:30:00Z","last_modified_at":"2025-02-01T14:30:00Z","created_at":"2025-02-01T14:30:00Z"}]},"meta":{"count":2}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","slim":true}`, Want: `{"ok":true,"data":{"items":[{"id":"trait-abc123","trait_type":"due","value":"2025-02-01","parent_id":"daily/2025-02-01#standup"}]}}`},
	// Dry Run for Updates.
	{Tool: "raven_trait_update", Args: `{"id":"due-abc123","set":["value=2025-02-20"],"dry_run":true}`, Want: `{"ok":true,"data":{"dry_run":true,"would_update":{"id":"due-abc123","changes":{"value":{"old":"2025-02-01","new":"2025-02-20"}}},"would_modify_files":[{"path":"daily/2025-02-01.md","action":"modify","line":12,"old_content":"- @due(2025-02-01) @id(due-abc123) Send estimate","new_content":"- @due(2025-02-20) @id(due-abc123) Send estimate"}]}}`},
	// Create Trait Input Schema.
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"2025-02-15","parent_id":"daily/2025-02-01#standup","content":"Review the proposal"}`, Want: `{"ok":true,"data":{"action":"created","trait_type":"due","parent":{"id":"daily/2025-02-01#standup"}},"meta":{"file_modified":"daily/2025-02-01.md","reindex_required":false}}`},
	// "Add a task for tomorrow".
	{Tool: "raven_trait_create", Args: `{"trait_type":"due","value":"2025-02-02","parent_id":"daily/2025-02-01","content":"Review Alice's PR"}`, Want: `{"ok":true,"data":{"id":"` + idOf("daily/2025-02-01", "due", "Review Alice's PR") + `","trait_type":"due","value":"2025-02-02","content":"Review Alice's PR","parent":{"id":"daily/2025-02-01","type":"daily"}}}`},
	// "What's on my plate this week?"
	{Tool: "raven_trait_list", Args: `{"trait_type":"due","value":"this-week"}`, Want: `{"ok":true,"data":{"items":[{"id":"` + idOf("daily/2025-02-01", "due", "Review Alice's PR") + `","value":"2025-02-02","content_text":"Review Alice's PR","parent":{"type":"daily","fields":{"date":"2025-02-01"}}},{"value":"2025-02-05","content_text":"Submit quarterly report","sibling_traits":{"priority":"high"},"parent":{"type":"project","heading":"Q1 Planning"}}]},"meta":{"count":4,"week_start":"saturday"}}`},
	// "Mark that task as done".
	{Tool: "raven_trait_update", Args: `{"id":"` + idOf("daily/2025-02-01", "due", "Review Alice's PR") + `","set":{"status":"done"}}`, Want: `{"ok":true,"data":{"id":"` + idOf("daily/2025-02-01", "due", "Review Alice's PR") + `","updated_fields":["status"],"new_values":{"status":"done"}}}`},
	{Tool: "raven_trait_list", Args: `{"trait_type":"status","value":"done"}`, Want: `{"data":{"items":[{"content":"@due(2025-02-02) @status(done) Review Alice's PR"}]},"meta":{"total":1}}`},
}

func TestEveryWayDocumentTraits(t *testing.T) {
	everyWay(t, []tooltest.Story{within("the document on traits", agenda, agendaCalls)})
}

// agendaLines are the document's command lines about traits, in its order, with rookery for rvn.
var agendaLines = []string{
	`rookery schema traits --json`,
	`rookery schema trait due --json`,
	`rookery trait due --json`,
	`rookery trait create --type due --value 2025-02-15 --parent daily/2025-02-01#standup --content "Review proposal" --json`,
	`rookery trait get trait-abc123 --json`,
	`rookery trait update trait-abc123 --set value=2025-02-20 --json`,
	`rookery trait update trait-abc123 --set status=done --json`,
	`rookery trait due --value today --json`,
	`rookery trait status --value todo --json`,
	`rookery trait due --created-after 2025-01-20 --json`,
	`rookery trait status --value todo --created-this-week --json`,
	`rookery trait due --created-since "24 hours ago" --json`,
	`rookery trait due --json --slim`,
	`rookery trait due --json --depth 0`,
	`rookery trait due --json --depth 1`,
	`rookery trait due --json --depth 2`,
	`rookery trait update due-abc123 --set value=2025-02-20 --dry-run --json`,
	`rookery trait list due --value future --json`,
	`rookery trait create --input '{"trait_type": "due", "value": "2025-02-15", "parent_id": "daily/2025-02-01#standup", "content": "Review the proposal"}' --json`,
	`rookery trait update due-abc123 value=2025-02-21 priority=low --json`,
	`rookery trait delete trait-abc123 --json`,
}

func TestDocumentTraitLines(t *testing.T) {
	p := newPlace(t)
	for _, step := range imported("r", agenda) {
		over(t, tooltest.Invoking("catalogue", p.catalogue()), step)
	}
	s := p.shell("r")
	for _, line := range agendaLines {
		printed := s.Run(t, tooltest.Words(line)[1:]...)
		require.Zero(t, printed.Exit, "%s: %s%s", line, printed.Out, printed.Err)
		require.Empty(t, tooltest.CodeOf(t, json.RawMessage(printed.Out)), line)
	}
	text := pageText(t, p, "daily/2025-02-01")
	require.Contains(t, text, "\n- @status(done) @assignee([[people/alice]]) @priority(high) Send estimate\n"+
		"- @due(2025-02-21) @priority(low) @id(due-abc123) Send estimate\n"+
		"- @due(2025-02-15) Review proposal\n- @due(2025-02-15) Review the proposal\n")
}

func pageText(t testing.TB, p *place, path string) string {
	t.Helper()
	var a struct{ Data struct{ Content string } }
	answer := done(t, p.catalogue(), "raven_read", map[string]any{"vault": "r", "path": path})
	require.NoError(t, json.Unmarshal(answer, &a))
	return a.Data.Content
}

// TestDocumentTraitSchemas checks the input schemas that the document shows.
func TestDocumentTraitSchemas(t *testing.T) {
	for name, want := range map[string]string{
		"raven_trait_list":   `{"type":"object","properties":{"trait_type":{"type":"string"},"value":{"type":"string"},"parent_type":{"type":"string"},"created_since":{"type":"string"}},"required":["trait_type"]}`,
		"raven_trait_create": `{"type":"object","properties":{"trait_type":{"type":"string"},"value":{"type":"string"},"parent_id":{"type":"string"},"content":{"type":"string"}},"required":["trait_type","parent_id","content"]}`,
	} {
		schema, err := toolOf(t, name).InputSchema().MarshalJSON()
		require.NoError(t, err)
		require.Empty(t, tooltest.Missing(json.RawMessage(want), schema), "%s: %s", name, schema)
	}
}
