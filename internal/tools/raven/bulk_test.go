package raven_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A bulkData is the data of a bulk answer.
type bulkData struct {
	DryRun bool `json:"dry_run"`
	Action string
	Items  []struct{ ID, File, Status string }
	Files  []struct {
		Path string
		New  string `json:"new_content"`
	} `json:"would_modify_files"`
	Total, Modified, Unchanged, Skipped int
	Token                               string `json:"plan_token"`
}

// bulkVault has three people and a project.
func bulkVault() map[string]string {
	files := map[string]string{"schema.yaml": batchSchema}
	for i, name := range []string{"freya", "sif", "thor"} {
		files["people/"+name+".md"] = fmt.Sprintf(
			"---\ntype: person\nname: %s\nrating: %d\n---\n\n# %s\n\n- @due(2026-03-0%d) call\n", name, i+1, name, i+1)
	}
	files["projects/dam.md"] = "---\ntype: project\nlead: \"[[people/thor]]\"\n---\n"
	return files
}

// with are arguments and some more.
func with(in args, more args) args {
	all := args{}
	for _, some := range []args{in, more} {
		for k, v := range some {
			all[k] = v
		}
	}
	return all
}

// TestBulk covers each bulk form: its plan, that it then does what the plan shows, and that it does it again under the
// same key only once.
func TestBulk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool                       string
		in                         args
		action                     string
		total, modified, unchanged int
	}{
		"set":          {"raven_set", args{"query": "type:person .rating>=2", "set": args{"rating": 3}}, "updated", 2, 1, 1},
		"set by list":  {"raven_set", args{"filter": args{"type": "person"}, "set": list{"email=x@example.test"}}, "updated", 3, 3, 0},
		"set nothing":  {"raven_set", args{"query": "type:person .rating==5", "set": args{"rating": 3}}, "unchanged", 0, 0, 0},
		"unset":        {"raven_unset", args{"query": "type:person", "unset": list{"rating"}}, "updated", 3, 3, 0},
		"delete":       {"raven_delete", args{"query": "type:person .name==sif | .name==thor"}, "deleted", 2, 2, 0},
		"move":         {"raven_move", args{"query": "type:person .rating>=2", "destination": "team/"}, "updated", 2, 2, 0},
		"trait update": {"raven_trait_update", args{"query": "trait:due .value<=2026-03-02", "set": args{"value": "today", "status": "done"}}, "updated", 2, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, bulkVault())
			before := p.texts(t)
			e := p.answer(t, c.tool, c.in)
			require.Equal(t, fault.MissingRequired, e.Error.Code, "a plan is needed")
			var plan, ran bulkData
			p.must(t, c.tool, with(c.in, args{"dry_run": true}), &plan)
			require.True(t, plan.DryRun)
			require.Equal(t, before, p.texts(t))
			in := with(c.in, args{"plan_token": plan.Token, "idempotency_key": "k"})
			p.must(t, c.tool, in, &ran)
			require.Equal(t, c.action, ran.Action)
			for _, got := range []bulkData{plan, ran} {
				require.Equal(t, []int{c.total, c.modified, c.unchanged, 0}, []int{got.Total, got.Modified, got.Unchanged, got.Skipped})
				require.Len(t, got.Items, c.total)
			}
			require.Equal(t, plan.Items, ran.Items)
			after := p.texts(t)
			changed := 0
			for path, text := range before {
				if after[path] != text {
					changed++
				}
			}
			if c.tool != "raven_move" {
				require.Equal(t, c.modified, changed)
			}
			e = p.must(t, c.tool, in, nil)
			require.Equal(t, true, e.Meta["replayed"])
			require.Equal(t, after, p.texts(t))
		})
	}
}

// TestPlanTokens covers that a call with a token does what the plan shows, or nothing.
func TestPlanTokens(t *testing.T) {
	t.Parallel()
	set := args{"query": "type:person", "set": args{"rating": 4}}
	for name, c := range map[string]struct {
		tool    string
		in      args
		between map[string]string
		code    fault.Code // empty: it runs
	}{
		"nothing between":      {"raven_set", set, nil, ""},
		"another note":         {"raven_set", set, map[string]string{"inbox.md": "x\n"}, ""},
		"a note of the plan":   {"raven_set", set, map[string]string{"people/sif.md": "---\ntype: person\nname: sif\nrating: 2\n---\n"}, fault.Conflict},
		"a note that joins":    {"raven_set", set, map[string]string{"people/hel.md": "---\ntype: person\nname: hel\n---\n"}, fault.Conflict},
		"a note that leaves":   {"raven_set", set, map[string]string{"people/sif.md": "-"}, fault.Conflict},
		"other values":         {"raven_set", args{"query": "type:person", "set": args{"rating": 5}}, nil, fault.InvalidValue},
		"another tool":         {"raven_delete", args{"query": "type:person"}, nil, fault.InvalidValue},
		"of one thing instead": {"raven_set", args{"id": "people/sif", "set": args{"rating": 4}}, nil, fault.InvalidValue},
	} {
		p := open(t, bulkVault())
		var plan bulkData
		p.must(t, "raven_set", with(set, args{"dry_run": true}), &plan)
		p.write(t, c.between)
		before := p.texts(t)
		e := p.answer(t, c.tool, with(c.in, args{"plan_token": plan.Token}))
		if c.code == "" {
			require.True(t, e.OK, "%s: %v", name, e.Error)
			continue
		}
		require.False(t, e.OK, name)
		require.Equal(t, c.code, e.Error.Code, "%s: %s", name, e.Error.Message)
		require.Equal(t, before, p.texts(t), "nothing is changed")
		if c.code == fault.Conflict {
			require.NotEmpty(t, e.Error.Details["latest_version"])
			require.Contains(t, e.Error.Details, "changed")
		}
	}
	p := open(t, bulkVault())
	for _, token := range []string{"x", "q1.", "q1.AAAA", "q2.AAAA"} {
		e := p.answer(t, "raven_set", with(set, args{"plan_token": token}))
		require.Equal(t, fault.InvalidValue, e.Error.Code, token)
	}
	one := args{"id": "people/sif", "set": args{"rating": 4}}
	var plan bulkData
	p.must(t, "raven_set", with(one, args{"dry_run": true}), &plan)
	require.NotEmpty(t, plan.Token, "also with an id")
	p.must(t, "raven_set", with(one, args{"plan_token": plan.Token}), nil)
	require.Equal(t, fault.Conflict, p.answer(t, "raven_set", with(one, args{"plan_token": plan.Token})).Error.Code)
}

