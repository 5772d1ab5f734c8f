package localapp_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func TestEveryWayFollowsReferences(t *testing.T) {
	everyWay(t, []tooltest.Story{linking, resolving(), resolvingAnything()})
}

func TestEveryWayLooksUp(t *testing.T) {
	everyWay(t, []tooltest.Story{typing, tagging, dating, counting, reading})
}

func TestEveryWayShowsDepth(t *testing.T) {
	everyWay(t, []tooltest.Story{deepening, selecting})
}

// web is a vault with many references.
var web = map[string]string{
	"schema.yaml": `types:
  person:
    default_path: people/
    name_field: name
    fields:
      name: { type: string, required: true }
      alias: { type: "string[]" }
      rank: { type: enum, values: [jarl, karl], default: karl }
      boss: { type: ref, target: person }
      born: { type: date }
      age: { type: number }
    traits: [due]
  meeting:
    fields:
      time: { type: string }
      at: { type: datetime }
      attendees: { type: "ref[]", target: person }
traits:
  due: { type: date }
  remind: { type: datetime }
  assignee: { type: ref, target: person }
`,
	"people/freya.md": "---\ntype: person\nname: Freya\nalias: [The Queen]\nboss: thor\nborn: 2026-03-02\ntags: [gods, Vanir]\n---\n\n# Freya of Folkvangr\n\nSee [[2026-03-02]] #gods.\n\n## Cats\n\nTwo, from [[people/thor|him]].\n",
	"people/thor.md":  "---\ntype: person\nname: Thor\nrank: jarl\nage: 40\n---\n\n# Thor\n\n[[people/nobody]] and [[sif]] and [[freya]].\n",
	"people/sif.md":   "---\ntype: person\nname: Sif\ndue: 2026-03-02\nboss: \"[[people/thor]]\"\n---\n",
	"wives/sif.md":    "Of [[Thor]], in #gods.\n",
	"notes/plain.md":  "No type, but #important and [[The Queen]] with [[people/freya#cats]].\n",
	"notes/paged.md":  "---\ntype: page\n---\nA page.\n",
	"daily/2026-03-01.md": "# Sunday, March 1, 2026\n\nMorning.\n\n## Weekly Standup\n\n::meeting(id=standup, time=09:00, at=2026-03-02T09:00, attendees=[[[people/freya]], [[people/thor]]])\n\n" +
		"- @due(2026-03-02) @assignee([[people/freya]]) Send estimate\n\n### Later\n\n- @due(2026-03-02) @remind(2026-03-02T08:00) Ask [[people/freya]] again\n",
}

// furnished returns steps that create a vault with these files.
func furnished(name string, files map[string]string) []tooltest.Step {
	quotedArgs := func(args any) string {
		data, _ := json.Marshal(args) // strings
		return string(data)
	}
	return []tooltest.Step{
		{Tool: "team_vault_create", Args: quotedArgs(map[string]any{"name": name})},
		{Tool: "team_vault_import", Args: quotedArgs(map[string]any{"vault": name, "notes": notesOf(files)})},
	}
}

