package localapp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/tooltest"
)

// A plan is the answer of a dry run: the members that describe the changes.
type plan struct {
	DryRun bool `json:"dry_run"`
	Create *struct {
		ID, Type, File string
		Fields         map[string]any
	} `json:"would_create"`
	Update *struct {
		ID      string
		Changes map[string]struct{ Old, New any }
	} `json:"would_update"`
	Delete  *struct{ ID string } `json:"would_delete"`
	Files   []plannedFile        `json:"would_modify_files"`
	Effects []string             `json:"side_effects"`
}

type plannedFile struct {
	Path, Action string
	Preview      string `json:"content_preview"`
	Line         int
	Old          *string `json:"old_content"`
	New          *string `json:"new_content"`
}

// A ran is the answer of the call that was planned.
type ran struct {
	Action, ID, Type, File string
	NewValues              map[string]any `json:"new_values"`
	Trash                  string         `json:"trash_path"`
	Object                 struct{ Fields map[string]any }
}

// TestPlanIsWhatRuns checks that a dry run changes nothing, and that its plan is the effect of the
// same call: the ids, the fields, the files and their contents.
func TestPlanIsWhatRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, args string }{
		{"raven_new", `{"type":"person","title":"Thor","fields":{"email":"t@example.test"}}`},
		{"raven_new", `{"type":"project","title":"Dam","fields":["lead=people/bob","started=today"]}`},
		{"raven_new", `{"type":"page","path":"deep/er/note","content":"` + strings.Repeat("ä", 3000) + `"}`},
		{"raven_upsert", `{"type":"person","title":"Thor","content":"Strong."}`},
		{"raven_upsert", `{"type":"person","title":"Bob","fields":{"email":"b@example.test"},"content":"# Bob\n\nQuiet.\n"}`},
		{"raven_add", `{"text":"## Plan\n\nProse.","to":"inbox","as":"text"}`},
		{"raven_set", `{"id":"people/alice","set":{"email":"a@new.test","tags":["x"]},"unset":["phone"]}`},
		{"raven_set", `{"id":"people/windows","set":["email=w@example.test"]}`},
		{"raven_set", `{"id":"projects/mill","set":["status=active"]}`},
		{"raven_set", `{"id":"people/bob","set":["name=Bob"]}`},
		{"raven_unset", `{"id":"people/alice","unset":["tags","email"]}`},
		{"raven_delete", `{"id":"people/bob"}`},
		{"raven_delete", `{"id":"broken"}`},
		{"raven_edit", `{"id":"people/alice#deep","old_str":"Hidden","new_str":"Seen"}`},
		{"raven_delete", `{"id":"people/alice#notes"}`},
		{"raven_add", `{"text":"one\ntwo","to":"inbox"}`},
		{"raven_add", `{"text":"first of the day","timestamp":true}`},
		{"raven_add", `{"text":"between","to":"people/alice#notes"}`},
		{"raven_trait_create", `{"trait_type":"due","value":"today","parent_id":"people/alice#notes","content":"Ask [[people/bob]]"}`},
		{"raven_trait_create", `{"trait_type":"due","value":"today","parent_id":"today","content":"Begin"}`},
		{"raven_trait_update", `{"id":"` + idOf("daily/2025-01-31", "due", "zebrafinch") + `","set":["value=today","priority=high"]}`},
		{"raven_trait_update", `{"id":"` + idOf("daily/2025-01-31", "due", "zebrafinch") + `","set":["value=2025-02-03"]}`},
		{"raven_trait_delete", `{"id":"` + idOf("daily/2025-01-31", "due", "zebrafinch") + `"}`},
		{"raven_edit", `{"id":"people/alice","old_str":"Likes tea","new_str":"Likes\ncoffee"}`},
		{"raven_edit", `{"id":"people/windows","edits":[{"old_str":"- a","new_str":"- b"},{"old_str":"# Win","new_str":"# Won"}]}`},
	} {
		t.Run(c.tool+c.args[:min(40, len(c.args))], func(t *testing.T) {
			p := newPlace(t)
			way := tooltest.Invoking("catalogue", p.catalogue())
			call := tooltest.NewCall(t, c.tool, c.args)
			before := p.notes(t)

			call.Args["dry_run"] = json.RawMessage("true")
			planned := dataOf[plan](t, way, call)
			require.True(t, planned.DryRun)
			require.Equal(t, before, p.notes(t), "a dry run changes nothing")

			delete(call.Args, "dry_run")
			did := dataOf[ran](t, way, call)
			planned.requireResult(t, did)
			planned.requireFiles(t, before, p.notes(t), did.Trash)
		})
	}
}

func dataOf[T any](t testing.TB, way tooltest.Way, c tooltest.Call) T {
	t.Helper()
	answer, _ := way.Call(t, c)
	require.Empty(t, tooltest.CodeOf(t, answer), "%s", answer)
	var envelope struct{ Data T }
	require.NoError(t, json.Unmarshal(answer, &envelope))
	return envelope.Data
}

