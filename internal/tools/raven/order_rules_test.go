package raven_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// orderVault is a vault for what moves, renames and plans leave and tell.
func orderVault() map[string]string {
	return map[string]string{
		"schema.yaml": batchSchema + "templates: {card: {file: people/freya.md}}\n",
		"raven.yaml": "capture: {destination: people/freya.md}\nqueries:\n  hers: \"type:* refs(people/freya)\"\n" +
			"  other: \"type:* refs(people/freyas)\"\n  short: \"type:* refs(freya)\"\n",
		"people/freya.md":  "---\ntype: person\nname: Freya\n---\n# Freya\n\n- @due(2026-03-05) @id(call) Call\n",
		"people/freyas.md": "---\ntype: person\nname: Freyas\n---\n",
		"bob.md":           "# Bob\n",
		"a.md":             "See [[bob]], [[team/freya]] and [[people/freya]].\n",
	}
}

// A movedData is the answer of a move, as far as these tests look into it.
type movedData struct {
	SideEffects []string `json:"side_effects"`
	Token       string   `json:"plan_token"`
}

// TestMoveTells covers what a move says of the settings that name the note, which it does not change, of the folder of
// another type, and of references that led nowhere.
func TestMoveTells(t *testing.T) {
	t.Parallel()
	p := open(t, orderVault())
	before := p.texts(t)
	var out movedData
	p.must(t, "raven_move", args{"source": "people/freya", "destination": "projects/freya"}, &out)
	told := strings.Join(out.SideEffects, "\n")
	require.Contains(t, told, "people/freya goes by projects/freya")
	require.Contains(t, told, "projects/ is the folder of the type project, but the note stays a person; raven_reclassify changes its type")
	require.Contains(t, told, "capture.destination of raven.yaml still names people/freya")
	require.Contains(t, told, "the saved query hers of raven.yaml still names people/freya")
	require.Contains(t, told, "the template card of schema.yaml still names people/freya")
	require.NotContains(t, told, "the saved query other")
	require.NotContains(t, told, "the saved query short")
	require.Contains(t, told, "1 reference is rewritten")
	after := p.texts(t)
	require.Equal(t, before["raven.yaml"], after["raven.yaml"])
	require.Equal(t, before["schema.yaml"], after["schema.yaml"])

	p = open(t, orderVault())
	p.must(t, "raven_move", args{"source": "people/freya", "destination": "team/"}, &out)
	require.Contains(t, strings.Join(out.SideEffects, "\n"), "1 reference that did not resolve resolves now")
}

// TestMoveKeepsOthers covers that a reference which the new name would make ambiguous is written in full.
func TestMoveKeepsOthers(t *testing.T) {
	t.Parallel()
	p := open(t, orderVault())
	p.must(t, "raven_move", args{"source": "people/freyas", "destination": "team/bob"}, nil)
	require.Equal(t, "See [[bob]], [[team/freya]] and [[people/freya]].\n", p.texts(t)["a.md"], "bob is an exact id")
	p = open(t, orderVault())
	p.must(t, "raven_move", args{"source": "bob", "destination": "x/bob"}, nil)
	p.must(t, "raven_move", args{"source": "people/freyas", "destination": "team/bob"}, nil)
	require.Equal(t, "See [[x/bob]], [[team/freya]] and [[people/freya]].\n", p.texts(t)["a.md"])
}

// TestMoveInTheLog covers that a move is one update with both ids, nothing for what moves along, and that the log and
// the history find it by either id.
func TestMoveInTheLog(t *testing.T) {
	t.Parallel()
	p := open(t, orderVault())
	p.must(t, "raven_move", args{"source": "people/freya", "destination": "team/freya", "update_refs": false}, nil)
	var log struct{ Entries []entry }
	p.must(t, "raven_log", args{"id": "team/freya"}, &log)
	last := log.Entries[len(log.Entries)-1]
	require.Equal(t, "update", last["op"])
	require.Equal(t, "team/freya", last["id"])
	require.Equal(t, map[string]any{"old": "people/freya", "new": "team/freya"}, last["changes"].(map[string]any)["id"])
	version := last["version"]
	for _, e := range log.Entries[:len(log.Entries)-1] {
		require.NotEqual(t, version, e["version"], "nothing is told of what moved along")
	}
	p.must(t, "raven_log", args{"id": "call"}, &log)
	require.Len(t, log.Entries, 1, "the trait did not change")
	var history struct{ Items []entry }
	p.must(t, "raven_history", args{"id": "team/freya"}, &history)
	require.Len(t, history.Items, 2)
	require.Equal(t, version, history.Items[0]["version"])
}

