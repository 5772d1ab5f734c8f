package localapp_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// told is the vault of the examples in the raven document (spec/raven-agent-improvements.md), as
// far as they describe it.
var told = map[string]string{
	"schema.yaml": `version: 1
types:
  person:
    default_path: people/
    fields:
      name: { type: string, required: true }
      email: { type: string }
      company: { type: ref, target: company }
    traits:
      due: {}
      priority: { default: medium }
  meeting:
    fields:
      time: { type: string }
      attendees: { type: "ref[]", target: person }
    traits: [remind]
traits:
  due: { type: date }
  priority: { type: enum, values: [low, medium, high], default: medium }
  remind: { type: date }
`,
	"people/alice.md": "---\ntype: person\nname: Alice Chen\nemail: old@example.com\n" +
		"tags: [engineering, platform]\nphone: \"1\"\n---\n",
	"people/old-contact.md": "---\ntype: person\nname: Old\n---\n",
	"daily/2025-02-01.md": "---\ntype: date\n---\n\n# Thursday, February 1, 2025\n\n## Standup\n\n" +
		"## Tasks\n\n- @due(2025-02-03) Send estimate..." + strings.Repeat("\n- more", 33) + "\n",
	"daily/2025-01-27.md": "---\ntype: date\n---\n\n# Monday, January 27, 2025\n\n## Standup\n\n::meeting\nattendees: [[people/alice]], [[people/bob]]\n\n- Sprint review prep\n- Discussed Q1 roadmap\n\n## Tasks\n\n- @due(2025-01-28) Finish API docs\n- @priority(high) Review Alice's PR\n\n## Notes\n\n- [[projects/mobile-app]] beta testing started\n",
	"projects/website.md": "# Website\n" + strings.Repeat("\n- item", 25) + "\n",
	"inbox.md":            "# Inbox\n",
	"meetings/weekly.md":  "---\ntype: meeting\nattendees: [\"[[people/alice]]\"]\n---\n",
}

// shelf is a vault whose schema has no meeting, as in the document's examples of errors.
var shelf = map[string]string{
	"schema.yaml": "types:\n  person: { fields: { name: { type: string, required: true } } }\n" +
		"  project: {}\n",
}

// bookcase is the vault with the document's book.
var bookcase = map[string]string{
	"schema.yaml":        "types:\n  book: { fields: { title: { type: string }, rating: { type: number, min: 1, max: 5 } } }\n",
	"books/some-book.md": "---\ntype: book\ntitle: Some\n# how good\nrating: 3\n---\n",
}

// openDocument returns a place whose vault `told` is that of the document, at the document's time.
func openDocument(t testing.TB) *place {
	t.Helper()
	var now atomic.Pointer[time.Time]
	at := func(text string) {
		clock, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		now.Store(&clock)
	}
	at("2025-01-15T10:30:00Z")
	p := &place{dir: t.TempDir(), logs: &lockedBuffer{}}
	app, err := openApp(t.Context(), localapp.Config{
		Data: p.dir, Now: func() time.Time { return *now.Load() },
		Log: slog.New(slog.NewJSONHandler(p.logs, nil)),
	})
	require.NoError(t, err)
	p.app = app
	t.Cleanup(func() { require.NoError(t, app.Close()) })
	inv := p.catalogue()
	for name, files := range map[string]map[string]string{
		"told": told, "shelf": shelf, "bookcase": bookcase,
	} {
		done(t, inv, "team_vault_create", map[string]any{"name": name})
		done(t, inv, "team_vault_import", map[string]any{"vault": name, "notes": notesOf(files)})
	}
	at("2025-01-28T14:22:00Z")
	done(t, inv, "raven_set", map[string]any{
		"vault": "told", "id": "people/alice", "set": map[string]any{"email": "alice@example.com"},
	})
	at("2025-02-01T14:30:00Z")
	handler := app.Handler("1.2.3", nil)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	p.base = server.URL
	return p
}

