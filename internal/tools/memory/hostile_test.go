package memory_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
)

// memoryWith are the arguments of a store with other members.
func memoryWith(more args) args {
	in := args{
		"intent":  args{"goal": "g", "task_type": "other"},
		"outcome": args{"success": true, "summary": "s"},
	}
	for name, value := range more {
		in[name] = value
	}
	return in
}

// many are so many texts, each another one.
func many(n int, prefix string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(prefix, i)
	}
	return all
}

// TestLimits holds what a memory may have at most (reference/memory-build.md §2.15): it is stored, and a bit more is
// refused with the path of what is too much.
func TestLimits(t *testing.T) {
	p := open(t)
	target := p.store(t, "target", true)
	outputs := func(n, size int) []args {
		var all []args
		for range n {
			all = append(all, args{"type": "command_run", "result": args{
				"success": true, "output_summary": strings.Repeat("x", size)}})
		}
		return all
	}
	for name, c := range map[string]struct {
		most, over args
	}{
		"a text": {
			args{"intent": args{"goal": strings.Repeat("ü", 64<<10), "task_type": "other"}},
			args{"intent": args{"goal": strings.Repeat("x", 64<<10+1), "task_type": "other"}},
		},
		"an output": {args{"actions": outputs(1, 256<<10)}, args{"actions": outputs(1, 256<<10+1)}},
		"all of it": {args{"actions": outputs(4, 250<<10)}, args{"actions": outputs(5, 250<<10)}},
		"tags":      {args{"tags": many(1000, "t")}, args{"tags": many(1001, "t")}},
		"a tag":     {args{"tags": []string{strings.Repeat("x", 128)}}, args{"tags": []string{strings.Repeat("x", 129)}}},
		"a list": {
			args{"outcome": args{"success": true, "summary": "s", "learnings": many(1000, "l")}},
			args{"outcome": args{"success": true, "summary": "s", "learnings": many(1001, "l")}},
		},
		"a key": {args{"key": strings.Repeat("k", 256)}, args{"key": strings.Repeat("k", 257)}},
		"links": {
			args{"links": args{"related_to": []string{target}}}, args{"links": args{"related_to": many(1001, "mem_")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p.do(t, "store", memoryWith(c.most))
			before := p.do(t, "list", args{})["total"]
			f := p.refused(t, fault.InvalidQuery, "store", memoryWith(c.over))
			require.NotContains(t, f.Message, "xxxx", "no text is echoed")
			require.Contains(t, f.Details, "limit")
			require.Equal(t, before, p.do(t, "list", args{})["total"])
		})
	}
}

// TestOddTexts holds that texts of every kind come back as they were given, also through an export and an import.
func TestOddTexts(t *testing.T) {
	p := open(t)
	odd := []string{
		"", " ", "\u0000", "a\x7fb\u0085c", "\ufeff", "\u202eabc", "😀", "e\u0301", "---\n- x: [", "{{date}}", "\r\n", "null", "\"", `\`, "<b>",
		"#", "line\nline", "\u2028", "@due(2026-01-01)", "rk_x",
	}
	for i, text := range odd {
		p.do(t, "store", args{
			"intent":  args{"goal": text, "task_type": "other", "context": text, "constraints": []string{text}},
			"outcome": args{"success": i%2 == 0, "summary": text, "learnings": []string{text, text}},
			"tags":    []string{text}, "key": fmt.Sprint("k", i),
			"actions": []any{args{"type": "file_edit", "file_path": text}},
		})
	}
	first := p.exported(t)
	for _, format := range []string{"jsonl", "markdown"} {
		other := open(t)
		other.pass(time.Hour)
		var files []args
		for _, f := range list(p.do(t, "export", args{"format": format}), "files") {
			files = append(files, args{"path": f["path"], "content": f["content"]})
		}
		out := other.do(t, "import", args{"files": files})
		require.EqualValues(t, len(odd), out["created"], format)
		require.EqualValues(t, 0, other.do(t, "import", args{"files": files})["created"], "a second time")
		for id, m := range other.exported(t) {
			delete(m, "imported")
			require.Equal(t, first[id], m, format)
		}
	}
}

// exported are the memories of an export in JSON Lines, by their ids.
func (p *place) exported(t *testing.T) map[string]args {
	all, in := map[string]args{}, args{}
	for {
		page := p.do(t, "export", in)
		count := 0
		for _, f := range list(page, "files") {
			for _, line := range strings.Split(strings.TrimSpace(f["content"].(string)), "\n") {
				var m args
				require.NoError(t, json.Unmarshal([]byte(line), &m))
				if m["kind"] == "memory" {
					require.NotContains(t, all, m["id"], "twice")
					all[m["id"].(string)] = m
					count++
				}
			}
		}
		require.EqualValues(t, count, page["memories"])
		if page["meta"].(args)["has_more"] == false {
			return all
		}
		in["page_token"] = page["meta"].(args)["next_page_token"]
	}
}

// TestExportInPages holds that the pages of an export have each memory once, however large the memories are, also while
// others are stored.
func TestExportInPages(t *testing.T) {
	p := open(t)
	ids := map[string]bool{}
	for i, size := range []int{900, 900, 10, 10, 1000, 500, 600, 1, 990} {
		var actions []args
		for left := size << 10; left > 0; left -= 250 << 10 {
			actions = append(actions, args{"type": "command_run", "result": args{
				"success": true, "output_summary": strings.Repeat("x", min(left, 250<<10))}})
		}
		ids[p.store(t, fmt.Sprint("m", i), true, args{"actions": actions})] = true
	}
	all := p.exported(t)
	require.Len(t, all, len(ids))
	markdown := map[string]bool{}
	for in := (args{"format": "markdown"}); ; {
		page := p.do(t, "export", in)
		for _, f := range list(page, "files") {
			require.False(t, markdown[f["path"].(string)])
			markdown[f["path"].(string)] = true
		}
		if page["meta"].(args)["has_more"] == false {
			break
		}
		in["page_token"] = page["meta"].(args)["next_page_token"]
	}
	require.Len(t, markdown, len(ids))
}

// TestNested holds that a wrong member is named by its path, at every level, and that nothing is stored.
func TestNested(t *testing.T) {
	p := open(t)
	id := p.store(t, "g", true)
	for path, in := range map[string]args{
		"outcome.verified_by.type":        {"outcome": args{"success": true, "summary": "s", "verified_by": args{"type": "hope", "result": "r"}}},
		"actions[1].type":                 {"actions": []args{{"type": "search"}, {"type": "dance"}}},
		"actions[0].result.success":       {"actions": []args{{"type": "search", "result": args{"success": "yes"}}}},
		"perception.observations[0].what": {"perception": args{"observations": []args{{"where": "w", "significance": "s"}}}},
		"reasoning.why_chosen":            {"reasoning": args{"approach_chosen": "a"}},
		"intent.goal":                     {"intent": args{"goal": nil, "task_type": "other"}},
	} {
		f := p.refused(t, fault.InvalidQuery, "store", memoryWith(in))
		require.Equal(t, path, f.Details["path"], "%v", in)
	}
	f := p.refused(t, fault.InvalidQuery, "update_memory",
		args{"memory_id": id, "reasoning": args{"approach_chosen": "a"}})
	require.Equal(t, "reasoning.why_chosen", f.Details["path"], "the memory would lack it")
	f = p.refused(t, fault.InvalidQuery, "update_memory", args{"memory_id": id, "outcome": args{"learnings": nil}})
	require.Equal(t, "outcome.learnings", f.Details["path"])
	p.do(t, "update_memory", args{"memory_id": id, "intent": args{"context": "c"}})
	p.do(t, "update_memory", args{"memory_id": id, "intent": args{"context": nil}})
	require.Equal(t, args{"goal": "g", "task_type": "bug_fix"}, p.whole(t, id)["intent"])
}

// TestWhoMayChange holds that nobody changes what another principal stored, nor takes an agent of theirs, by any tool.
func TestWhoMayChange(t *testing.T) {
	p := open(t)
	ann, bob := p.as(person("ann", "", auth.Editor)), p.as(person("bob", "", auth.Editor))
	root := p.as(person("root", "", auth.Admin))
	mine := ann.do(t, "store", memoryWith(nil))
	id := mine["memory_id"].(string)
	_, err := bob.call("raven_undo", args{"version": mine["meta"].(args)["version"]})
	require.Equal(t, fault.PermissionDenied, fault.Of(err).Code)
	agent := ann.do(t, "identity", args{"action": "register"})["agent_id"].(string)
	line := func(agent string) args {
		data, err := json.Marshal(memoryWith(args{"agent_id": agent}))
		require.NoError(t, err)
		return args{"files": []args{{"path": "m.jsonl", "content": string(data)}}}
	}
	bob.refused(t, fault.PermissionDenied, "import", line(agent))
	bob.refused(t, fault.PermissionDenied, "import", line(ann.who.Principal))
	require.EqualValues(t, 1, bob.do(t, "import", line("bobs-helper"))["created"])
	ann.refused(t, fault.PermissionDenied, "import", line("bobs-helper"))
	require.EqualValues(t, 1, root.do(t, "import", line(agent))["created"])
	require.EqualValues(t, 1, ann.do(t, "identity", args{"action": "info", "agent_id": agent})["memory_count"])
	bob.refused(t, fault.PermissionDenied, "delete_memory", args{"memory_id": id, "erase": true})
	chapter := ann.do(t, "create_chapter", args{"memory_ids": []string{id}})["chapter_id"]
	bob.refused(t, fault.PermissionDenied, "delete_chapter", args{"chapter_id": chapter})
	root.do(t, "update_memory", args{"memory_id": id, "tags": []string{"seen"}})
	require.Equal(t, true, root.do(t, "delete_chapter", args{"chapter_id": chapter})["deleted"])
	raw, err := root.call("raven_undo", args{"version": mine["meta"].(args)["version"]})
	require.Equal(t, fault.Conflict, fault.Of(err).Code, "it changed since: %s", raw)
}

// TestLinksBeyondTheLimit covers that an import lists the links that a memory cannot have, and not those that it has.
func TestLinksBeyondTheLimit(t *testing.T) {
	p := open(t)
	brought := func(lines []string) args {
		return p.do(t, "import", args{"files": []args{{"path": "m.jsonl", "content": strings.Join(lines, "\n")}}})
	}
	var lines, ids []string
	for i := range memory.MaxLinks + 2 {
		id := fmt.Sprint("m", i)
		data, err := json.Marshal(memoryWith(args{"kind": "memory", "id": id, "agent": "local"}))
		require.NoError(t, err)
		lines, ids = append(lines, string(data)), append(ids, id)
	}
	for some := range slices.Chunk(lines, 600) {
		require.EqualValues(t, len(some), brought(some)["created"])
	}
	links, err := json.Marshal(args{"kind": "links", "id": "m0", "related_to": ids[1:]})
	require.NoError(t, err)
	for range 2 {
		left := list(brought([]string{string(links)}), "left_out")
		require.Len(t, left, 1)
		require.Equal(t, "related_to to m1001: a memory has at most 1000 links of a type", left[0]["reason"])
	}
}

// TestImportSaysWhatItLeftOut holds that each link without a target is listed, with the memory to which it
// leads, and that those beyond the list are counted.
func TestImportSaysWhatItLeftOut(t *testing.T) {
	p := open(t)
	var targets []string
	for i := range 105 {
		targets = append(targets, fmt.Sprintf("mem_missing_%03d", i))
	}
	line, err := json.Marshal(args{
		"id": "mem_a", "intent": args{"goal": "g", "task_type": "other"}, "outcome": args{"success": true, "summary": "s"},
		"links": args{"caused_by": targets},
	})
	require.NoError(t, err)
	out := p.do(t, "import", args{"files": []args{{"path": "a.jsonl", "content": string(line)}}})
	require.EqualValues(t, 1, out["created"])
	left := list(out, "left_out")
	require.Len(t, left, 100)
	require.Equal(t, args{
		"file": "a.jsonl", "line": 1.0, "reason": "caused_by to mem_missing_000 does not lead to another memory",
	}, left[0])
	require.EqualValues(t, 5, out["more_left_out"])
}