// TestPlansOfOneThing covers that the plan of a move, a change of type and a correction carries a token, that the call
// with it does the same, and that it is CONFLICT after a change of what it concerns.
func TestPlansOfOneThing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool string
		in   args
	}{
		{"raven_move", args{"source": "people/freya", "destination": "team/freya"}},
		{"raven_reclassify", args{"id": "people/freyas", "type": "page", "force": true}},
		{"raven_check_fix", args{"issues": list{"short_ref_could_be_full_path"}}},
	} {
		files := orderVault()
		files["a.md"] = "See [[freya]] and [[people/freya]], [[people/freyas]].\n"
		p := open(t, files)
		var plan, other movedData
		p.must(t, c.tool, with(c.in, args{"dry_run": true}), &plan)
		require.NotEmpty(t, plan.Token, c.tool)
		require.Equal(t, files, p.texts(t))
		p.must(t, c.tool, with(c.in, args{"plan_token": plan.Token}), &other)
		done := p.texts(t)
		require.NotEqual(t, files, done, c.tool)

		p = open(t, files)
		p.must(t, c.tool, with(c.in, args{"dry_run": true}), &plan)
		p.write(t, map[string]string{
			"a.md": "Else, see [[freya]] and [[people/freya]].\n", "people/freyas.md": "---\ntype: person\nname: Other\n---\n",
		})
		changed := p.texts(t)
		e := p.answer(t, c.tool, with(c.in, args{"plan_token": plan.Token}))
		require.Equal(t, fault.Conflict, e.Error.Code, c.tool)
		require.NotEmpty(t, e.Error.Details["changed"], c.tool)
		require.Equal(t, changed, p.texts(t))
		e = p.answer(t, c.tool, with(with(c.in, args{"plan_token": plan.Token}), args{"destination": "x", "force": false, "issues": list{"invalid_enum_value"}}))
		require.False(t, e.OK, "the token is of other arguments: %s", c.tool)
	}
}

// sectionVault has sections in each form, and references to them.
var sectionVault = map[string]string{
	"schema.yaml": "types:\n  meeting: {fields: {time: string}}\n",
	"n.md": "# Title\n\n## Tasks\n\nSee [[#Tasks]] and [here](#tasks).\n\n## Tasks\n\nTwin.\n\n## Call\n::meeting(id=kick)\n\n> ## Quoted\n\n" +
		"## Last\n\n### Deep\n",
	"o.md": "See [[n#tasks|them]], [t](n.md#tasks) and [[n#kick]].\n",
}

// TestSectionRules covers what the operations on sections rewrite and refuse.
func TestSectionRules(t *testing.T) {
	t.Parallel()
	p := open(t, sectionVault)
	for _, c := range []struct {
		in     args
		code   fault.Code
		reason string
	}{
		{args{"op": "rename", "id": "n#tasks", "title": "Other"}, fault.ValidationFailed, "slug"},
		{args{"op": "delete", "id": "n#tasks"}, fault.ValidationFailed, "slug"},
		{args{"op": "rename", "id": "n#last", "title": "Tasks"}, "", ""},
		{args{"op": "rename", "id": "n#quoted", "title": "X"}, fault.InvalidValue, ""},
		{args{"op": "create", "file": "n", "title": "X", "level": 2, "under": "n#last"}, fault.InvalidValue, ""},
		{args{"op": "create", "file": "n", "title": "X", "level": 3, "after": "n#last"}, fault.InvalidValue, ""},
		{args{"op": "create", "file": "n", "title": "X", "level": 5}, fault.InvalidValue, ""},
		{args{"op": "move", "id": "n#last", "under": "n#deep"}, fault.InvalidValue, ""},
		{args{"op": "create", "file": "n", "title": "X", "level": 3, "under": "n#last"}, "", ""},
	} {
		e := p.answer(t, "raven_section", with(c.in, args{"dry_run": true}))
		if c.code == "" {
			require.True(t, e.OK, "%v: %v", c.in, e.Error)
			continue
		}
		require.False(t, e.OK, "%v", c.in)
		require.Equal(t, c.code, e.Error.Code, "%v: %s", c.in, e.Error.Message)
		if c.reason != "" {
			require.Equal(t, c.reason, e.Error.Details["reason"], "%v", c.in)
		}
	}
	require.Equal(t, sectionVault, p.texts(t))
	p.must(t, "raven_section", args{"op": "rename", "id": "n#tasks-2", "title": "Chores"}, nil)
	p.must(t, "raven_section", args{"op": "rename", "id": "n#tasks", "title": "To do"}, nil)
	p.must(t, "raven_section", args{"op": "rename", "id": "n#kick", "title": "Meeting"}, nil)
	texts := p.texts(t)
	require.Contains(t, texts["n.md"], "## To do\n\nSee [[#to-do]] and [here](#to-do).\n")
	require.Contains(t, texts["n.md"], "## Meeting\n::meeting(id=kick)\n")
	require.Equal(t, "See [[n#to-do|them]], [t](n.md#to-do) and [[n#kick]].\n", texts["o.md"])
}