// documentCalls are the calls in the document with the parts of their answers that it shows, and
// calls for the answers that it shows without a call. Deviations that reference/raven.md §6.1
// decides are as there.
var documentCalls = []tooltest.Step{
	// Object Response Format.
	{Tool: "raven_object_get", Args: `{"vault":"told","id":"people/alice"}`, Want: `{"ok":true,"data":{"object":{"id":"people/alice","type":"person","file_path":"people/alice.md","heading":null,"heading_level":null,"fields":{"name":"Alice Chen","email":"alice@example.com","tags":["engineering","platform"]},"parent":null,"line_start":1,"line_end":null,"first_seen_at":"2025-01-15T10:30:00Z","last_modified_at":"2025-01-28T14:22:00Z"}}}`},
	// Standard Response Envelope.
	{Tool: "raven_object_list", Args: `{"vault":"shelf","type":"meeting"}`, Code: fault.InvalidType, Want: `{"ok":false,"error":{"code":"INVALID_TYPE","details":{"available_types":["person","project","daily","page","section"]}}}`},
	// Error Response Structure.
	{Tool: "raven_set", Args: `{"vault":"bookcase","id":"books/some-book","set":{"rating":10}}`, Code: fault.InvalidField, Want: `{"ok":false,"error":{"code":"INVALID_FIELD","message":"Field 'rating' must be between 1 and 5","details":{"field":"rating","value":10,"constraint":{"min":1,"max":5}},"location":{"file":"books/some-book.md","line":5}}}`},
	// List Types, Get Type Details.
	{Tool: "raven_schema_types", Args: `{"vault":"told"}`, Want: `{"ok":true,"data":{"types":[{"name":"person","builtin":false,"default_path":"people/","fields":["name","email","company"],"traits":["due","priority"],"required_fields":["name"]},{"name":"meeting","builtin":false,"default_path":null,"fields":["time","attendees"],"traits":["remind"],"required_fields":[]},{"name":"page","builtin":true,"default_path":null,"fields":[],"traits":[],"required_fields":[]},{"name":"section","builtin":true,"default_path":null,"fields":["title","level"],"traits":[],"required_fields":[]}]}}`},
	{Tool: "raven_schema_type", Args: `{"vault":"told","name":"person"}`, Want: `{"ok":true,"data":{"type":{"name":"person","builtin":false,"default_path":"people/","fields":{"name":{"type":"string","required":true},"email":{"type":"string","required":false},"company":{"type":"ref","target":"company","required":false}},"traits":{"due":{"required":false,"default":null},"priority":{"required":false,"default":"medium"}}}}}`},
	// Available Commands: what it says of the commands that are here.
	{Tool: "raven_schema_commands", Args: `{"vault":"told"}`, Want: `{"ok":true,"data":{"commands":{"read":{"args":["path"]},"add":{"default_target":"Today's daily note","flags":{"--to":{"type":"path","examples":["projects/website.md","inbox.md","people/alice.md"]}}},"object":{"subcommands":["list","get","create","update","delete"]},"trait":{"subcommands":["list","get","create","update","delete"]},"backlinks":{"args":["target"]},"type":{"args":["name"]},"tag":{"args":["tag"]},"date":{"args":["date"]}}}}`},
	// Read Command.
	{Tool: "raven_read", Args: `{"vault":"told","path":"daily/2025-02-01.md"}`, Want: `{"ok":true,"data":{"path":"daily/2025-02-01.md","line_count":44}}`},
	// Quick Capture; timestamps are opt-in.
	{Tool: "raven_add", Args: `{"vault":"told","text":"Met with [[people/bob]] about [[projects/website]]","timestamp":true}`, Want: `{"ok":true,"data":{"file":"daily/2025-02-01.md","line":45,"content":"- 14:30 Met with [[people/bob]] about [[projects/website]]"},"warnings":[{"code":"REF_NOT_FOUND","ref":"people/bob","suggested_type":"person","create_command":"rookery object create person --title \"bob\" --json"}]}`},
	{Tool: "raven_read", Args: `{"vault":"told","path":"daily/2025-02-01.md"}`, Want: `{"ok":true,"data":{"path":"daily/2025-02-01.md","line_count":45}}`},
	// Dry Run Mode.
	{Tool: "raven_new", Args: `{"vault":"told","type":"person","fields":["name=Bob"],"dry_run":true}`, Want: `{"ok":true,"data":{"dry_run":true,"would_create":{"id":"people/bob","type":"person","fields":{"name":"Bob"}},"would_modify_files":[{"path":"people/bob.md","action":"create","content_preview":"---\ntype: person\nname: Bob\n---\n\n# Bob\n"}],"side_effects":[]}}`},
	// Response Format for Mutations, Create Object Input Schema.
	{Tool: "raven_new", Args: `{"vault":"told","type":"person","path":"people/bob","fields":{"name":"Bob Smith","email":"bob@example.com"},"content":"# Bob Smith\n\nNotes about Bob..."}`, Want: `{"ok":true,"data":{"action":"created","object":{"id":"people/bob","type":"person","fields":{"name":"Bob Smith","email":"bob@example.com"}}},"meta":{"file_modified":"people/bob.md","reindex_required":false}}`},
	// Update Input Schema.
	{Tool: "raven_set", Args: `{"vault":"told","id":"people/alice","set":{"email":"alice.chen@newcompany.com"},"unset":["phone"]}`, Want: `{"ok":true,"data":{"action":"updated","id":"people/alice","updated_fields":["email","phone"]}}`},
	// Validation Errors: MISSING_REQUIRED names its place.
	{Tool: "raven_new", Args: `{"vault":"told","type":"person","path":"people/nameless"}`, Code: fault.MissingRequired, Want: `{"error":{"location":{"file":"people/nameless.md","line":1}}}`},
	// Validation Errors: several come at once.
	{Tool: "raven_new", Args: `{"vault":"told","type":"person","path":"people/bob2","fields":{"email":5,"priority":"urgent"}}`, Code: fault.ValidationFailed, Want: `{"ok":false,"error":{"code":"VALIDATION_FAILED","message":"3 validation errors found","errors":[{"code":"INVALID_VALUE","location":{"file":"people/bob2.md","line":1}},{"code":"INVALID_VALUE","message":"Field 'priority' must be one of low, medium, high","location":{"file":"people/bob2.md","line":1},"details":{"allowed":["low","medium","high"]}},{"code":"MISSING_REQUIRED","location":{"file":"people/bob2.md","line":1}}]}}`},
	// Example Agent Interactions.
	{Tool: "raven_add", Args: `{"vault":"told","text":"@priority(medium) Implement dark mode toggle","to":"projects/website.md"}`, Want: `{"ok":true,"data":{"file":"projects/website.md","line":28,"content":"- @priority(medium) Implement dark mode toggle"}}`},
	{Tool: "raven_add", Args: `{"vault":"told","text":"@priority(high) Fix mobile navigation menu","to":"projects/website.md"}`, Want: `{"ok":true,"data":{"file":"projects/website.md","line":29,"content":"- @priority(high) Fix mobile navigation menu"}}`},
	{Tool: "raven_add", Args: `{"vault":"told","text":"Met with [[people/sarah-chen]] - potential new client","timestamp":true}`, Want: `{"ok":true,"data":{"file":"daily/2025-02-01.md","content":"- 14:30 Met with [[people/sarah-chen]] - potential new client"},"warnings":[{"code":"REF_NOT_FOUND","ref":"people/sarah-chen","suggested_type":"person","create_command":"rookery object create person --title \"sarah-chen\" --json"}]}`},
	{Tool: "raven_object_create", Args: `{"vault":"told","type":"person","title":"Sarah Chen","fields":{}}`, Want: `{"ok":true,"data":{"id":"people/sarah-chen","type":"person","file":"people/sarah-chen.md"}}`},
	{Tool: "raven_read", Args: `{"vault":"told","path":"daily/2025-01-27.md"}`, Want: `{"ok":true,"data":{"path":"daily/2025-01-27.md","content":` + quoted(told["daily/2025-01-27.md"]) + `,"line_count":22}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"told","target":"people/alice"}`, Want: `{"ok":true,"data":{"items":[{"source_id":"daily/2025-01-27#standup","file_path":"daily/2025-01-27.md"},{"source_id":"meetings/weekly","file_path":"meetings/weekly.md"}]}}`},
	{Tool: "raven_object_list", Args: `{"vault":"told","type":"meeting","field":"attendees=people/bob","created_since":"3 weeks ago"}`, Want: `{"ok":true,"data":{"items":[{"id":"daily/2025-01-27#standup","type":"meeting","heading":"Standup","file_root":{"fields":{"date":"2025-01-27"}}}]}}`},
	{Tool: "raven_object_list", Args: `{"vault":"told","type":"meeting","field":"attendees=people/alice"}`, Want: `{"ok":true,"data":{"items":[{"id":"daily/2025-01-27#standup","type":"meeting","heading":"Standup","heading_level":2,"fields":{"attendees":["people/alice","people/bob"]},"parent":{"id":"daily/2025-01-27","type":"daily"}},{"id":"meetings/weekly","type":"meeting"}]},"meta":{"count":2}}`},
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // never: every text is JSON
	}
	return string(data)
}

