package localapp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// held is a vault with objects that are embedded in a daily note, in both forms of declaring one in
// a heading.
var held = map[string]string{
	"schema.yaml": `version: 1
types:
  person:
    default_path: people/
    fields:
      name: { type: string, required: true }
      employer: { type: ref, target: company }
      friends: { type: "ref[]", target: person }
      tags: { type: "string[]" }
  company:
    default_path: companies/
    fields:
      name: { type: string, required: true }
  meeting:
    fields:
      time: { type: string, required: true }
      attendees: { type: "ref[]", target: person }
      rating: { type: number, min: 1, max: 5 }
      room: { type: enum, values: [oak, elm], default: oak }
      day: { type: date }
traits:
  due: { type: date }
  assignee: { type: ref, target: person }
`,
	"daily/2025-02-01.md": "---\ntype: date\n---\n\n# Saturday, February 1, 2025\n\n" +
		"## Weekly Standup\n\n::meeting(id=standup, time=09:00)\n\n- note\n\n" +
		"### Points\n\nOn [[people/freya]].\n\n" +
		"## One on one\n\n::meeting\ntime: 14:00\nattendees: [[people/freya]], [[people/thor]]\n\n- talk\n\n" +
		"## Notes\n\nplain\n\n## Notes\n\nagain\n",
	"people/freya.md":     "---\ntype: person\nname: Freya\n---\n\n# Freya\n\nSee [[people/freya]].\n\n## Log\n\n- old\n",
	"people/thor.md":      "---\ntype: person\nname: Thor\n---\n",
	"companies/mill.md":   "---\ntype: company\nname: Mill\n---\n",
	"clients/freya.md":    "# Client\n",
	"projects/website.md": "# Website\n\nWith [[people/thor]],\n[[Thor]], and [[daily/2025-02-01#standup|the standup]].\n",
}

// holding returns the story of calls about the vault held, which it creates.
func holding(t testing.TB, name string, steps ...tooltest.Step) tooltest.Story {
	t.Helper()
	notes, err := json.Marshal(map[string]any{"vault": "held", "notes": notesOf(held)})
	require.NoError(t, err)
	return tooltest.Story{Name: name, Steps: append([]tooltest.Step{
		{Tool: "team_vault_create", Args: `{"name":"held"}`},
		{Tool: "team_vault_import", Args: string(notes)},
	}, steps...)}
}