var linking = tooltest.Story{Name: "linking", Steps: append(furnished("web", web), []tooltest.Step{
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"people/freya"}`, Want: `{"data":{"target":"people/freya","items":[{"source_id":"daily/2026-03-01#standup","source_type":"meeting","file_path":"daily/2026-03-01.md","line":5,"display_text":null,"content":"## Weekly Standup","target_id":"people/freya"},{"source_id":"daily/2026-03-01#standup","source_type":"meeting","file_path":"daily/2026-03-01.md","line":9,"display_text":null,"content":"- @due(2026-03-02) @assignee([[people/freya]]) Send estimate","target_id":"people/freya"},{"source_id":"daily/2026-03-01#later","source_type":"section","file_path":"daily/2026-03-01.md","line":13,"display_text":null,"content":"- @due(2026-03-02) @remind(2026-03-02T08:00) Ask [[people/freya]] again","target_id":"people/freya"},{"source_id":"notes/plain","source_type":"page","file_path":"notes/plain.md","line":1,"display_text":null,"content":"No type, but #important and [[The Queen]] with [[people/freya#cats]].","target_id":"people/freya"},{"source_id":"notes/plain","source_type":"page","file_path":"notes/plain.md","line":1,"display_text":null,"content":"No type, but #important and [[The Queen]] with [[people/freya#cats]].","target_id":"people/freya#cats"},{"source_id":"people/thor","source_type":"person","file_path":"people/thor.md","line":10,"display_text":null,"content":"[[people/nobody]] and [[sif]] and [[freya]].","target_id":"people/freya"}]},"warnings":[],"meta":{"count":6,"total":6,"has_more":false,"version":"v2"}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"freya"}`, Want: `{"data":{"target":"people/freya"},"meta":{"total":6}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"The Queen"}`, Want: `{"data":{"target":"people/freya"},"meta":{"total":6}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"people/freya.md"}`, Want: `{"data":{"target":"people/freya"},"meta":{"total":6}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"[[Freya]]"}`, Want: `{"data":{"target":"people/freya"},"meta":{"total":6}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"people/freya#freya-of-folkvangr"}`, Want: `{"data":{"target":"people/freya"},"meta":{"total":6}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","reference":"people/freya"}`, Want: `{"meta":{"total":6}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"people/freya#cats"}`, Want: `{"data":{"target":"people/freya#cats","items":[{"source_id":"notes/plain","source_type":"page","file_path":"notes/plain.md","line":1,"display_text":null,"content":"No type, but #important and [[The Queen]] with [[people/freya#cats]].","target_id":"people/freya#cats"}]},"meta":{"total":1}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"thor"}`, Want: `{"data":{"items":[{"source_id":"daily/2026-03-01#standup"},{"source_id":"people/freya","line":5,"content":"boss: thor"},{"source_id":"people/freya#cats","source_type":"section","display_text":"him"},{"source_id":"people/sif","content":"boss: \"[[people/thor]]\""},{"source_id":"wives/sif"}]},"meta":{"total":5}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"2026-03-02"}`, Want: `{"data":{"target":"daily/2026-03-02","items":[{"source_id":"people/freya","source_type":"person","file_path":"people/freya.md","line":12,"display_text":null,"content":"See [[2026-03-02]] #gods.","target_id":"daily/2026-03-02"}]}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"today"}`, Want: `{"data":{"target":"daily/2025-02-01","items":[]},"warnings":[{"code":"NO_RESULTS"}],"meta":{"count":0,"total":0}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"sif"}`, Code: fault.AmbiguousRef, Want: `{"error":{"details":{"matches":["people/sif","wives/sif"]}}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"people/nobody"}`, Code: fault.NotFound},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"people/freya#dogs"}`, Code: fault.NotFound},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"people/freya","limit":2}`, Want: `{"data":{"items":[{"source_id":"daily/2026-03-01#standup","source_type":"meeting","file_path":"daily/2026-03-01.md","line":5,"display_text":null,"content":"## Weekly Standup","target_id":"people/freya"},{"source_id":"daily/2026-03-01#standup","source_type":"meeting","file_path":"daily/2026-03-01.md","line":9,"display_text":null,"content":"- @due(2026-03-02) @assignee([[people/freya]]) Send estimate","target_id":"people/freya"}]},"meta":{"count":2,"total":6,"has_more":true}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"people/freya","limit":1,"envelope":false,"only":["source_id"]}`, Want: `{"target":"people/freya","items":[{"source_id":"daily/2026-03-01#standup"}]}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web"}`, Code: fault.MissingRequired},
	{Tool: "raven_outlinks", Args: `{"vault":"web","target":"people/freya"}`, Want: `{"data":{"source":"people/freya","items":[{"source_id":"people/freya","source_type":"person","file_path":"people/freya.md","line":5,"content":"boss: thor","target_raw":"thor","target_id":"people/thor","target_type":"person","target_name":"Thor","display_text":null},{"source_id":"people/freya","line":12,"target_raw":"2026-03-02","target_id":"daily/2026-03-02","target_type":"daily","target_name":"2026-03-02","display_text":null},{"source_id":"people/freya#cats","source_type":"section","line":16,"target_raw":"people/thor","target_id":"people/thor","target_type":"person","target_name":"Thor","display_text":"him"}]},"meta":{"count":3,"total":3}}`},
	{Tool: "raven_outlinks", Args: `{"vault":"web","target":"people/freya#cats"}`, Want: `{"data":{"source":"people/freya#cats","items":[{"line":16}]},"meta":{"total":1}}`},
	{Tool: "raven_outlinks", Args: `{"vault":"web","target":"thor"}`, Want: `{"data":{"source":"people/thor","items":[{"target_raw":"people/nobody","target_id":null,"target_type":null,"target_name":null,"display_text":null},{"target_raw":"sif","target_id":"people/sif","target_type":"person","target_name":"Sif","display_text":null},{"target_raw":"freya","target_id":"people/freya","target_type":"person","target_name":"Freya","display_text":null}]}}`},
	{Tool: "raven_outlinks", Args: `{"vault":"web","target":"daily/2026-03-01"}`, Want: `{"data":{"items":[{"source_id":"daily/2026-03-01#standup","target_id":"people/freya"},{"target_id":"people/thor"},{"line":9},{"source_id":"daily/2026-03-01#later","line":13}]},"meta":{"total":4}}`},
	{Tool: "raven_outlinks", Args: `{"vault":"web","target":"notes/paged"}`, Want: `{"data":{"items":[]},"warnings":[{"code":"NO_RESULTS"}]}`},
	{Tool: "raven_outlinks", Args: `{"vault":"web","target":"2026-03-02"}`, Code: fault.NotFound},
	{Tool: "raven_outlinks", Args: `{"vault":"web","target":"sif"}`, Code: fault.AmbiguousRef},
	{Tool: "raven_outlinks", Args: `{"vault":"web","target":"thor","limit":1}`, Want: `{"meta":{"count":1,"total":3,"has_more":true}}`},
	{Tool: "raven_new", Args: `{"vault":"web","type":"person","path":"people/nobody","fields":{"name":"Nobody","boss":"freya"}}`},
	{Tool: "raven_outlinks", Args: `{"vault":"web","target":"thor"}`, Want: `{"data":{"items":[{"target_raw":"people/nobody","target_id":"people/nobody","target_type":"person","target_name":"Nobody","display_text":null}]}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"people/nobody"}`, Want: `{"data":{"items":[{"source_id":"people/thor"}]},"meta":{"version":"v3"}}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"people/freya"}`, Want: `{"meta":{"total":7}}`},
	{Tool: "raven_delete", Args: `{"vault":"web","id":"people/thor"}`},
	{Tool: "raven_backlinks", Args: `{"vault":"web","target":"people/freya"}`, Want: `{"meta":{"total":6}}`},
	{Tool: "raven_outlinks", Args: `{"vault":"web","target":"people/freya"}`, Want: `{"data":{"items":[{"target_raw":"thor","target_id":null,"target_type":null,"target_name":null,"display_text":null}]}}`},
}...)}