// TestBulkRefused covers what a bulk call refuses, and that it then changes nothing.
func TestBulkRefused(t *testing.T) {
	t.Parallel()
	p := open(t, bulkVault())
	before := p.texts(t)
	for name, c := range map[string]struct {
		tool string
		in   args
		code fault.Code
	}{
		"id and query":     {"raven_set", args{"id": "people/sif", "query": "type:person", "set": args{"rating": 1}}, fault.InvalidValue},
		"query and filter": {"raven_delete", args{"query": "type:person", "filter": args{"type": "person"}}, fault.InvalidValue},
		"neither":          {"raven_delete", args{}, fault.MissingRequired},
		"traits for set":   {"raven_set", args{"query": "trait:due", "set": args{"rating": 1}}, fault.InvalidQuery},
		"sections":         {"raven_delete", args{"query": "section"}, fault.InvalidQuery},
		"objects as trait": {"raven_trait_update", args{"query": "type:person", "set": args{"value": "today"}}, fault.InvalidQuery},
		"no query":         {"raven_set", args{"query": "type:", "set": args{"rating": 1}}, fault.InvalidQuery},
		"no such type":     {"raven_set", args{"query": "type:persn", "set": args{"rating": 1}}, fault.InvalidType},
		"words":            {"raven_delete", args{"query": "type:person content(call)"}, fault.InvalidQuery},
		"a wrong value":    {"raven_set", args{"query": "type:person", "set": args{"rating": 9}}, fault.ValidationFailed},
		"erase":            {"raven_delete", args{"query": "type:person", "erase": true}, fault.InvalidValue},
		"saved":            {"raven_delete", args{"query": "nosuch"}, fault.InvalidQuery},
	} {
		e := p.answer(t, c.tool, with(c.in, args{"dry_run": true}))
		require.False(t, e.OK, name)
		require.Equal(t, c.code, e.Error.Code, "%s: %s", name, e.Error.Message)
		if c.code == fault.ValidationFailed {
			require.Len(t, e.Error.Errors, 3)
			require.Equal(t, "people/freya", e.Error.Errors[0].Details["id"])
			require.Equal(t, fault.InvalidField, e.Error.Errors[0].Code)
		}
	}
	require.Equal(t, before, p.texts(t))
	raw, err := json.Marshal(p.answer(t, "raven_batch", args{"operations": list{
		op("update", "object", args{"query": "type:person", "set": args{"rating": 1}}),
	}}).Error)
	require.NoError(t, err)
	require.Contains(t, string(raw), "INVALID_VALUE", "no operation of a batch is a bulk call")
}

// TestBulkOfTwins covers that a result whose id another section of its note has too is refused, and that the other one
// is not changed in its place.
func TestBulkOfTwins(t *testing.T) {
	t.Parallel()
	const note = "# N\n\n## A\n::talk(id=x, status=open)\n\n## B\n::talk(id=x, status=done)\n"
	p := open(t, map[string]string{
		"schema.yaml": "types:\n  talk:\n    fields:\n      status: {type: string}\n      room: {type: string}\n",
		"n.md":        note,
	})
	set := args{"query": "type:talk .status==done", "set": args{"room": "blue"}, "dry_run": true}
	e := p.answer(t, "raven_set", set)
	require.Equal(t, fault.ValidationFailed, e.Error.Code)
	require.Equal(t, fault.AmbiguousRef, e.Error.Errors[0].Code)
	var plan bulkData
	p.must(t, "raven_set", with(set, args{"query": "type:talk .status==open"}), &plan)
	p.must(t, "raven_set", args{"query": "type:talk .status==open", "set": args{"room": "blue"}, "plan_token": plan.Token}, nil)
	require.Contains(t, p.texts(t)["n.md"], "## A\n::talk(id=x, room=blue, status=open)\n\n## B\n::talk(id=x, status=done)\n")
}