var settingEmbedded = []tooltest.Step{
	{Tool: "raven_set", Args: `{"vault":"held","id":"daily/2025-02-01#standup","set":{"time":"09:30","attendees":["people/thor","[[people/freya]]"],"day":"tomorrow"}}`, Want: `{"data":{"action":"updated","id":"daily/2025-02-01#standup","type":"meeting","file":"daily/2025-02-01.md","updated_fields":["attendees","day","time"],"new_values":{"attendees":["people/thor","people/freya"],"day":"2025-02-02","time":"09:30"},"object":{"id":"daily/2025-02-01#standup","heading":"Weekly Standup","fields":{"time":"09:30","room":"oak"},"from_default":["room"],"parent":{"id":"daily/2025-02-01"},"refs":[{"target_id":"people/thor"},{"target_id":"people/freya"}]}},"meta":{"file_modified":"daily/2025-02-01.md"}}`},
	{Tool: "raven_read", Args: `{"vault":"held","path":"daily/2025-02-01#standup","lines":"9"}`, Want: `{"data":{"content":"::meeting(attendees=[[[people/thor]], [[people/freya]]], day=2025-02-02, id=standup, time=09:30)\n"}}`},
	{Tool: "raven_object_update", Args: `{"vault":"held","id":"daily/2025-02-01#one-on-one","set":{"rating":4}}`, Want: `{"data":{"action":"updated","id":"daily/2025-02-01#one-on-one","new_values":{"rating":4}}}`},
	{Tool: "raven_set", Args: `{"vault":"held","id":"2025-02-01#one-on-one","set":["time=15:00"],"unset":["attendees","shoe"]}`, Want: `{"data":{"action":"updated","new_values":{"attendees":null,"shoe":null,"time":"15:00"},"missing_fields":["shoe"],"object":{"fields":{"time":"15:00","rating":4}}}}`},
	{Tool: "raven_read", Args: `{"vault":"held","path":"daily/2025-02-01","lines":"17-23"}`, Want: `{"data":{"content":"## One on one\n\n::meeting\ntime: 15:00\nrating: 4\n\n- talk\n"}}`},
	{Tool: "raven_set", Args: `{"vault":"held","id":"daily/2025-02-01#standup","set":["time=09:30"]}`, Want: `{"data":{"action":"unchanged"},"meta":{"files_modified":[]}}`},
	{Tool: "raven_set", Args: `{"vault":"held","id":"daily/2025-02-01#standup","set":{"room":"elm","attendees":null},"dry_run":true}`, Want: `{"data":{"dry_run":true,"would_update":{"id":"daily/2025-02-01#standup","changes":{"room":{"old":null,"new":"elm"},"attendees":{"old":["people/thor","people/freya"],"new":null}}},"would_modify_files":[{"path":"daily/2025-02-01.md","action":"modify","line":9}],"side_effects":[]}}`},
	{Tool: "raven_set", Args: `{"vault":"held","id":"daily/2025-02-01#standup","set":{"shoe":1}}`, Want: `{"warnings":[{"code":"UNKNOWN_FIELD","field":"shoe","allowed":["time","attendees","rating","room","day"]}]}`},
	{Tool: "raven_set", Args: `{"vault":"held","id":"daily/2025-02-01#standup","set":{"attendees":["people/loki"]}}`, Want: `{"data":{"new_values":{"attendees":["people/loki"]}},"warnings":[{"code":"REF_NOT_FOUND","ref":"people/loki","suggested_type":"person"}]}`},
	{Tool: "raven_unset", Args: `{"vault":"held","id":"daily/2025-02-01#standup","unset":["attendees","shoe","day"]}`, Want: `{"data":{"action":"updated","object":{"fields":{"time":"09:30"}}}}`},
	{Tool: "raven_set", Args: `{"vault":"held","id":"daily/2025-02-01#standup","set":{"id":"sync"}}`, Code: fault.InvalidField, Want: `{"error":{"details":{"field":"id"},"location":{"file":"daily/2025-02-01.md","line":9},"fixes":["raven_read {\"vault\":\"held\",\"path\":\"daily/2025-02-01#standup\"}"]}}`},
	{Tool: "raven_unset", Args: `{"vault":"held","id":"daily/2025-02-01#standup","unset":["id"]}`, Code: fault.InvalidField},
	{Tool: "raven_unset", Args: `{"vault":"held","id":"daily/2025-02-01#standup","unset":["time"]}`, Code: fault.MissingRequired},
	{Tool: "raven_set", Args: `{"vault":"held","id":"daily/2025-02-01#standup","set":{"rating":9,"room":"fir","type":"page","attendees":["companies/mill"],"id":"x"},"unset":["time"]}`, Code: fault.ValidationFailed, Want: `{"error":{"errors":[{"code":"INVALID_FIELD","details":{"field":"rating"}},{"code":"INVALID_VALUE","details":{"field":"room","allowed":["oak","elm"]}},{"code":"INVALID_FIELD","details":{"field":"attendees","value":"companies/mill","constraint":{"target":"person"}},"location":{"file":"daily/2025-02-01.md","line":7}},{"code":"INVALID_FIELD","details":{"field":"id"}},{"code":"MISSING_REQUIRED","details":{"field":"time"}},{"code":"INVALID_FIELD","details":{"field":"type"}}]}}`},
	{Tool: "raven_set", Args: `{"vault":"held","id":"daily/2025-02-01#points","set":{"a":1}}`, Code: fault.InvalidValue},
	{Tool: "raven_set", Args: `{"vault":"held","id":"freya","set":{"a":1}}`, Code: fault.AmbiguousRef, Want: `{"error":{"details":{"matches":["clients/freya","people/freya"]}}}`},
	{Tool: "raven_set", Args: `{"vault":"held","id":"Thor","set":{"employer":"Mill","friends":["freya","people/freya"],"tags":["a","b"]}}`, Want: `{"data":{"id":"people/thor","new_values":{"employer":"companies/mill","friends":["freya","people/freya"]}},"warnings":[]}`},
	{Tool: "raven_read", Args: `{"vault":"held","path":"people/thor"}`, Want: `{"data":{"content":"---\ntype: person\nname: Thor\nemployer: \"[[companies/mill]]\"\nfriends:\n  - \"[[freya]]\"\n  - \"[[people/freya]]\"\ntags:\n  - a\n  - b\n---\n"}}`},
	{Tool: "raven_set", Args: `{"vault":"held","id":"people/thor","set":["friends=people/freya,people/thor","tags=x,y","employer="]}`, Want: `{"data":{"new_values":{"friends":["people/freya","people/thor"],"tags":["x","y"],"employer":null}}}`},
	{Tool: "raven_set", Args: `{"vault":"held","id":"people/thor","set":{"employer":"people/freya"}}`, Code: fault.InvalidField, Want: `{"error":{"message":"Field 'employer' must refer to a company; people/freya is a person","location":{"file":"people/thor.md","line":4}}}`},
}