// crossroads is the vault of the table in reference/raven.md §1.9, with the tiers of raven-rest.md
// §25.
var crossroads = map[string]string{
	"schema.yaml":            "types:\n  person: { name_field: name, fields: { name: { type: string }, alias: { type: string } } }\n  company: {}\n",
	"person/freya.md":        "---\ntype: person\nname: Freya Njord\nalias: The Queen\n---\n",
	"company/freya.md":       "---\ntype: company\n---\n",
	"person/thor.md":         "---\ntype: person\nname: Thor\n---\n",
	"solo.md":                "Alone.\n\n## Tasks\n\nNone.\n",
	"person/alias2.md":       "---\ntype: person\nname: Second\nalias: solo\n---\n\n## Notes\n",
	"a/b/deep.md":            "Deep.\n",
	"My Folder/Some File.md": "Spaces.\n",
	"person/same1.md":        "---\ntype: person\nname: Same Name\n---\n",
	"person/same2.md":        "---\ntype: person\nname: Same Name\n---\n",
	"daily/2025-02-01.md":    "# Saturday\n\n## Standup\n",
}

// crossings is that table.
var crossings = map[string]string{
	"person/freya":             `{"resolved":true,"id":"person/freya","type":"person","file_path":"person/freya.md","match_source":"id"}`,
	"person/thor.md":           `{"resolved":true,"id":"person/thor","type":"person","file_path":"person/thor.md","match_source":"id"}`,
	"person/Thor":              `{"resolved":true,"id":"person/thor","type":"person","file_path":"person/thor.md","match_source":"path"}`,
	"freya":                    `{"resolved":false,"ambiguous":true,"matches":["company/freya","person/freya"]}`,
	"Freya":                    `{"resolved":false,"ambiguous":true,"matches":["company/freya","person/freya"]}`,
	"Freya Njord":              `{"resolved":true,"id":"person/freya","type":"person","file_path":"person/freya.md","match_source":"name_field"}`,
	"freya njord":              `{"resolved":true,"id":"person/freya","type":"person","file_path":"person/freya.md","match_source":"name_field"}`,
	"The Queen":                `{"resolved":true,"id":"person/freya","type":"person","file_path":"person/freya.md","match_source":"alias"}`,
	"the queen":                `{"resolved":true,"id":"person/freya","type":"person","file_path":"person/freya.md","match_source":"alias"}`,
	"the-queen":                `{"resolved":true,"id":"person/freya","type":"person","file_path":"person/freya.md","match_source":"alias"}`,
	"THOR":                     `{"resolved":true,"id":"person/thor","type":"person","file_path":"person/thor.md","match_source":"short_name"}`,
	"Thor":                     `{"resolved":true,"id":"person/thor","type":"person","file_path":"person/thor.md","match_source":"short_name"}`,
	"solo":                     `{"resolved":true,"id":"solo","type":"page","file_path":"solo.md","match_source":"id"}`,
	"solo#tasks":               `{"resolved":true,"id":"solo#tasks","type":"section","file_path":"solo.md","match_source":"id"}`,
	"solo#Tasks":               `{"resolved":true,"id":"solo#tasks","type":"section","file_path":"solo.md","match_source":"id"}`,
	"tasks":                    `{"resolved":true,"id":"solo#tasks","type":"section","file_path":"solo.md","match_source":"section"}`,
	"notes":                    `{"resolved":true,"id":"person/alias2#notes","type":"section","file_path":"person/alias2.md","match_source":"section"}`,
	"deep":                     `{"resolved":true,"id":"a/b/deep","type":"page","file_path":"a/b/deep.md","match_source":"short_name"}`,
	"b/deep":                   `{"resolved":true,"id":"a/b/deep","type":"page","file_path":"a/b/deep.md","match_source":"suffix"}`,
	"some-file":                `{"resolved":true,"id":"My Folder/Some File","type":"page","file_path":"My Folder/Some File.md","match_source":"short_name"}`,
	"Some File":                `{"resolved":true,"id":"My Folder/Some File","type":"page","file_path":"My Folder/Some File.md","match_source":"short_name"}`,
	"my-folder/some-file":      `{"resolved":true,"id":"My Folder/Some File","type":"page","file_path":"My Folder/Some File.md","match_source":"path"}`,
	"Same Name":                `{"resolved":false,"ambiguous":true,"matches":["person/same1","person/same2"]}`,
	"2025-02-01":               `{"resolved":true,"id":"daily/2025-02-01","type":"daily","file_path":"daily/2025-02-01.md","match_source":"date"}`,
	"daily/2025-02-01":         `{"resolved":true,"id":"daily/2025-02-01","type":"daily","file_path":"daily/2025-02-01.md","match_source":"date"}`,
	"2025-02-01#standup":       `{"resolved":true,"id":"daily/2025-02-01#standup","type":"section","file_path":"daily/2025-02-01.md","match_source":"date"}`,
	"daily/2025-02-01#standup": `{"resolved":true,"id":"daily/2025-02-01#standup","type":"section","file_path":"daily/2025-02-01.md","match_source":"date"}`,
	"2025-09-09":               `{"resolved":true,"id":"daily/2025-09-09","type":"daily","file_path":null,"match_source":"date"}`,
	"2025-09-09#standup":       `{"resolved":false}`,
	"2025-02-30":               `{"resolved":false}`,
	"today":                    `{"resolved":true,"id":"daily/2025-02-01","type":"daily","file_path":"daily/2025-02-01.md","match_source":"keyword"}`,
	"tomorrow":                 `{"resolved":true,"id":"daily/2025-02-02","type":"daily","file_path":null,"match_source":"keyword"}`,
	"person/freya#nope":        `{"resolved":false}`,
	"wrong/freya":              `{"resolved":false}`,
	"#tasks":                   `{"resolved":true,"id":"solo#tasks","type":"section","file_path":"solo.md","match_source":"section"}`,
	"[[Thor]]":                 `{"resolved":true,"id":"person/thor","type":"person","file_path":"person/thor.md","match_source":"short_name"}`,
	"[[person/freya|Her]]":     `{"resolved":true,"id":"person/freya","type":"person","file_path":"person/freya.md","match_source":"id"}`,
	" thor ":                   `{"resolved":true,"id":"person/thor","type":"person","file_path":"person/thor.md","match_source":"short_name"}`,
}