// requireResult requires that the call changed its object as planned.
func (p plan) requireResult(t testing.TB, did ran) {
	t.Helper()
	switch did.Action {
	case "created":
		require.Equal(t, []any{did.ID, did.Type, did.File, did.Object.Fields},
			[]any{p.Create.ID, p.Create.Type, p.Create.File, p.Create.Fields})
	case "deleted":
		require.Equal(t, did.ID, p.Delete.ID)
		require.Contains(t, strings.Join(p.Effects, "\n"), did.Trash)
	default:
		require.Equal(t, did.ID, p.Update.ID)
		values := map[string]any{}
		for name, change := range p.Update.Changes {
			values[name] = change.New
		}
		require.Equal(t, len(did.NewValues), len(values))
		for name, value := range did.NewValues {
			require.Equal(t, value, values[name], name)
		}
	}
}

// requireFiles requires that the files changed as planned, and no others except the one in the
// trash.
func (p plan) requireFiles(t testing.TB, before, after map[string]string, trash string) {
	t.Helper()
	const notes = "local/vaults/main/notes/"
	if trash != "" {
		require.Contains(t, after, notes+trash)
		delete(after, notes+trash)
	}
	for _, f := range p.Files {
		path := notes + f.Path
		switch f.Action {
		case "create":
			require.NotContains(t, before, path)
			require.Equal(t, firstOf(after[path], 2000), f.Preview)
		case "modify":
			require.Equal(t, after[path], f.apply(before[path]))
		case "delete":
			require.Contains(t, before, path)
			require.NotContains(t, after, path)
		default:
			require.Fail(t, "unknown action", f.Action)
		}
		delete(before, path)
		delete(after, path)
	}
	require.Equal(t, before, after, "nothing else changes")
}

// firstOf returns the first n characters of a text.
func firstOf(s string, n int) string {
	runes := []rune(s)
	return string(runes[:min(n, len(runes))])
}

// apply makes the planned change in the text, and keeps its line breaks.
func (f plannedFile) apply(text string) string {
	lines := strings.SplitAfter(text, "\n")
	gone := 0
	if f.Old != nil {
		gone = strings.Count(*f.Old, "\n") + 1
	}
	head := strings.Join(lines[:f.Line-1], "")
	rest := strings.Join(lines[f.Line-1+gone:], "")
	if f.New == nil {
		return head + rest
	}
	eol := "\n"
	switch {
	case rest == "" && !strings.HasSuffix(text, "\n"):
		eol = "" // the last line of the note has no line break
	case strings.Contains(text, "\r\n"):
		eol = "\r\n"
	}
	return head + *f.New + eol + rest
}

// TestPlanOfVaults checks the same for the tools about whole vaults.
func TestPlanOfVaults(t *testing.T) {
	p := newPlace(t)
	way := tooltest.Invoking("catalogue", p.catalogue())
	for _, c := range []struct{ tool, args, plan, run string }{
		{"team_vault_create", `{"name":"two"}`,
			`{"data":{"dry_run":true,"would_create":{"name":"two","state":"active","version":"v1"}}}`,
			`{"data":{"action":"created","vault":{"name":"two","state":"active","version":"v1"}}}`},
		{"team_vault_import", `{"vault":"two","notes":[{"path":"a.md","text":"a"}]}`,
			`{"data":{"dry_run":true,"created":1,"replaced":0,"skipped":0}}`,
			`{"data":{"created":1,"replaced":0,"skipped":0,"version":"v2"}}`},
		{"team_vault_delete", `{"name":"two"}`,
			`{"data":{"dry_run":true,"would_delete":{"name":"two","state":"trashed"}}}`,
			`{"data":{"action":"deleted","vault":{"name":"two","state":"trashed"}}}`},
		{"team_vault_restore", `{"name":"two"}`,
			`{"data":{"dry_run":true,"would_update":{"name":"two","state":"active"}}}`,
			`{"data":{"action":"restored","vault":{"name":"two","state":"active"}}}`},
	} {
		call := tooltest.NewCall(t, c.tool, c.args)
		before, files := p.versions(t), p.notes(t)
		call.Args["dry_run"] = json.RawMessage("true")
		answer, _ := way.Call(t, call)
		require.Empty(t, tooltest.Missing(json.RawMessage(c.plan), answer), "%s", answer)
		require.Equal(t, before, p.versions(t), "%s: a dry run changes nothing", c.tool)
		require.Equal(t, files, p.notes(t), "%s: a dry run changes nothing", c.tool)

		delete(call.Args, "dry_run")
		answer, _ = way.Call(t, call)
		require.Empty(t, tooltest.Missing(json.RawMessage(c.run), answer), "%s", answer)
		require.NotEqual(t, before, p.versions(t), c.tool)
	}
}

// versions returns the versions of the tenant and of its vaults.
func (p *place) versions(t testing.TB) string {
	t.Helper()
	return tooltest.Comparable(done(t, p.catalogue(), "team_vault_list", map[string]any{}))
}