func TestDocumentExamples(t *testing.T) {
	story := tooltest.Story{Name: "the document", Steps: documentCalls}
	p := openDocument(t)
	first := story.Tell(t, tooltest.Invoking("catalogue", p.catalogue()), tooltest.Way{})
	story.Check(t, first)

	served := openDocument(t)
	over := tooltest.Invoking("http", tooltest.Served(served.base)(clitool.Target{}))
	requireSame(t, story, first, story.Tell(t, over, tooltest.Way{}))
}

// TestDocumentList checks the document's list: a page of two of 150.
func TestDocumentList(t *testing.T) {
	p := openDocument(t)
	var notes []map[string]string
	for i := range 150 {
		notes = append(notes, map[string]string{"path": fmt.Sprintf("n/%d.md", i), "text": "x\n"})
	}
	done(t, p.catalogue(), "team_vault_create", map[string]any{"name": "many"})
	done(t, p.catalogue(), "team_vault_import", map[string]any{"vault": "many", "notes": notes})
	answer := done(t, p.catalogue(), "raven_object_list", map[string]any{"vault": "many", "limit": 2})
	require.Empty(t, tooltest.Missing(
		json.RawMessage(`{"ok":true,"meta":{"count":2,"total":150,"has_more":true}}`), answer))
}