// TestRestoreRefuses covers sections that cannot return: their note is gone, or their slug is taken.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	p := open(t, sectionVault)
	p.must(t, "raven_delete", args{"id": "n#last"}, nil)
	var list struct{ Items []struct{ Reference string } }
	p.must(t, "raven_trash_list", nil, &list)
	in := args{"id": list.Items[0].Reference, "confirm": true}
	text := p.texts(t)["n.md"]
	p.write(t, map[string]string{"n.md": text + "\n## Last\n"})
	require.Equal(t, fault.DuplicateID, p.answer(t, "raven_restore", in).Error.Code)
	p.must(t, "raven_delete", args{"id": "n"}, nil)
	e := p.answer(t, "raven_restore", in)
	require.Equal(t, fault.NotFound, e.Error.Code)
	require.Contains(t, e.Error.Message, "restore the note first")
	p.write(t, map[string]string{"n.md": "# Title\n"})
	p.must(t, "raven_restore", in, nil)
	require.Equal(t, "# Title\n\n## Last\n\n### Deep\n", strings.ReplaceAll(p.texts(t)["n.md"], "\n\n\n", "\n\n"))
}

// TestSettingsBackAndForth covers that settings which are changed and changed back are as never changed.
func TestSettingsBackAndForth(t *testing.T) {
	t.Parallel()
	files := orderVault()
	files["drafts/d.md"] = "---\ntype: person\nname: D\n---\n- @due(2026-03-01) d, see [[people/freya]]\n"
	p := open(t, files)
	shown := func() string {
		var all strings.Builder
		for _, c := range []struct {
			tool string
			in   args
		}{
			{"raven_object_list", nil}, {"raven_trait_list", args{"trait_type": "due", "depth": 2}},
			{"raven_backlinks", args{"target": "people/freya"}}, {"raven_check", nil}, {"raven_stats", nil},
			{"raven_query", args{"query": "type:* | section | trait:due"}}, {"raven_schema", nil},
		} {
			e := p.answer(t, c.tool, c.in)
			all.Write(e.Data)
			if e.Error != nil {
				data, _ := json.Marshal(e.Error.Errors)
				all.Write(data)
			}
		}
		return all.String()
	}
	before, settings := shown(), files["raven.yaml"]
	for _, other := range []string{
		"exclude: [drafts/]\n", "protected_prefixes: [drafts/, people/]\n", "directories: {type: people, page: drafts, daily: .}\n",
		"exclude: [\"*\"]\ndirectories: {daily: drafts}\n", "exclude: [\n",
	} {
		p.write(t, map[string]string{"raven.yaml": other})
		require.NotEqual(t, before, shown(), other)
		p.write(t, map[string]string{"raven.yaml": settings})
		require.Equal(t, before, shown(), other)
	}
}