// resolving returns a story that resolves each reference of the table, and requires exactly this
// shape.
func resolving() tooltest.Story {
	s := tooltest.Story{Name: "resolving", Steps: furnished("crossroads", crossroads)}
	for _, reference := range slices.Sorted(maps.Keys(crossings)) {
		s.Steps = append(s.Steps, tooltest.Step{
			Tool: "raven_resolve", Args: resolveArgs("crossroads", reference),
			Want: `{"data":` + crossings[reference] + `,"warnings":[]}`,
		})
	}
	return s
}

func resolveArgs(vault, reference string) string {
	args, _ := json.Marshal(map[string]string{"vault": vault, "reference": reference}) // strings
	return string(args)
}

// resolvingAnything returns a story with unusual references, which lead nowhere and are no errors.
func resolvingAnything() tooltest.Story {
	s := tooltest.Story{Name: "resolving anything", Steps: []tooltest.Step{
		{Tool: "raven_resolve", Args: `{"vault":"main"}`, Code: fault.MissingRequired},
		{Tool: "raven_resolve", Args: `{"vault":"main","reference":""}`, Code: fault.MissingRequired},
		{Tool: "raven_resolve", Args: `{"vault":"main","target":"people/alice"}`, Want: `{"data":{"id":"people/alice"}}`},
	}}
	for _, reference := range append([]string{
		" ", "\t\n", "\x00", "\u202e", "[[", "]]", "[[]]", "[[ ]]", "|", "#", "##", "/", "//", "a//b", "..", "../..", "@", "%00",
		"\ufeff", "\u0001x", "people/alice#", "people/alice##", "people/alice#a#b", "-", "---", "…", "日本", "İ", "ß",
		strings.Repeat("x", 4096), strings.Repeat("a/", 2048), strings.Repeat("#", 4096), strings.Repeat("[", 4096),
	}, strangeNames...) {
		s.Steps = append(s.Steps, tooltest.Step{
			Tool: "raven_resolve", Args: resolveArgs("main", reference), Want: `{"data":{"resolved":false}}`,
		})
	}
	return s
}

// TestResolveShapes checks that an answer has the keys of its shape, and no others.
func TestResolveShapes(t *testing.T) {
	p := newPlace(t)
	done(t, p.catalogue(), "team_vault_create", map[string]any{"name": "crossroads"})
	done(t, p.catalogue(), "team_vault_import", map[string]any{"vault": "crossroads", "notes": notesOf(crossroads)})
	for reference, want := range crossings {
		got := done(t, p.catalogue(), "raven_resolve", map[string]any{
			"vault": "crossroads", "reference": reference, "envelope": false,
		})
		require.JSONEq(t, want, string(got), reference)
	}
}

var typing = tooltest.Story{Name: "typing", Steps: append(furnished("web", web), []tooltest.Step{
	{Tool: "raven_type", Args: `{"vault":"web","name":"person"}`, Want: `{"data":{"type":"person","items":[{"id":"people/freya","fields":{"name":"Freya","boss":"people/thor","rank":"karl"},"from_default":["rank"],"refs":[{"target_raw":"thor","target_id":"people/thor","target_type":"person","target_name":"Thor","display_text":null}],"parent":null,"file_root":null,"line_start":1,"line_end":null},{"id":"people/sif"},{"id":"people/thor"}]},"meta":{"count":3,"total":3,"has_more":false,"version":"v2"}}`},
	{Tool: "raven_type", Args: `{"vault":"web","type_name":"meeting"}`, Want: `{"data":{"type":"meeting","items":[{"id":"daily/2026-03-01#standup","type":"meeting","file_path":"daily/2026-03-01.md","heading":"Weekly Standup","heading_level":2,"fields":{"time":"09:00","at":"2026-03-02T09:00","attendees":["people/freya","people/thor"]},"parent":{"id":"daily/2026-03-01","type":"daily","heading":null,"fields":{"date":"2026-03-01"}},"file_root":{"id":"daily/2026-03-01","type":"daily","fields":{"date":"2026-03-01"}},"refs":[{"target_raw":"people/freya","target_id":"people/freya","target_type":"person","target_name":"Freya","display_text":null},{"target_raw":"people/thor","target_id":"people/thor","target_type":"person","target_name":"Thor","display_text":null}],"line_start":5,"line_end":10,"subtree_line_end":null}]}}`},
	{Tool: "raven_type", Args: `{"vault":"web","name":"date"}`, Want: `{"data":{"type":"daily","items":[{"id":"daily/2026-03-01","fields":{"date":"2026-03-01"}}]}}`},
	{Tool: "raven_type", Args: `{"vault":"web","name":"section"}`, Want: `{"data":{"items":[{"id":"daily/2026-03-01#later","fields":{"title":"Later","level":3}},{"id":"people/freya#cats"}]},"meta":{"total":2}}`},
	{Tool: "raven_type", Args: `{"vault":"web","name":"person","slim":true,"limit":1}`, Want: `{"data":{"items":[{"id":"people/freya","type":"person","parent_id":null}]},"meta":{"count":1,"total":3,"has_more":true}}`},
	{Tool: "raven_type", Args: `{"vault":"web","name":"person","depth":2}`, Want: `{"data":{"items":[{"refs":[{"target_id":"people/thor","target_fields":{"name":"Thor","rank":"jarl","age":40}}]}]}}`},
	{Tool: "raven_type", Args: `{"vault":"web","list":true}`, Want: `{"data":{"types":[{"name":"person","count":3,"builtin":false},{"name":"meeting","count":1,"builtin":false},{"name":"daily","count":1,"builtin":true},{"name":"page","count":3,"builtin":true},{"name":"section","count":2,"builtin":true}]},"meta":{"count":5,"total":5,"has_more":false}}`},
	{Tool: "raven_type", Args: `{"vault":"web","list":true,"limit":2}`, Want: `{"data":{"types":[{"name":"person"},{"name":"meeting"}]},"meta":{"count":2,"total":5,"has_more":true}}`},
	{Tool: "raven_type", Args: `{"vault":"web","list":true,"limit":2,"page_token":"cDI6GEd80YCpE1XIjGM7rfpVL-U58TTZhyWlcDE6bWVldGluZw"}`, Want: `{"data":{"types":[{"name":"daily"},{"name":"page"}]}}`},
	{Tool: "raven_type", Args: `{"vault":"web"}`, Code: fault.MissingRequired},
	{Tool: "raven_type", Args: `{"vault":"web","name":"","list":false}`, Code: fault.MissingRequired},
	{Tool: "raven_type", Args: `{"vault":"web","name":"person","list":true}`, Code: fault.InvalidValue},
	{Tool: "raven_type", Args: `{"vault":"web","name":"persn"}`, Code: fault.InvalidType, Want: `{"error":{"details":{"available_types":["person","meeting"]},"fixes":["did you mean person?"]}}`},
	{Tool: "raven_type", Args: `{"vault":"web","name":"person","slim":true,"depth":1}`, Code: fault.InvalidValue},
	{Tool: "raven_type", Args: `{"vault":"web","name":"person","depth":3}`, Code: fault.InvalidValue},
}...)}