var creatingInDepth = []tooltest.Step{
	{Tool: "raven_new", Args: `{"vault":"held","type":"person","path":"people/thor.md","fields":{"friends":["companies/mill","people/x"],"employer":5},"template":"none"}`, Code: fault.ValidationFailed, Want: `{"error":{"errors":[{"code":"INVALID_VALUE","details":{"field":"employer"}},{"code":"MISSING_REQUIRED","details":{"field":"name"}},{"code":"INVALID_FIELD","details":{"field":"friends","constraint":{"target":"person"}}},{"code":"DUPLICATE_ID"},{"code":"INVALID_VALUE","details":{"argument":"template"}}]}}`},
	{Tool: "raven_new", Args: `{"vault":"held","type":"person","title":"Sif","fields":["employer=mill","friends=people/thor,Thor","tags="]}`, Want: `{"data":{"object":{"fields":{"employer":"companies/mill","friends":["people/thor","people/thor"],"tags":null}}},"warnings":[]}`},
	{Tool: "raven_read", Args: `{"vault":"held","path":"people/sif"}`, Want: `{"data":{"content":"---\ntype: person\nemployer: \"[[companies/mill]]\"\nfriends:\n  - \"[[people/thor]]\"\n  - \"[[people/thor]]\"\nname: Sif\ntags:\n---\n\n# Sif\n"}}`},
	{Tool: "raven_set", Args: `{"vault":"held","id":"daily/2025-02-01#standup","set":{"attendees":["Thor","[[people/loki|L]]"]}}`, Want: `{"data":{"new_values":{"attendees":["people/thor","people/loki"]}}}`},
	{Tool: "raven_trait_create", Args: `{"vault":"held","trait_type":"assignee","value":"Thor","parent_id":"daily/2025-02-01#standup","content":"Sweep","other_traits":{"due":"today"}}`, Want: `{"data":{"value":"people/thor","trait":{"content":"@assignee([[people/thor]]) @due(2025-02-01) Sweep"}}}`},
	{Tool: "raven_new", Args: `{"vault":"held","type":"section","title":"X"}`, Code: fault.InvalidType, Want: `{"error":{"details":{"available_types":["person","company","meeting","daily","page"]}}}`},
	{Tool: "raven_new", Args: `{"vault":"held","type":"daily","title":"2025-04-05","fields":{"date":"2025-04-06"}}`, Code: fault.InvalidField, Want: `{"error":{"details":{"field":"date"},"location":{"file":"daily/2025-04-05.md"}}}`},
	{Tool: "raven_new", Args: `{"vault":"held","type":"date","title":"2025-04-05","fields":{"date":"2025-04-05"}}`, Want: `{"data":{"id":"daily/2025-04-05","object":{"fields":{"date":"2025-04-05"}}},"warnings":[]}`},
	{Tool: "raven_read", Args: `{"vault":"held","path":"2025-04-05"}`, Want: `{"data":{"content":"---\ntype: date\n---\n\n# 2025-04-05\n"}}`},
	{Tool: "raven_set", Args: `{"vault":"held","id":"2025-04-05","set":{"date":"2025-04-06"}}`, Code: fault.InvalidField},
	{Tool: "raven_new", Args: `{"vault":"held","type":"daily","title":"Undated","fields":{"date":"2025-04-05"}}`, Want: `{"data":{"id":"daily/undated","object":{"fields":{"date":"2025-04-05"}}}}`},
	{Tool: "raven_object_list", Args: `{"vault":"held","type":"meeting","field":"rating=high"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"field":"rating"}}}`},
	{Tool: "raven_object_list", Args: `{"vault":"held","type":"person","only":["id, type"],"limit":1}`, Want: `{"data":{"items":[{"id":"people/freya","type":"person"}]}}`},
}