// documentLines are the document's command lines that the present tools support, in its order, with
// rookery for rvn.
var documentLines = []string{
	`rookery stats --json`,
	`rookery object create --type person --field name="Bob" --dry-run --json`,
	`rookery object create --input '{"type": "person", "path": "people/bob", "fields": {"name": "Bob Smith"}}'`,
	`rookery schema types --json`,
	`rookery schema type person --json`,
	`rookery schema --json`,
	`rookery schema commands --json`,
	`rookery object delete people/bob --json`,
	`rookery object create --type person --path people/bob --field name="Bob Smith" --json`,
	`rookery object get people/alice --json`,
	`rookery object get daily/2025-02-01#standup --json`,
	`rookery set people/alice email="new@email.com" --json`,
	`rookery object delete people/old-contact --json`,
	`rookery object list --json`,
	`rookery object list --type person --json`,
	`rookery object list --type meeting --field attendees=people/alice --json`,
	`rookery read daily/2025-02-01.md --json`,
	`rookery backlinks people/alice --json`,
	`rookery untyped --json`,
	`rookery date today --json`,
	`rookery date 2025-02-01 --json`,
	`rookery type person --json`,
	`rookery type meeting --json`,
	`rookery tag important --json`,
	`rookery tag --list --json`,
	`rookery type --list --json`,
	`rookery object list --created-after 2025-01-20 --json`,
	`rookery object list --modified-today --json`,
	`rookery object list --modified-since "2 days ago" --json`,
	`rookery object list --modified-since "24 hours ago" --json`,
	`rookery resolve alice --json`,
	`rookery outlinks daily/2025-01-27 --json`,
	`rookery add "Met with [[people/bob]] about [[projects/website]]" --json`,
	`rookery add "New feature idea: dark mode" --to projects/website.md --json`,
	`rookery add "@priority(high) Review contract" --to inbox.md --json`,
	`rookery add "Follow up on proposal" --to people/alice.md --json`,
	`rookery add "Quick thought" --json`,
	`rookery add "New task" --to projects/website.md --json`,
	`rookery add "@priority(high) Urgent" --to inbox.md --json`,
	`rookery add "Discussed [[projects/mobile-app]]" --json`,
	`rookery log --since yesterday --json`,
	`rookery log --since "24 hours ago" --json`,
	`rookery log --id people/alice --json`,
	`rookery log --op create --json`,
	`rookery log --op create --entity trait --json`,
	`rookery log --entity object --json`,
	`rookery log --all --json`,
	`rookery validate --type object --input '{"type": "person", "fields": {"name": "Bob"}}' --json`,
	`rookery validate --type trait --input '{"trait_type": "due", "value": "2025-02-15", "parent_id": "people/alice", "content": "Review"}' --json`,
	`rookery batch --input '{"operations": [{"op": "create", "entity": "object", "data": {"type": "meeting", "path": "meetings/planning"}}]}' --atomic --dry-run --json`,
	`rookery new person "Bob Smith" --field email=bob@example.test --json`,
	`rookery delete people/bob --force --json`,
	`rookery object create person --title "bob" --json`,
	`rookery object update people/bob email=b@example.test --json`,
}

func TestDocumentLines(t *testing.T) {
	p := openDocument(t)
	s := p.shell("told")
	for _, line := range documentLines {
		words := tooltest.Words(line)
		require.Equal(t, "rookery", words[0])
		printed := s.Run(t, words[1:]...)
		require.Zero(t, printed.Exit, "%s: %s%s", line, printed.Out, printed.Err)
		if words[len(words)-1] == "--json" {
			require.Empty(t, tooltest.CodeOf(t, json.RawMessage(printed.Out)), line)
		}
	}
}