var tagging = tooltest.Story{Name: "tagging", Steps: append(furnished("web", web), []tooltest.Step{
	{Tool: "raven_tag", Args: `{"vault":"web","tag":"gods"}`, Want: `{"data":{"tag":"gods","items":[{"id":"people/freya","type":"person","line":7,"fields":{"tags":["gods","Vanir"]}},{"id":"wives/sif","line":1}]},"meta":{"count":2,"total":2}}`},
	{Tool: "raven_tag", Args: `{"vault":"web","tag":"#gods","limit":1}`, Want: `{"data":{"tag":"gods","items":[{"id":"people/freya"}]},"meta":{"total":2,"has_more":true}}`},
	{Tool: "raven_tag", Args: `{"vault":"web","tag":"important","slim":true}`, Want: `{"data":{"items":[{"id":"notes/plain","type":"page","parent_id":null,"line":1}]}}`},
	{Tool: "raven_tag", Args: `{"vault":"web","tag":"Gods"}`, Want: `{"data":{"tag":"Gods","items":[{"id":"people/freya"},{"id":"wives/sif"}]},"meta":{"total":2}}`},
	{Tool: "raven_tag", Args: `{"vault":"web","list":true}`, Want: `{"data":{"tags":[{"tag":"gods","count":2},{"tag":"Vanir","count":1},{"tag":"important","count":1}]},"meta":{"count":3,"total":3}}`},
	{Tool: "raven_tag", Args: `{"vault":"web","list":true,"limit":1}`, Want: `{"data":{"tags":[{"tag":"gods","count":2}]},"meta":{"total":3,"has_more":true}}`},
	{Tool: "raven_tag", Args: `{"vault":"web","list":true,"limit":1,"page_token":"cDI69sbBnLhFdPLIjGM7rfpVL-U58TTZhyWlcDE6Mjpnb2Rz"}`, Want: `{"data":{"tags":[{"tag":"Vanir"}]}}`},
	{Tool: "raven_tag", Args: `{"vault":"web","list":true,"page_token":"cDE6bWVldGluZw"}`, Code: fault.InvalidValue},
	{Tool: "raven_tag", Args: `{"vault":"web"}`, Code: fault.MissingRequired},
	{Tool: "raven_tag", Args: `{"vault":"web","tag":"#"}`, Code: fault.InvalidValue},
	{Tool: "raven_tag", Args: `{"vault":"web","tag":" "}`, Code: fault.InvalidValue},
	{Tool: "raven_tag", Args: `{"vault":"web","tag":"gods","list":true}`, Code: fault.InvalidValue},
	{Tool: "raven_tag", Args: `{"vault":"web","tag":"gods","slim":true,"depth":2}`, Code: fault.InvalidValue},
}...)}