var addingInDepth = []tooltest.Step{
	{Tool: "raven_add", Args: `{"vault":"held","text":"one","to":"people/freya"}`, Want: `{"data":{"action":"updated","id":"people/freya","line":13,"object":{"id":"people/freya"}}}`},
	{Tool: "raven_add", Args: `{"vault":"held","text":"two","to":"[[people/freya#log]]"}`, Want: `{"data":{"id":"people/freya#log","type":"section","line":14}}`},
	{Tool: "raven_add", Args: `{"vault":"held","text":"three","to":"daily/2025-02-01#standup"}`, Want: `{"data":{"id":"daily/2025-02-01#standup","type":"meeting","file":"daily/2025-02-01.md","line":12,"content":"- three","object":{"type":"meeting"}}}`},
	{Tool: "raven_add", Args: `{"vault":"held","text":"four","to":"today#standup"}`, Want: `{"data":{"id":"daily/2025-02-01#standup","line":13}}`},
	{Tool: "raven_add", Args: `{"vault":"held","text":"five","to":"Mill"}`, Want: `{"data":{"file":"companies/mill.md"}}`},
	{Tool: "raven_add", Args: `{"vault":"held","text":"six","to":"freya"}`, Code: fault.AmbiguousRef, Want: `{"error":{"details":{"matches":["clients/freya","people/freya"]}}}`},
	{Tool: "raven_add", Args: `{"vault":"held","text":"seven","to":"[[2025-03-01]]"}`, Want: `{"data":{"action":"created","file":"daily/2025-03-01.md","side_effects":["the daily note daily/2025-03-01.md is made"]}}`},
	{Tool: "raven_add", Args: `{"vault":"held","text":"eight","to":"2025-03-02#tasks"}`, Code: fault.NotFound},
	{Tool: "raven_add", Args: `{"vault":"held","text":"x","to":"../x"}`, Code: fault.InvalidPath, Want: `{"error":{"details":{"argument":"to"}}}`},
	{Tool: "raven_add", Args: `{"vault":"held","text":"x","to":"Who? Nobody: at all"}`, Code: fault.NotFound},
	{Tool: "raven_add", Args: `{"vault":"held","text":" ","to":"people/nobody"}`, Code: fault.ValidationFailed, Want: `{"error":{"errors":[{"code":"MISSING_REQUIRED","details":{"argument":"text"}},{"code":"NOT_FOUND"}]}}`},
	{Tool: "raven_add", Args: `{"vault":"held","text":"under\n==="}`, Code: fault.InvalidValue},
	{Tool: "raven_add", Args: `{"vault":"held","text":"a\r# b"}`, Code: fault.InvalidValue},
	{Tool: "raven_add", Args: `{"vault":"held","text":"- # b"}`, Code: fault.InvalidValue},
	{Tool: "raven_add", Args: "{\"vault\":\"held\",\"text\":\"so:\\n```sh\\n# a comment\\n```\",\"to\":\"people/thor\"}", Want: "{\"data\":{\"content\":\"- so:\\n  ```sh\\n  # a comment\\n  ```\"}}"},
	{Tool: "raven_add", Args: `{"vault":"held","text":"@assignee(people/hel) and @assignee([[people/ran]])","to":"people/thor"}`, Want: `{"warnings":[{"code":"REF_NOT_FOUND","ref":"people/ran","suggested_type":"person"},{"code":"REF_NOT_FOUND","ref":"people/hel","suggested_type":"person"}]}`},
	{Tool: "raven_add", Args: `{"vault":"held","text":"nine","to":"daily/2025-02-01#standup","dry_run":true}`, Want: `{"data":{"dry_run":true,"would_update":{"id":"daily/2025-02-01#standup","changes":{}},"would_modify_files":[{"path":"daily/2025-02-01.md","action":"modify","line":14,"new_content":"- nine"}]}}`},
}