// TestDocumentInputs checks that the three ways to pass an object of arguments have the same
// effect.
func TestDocumentInputs(t *testing.T) {
	const object = `{"type": "person", "path": "people/bob", "fields": {"name": "Bob Smith"}}`
	file := filepath.Join(t.TempDir(), "new-person.json")
	require.NoError(t, os.WriteFile(file, []byte(object), 0o600))
	var first string
	for _, c := range []struct {
		stdin string
		line  []string
	}{
		{"", []string{"object", "create", "--input", object, "--json"}},
		{object, []string{"object", "create", "--stdin", "--json"}},
		{"", []string{"object", "create", "--input-file", file, "--json"}},
		{"", []string{"object", "create", "--input", file, "--json"}},
	} {
		s := openDocument(t).shell("told")
		s.Stdin = c.stdin
		printed := s.Run(t, c.line...)
		require.Zero(t, printed.Exit, "%q: %s", c.line, printed.Out)
		answer := tooltest.Comparable(json.RawMessage(printed.Out))
		if first == "" {
			first = answer
		}
		require.Equal(t, first, answer)
	}
}

// shell returns the command line over the place, for a vault.
func (p *place) shell(vault string) tooltest.Shell {
	return tooltest.Shell{
		Tools:   allTools(),
		Connect: tooltest.InProcess(p.app.Catalogue, auth.LocalCaller()),
		Env:     map[string]string{"ROOKERY_VAULT": vault},
	}
}

// TestDocumentSchemas checks the input schemas that the document shows for existing tools.
func TestDocumentSchemas(t *testing.T) {
	for name, want := range map[string]string{
		"raven_object_get":   `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`,
		"raven_schema_types": `{"type":"object","properties":{}}`,
	} {
		made := toolOf(t, name)
		schema, err := made.InputSchema().MarshalJSON()
		require.NoError(t, err)
		require.Empty(t, tooltest.Missing(json.RawMessage(want), schema), "%s: %s", name, schema)
		for _, a := range made.Args {
			require.Equal(t, name == "raven_object_get" && a.Name == "id", a.Required, a.Name)
		}
	}
}

func toolOf(t testing.TB, name string) *tool.Tool {
	t.Helper()
	for _, made := range allTools() {
		if made.Name == name {
			return made
		}
	}
	require.Fail(t, "no such tool", name)
	return nil
}

// TestDocumentAudit checks the lines of the audit log that the document shows.
func TestDocumentAudit(t *testing.T) {
	p := openDocument(t)
	done(t, p.catalogue(), "raven_new", map[string]any{
		"vault": "told", "type": "person", "title": "Bob",
	})
	done(t, p.catalogue(), "raven_delete", map[string]any{"vault": "told", "id": "people/old-contact"})
	var text string
	for token := ""; ; {
		var got page
		in := map[string]any{"vault": "told", "page_token": token}
		require.NoError(t, json.Unmarshal(done(t, p.catalogue(), "team_vault_export", in), &got))
		var notes []struct{ Path, Text string }
		require.NoError(t, json.Unmarshal(got.Data["notes"], &notes))
		for _, n := range notes {
			if n.Path == ".raven/audit.log" {
				text += n.Text
			}
		}
		if token = got.Meta.Next; token == "" {
			break
		}
	}
	for _, want := range []string{
		`{"ts":"2025-02-01T14:30:00Z","op":"create","entity":"object","id":"people/bob","type":"person"}`,
		`{"ts":"2025-02-01T14:30:00Z","op":"delete","entity":"object","id":"people/old-contact"}`,
		`{"ts":"2025-01-28T14:22:00Z","op":"update","entity":"object","id":"people/alice","changes":{"email":{"old":"old@example.com","new":"alice@example.com"}}}`,
	} {
		found := 0
		for line := range strings.Lines(text) {
			if tooltest.Missing(json.RawMessage(want), json.RawMessage(line)) == "" {
				found++
			}
		}
		require.Equal(t, 1, found, "%s in:\n%s", want, text)
	}
}

// TestDocumentCodes checks the HTTP status that the document assigns to each code.
func TestDocumentCodes(t *testing.T) {
	for code, status := range map[fault.Code]int{
		"NOT_FOUND": 404, "INVALID_TYPE": 400, "INVALID_TRAIT": 400, "INVALID_FIELD": 400,
		"INVALID_VALUE": 400, "INVALID_REF": 400, "DUPLICATE_ID": 409, "MISSING_REQUIRED": 400,
		"AMBIGUOUS_REF": 400, "SCHEMA_ERROR": 500, "INDEX_ERROR": 500, "FILE_ERROR": 500,
	} {
		require.Equal(t, status, fault.New(code, "").HTTP(), code)
	}
}