var dating = tooltest.Story{Name: "dating", Steps: append(furnished("web", web), []tooltest.Step{
	{Tool: "raven_date", Args: `{"vault":"web","date":"2026-03-02"}`, Want: `{"data":{"date":"2026-03-02","day_of_week":"Monday","daily_note_id":"daily/2026-03-02","daily_path":"daily/2026-03-02.md","daily_exists":false,"daily_note":null,"items":[{"date":"2026-03-02","source_type":"object","source_id":"daily/2026-03-01#standup","field_name":"at","object":{"id":"daily/2026-03-01#standup","type":"meeting","file_path":"daily/2026-03-01.md","heading":"Weekly Standup","heading_level":2,"fields":{"time":"09:00","at":"2026-03-02T09:00","attendees":["people/freya","people/thor"]},"parent":{"id":"daily/2026-03-01","type":"daily","heading":null,"fields":{"date":"2026-03-01"}},"file_root":{"id":"daily/2026-03-01","type":"daily","fields":{"date":"2026-03-01"}},"refs":[{"target_raw":"people/freya","target_id":"people/freya","target_type":"person","target_name":"Freya","display_text":null},{"target_raw":"people/thor","target_id":"people/thor","target_type":"person","target_name":"Thor","display_text":null}],"line_start":5,"line_end":10,"subtree_line_end":null}},{"source_type":"trait","field_name":"due","trait":{"trait_type":"due","value":"2026-03-02","content_text":"Send estimate","line_number":9,"sibling_traits":{"assignee":"people/freya"}}},{"field_name":"due","trait":{"line_number":13}},{"field_name":"remind","trait":{"value":"2026-03-02T08:00"}},{"source_type":"object","source_id":"people/freya","field_name":"born"},{"source_type":"trait","field_name":"due","trait":{"file_path":"people/sif.md","content":"people/sif"}}],"backlinks":[{"source_id":"people/freya","line":12,"content":"See [[2026-03-02]] #gods."}],"backlinks_total":1},"meta":{"count":6,"total":6,"timezone":"UTC","week_start":"monday"}}`},
	{Tool: "raven_date", Args: `{"vault":"web","date":"2026-03-02","slim":true,"limit":4}`, Want: `{"data":{"items":[{"object":{"id":"daily/2026-03-01#standup","type":"meeting","parent_id":"daily/2026-03-01"}},{"trait":{"trait_type":"due","parent_id":"daily/2026-03-01#standup"}},{"field_name":"due"},{"field_name":"remind"}]},"meta":{"count":4,"total":6,"has_more":true}}`},
	{Tool: "raven_date", Args: `{"vault":"web","date":"2026-03-02","slim":true,"limit":2,"page_token":"cDI6NJH4Oj5My17IjGM7rfpVL1JnaKB5V3VxcDE6MTM6MDpkYWlseS8yMDI2LTAzLTAxLm1k"}`, Want: `{"data":{"items":[{"field_name":"remind"},{"field_name":"born"}]},"meta":{"total":6,"has_more":true}}`},
	{Tool: "raven_date", Args: `{"vault":"web","date":"2026-03-02","depth":2}`, Want: `{"data":{"items":[{"object":{"parent":{"id":"daily/2026-03-01","parent":null},"refs":[{"target_fields":{"name":"Freya"}}]}}]}}`},
	{Tool: "raven_date", Args: `{"vault":"web","date":"2026-03-01"}`, Want: `{"data":{"day_of_week":"Sunday","daily_exists":true,"daily_note":{"id":"daily/2026-03-01","type":"daily"},"items":[],"backlinks":[]},"warnings":[{"code":"NO_RESULTS"}]}`},
	{Tool: "raven_date", Args: `{"vault":"web"}`, Want: `{"data":{"date":"2025-02-01","day_of_week":"Saturday","daily_exists":false}}`},
	{Tool: "raven_date", Args: `{"vault":"web","date":"tomorrow"}`, Want: `{"data":{"date":"2025-02-02"}}`},
	{Tool: "raven_date", Args: `{"vault":"web","date":"yesterday"}`, Want: `{"data":{"date":"2025-01-31"}}`},
	{Tool: "raven_date", Args: `{"vault":"web","date":"this-week"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"allowed":["YYYY-MM-DD","today","tomorrow","yesterday"]}}}`},
	{Tool: "raven_date", Args: `{"vault":"web","date":"2026-02-30"}`, Code: fault.InvalidValue},
	{Tool: "raven_date", Args: `{"vault":"web","date":"2026-3-2"}`, Code: fault.InvalidValue},
	{Tool: "raven_date", Args: `{"vault":"web","slim":true,"depth":1}`, Code: fault.InvalidValue},
}...)}

var counting = tooltest.Story{Name: "counting", Steps: append(furnished("web", web), []tooltest.Step{
	{Tool: "raven_untyped", Args: `{"vault":"web"}`, Want: `{"data":{"items":[{"id":"notes/plain","type":"page","refs":[]},{"id":"wives/sif"}]},"meta":{"count":2,"total":2}}`},
	{Tool: "raven_untyped", Args: `{"vault":"web","limit":1}`, Want: `{"data":{"items":[{"id":"notes/plain"}]},"meta":{"total":2,"has_more":true}}`},
	{Tool: "raven_stats", Args: `{"vault":"web"}`, Want: `{"data":{"file_count":7,"object_count":10,"trait_count":5,"ref_count":14,"quarantined_count":0}}`},
	{Tool: "raven_delete", Args: `{"vault":"web","id":"notes/plain"}`},
	{Tool: "raven_delete", Args: `{"vault":"web","id":"wives/sif"}`},
	{Tool: "raven_untyped", Args: `{"vault":"web"}`, Want: `{"data":{"items":[]},"warnings":[{"code":"NO_RESULTS"}]}`},
	{Tool: "raven_stats", Args: `{"vault":"web"}`, Want: `{"data":{"file_count":5,"trait_count":5,"ref_count":11}}`},
}...)}