var removingInDepth = []tooltest.Step{
	{Tool: "raven_delete", Args: `{"vault":"held","id":"daily/2025-02-01#standup","dry_run":true}`, Want: `{"data":{"dry_run":true,"would_delete":{"id":"daily/2025-02-01#standup"},"would_modify_files":[{"path":"daily/2025-02-01.md","action":"modify","line":7}],"side_effects":["1 reference to daily/2025-02-01#standup leads to daily/2025-02-01, which has no such section","daily/2025-02-01#standup goes to .trash/daily/2025-02-01/standup.md"]},"warnings":[{"code":"HAS_BACKLINKS","count":1}]}`},
	{Tool: "raven_delete", Args: `{"vault":"held","id":"daily/2025-02-01#standup"}`, Want: `{"data":{"action":"deleted","id":"daily/2025-02-01#standup","type":"meeting","file":"daily/2025-02-01.md","trash_path":".trash/daily/2025-02-01/standup.md","object":{"id":"daily/2025-02-01#standup","fields":{"time":"09:00"}}},"warnings":[{"code":"HAS_BACKLINKS","count":1,"backlinks":[{"source_id":"projects/website","file_path":"projects/website.md","line":4}]}],"meta":{"files_modified":["daily/2025-02-01.md",".trash/daily/2025-02-01/standup.md"]}}`},
	{Tool: "raven_read", Args: `{"vault":"held","path":"daily/2025-02-01","lines":"1-9"}`, Want: `{"data":{"content":"---\ntype: date\n---\n\n# Saturday, February 1, 2025\n\n## One on one\n\n::meeting\n"}}`},
	{Tool: "raven_object_get", Args: `{"vault":"held","id":"daily/2025-02-01#points"}`, Code: fault.NotFound},
	{Tool: "raven_delete", Args: `{"vault":"held","id":"daily/2025-02-01#notes"}`, Code: fault.ValidationFailed, Want: `{"error":{"details":{"reason":"slug","section":"notes-2","new_slug":"notes"}}}`},
	{Tool: "raven_delete", Args: `{"vault":"held","id":"daily/2025-02-01#notes-2"}`, Want: `{"data":{"type":"section","object":{"fields":{"title":"Notes"}}},"warnings":[]}`},
	{Tool: "raven_delete", Args: `{"vault":"held","id":"daily/2025-02-01#notes"}`, Want: `{"data":{"action":"deleted"}}`},
	{Tool: "raven_delete", Args: `{"vault":"held","id":"daily/2025-02-01#notes"}`, Code: fault.NotFound},
	{Tool: "raven_delete", Args: `{"vault":"held","id":"freya"}`, Code: fault.AmbiguousRef},
	{Tool: "raven_delete", Args: `{"vault":"held","id":"people/thor"}`, Want: `{"data":{"trash_path":".trash/people/thor.md","side_effects":["3 references to people/thor have no target"]},"warnings":[{"code":"HAS_BACKLINKS","count":3,"backlinks":[{"source_id":"daily/2025-02-01#one-on-one","file_path":"daily/2025-02-01.md"},{"source_id":"projects/website","line":3},{"source_id":"projects/website","line":4}]}]}`},
	{Tool: "raven_delete", Args: `{"vault":"held","id":"daily/2025-02-01"}`, Want: `{"data":{"action":"deleted"},"warnings":[]}`},
	{Tool: "raven_delete", Args: `{"vault":"held","id":"people/freya"}`, Want: `{"data":{"action":"deleted"},"warnings":[]}`},
}