// TestDeletionKeepsOtherIDs covers that no deletion gives another section another id, neither alone nor of all that a
// query finds nor in a batch, and that the sections of one heading can be deleted from the last to the first.
func TestDeletionKeepsOtherIDs(t *testing.T) {
	t.Parallel()
	meeting := "## Standup\n::meeting(time=09:00)\n\n"
	p := open(t, map[string]string{
		"schema.yaml": "types:\n  meeting:\n    fields: {time: {type: string}}\n",
		"a.md":        "# A\n\n## Notes\n1\n\n## Notes\n2\n\n### Notes\n3\n",
		"b.md":        "# B\n\n" + meeting + meeting + "## Standup\n",
		"c.md":        "[[a#notes]] [[a#notes-2]] [[a#notes-3]] [[b#standup-3]]\n",
	})
	before := p.texts(t)
	for _, call := range []struct {
		tool string
		args args
		code fault.Code
	}{
		{"raven_delete", args{"id": "a#notes"}, fault.ValidationFailed},
		{"raven_delete", args{"id": "a#notes", "dry_run": true}, fault.ValidationFailed},
		{"raven_delete", args{"query": "type:meeting", "dry_run": true}, fault.ValidationFailed},
		{"raven_section", args{"op": "delete", "id": "a#notes"}, fault.ValidationFailed},
		{"raven_batch", args{"operations": []args{
			{"op": "delete", "entity": "object", "data": args{"id": "a#notes"}}}}, "BATCH_FAILED"},
	} {
		answer := p.answer(t, call.tool, call.args)
		require.NotNil(t, answer.Error, call.tool)
		require.Equal(t, call.code, answer.Error.Code, call.tool)
	}
	require.Equal(t, before, p.texts(t))
	p.must(t, "raven_delete", args{"id": "a#notes-2"}, nil) // with notes-3, which is in it
	p.must(t, "raven_delete", args{"id": "a#notes"}, nil)
	p.must(t, "raven_delete", args{"id": "b#standup-3"}, nil)
	p.must(t, "raven_delete", args{"id": "b#standup-2"}, nil)
	require.Equal(t, "# A\n\n", p.texts(t)["a.md"])
}

// TestDeletionTellsOfOthers covers that a deletion counts the references that lead to something else after it.
func TestDeletionTellsOfOthers(t *testing.T) {
	t.Parallel()
	p := open(t, map[string]string{
		"x.md": "# X\n", "old/x.md": "# Old\n", "from.md": "[[x]], [[x]], [[x#part]] and [[y]]\n", "y.md": "# Y\n",
	})
	var out movedData
	p.must(t, "raven_delete", args{"id": "x"}, &out)
	require.Contains(t, out.SideEffects, "3 references to x lead to another object with the same name")
	p.must(t, "raven_delete", args{"id": "y"}, &out)
	require.Contains(t, out.SideEffects, "1 reference to y has no target")
}

// TestMoveKeepsDailyNotes covers that a daily note moves to another day only, wherever the daily notes are.
func TestMoveKeepsDailyNotes(t *testing.T) {
	t.Parallel()
	for folder, settings := range map[string]string{"daily/": "", "journal/": "journal", "": "."} {
		files := map[string]string{folder + "2026-03-02.md": "day\n"}
		if settings != "" {
			files["raven.yaml"] = "directories: {daily: " + settings + "}\n"
		}
		p := open(t, files)
		for _, to := range []string{"x", "x/2026-03-03", "team/"} {
			a := p.answer(t, "raven_move", args{"source": folder + "2026-03-02", "destination": to})
			require.NotNil(t, a.Error, "%s to %s", folder, to)
			require.Equal(t, fault.InvalidValue, a.Error.Code)
		}
		p.must(t, "raven_move", args{"source": folder + "2026-03-02", "destination": folder + "2026-03-03"}, nil)
		p.must(t, "raven_reclassify", args{"id": folder + "2026-03-03", "type": "page"}, nil)
		p.must(t, "raven_move", args{"source": folder + "2026-03-03", "destination": "x"}, nil)
	}
}

// TestNewDailyNotesAreInTheirFolder covers that raven_new and raven_upsert make a daily note where the others
// are, also if the folder differs from the configured one by case only.
func TestNewDailyNotesAreInTheirFolder(t *testing.T) {
	t.Parallel()
	p := open(t, map[string]string{"Daily/2026-03-02.md": "day\n"})
	var schema struct {
		Type struct {
			Path string `json:"default_path"`
		}
	}
	p.must(t, "raven_schema_type", args{"name": "daily"}, &schema)
	require.Equal(t, "Daily/", schema.Type.Path)
	for tool, day := range map[string]string{"raven_new": "2026-03-03", "raven_upsert": "2026-03-04"} {
		var out struct{ ID, Type string }
		p.must(t, tool, args{"type": "daily", "title": day}, &out)
		require.Equal(t, "Daily/"+day+" daily", out.ID+" "+out.Type, tool)
	}
}