var reading = tooltest.Story{Name: "reading with references", Steps: append(furnished("web", web), []tooltest.Step{
	{Tool: "raven_read", Args: `{"vault":"web","path":"people/freya","references":true,"backlinks":true}`, Want: `{"data":{"path":"people/freya.md","line_count":16,"references":[{"line":5,"target_raw":"thor","target_id":"people/thor","target_type":"person","target_name":"Thor","display_text":null},{"line":12,"target_raw":"2026-03-02","target_id":"daily/2026-03-02","target_type":"daily","target_name":"2026-03-02","display_text":null},{"line":16,"target_raw":"people/thor","target_id":"people/thor","target_type":"person","target_name":"Thor","display_text":"him"}],"references_total":3,"backlinks":[{"source_id":"daily/2026-03-01#standup","source_type":"meeting","file_path":"daily/2026-03-01.md","line":5,"display_text":null,"target_id":"people/freya"},{"source_id":"daily/2026-03-01#standup","source_type":"meeting","file_path":"daily/2026-03-01.md","line":9,"display_text":null,"target_id":"people/freya"},{"source_id":"daily/2026-03-01#later","source_type":"section","file_path":"daily/2026-03-01.md","line":13,"display_text":null,"target_id":"people/freya"},{"source_id":"notes/plain","source_type":"page","file_path":"notes/plain.md","line":1,"display_text":null,"target_id":"people/freya"},{"source_id":"notes/plain","source_type":"page","file_path":"notes/plain.md","line":1,"display_text":null,"target_id":"people/freya#cats"},{"source_id":"people/thor","source_type":"person","file_path":"people/thor.md","line":10,"display_text":null,"target_id":"people/freya"}],"backlinks_total":6}}`},
	{Tool: "raven_read", Args: `{"vault":"web","path":"people/freya#cats","references":true,"backlinks":true}`, Want: `{"data":{"content":"## Cats\n\nTwo, from [[people/thor|him]].\n","references":[{"line":16}],"references_total":1,"backlinks":[{"source_id":"notes/plain","target_id":"people/freya#cats"}],"backlinks_total":1}}`},
	{Tool: "raven_read", Args: `{"vault":"web","path":"schema.yaml","references":true,"backlinks":true,"lines":"1"}`, Want: `{"data":{"content":"types:\n","references":[],"references_total":0,"backlinks":[],"backlinks_total":0}}`},
	{Tool: "raven_read", Args: `{"vault":"web","path":"notes/paged","references":true}`, Want: `{"data":{"references":[],"references_total":0}}`},
	{Tool: "raven_read", Args: `{"vault":"web","path":"The Queen","lines":"1"}`, Want: `{"data":{"path":"people/freya.md","content":"---\n"}}`},
	{Tool: "raven_read", Args: `{"vault":"web","path":"sif"}`, Code: fault.AmbiguousRef, Want: `{"error":{"details":{"matches":["people/sif","wives/sif"]}}}`},
	{Tool: "raven_read", Args: `{"vault":"web","path":"2026-03-02"}`, Code: fault.NotFound},
}...)}