var editingInDepth = []tooltest.Step{
	{Tool: "raven_edit", Args: `{"vault":"held","id":"daily/2025-02-01#standup","old_str":"On [[people/freya]]","new_str":"On [[people/hel]]"}`, Want: `{"data":{"action":"updated","id":"daily/2025-02-01#standup","type":"meeting","line":15,"object":{"type":"meeting"}},"warnings":[{"code":"REF_NOT_FOUND","ref":"people/hel"}]}`},
	{Tool: "raven_edit", Args: `{"vault":"held","id":"daily/2025-02-01#standup","edits":[{"old_str":"id=standup","new_str":"id=sync"},{"old_str":"- note","new_str":"- a\n- b"}]}`, Want: `{"data":{"id":"daily/2025-02-01#sync","edits":[{"line":9},{"line":11}]}}`},
	{Tool: "raven_edit", Args: `{"vault":"held","id":"daily/2025-02-01#sync","old_str":"talk","new_str":"x"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"matches":0}}}`},
	{Tool: "raven_edit", Args: `{"vault":"held","id":"daily/2025-02-01#sync","edits":[{"old_str":"","new_str":"x"},{"old_str":"a","new_str":"x"},{"old_str":"","new_str":"y"}]}`, Code: fault.ValidationFailed, Want: `{"error":{"errors":[{"code":"MISSING_REQUIRED","details":{"index":0}},{"code":"MISSING_REQUIRED","details":{"index":2}}]}}`},
	{Tool: "raven_edit", Args: `{"vault":"held","id":"people/freya","edits":[{"old_str":"absent","new_str":"x"},{"old_str":"- old","new_str":"- new"},{"old_str":"reya","new_str":"x"}]}`, Code: fault.ValidationFailed, Want: `{"error":{"errors":[{"code":"INVALID_VALUE","details":{"index":0,"matches":0}},{"code":"INVALID_VALUE","details":{"index":2}}]}}`},
	{Tool: "raven_edit", Args: `{"vault":"held","id":"freya","old_str":"a","new_str":"b"}`, Code: fault.AmbiguousRef},
	{Tool: "raven_new", Args: `{"vault":"held","type":"page","title":"Breaks","content":"one\r\ntwo\r\n"}`},
	{Tool: "raven_edit", Args: `{"vault":"held","id":"breaks","old_str":"one","new_str":"a\r\nb"}`, Want: `{"data":{"edits":[{"line":5,"context":"a\r\nb"}]}}`},
}

func TestEveryWayChangesInDepth(t *testing.T) {
	everyWay(t, []tooltest.Story{
		holding(t, "setting what is embedded", settingEmbedded...),
		holding(t, "creating", creatingInDepth...),
		holding(t, "adding", addingInDepth...),
		holding(t, "removing", removingInDepth...),
		holding(t, "editing", editingInDepth...),
	})
}

// TestTrashOfSection checks that a section which is deleted from a note is kept in the trash with
// its origin.
func TestTrashOfSection(t *testing.T) {
	p := newPlace(t)
	done(t, p.catalogue(), "raven_delete", map[string]any{"id": "people/alice#notes"})
	var kept string
	for path, text := range p.notes(t) {
		if strings.HasSuffix(path, ".trash/people/alice/notes.md") {
			kept = text
		}
	}
	require.Equal(t, "---\norigin: people/alice#notes\nline: 13\n---\n\n"+
		"## Notes\n\n- Likes tea\n\n### Deep\n\nHidden.\n\n", kept)
}

// TestWritersOfOneNote checks that the changes of two concurrent writers, of an object that is
// embedded in a note and of the note's own fields, are both in the note at the end.
func TestWritersOfOneNote(t *testing.T) {
	p := newPlace(t)
	done(t, p.catalogue(), "team_vault_create", map[string]any{"name": "held"})
	done(t, p.catalogue(), "team_vault_import", map[string]any{"vault": "held", "notes": notesOf(held)})
	const rounds = 20
	write := func(id, field string) {
		for i := range rounds {
			done(t, p.catalogue(), "raven_set", map[string]any{
				"vault": "held", "id": id, "set": map[string]any{fmt.Sprint(field, i): i},
			})
		}
	}
	var wg sync.WaitGroup
	for id, field := range map[string]string{
		"daily/2025-02-01": "n", "daily/2025-02-01#standup": "s", "daily/2025-02-01#one-on-one": "o",
	} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			write(id, field)
		}()
	}
	wg.Wait()
	for id, field := range map[string]string{
		"daily/2025-02-01": "n", "daily/2025-02-01#standup": "s", "daily/2025-02-01#one-on-one": "o",
	} {
		answer := done(t, p.catalogue(), "raven_object_get", map[string]any{"vault": "held", "id": id})
		for i := range rounds {
			want := fmt.Sprintf(`{"data":{"object":{"fields":{"%s%d":%d}}}}`, field, i, i)
			require.Empty(t, tooltest.Missing(json.RawMessage(want), answer))
		}
	}
}