var deepening = tooltest.Story{Name: "depth", Steps: append(furnished("web", web), []tooltest.Step{
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"daily/2026-03-01#standup"}`, Want: `{"data":{"object":{"id":"daily/2026-03-01#standup","type":"meeting","file_path":"daily/2026-03-01.md","heading":"Weekly Standup","heading_level":2,"fields":{"time":"09:00","at":"2026-03-02T09:00","attendees":["people/freya","people/thor"]},"parent":{"id":"daily/2026-03-01","type":"daily","heading":null,"fields":{"date":"2026-03-01"}},"file_root":{"id":"daily/2026-03-01","type":"daily","fields":{"date":"2026-03-01"}},"refs":[{"target_raw":"people/freya","target_id":"people/freya","target_type":"person","target_name":"Freya","display_text":null},{"target_raw":"people/thor","target_id":"people/thor","target_type":"person","target_name":"Thor","display_text":null}],"line_start":5,"line_end":10,"subtree_line_end":null}}}`},
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"daily/2026-03-01#standup","slim":true}`, Want: `{"data":{"object":{"id":"daily/2026-03-01#standup","type":"meeting","parent_id":"daily/2026-03-01"}}}`},
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"daily/2026-03-01#standup","depth":0,"slim":true}`, Want: `{"data":{"object":{"parent_id":"daily/2026-03-01"}}}`},
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"people/freya","depth":0,"envelope":false}`, Want: `{"object":{"id":"people/freya","type":"person","parent_id":null}}`},
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"daily/2026-03-01#later","depth":2}`, Want: `{"data":{"object":{"fields":{"title":"Later","level":3},"parent":{"id":"daily/2026-03-01#standup","type":"meeting","heading":"Weekly Standup","fields":{"time":"09:00"},"parent":{"id":"daily/2026-03-01","type":"daily","heading":null,"fields":{"date":"2026-03-01"}}},"file_root":{"id":"daily/2026-03-01"},"refs":[]}}}`},
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"people/freya","depth":2}`, Want: `{"data":{"object":{"parent":null,"file_root":null,"from_default":["rank"],"refs":[{"target_fields":{"name":"Thor","rank":"jarl","age":40},"target_raw":"thor","target_id":"people/thor","target_type":"person","target_name":"Thor","display_text":null}]}}}`},
	{Tool: "raven_set", Args: `{"vault":"web","id":"people/sif","set":{"boss":"sif"}}`},
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"people/sif"}`, Want: `{"data":{"object":{"fields":{"boss":"people/sif"},"refs":[{"target_raw":"sif","target_id":"people/sif","target_type":"person","target_name":"Sif","display_text":null}]}}}`},
	{Tool: "raven_set", Args: `{"vault":"web","id":"people/sif","set":{"boss":"people/nobody"}}`},
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"people/sif","depth":2}`, Want: `{"data":{"object":{"fields":{"boss":"people/nobody"},"refs":[{"target_fields":null,"target_raw":"people/nobody","target_id":null,"target_type":null,"target_name":null,"display_text":null}]}}}`},
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"freya"}`, Want: `{"data":{"object":{"id":"people/freya"}}}`},
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"sif"}`, Code: fault.AmbiguousRef, Want: `{"error":{"details":{"matches":["people/sif","wives/sif"]}}}`},
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"people/freya","slim":true,"depth":1}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"argument":"depth"}}}`},
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"people/freya","slim":true,"depth":2}`, Code: fault.InvalidValue},
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"people/freya","depth":-1}`, Code: fault.InvalidValue},
	{Tool: "raven_object_get", Args: `{"vault":"web","id":"people/freya","depth":3}`, Code: fault.InvalidValue},
}...)}

var selecting = tooltest.Story{Name: "selecting by fields and times", Steps: append(furnished("web", web), []tooltest.Step{
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"attendees=people/freya","type":"meeting"}`, Want: `{"data":{"items":[{"id":"daily/2026-03-01#standup"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"attendees=freya","type":"meeting"}`, Want: `{"data":{"items":[{"id":"daily/2026-03-01#standup"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"attendees=The Queen","type":"meeting"}`, Want: `{"data":{"items":[{"id":"daily/2026-03-01#standup"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"attendees=[[people/freya|her]]","type":"meeting"}`, Want: `{"data":{"items":[{"id":"daily/2026-03-01#standup"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"attendees=freya"}`, Want: `{"data":{"items":[{"id":"daily/2026-03-01#standup"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":{"attendees":["freya","thor"]},"type":"meeting"}`, Want: `{"data":{"items":[{"id":"daily/2026-03-01#standup"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":{"attendees":["freya","sif"]},"type":"meeting"}`, Want: `{"data":{"items":[]},"meta":{"total":0}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"attendees=sif","type":"meeting"}`, Want: `{"data":{"items":[]},"meta":{"total":0}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"boss=thor","type":"person"}`, Want: `{"data":{"items":[{"id":"people/freya"},{"id":"people/sif"}]},"meta":{"total":2}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"boss=","type":"person"}`, Want: `{"data":{"items":[{"id":"people/thor"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":{"boss":null},"type":"person"}`, Want: `{"data":{"items":[{"id":"people/thor"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"rank=karl","type":"person"}`, Want: `{"data":{"items":[{"id":"people/freya"},{"id":"people/sif"}]},"meta":{"total":2}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"rank=JARL","type":"person"}`, Want: `{"data":{"items":[{"id":"people/thor"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"rank=","type":"person"}`, Want: `{"data":{"items":[]},"meta":{"total":0}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"age=40","type":"person"}`, Want: `{"data":{"items":[{"id":"people/thor"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"age=40.0","type":"person"}`, Want: `{"data":{"items":[{"id":"people/thor"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":{"age":40},"type":"person"}`, Want: `{"data":{"items":[{"id":"people/thor"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"age=41","type":"person"}`, Want: `{"data":{"items":[]},"meta":{"total":0}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"born=2026-03-02","type":"person"}`, Want: `{"data":{"items":[{"id":"people/freya"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"born=future","type":"person"}`, Want: `{"data":{"items":[{"id":"people/freya"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"born=past","type":"person"}`, Want: `{"data":{"items":[]},"meta":{"total":0}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"at=2026-03-02","type":"meeting"}`, Want: `{"data":{"items":[{"id":"daily/2026-03-01#standup"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"at=2026-03-02T09:00","type":"meeting"}`, Want: `{"data":{"items":[{"id":"daily/2026-03-01#standup"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"due=2026-03-02","type":"person"}`, Want: `{"data":{"items":[{"id":"people/sif"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"date=2026-03-01","type":"date"}`, Want: `{"data":{"items":[{"id":"daily/2026-03-01"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"title=later","type":"section"}`, Want: `{"data":{"items":[{"id":"daily/2026-03-01#later"}]},"meta":{"total":1}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":["rank=karl","boss=thor"],"type":"person"}`, Want: `{"data":{"items":[{"id":"people/freya"},{"id":"people/sif"}]},"meta":{"total":2}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"born=someday","type":"person"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"field":"born"}}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"rank=thrall","type":"person"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"allowed":["jarl","karl"]}}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"bosss=thor","type":"person"}`, Code: fault.InvalidField},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":{"boss":{"a":1}},"type":"person"}`, Code: fault.InvalidValue},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":{"boss":[["a"]]},"type":"person"}`, Code: fault.InvalidValue},
	{Tool: "raven_object_list", Args: `{"vault":"web","field":"rank=thrall","created_after":"someday","modified_since":"x","type":"person"}`, Code: fault.ValidationFailed, Want: `{"error":{"errors":[{"code":"INVALID_VALUE"},{"code":"INVALID_VALUE"},{"code":"INVALID_VALUE"}]}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","type":"person","slim":true}`, Want: `{"data":{"items":[{"id":"people/freya","type":"person","parent_id":null}]},"meta":{"timezone":"UTC","week_start":"monday"}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","type":"person","depth":1,"slim":true}`, Code: fault.InvalidValue},
	{Tool: "raven_object_list", Args: `{"vault":"web","modified_today":true,"type":"person"}`, Want: `{"meta":{"total":3}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","created_after":"2025-01-20"}`, Want: `{"meta":{"total":8}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","created_after":"today"}`, Want: `{"meta":{"total":0}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","created_since":"today","created_before":"tomorrow"}`, Want: `{"meta":{"total":8}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","modified_since":"2 days ago","limit":1}`, Want: `{"meta":{"count":1,"total":8,"has_more":true}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","modified_before":"2025-02-01"}`, Want: `{"meta":{"total":0}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","created_this_week":true,"modified_this_week":true,"created_today":true}`, Want: `{"meta":{"total":8}}`},
	{Tool: "raven_object_list", Args: `{"vault":"web","created_since":"soon"}`, Code: fault.InvalidValue, Want: `{"error":{"details":{"argument":"created_since"}}}`},
}...)}
