package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

// A behaviour is a case of reference/memory.md §A10: what the system behind the document does, and what we do, which
// the function holds. Each begins with an empty vault.
type behaviour struct {
	n              int
	upstream, ours string
	holds          func(t *testing.T, p *place)
}

func TestCases(t *testing.T) {
	all := slices.Concat(identityCases, storeCases, updateCases, recallCases, linkCases, chapterCases, fileCases)
	for i, c := range all {
		require.Equal(t, i+1, c.n, "no case is left out")
		t.Run(fmt.Sprintf("%02d %s", c.n, c.ours), func(t *testing.T) { c.holds(t, open(t)) })
	}
}

const same = "the same"

var identityCases = []behaviour{
	{1, "type main, counts 0, session_count 1", same, func(t *testing.T, p *place) {
		out := p.do(t, "identity", args{"action": "register"})
		require.Equal(t, "main", out["type"])
		require.EqualValues(t, 0, out["memory_count"])
		require.EqualValues(t, 1, out["session_count"])
		require.EqualValues(t, 0, out["success_rate"])
		require.Regexp(t, `^agent_[0-9a-f]{8}-`, out["agent_id"])
	}},
	{2, "error: Subagents must have a parent_id", "INVALID_QUERY", func(t *testing.T, p *place) {
		p.refused(t, fault.InvalidQuery, "identity", args{"action": "register", "type": "subagent"})
	}},
	{3, "error: Parent agent not found", "NOT_FOUND", func(t *testing.T, p *place) {
		p.refused(t, fault.NotFound, "identity", args{"action": "register", "type": "subagent", "parent_id": "nope"})
	}},
	{4, "a foreign key error", "NOT_FOUND", func(t *testing.T, p *place) {
		p.refused(t, fault.NotFound, "identity", args{"action": "register", "type": "main", "parent_id": "nope"})
	}},
	{5, "same agent, session_count 2", same, func(t *testing.T, p *place) {
		id := p.do(t, "identity", args{"action": "register"})["agent_id"]
		p.serve(t)
		out := p.do(t, "identity", args{"action": "resume"})
		require.Equal(t, id, out["agent_id"])
		require.EqualValues(t, 2, out["session_count"])
	}},
	{6, "the main agent that was active last", same, func(t *testing.T, p *place) {
		first := p.do(t, "identity", args{"action": "register"})["agent_id"]
		second := p.do(t, "identity", args{"action": "register"})["agent_id"]
		p.do(t, "identity", args{"action": "register", "type": "subagent", "parent_id": first})
		require.Equal(t, second, p.do(t, "identity", args{"action": "resume"})["agent_id"])
	}},
	{7, "error: No previous agent found", "NOT_FOUND, and how to register", func(t *testing.T, p *place) {
		f := p.refused(t, fault.NotFound, "identity", args{"action": "resume"})
		require.NotEmpty(t, f.Fixes)
	}},
	{8, "success_rate 0.6667", same, func(t *testing.T, p *place) {
		for i, success := range []bool{true, true, false} {
			p.store(t, fmt.Sprint("work ", i), success)
		}
		out := p.do(t, "identity", args{"action": "resume"})
		require.InDelta(t, 0.6667, out["success_rate"], 0.001)
	}},
	{9, "error: No active agent", "the principal's own agent, nothing done", func(t *testing.T, p *place) {
		out := p.do(t, "identity", args{"action": "info"})
		require.Equal(t, auth.Local, out["agent_id"])
		require.EqualValues(t, 0, out["memory_count"])
		require.EqualValues(t, 0, out["created_at"])
	}},
	{10, "everybody's agents are everybody's", "another's agent is PERMISSION_DENIED", func(t *testing.T, p *place) {
		ann, bob := p.as(person("ann", "", auth.Editor)), p.as(person("bob", "", auth.Editor))
		id := ann.do(t, "identity", args{"action": "register"})["agent_id"]
		bob.refused(t, fault.PermissionDenied, "identity", args{"action": "resume", "agent_id": id})
		bob.refused(t, fault.NotFound, "identity", args{"action": "resume"})
	}},
}

var storeCases = []behaviour{
	{11, "error: No active agent", "stored for the principal's own agent", func(t *testing.T, p *place) {
		p.store(t, "work", true)
		require.EqualValues(t, 1, p.do(t, "list", args{})["total"])
	}},
	{12, "ids, no files, no tags, 0.5", same, func(t *testing.T, p *place) {
		out := p.do(t, "store", args{
			"intent":  args{"goal": "g", "task_type": "other"},
			"outcome": args{"success": true, "summary": "s"},
		})
		require.Regexp(t, `^mem_`, out["memory_id"])
		require.Empty(t, out["indexed_files"])
		m := p.whole(t, out["memory_id"])
		require.Empty(t, m["tags"])
		require.EqualValues(t, 0.5, m["importance"])
	}},
	{13, "actions and relevant files", same, func(t *testing.T, p *place) {
		out := p.do(t, "store", args{
			"intent":  args{"goal": "g", "task_type": "other"},
			"outcome": args{"success": true, "summary": "s"},
			"actions": []any{
				args{"type": "file_edit", "file_path": "/src/auth.ts"},
				args{"type": "file_edit", "file_path": "/src/middleware/auth.ts"},
			},
			"perception": args{"relevant_files": []any{args{"path": "/src/api.ts", "relevance": "r"}}},
		})
		require.Equal(t, []string{"/src/auth.ts", "/src/middleware/auth.ts", "/src/api.ts"},
			texts(out["indexed_files"]))
	}},
	{14, "files twice, one operation", "each file once", func(t *testing.T, p *place) {
		out := p.do(t, "store", args{
			"intent":  args{"goal": "g", "task_type": "other"},
			"outcome": args{"success": true, "summary": "s"},
			"actions": []any{
				args{"type": "file_read", "file_path": "src/auth.ts"},
				args{"type": "file_edit", "file_path": "src/auth.ts"},
			},
			"perception": args{"relevant_files": []any{
				args{"path": "src/auth.ts", "relevance": "r"}, args{"path": "src/Other.ts", "relevance": "r"},
			}},
		})
		require.Equal(t, []string{"src/auth.ts", "src/Other.ts"}, texts(out["indexed_files"]))
	}},
	{15, "importance 0 becomes 0.5", "0 is 0", func(t *testing.T, p *place) {
		id := p.store(t, "g", true, args{"importance": 0})
		require.EqualValues(t, 0, p.whole(t, id)["importance"])
		p.do(t, "update_memory", args{"memory_id": id, "importance": 1})
		p.do(t, "update_memory", args{"memory_id": id, "importance": 0})
		require.EqualValues(t, 0, p.whole(t, id)["importance"])
	}},
	{16, "a validation error", "INVALID_QUERY", func(t *testing.T, p *place) {
		f := p.refused(t, fault.InvalidQuery, "store", args{
			"intent":     args{"goal": "g", "task_type": "other"},
			"outcome":    args{"success": true, "summary": "s"},
			"importance": 1.5,
		})
		require.Equal(t, "importance", f.Details["argument"])
	}},
	{17, "an enum error at intent.task_type", "INVALID_QUERY at that path", func(t *testing.T, p *place) {
		for _, intent := range []args{{"goal": "g", "task_type": "bugfix"}, {"goal": "g"}} {
			f := p.refused(t, fault.InvalidQuery, "store", args{
				"intent": intent, "outcome": args{"success": true, "summary": "s"},
			})
			require.Equal(t, "intent.task_type", f.Details["path"])
		}
	}},
	{18, "unknown keys are dropped", "INVALID_QUERY, nothing is stored", func(t *testing.T, p *place) {
		p.refused(t, fault.InvalidQuery, "store", args{
			"intent":  args{"goal": "g", "task_type": "other", "contxt": "c"},
			"outcome": args{"success": true, "summary": "s"}, "foo": 1,
		})
		require.EqualValues(t, 0, p.do(t, "list", args{})["total"])
	}},
	{19, "two edges", same, func(t *testing.T, p *place) {
		m1 := p.store(t, "one", true)
		id := p.store(t, "two", true, args{"links": args{"caused_by": []string{m1}, "related_to": []string{m1}}})
		links := p.links(t, id)
		require.Equal(t, []string{m1}, texts(links["caused_by"]))
		require.Equal(t, []string{m1}, texts(links["related_to"]))
	}},
	{20, "an error, and the memory remains", "NOT_FOUND, nothing is stored", func(t *testing.T, p *place) {
		f := p.refused(t, fault.NotFound, "store", args{
			"intent":  args{"goal": "g", "task_type": "other"},
			"outcome": args{"success": true, "summary": "s"},
			"links":   args{"caused_by": []string{"mem_nope"}},
		})
		require.Equal(t, []string{"mem_nope"}, f.Details["missing"])
		require.EqualValues(t, 0, p.do(t, "identity", args{"action": "info"})["memory_count"])
	}},
	{21, "led_to and blocked_by are dropped", "both are edges", func(t *testing.T, p *place) {
		m1 := p.store(t, "one", true)
		id := p.store(t, "two", true, args{"links": args{"led_to": []string{m1}, "blocked_by": []string{m1}}})
		links := p.links(t, id)
		require.Equal(t, []string{m1}, texts(links["led_to"]))
		require.Equal(t, []string{m1}, texts(links["blocked_by"]))
		require.Equal(t, []string{id}, texts(p.links(t, m1)["caused_by"]))
		require.Equal(t, []string{id}, texts(p.links(t, m1)["blocks"]))
	}},
	{22, "the caller is counted", "the subagent is", func(t *testing.T, p *place) {
		ann := p.as(person("ann", "", auth.Editor))
		main := ann.do(t, "identity", args{"action": "register"})["agent_id"].(string)
		sub := ann.do(t, "identity", args{"action": "register", "type": "subagent", "parent_id": main})["agent_id"]
		acting := p.as(person("ann", main, auth.Editor))
		id := acting.store(t, "g", true, args{"target_agent_id": sub})
		require.EqualValues(t, 1, acting.do(t, "identity", args{"action": "info", "agent_id": sub})["memory_count"])
		require.EqualValues(t, 0, acting.do(t, "list", args{})["total"])
		require.Equal(t, main, acting.whole(t, id)["written_by"])
	}},
	{23, "stored for anybody", "PERMISSION_DENIED", func(t *testing.T, p *place) {
		ann, bob := p.as(person("ann", "", auth.Editor)), p.as(person("bob", "", auth.Editor))
		other := bob.do(t, "identity", args{"action": "register"})["agent_id"]
		ann.refused(t, fault.PermissionDenied, "store", args{
			"intent":  args{"goal": "g", "task_type": "other"},
			"outcome": args{"success": true, "summary": "s"}, "target_agent_id": other,
		})
	}},
	{24, "the document's example", same, func(t *testing.T, p *place) {
		out := p.do(t, "store", document("store"))
		require.Equal(t, []string{"src/auth/interceptor.ts"}, texts(out["indexed_files"]))
		require.Equal(t, []string{"auth", "jwt", "interceptor"}, texts(p.whole(t, out["memory_id"])["tags"]))
	}},
}

// whole is a memory at the depth complete.
func (p *place) whole(t *testing.T, id any) args {
	_, out := p.recall(t, args{"memory_id": id, "depth": "complete"})
	return list(out, "memories")[0]
}

// links are the links of a memory.
func (p *place) links(t *testing.T, id any) args {
	_, out := p.recall(t, args{"memory_id": id, "include_links": true})
	return list(out, "memories")[0]["links"].(args)
}

var updateCases = []behaviour{
	{25, "patched deep, lists replaced", same, func(t *testing.T, p *place) {
		id := p.store(t, "goal", true, file("src/old.ts"), tagged("a"), args{"reasoning": args{
			"approach_chosen": "approach", "why_chosen": "why",
		}})
		p.do(t, "update_memory", args{
			"memory_id": id, "intent": args{"context": "c"}, "reasoning": args{"why_chosen": "because"},
			"actions": file("src/new.ts")["actions"], "tags": []string{"b"},
		})
		m := p.whole(t, id)
		require.Equal(t, args{"goal": "goal", "task_type": "bug_fix", "context": "c"}, m["intent"])
		require.Equal(t, args{"approach_chosen": "approach", "why_chosen": "because"}, m["reasoning"])
		require.Equal(t, []string{"b"}, texts(m["tags"]))
		goals, _ := p.recall(t, args{"file": "src/old.ts"})
		require.Empty(t, goals)
		goals, _ = p.recall(t, args{"file": "src/new.ts"})
		require.Equal(t, []string{"goal"}, goals)
	}},
	{26, "lists replaced inside objects", same, func(t *testing.T, p *place) {
		id := p.store(t, "g", true, args{"outcome": args{
			"success": true, "summary": "sa", "learnings": []string{"L1"},
		}})
		p.do(t, "update_memory", args{"memory_id": id, "outcome": args{"learnings": []string{"L2"}}})
		o := p.whole(t, id)["outcome"].(args)
		require.Equal(t, true, o["success"])
		require.Equal(t, "sa", o["summary"])
		require.Equal(t, []string{"L2"}, texts(o["learnings"]))
	}},
	{27, "no updated_at", "memory_id, updated_at, memory", func(t *testing.T, p *place) {
		id := p.store(t, "g", true)
		out := p.do(t, "update_memory", args{"memory_id": id, "tags": []string{"x"}})
		m := out["memory"].(args)
		require.Equal(t, id, out["memory_id"])
		require.Equal(t, id, m["id"])
		require.Greater(t, out["updated_at"], m["created_at"])
	}},
	{28, "a list of links replaces that kind", same, func(t *testing.T, p *place) {
		a := p.store(t, "a", true)
		id := p.store(t, "g", true)
		p.do(t, "update_memory", args{"memory_id": id, "links": args{"caused_by": []string{a}}})
		require.Equal(t, []string{a}, texts(p.links(t, id)["caused_by"]))
		p.do(t, "update_memory", args{"memory_id": id, "links": args{"caused_by": []string{}}})
		require.Empty(t, p.links(t, id)["caused_by"])
	}},
	{29, "supersedes \"\" removes it", same, func(t *testing.T, p *place) {
		a := p.store(t, "a", true)
		for _, none := range []any{"", nil} {
			id := p.store(t, "g", true, args{"links": args{"supersedes": a, "related_to": []string{a}}})
			p.do(t, "update_memory", args{"memory_id": id, "links": args{"supersedes": none}})
			require.Empty(t, p.links(t, id)["supersedes"])
			require.Equal(t, []string{a}, texts(p.links(t, id)["related_to"]))
		}
	}},
	{30, "actions [] drops their files", same, func(t *testing.T, p *place) {
		id := p.store(t, "g", true, file("src/a.ts"))
		p.do(t, "update_memory", args{"memory_id": id, "actions": []any{}})
		goals, _ := p.recall(t, args{"file": "src/a.ts"})
		require.Empty(t, goals)
	}},
	{31, "new relevant files beside those of actions", same, func(t *testing.T, p *place) {
		id := p.store(t, "g", true, file("src/a.ts"))
		p.do(t, "update_memory", args{"memory_id": id, "perception": args{
			"relevant_files": []any{args{"path": "src/b.ts", "relevance": "r"}},
		}})
		require.Equal(t, []string{"src/a.ts", "src/b.ts"}, texts(p.whole(t, id)["files"]))
	}},
	{32, "success_rate stays", "it is counted again", func(t *testing.T, p *place) {
		id := p.store(t, "g", true)
		p.do(t, "update_memory", args{"memory_id": id, "outcome": args{"success": false}})
		require.EqualValues(t, 0, p.do(t, "identity", args{"action": "info"})["success_rate"])
	}},
	{33, "unchanged", same, func(t *testing.T, p *place) {
		id := p.store(t, "g", true)
		before := p.do(t, "list", args{})["meta"].(args)["version"]
		out := p.do(t, "update_memory", args{"memory_id": id})
		require.Equal(t, before, out["meta"].(args)["version"])
		require.Equal(t, out["memory"].(args)["created_at"], out["updated_at"])
	}},
	{34, "error: Memory not found", "NOT_FOUND", func(t *testing.T, p *place) {
		p.refused(t, fault.NotFound, "update_memory", args{"memory_id": "mem_nope"})
	}},
	{35, "anybody may", "another agent's is PERMISSION_DENIED", func(t *testing.T, p *place) {
		ann, bob := p.as(person("ann", "", auth.Editor)), p.as(person("bob", "", auth.Editor))
		id := ann.store(t, "g", true)
		bob.refused(t, fault.PermissionDenied, "update_memory", args{"memory_id": id, "tags": []string{"x"}})
		bob.refused(t, fault.PermissionDenied, "delete_memory", args{"memory_id": id})
		other := bob.store(t, "o", true)
		bob.do(t, "link", args{"source_id": other, "target_id": id, "link_type": "caused_by"})
		bob.refused(t, fault.PermissionDenied, "link",
			args{"source_id": id, "target_id": other, "link_type": "related_to"})
	}},
}

var recallCases = []behaviour{
	{36, "unknown id: empty, confidence 0", "NOT_FOUND; a known one is certain", func(t *testing.T, p *place) {
		id := p.store(t, "g", true)
		_, out := p.recall(t, args{"memory_id": id})
		require.Equal(t, "direct", out["query_strategy_used"])
		require.EqualValues(t, 1, out["confidence"])
		p.refused(t, fault.NotFound, "recall", args{"memory_id": "mem_nope", "depth": "summary"})
	}},
	{37, "file, 0.95", "file, by how much of the path is shared", func(t *testing.T, p *place) {
		p.store(t, "g", true, file("/src/auth/login.ts"))
		goals, out := p.recall(t, args{"file": "login.ts"})
		require.Equal(t, []string{"g"}, goals)
		require.Equal(t, "file", out["query_strategy_used"])
		require.Less(t, out["confidence"], 0.95)
		_, out = p.recall(t, args{"file": "/src/auth/login.ts"})
		require.EqualValues(t, 0.95, out["confidence"])
	}},
	{38, "auth.go finds oauth.go", "it does not", func(t *testing.T, p *place) {
		p.store(t, "oauth", true, file("src/oauth.go"))
		p.store(t, "auth", true, file("src/auth.go"))
		goals, _ := p.recall(t, args{"file": "auth.go"})
		require.Equal(t, []string{"auth"}, goals)
	}},
	{39, "a pattern finds nothing", "it finds what fits", func(t *testing.T, p *place) {
		p.store(t, "deep", true, file("src/x/a.ts"))
		p.store(t, "flat", true, file("src/a.ts"))
		p.store(t, "other", true, file("src/a.go"))
		goals, _ := p.recall(t, args{"file": "src/*.ts"})
		require.Equal(t, []string{"flat"}, goals)
		goals, _ = p.recall(t, args{"file": "src/**/*.ts"})
		require.Equal(t, []string{"flat", "deep"}, goals)
		goals, _ = p.recall(t, args{"file": "src/"})
		require.Equal(t, []string{"other", "flat", "deep"}, goals)
	}},
	{40, "src/% finds nothing", same, func(t *testing.T, p *place) {
		p.store(t, "g", true, file("src/a.ts"))
		goals, _ := p.recall(t, args{"file": "src/%"})
		require.Empty(t, goals)
	}},
	{41, "a longer path finds nothing", "it finds what it ends in", func(t *testing.T, p *place) {
		p.store(t, "g", true, file("src/a/auth.ts"))
		_, out := p.recall(t, args{"file": "/repo/src/a/auth.ts", "explain": true})
		m := list(out, "memories")[0]
		require.Equal(t, "pattern", m["explanation"].(args)["match"])
		require.Equal(t, "src/a/auth.ts", m["explanation"].(args)["file"])
	}},
	{42, "filters are ignored beside a file", "they hold", func(t *testing.T, p *place) {
		p.store(t, "g", false, file("src/a.ts"))
		goals, out := p.recall(t, args{
			"file": "src/a.ts", "success_only": true, "agent_id": "nope", "task_type": "refactor",
		})
		require.Empty(t, goals)
		require.Equal(t, "NO_RESULTS", out["warned"])
	}},
	{43, "tags are ignored", "all of them must be there", func(t *testing.T, p *place) {
		p.store(t, "both", true, tagged("auth", "jwt"))
		p.store(t, "one", true, tagged("auth"))
		goals, _ := p.recall(t, args{"task_type": "bug_fix", "tags": []string{"auth", "jwt"}})
		require.Equal(t, []string{"both"}, goals)
	}},
	{44, "any recent memories", "nothing, NO_RESULTS", func(t *testing.T, p *place) {
		p.store(t, "fix login", true)
		goals, out := p.recall(t, args{"intent": "nothing like it"})
		require.Empty(t, goals)
		require.EqualValues(t, 0, out["confidence"])
		require.Equal(t, "NO_RESULTS", out["warned"])
	}},
	{45, "ignored", "found by words, less than certain", func(t *testing.T, p *place) {
		p.store(t, "Add rate limiting to API", true)
		_, out := p.recall(t, args{"intent": "implement rate limiting"})
		require.Len(t, list(out, "memories"), 1)
		require.Equal(t, "pattern", out["query_strategy_used"])
		require.Less(t, out["confidence"], 1.0)
		require.Equal(t, true, list(out, "memories")[0]["fuzzy"])
	}},
	{46, "recent memories", "never what has none of the words", func(t *testing.T, p *place) {
		p.store(t, "Cache the tokens", true)
		p.store(t, "Rename a button", true)
		goals, _ := p.recall(t, args{"query": "token caching"})
		require.Equal(t, []string{"Cache the tokens"}, goals)
	}},
	{47, "by vectors", "without vectors EMBEDDING_UNAVAILABLE", func(t *testing.T, p *place) {
		p.refused(t, fault.EmbeddingUnavailable, "recall",
			args{"query": "auth", "strategy": "semantic", "depth": "summary"})
	}},
	{48, "nothing, semantic", "the strategy semantic needs words", func(t *testing.T, p *place) {
		p.refused(t, fault.InvalidQuery, "recall",
			args{"task_type": "other", "strategy": "semantic", "depth": "summary"})
	}},
	{49, "only failures_only is honoured", "every filter is", func(t *testing.T, p *place) {
		p.store(t, "auth works", true)
		p.store(t, "auth fails", false, tagged("x"))
		goals, _ := p.recall(t, args{"query": "auth", "failures_only": true})
		require.Equal(t, []string{"auth fails"}, goals)
		for _, filter := range []args{
			{"task_type": "refactor"}, {"tags": []string{"y"}}, {"agent_id": "nobody"}, {"since": 4e9},
		} {
			filter["query"] = "auth"
			goals, _ := p.recall(t, filter)
			require.Empty(t, goals, "%v", filter)
		}
	}},
	{50, "only the file counts", "the file, then words", func(t *testing.T, p *place) {
		p.store(t, "auth elsewhere", true, file("src/b.ts"))
		p.store(t, "here", true, file("src/a.ts"))
		goals, out := p.recall(t, args{"file": "src/a.ts", "query": "auth"})
		require.Equal(t, []string{"here", "auth elsewhere"}, goals)
		require.Equal(t, "file+pattern", out["query_strategy_used"])
		require.EqualValues(t, 2, out["total_matches"])
	}},
	{51, "exact is ignored", "exact looks at no words", func(t *testing.T, p *place) {
		p.store(t, "auth", true)
		goals, out := p.recall(t, args{"query": "auth", "strategy": "exact"})
		require.Empty(t, goals)
		require.Equal(t, "NO_RESULTS", out["warned"])
		goals, _ = p.recall(t, args{"query": "nothing", "strategy": "exact", "task_type": "bug_fix"})
		require.Equal(t, []string{"auth"}, goals)
		p.store(t, "cache", false)
		for only, want := range map[string]string{"success_only": "auth", "failures_only": "cache"} {
			goals, out = p.recall(t, args{"query": "nothing", "strategy": "exact", only: true})
			require.Equal(t, []string{want}, goals, only)
			require.Equal(t, "query", out["query_strategy_used"])
		}
	}},
	{52, "six keys at summary", same, func(t *testing.T, p *place) {
		id := p.store(t, "g", true)
		_, out := p.recall(t, args{"memory_id": id})
		require.ElementsMatch(t, []string{"id", "agent_id", "created_at", "confidence", "intent", "outcome"},
			keys(list(out, "memories")[0]))
	}},
	{53, "actions only at complete", "at full too, without their results", func(t *testing.T, p *place) {
		id := p.store(t, "g", true, args{
			"outcome":    args{"success": true, "summary": "s", "learnings": []string{"l"}},
			"reasoning":  args{"approach_chosen": "a", "why_chosen": "w"},
			"perception": args{"patterns_noticed": []string{"p"}},
			"actions": []any{args{
				"type": "command_run", "command": "make", "diff_hash": "h",
				"result": args{"success": true, "output_summary": "ok"},
			}},
		})
		has := func(depth string) args {
			_, out := p.recall(t, args{"memory_id": id, "depth": depth})
			return list(out, "memories")[0]
		}
		require.Contains(t, has("outcome"), "learnings")
		require.NotContains(t, has("outcome"), "reasoning")
		require.Contains(t, has("reasoning"), "reasoning")
		require.NotContains(t, has("reasoning"), "perception")
		require.Contains(t, has("full"), "perception")
		require.Equal(t, []any{args{"type": "command_run", "command": "make"}}, has("full")["actions"])
		require.Contains(t, list(has("complete"), "actions")[0], "result")
	}},
	{54, "links only when deep", "at every depth", func(t *testing.T, p *place) {
		a := p.store(t, "a", true)
		id := p.store(t, "b", true, args{"links": args{"caused_by": []string{a}}})
		for _, depth := range []string{"summary", "outcome", "reasoning"} {
			_, out := p.recall(t, args{"memory_id": id, "depth": depth, "include_links": true})
			require.Contains(t, list(out, "memories")[0], "links")
		}
	}},
	{55, "so many tokens a memory", "bytes of the answer / 4", func(t *testing.T, p *place) {
		id := p.store(t, "g", true)
		_, short := p.recall(t, args{"memory_id": id})
		_, long := p.recall(t, args{"memory_id": id, "depth": "complete"})
		require.Greater(t, long["token_estimate"], short["token_estimate"])
	}},
	{56, "total_matches 5", "12", func(t *testing.T, p *place) {
		for i := range 12 {
			p.store(t, fmt.Sprint("g", i), true)
		}
		_, out := p.recall(t, args{"task_type": "bug_fix"})
		require.Len(t, list(out, "memories"), 5)
		require.EqualValues(t, 12, out["total_matches"])
	}},
	{57, "limit 0 is 5", "INVALID_QUERY", func(t *testing.T, p *place) {
		p.store(t, "a", true)
		p.store(t, "b", true)
		goals, _ := p.recall(t, args{"task_type": "bug_fix", "limit": 1})
		require.Equal(t, []string{"b"}, goals)
		p.refused(t, fault.InvalidQuery, "recall", args{"task_type": "bug_fix", "limit": 0, "depth": "summary"})
	}},
	{58, "success wins", "INVALID_QUERY", func(t *testing.T, p *place) {
		p.refused(t, fault.InvalidQuery, "recall", args{
			"task_type": "bug_fix", "success_only": true, "failures_only": true, "depth": "summary",
		})
	}},
	{59, "both ends are in", same, func(t *testing.T, p *place) {
		id := p.store(t, "g", true)
		at := p.whole(t, id)["created_at"]
		goals, _ := p.recall(t, args{"task_type": "bug_fix", "since": at, "before": at})
		require.Equal(t, []string{"g"}, goals)
	}},
	{60, "seconds are milliseconds", "they are seconds", func(t *testing.T, p *place) {
		p.store(t, "g", true)
		goals, _ := p.recall(t, args{"task_type": "bug_fix", "before": 1705363200})
		require.Empty(t, goals)
		goals, _ = p.recall(t, args{"task_type": "bug_fix", "since": 1705363200})
		require.Equal(t, []string{"g"}, goals)
		goals, _ = p.recall(t, args{"task_type": "bug_fix", "since": "2024-01-16T00:00:00Z"})
		require.Equal(t, []string{"g"}, goals)
		p.refused(t, fault.InvalidQuery, "recall", args{"task_type": "bug_fix", "since": "soon", "depth": "summary"})
	}},
	{61, "a lookup counts twice", "once, seen within a minute", func(t *testing.T, p *place) {
		id := p.store(t, "g", true)
		p.recall(t, args{"memory_id": id})
		p.recall(t, args{"task_type": "bug_fix"})
		p.pass(2 * time.Minute)
		require.EqualValues(t, 2, p.whole(t, id)["access_count"])
		p.serve(t)
		require.EqualValues(t, 3, list(p.do(t, "list", args{"sort": "access_count"}), "memories")[0]["access_count"])
	}},
	{62, "an error", "INVALID_QUERY", func(t *testing.T, p *place) {
		p.refused(t, fault.InvalidQuery, "recall", args{"task_type": "bug_fix"})
		p.refused(t, fault.InvalidQuery, "recall", args{"task_type": "bug_fix", "depth": "tiny"})
		p.refused(t, fault.InvalidQuery, "recall", args{"depth": "summary", "limit": 5})
	}},
	{63, "needs no identity", same, func(t *testing.T, p *place) {
		p.store(t, "g", true)
		goals, _ := p.as(person("eve", "", auth.Reader)).recall(t, args{"task_type": "bug_fix"})
		require.Equal(t, []string{"g"}, goals)
	}},
}

func keys(m args) []string {
	var all []string
	for name := range m {
		all = append(all, name)
	}
	return all
}

// chain stores memories of which each was caused by the one before, and returns their ids.
func (p *place) chain(t *testing.T, n int) []string {
	var ids []string
	for i := range n {
		var more args
		if i > 0 {
			more = args{"links": args{"caused_by": ids[i-1:]}}
		}
		ids = append(ids, p.store(t, fmt.Sprint("m", i), true, more))
	}
	return ids
}

// traced is a trace as texts: goal, relation and distance.
func (p *place) traced(t *testing.T, in args) (all []string, out args) {
	in["depth"] = "summary"
	out = p.do(t, "trace", in)
	all = []string{}
	for _, n := range list(out, "chain") {
		goal := n["memory"].(args)["intent"].(args)["goal"]
		all = append(all, fmt.Sprintf("%v %v %v", goal, n["relationship"], n["distance"]))
	}
	return all, out
}

var linkCases = []behaviour{
	{64, "causes, effects, both", same, func(t *testing.T, p *place) {
		ids := p.chain(t, 3)
		all, _ := p.traced(t, args{"memory_id": ids[2], "direction": "causes"})
		require.Equal(t, []string{"m1 caused_by 1", "m0 caused_by 2"}, all)
		all, _ = p.traced(t, args{"memory_id": ids[0], "direction": "effects"})
		require.Equal(t, []string{"m1 led_to 1", "m2 led_to 2"}, all)
		all, out := p.traced(t, args{"memory_id": ids[1], "direction": "both"})
		require.Equal(t, []string{"m0 caused_by 1", "m2 led_to 1"}, all)
		require.EqualValues(t, 3, out["total_nodes"])
	}},
	{65, "max_depth 0 is 3", "INVALID_QUERY", func(t *testing.T, p *place) {
		ids := p.chain(t, 5)
		all, _ := p.traced(t, args{"memory_id": ids[4], "direction": "causes"})
		require.Len(t, all, 3)
		all, _ = p.traced(t, args{"memory_id": ids[4], "direction": "causes", "max_depth": 10})
		require.Len(t, all, 4)
		p.refused(t, fault.InvalidQuery, "trace",
			args{"memory_id": ids[4], "direction": "causes", "max_depth": 0, "depth": "summary"})
		p.refused(t, fault.InvalidQuery, "trace",
			args{"memory_id": ids[4], "direction": "causes", "depth": "full"})
	}},
	{66, "a cycle ends", same, func(t *testing.T, p *place) {
		ids := p.chain(t, 2)
		p.do(t, "link", args{"source_id": ids[0], "target_id": ids[1], "link_type": "caused_by"})
		all, out := p.traced(t, args{"memory_id": ids[0], "direction": "both"})
		require.Equal(t, []string{"m1 caused_by 1"}, all)
		require.EqualValues(t, 2, out["total_nodes"])
	}},
	{67, "each once, at the least distance", same, func(t *testing.T, p *place) {
		r0 := p.store(t, "r0", true)
		x := p.store(t, "x", true, args{"links": args{"caused_by": []string{r0}}})
		y := p.store(t, "y", true, args{"links": args{"caused_by": []string{x}}})
		z := p.store(t, "z", true, args{"links": args{"caused_by": []string{y, r0}}})
		all, _ := p.traced(t, args{"memory_id": z, "direction": "causes"})
		require.Equal(t, []string{"r0 caused_by 1", "y caused_by 1", "x caused_by 2"}, all)
	}},
	{68, "led_to is never followed", "it is", func(t *testing.T, p *place) {
		b, c := p.store(t, "b", true), p.store(t, "c", true)
		p.do(t, "link", args{"source_id": b, "target_id": c, "link_type": "led_to"})
		all, _ := p.traced(t, args{"memory_id": b, "direction": "effects"})
		require.Equal(t, []string{"c led_to 1"}, all)
	}},
	{69, "created false, another id", "the same id", func(t *testing.T, p *place) {
		a, b := p.store(t, "a", true), p.store(t, "b", true)
		first := p.do(t, "link", args{"source_id": a, "target_id": b, "link_type": "led_to"})
		again := p.do(t, "link", args{"source_id": a, "target_id": b, "link_type": "led_to"})
		inverse := p.do(t, "link", args{"source_id": b, "target_id": a, "link_type": "caused_by"})
		require.Equal(t, true, first["created"])
		for _, out := range []args{again, inverse} {
			require.Equal(t, false, out["created"])
			require.Equal(t, first["link_id"], out["link_id"])
		}
	}},
	{70, "a self link is made", "INVALID_QUERY; a missing end NOT_FOUND", func(t *testing.T, p *place) {
		a := p.store(t, "a", true)
		p.refused(t, fault.InvalidQuery, "link", args{"source_id": a, "target_id": a, "link_type": "related_to"})
		p.refused(t, fault.NotFound, "link", args{"source_id": a, "target_id": "mem_x", "link_type": "related_to"})
		p.refused(t, fault.NotFound, "link", args{"source_id": "mem_x", "target_id": a, "link_type": "related_to"})
	}},
	{71, "total 1, session_id is ignored", "total 8, the session counts", func(t *testing.T, p *place) {
		for i := range 8 {
			p.store(t, fmt.Sprint("g", i), true)
		}
		out := p.do(t, "list", args{"limit": 1})
		require.Len(t, list(out, "memories"), 1)
		require.EqualValues(t, 8, out["total"])
		require.EqualValues(t, 0, p.do(t, "list", args{"session_id": "other"})["total"])
	}},
}

// grouped stores the memories of the cases about chapters.
func (p *place) grouped(t *testing.T) (ids map[string]string) {
	ids = map[string]string{}
	for _, g := range []struct {
		name string
		tags []string
	}{
		{"g1", []string{"auth", "jwt"}}, {"g2", []string{"auth", "jwt"}}, {"g3", []string{"auth"}},
		{"g4", []string{"jwt"}}, {"g5", nil}, {"g6", nil}, {"g7", nil},
	} {
		ids[g.name] = p.store(t, g.name, true, tagged(g.tags...),
			args{"intent": args{"goal": g.name, "task_type": "refactor"}})
	}
	return ids
}

var chapterCases = []behaviour{
	{72, "errors", "INVALID_QUERY and NOT_FOUND", func(t *testing.T, p *place) {
		p.refused(t, fault.InvalidQuery, "create_chapter", args{})
		p.refused(t, fault.NotFound, "create_chapter", args{"memory_ids": []string{"mem_nope"}})
	}},
	{73, "a chapter of those that are there", "and the others are named", func(t *testing.T, p *place) {
		ids := p.grouped(t)
		out := p.do(t, "create_chapter", args{
			"memory_ids": []string{ids["g3"], "mem_nope", ids["g1"]}, "title": "T", "tags": []string{"perf"},
		})
		c := list(out, "chapters")[0]
		require.Equal(t, "Goals: g1; g3. Outcomes: g1 done; g3 done", out["summary"])
		require.Equal(t, []string{"perf", "auth", "jwt"}, texts(c["tags"]))
		require.Equal(t, []string{"auth", "jwt"}, texts(c["topics"]))
		require.EqualValues(t, 2, out["memory_count"])
		require.Equal(t, "manual", out["origin"])
		require.Less(t, out["start_ts"], out["end_ts"])
		require.Equal(t, []string{"mem_nope"}, texts(out["skipped_ids"]))
	}},
	{74, "three chapters, each time", "three, once", func(t *testing.T, p *place) {
		p.grouped(t)
		out := p.do(t, "create_chapter", args{"auto_detect": true})
		var titles []string
		for _, c := range list(out, "chapters") {
			titles = append(titles, fmt.Sprintf("%v %v", c["title"], c["memory_count"]))
		}
		require.Equal(t, []string{"Topic: task:refactor 3", "Topic: jwt 3", "Topic: auth 3"}, titles)
		require.EqualValues(t, 3, out["total_created"])
		again := p.do(t, "create_chapter", args{"auto_detect": true})
		require.EqualValues(t, 0, again["total_created"])
		require.Equal(t, out["chapter_id"], again["chapter_id"])
	}},
	{75, "tags alone are an error", "a chapter of all that have them", func(t *testing.T, p *place) {
		p.grouped(t)
		out := p.do(t, "create_chapter", args{"tags": []string{"auth"}})
		require.Equal(t, "auto", out["origin"])
		require.EqualValues(t, 3, out["memory_count"])
	}},
	{76, "-", "too few are INVALID_QUERY", func(t *testing.T, p *place) {
		p.grouped(t)
		in := args{"tags": []string{"auth", "jwt"}, "min_memories": 3}
		f := p.refused(t, fault.InvalidQuery, "create_chapter", in)
		require.Equal(t, "not_enough_memories", f.Details["reason"])
		require.EqualValues(t, 2, f.Details["found"])
		in["min_memories"] = 2
		require.EqualValues(t, 2, p.do(t, "create_chapter", in)["memory_count"])

		later := p.clock().Add(time.Hour)
		p.pass(2 * time.Hour)
		p.store(t, "later", true, tagged("auth", "jwt"))
		in["min_memories"] = 1
		in["since"] = later.Format(time.RFC3339)
		require.EqualValues(t, 1, p.do(t, "create_chapter", in)["memory_count"], "only those since")
		delete(in, "since")
		in["before"] = later.Format(time.RFC3339)
		out := p.do(t, "create_chapter", in)
		require.EqualValues(t, 2, out["memory_count"], "only those before")
		require.EqualValues(t, 0, out["total_created"], "it is the chapter that was made first")
		in["since"] = later.Format(time.RFC3339)
		in["before"] = later.Add(time.Minute).Format(time.RFC3339)
		f = p.refused(t, fault.InvalidQuery, "create_chapter", in)
		require.Contains(t, f.Message, "in this time")
		for _, name := range []string{"since", "before"} {
			f = p.refused(t, fault.InvalidQuery, "create_chapter",
				args{"memory_ids": []string{"mem_a"}, name: later.Format(time.RFC3339)})
			require.Equal(t, "memory_ids", f.Details["argument"])
		}
	}},
	{77, "errors; one chapter is enough if asked", same, func(t *testing.T, p *place) {
		p.refused(t, fault.InvalidQuery, "synthesize", args{})
		p.grouped(t)
		p.do(t, "create_chapter", args{"tags": []string{"auth"}})
		p.refused(t, fault.InvalidQuery, "synthesize", args{})
		out := p.do(t, "synthesize", args{"min_chapters": 1})
		require.True(t, strings.HasPrefix(out["summary"].(string), "Synthesis across 1 chapters: "), out["summary"])
	}},
	{78, "bestiary is a best practice", "advice is", func(t *testing.T, p *place) {
		p.store(t, "g", true, tagged("x"), args{"outcome": args{"success": true, "summary": "s", "learnings": []string{
			"Always validate", "Avoid X", "You should cache", "This is the bestiary note",
		}}})
		p.do(t, "create_chapter", args{"tags": []string{"x"}, "min_memories": 1})
		out := p.do(t, "synthesize", args{"min_chapters": 1})
		require.Equal(t, []string{"Always validate", "Avoid X", "You should cache"}, texts(out["best_practices"]))
		require.Len(t, out["insights"], 4)
	}},
	{79, "tags of one chapter are patterns", "of two chapters", func(t *testing.T, p *place) {
		ids := p.grouped(t)
		p.do(t, "create_chapter", args{"memory_ids": []string{ids["g1"]}})
		require.Empty(t, p.do(t, "synthesize", args{"min_chapters": 1})["patterns"])
		p.do(t, "create_chapter", args{"memory_ids": []string{ids["g2"]}})
		require.Equal(t, []string{"auth", "jwt"}, texts(p.do(t, "synthesize", args{})["patterns"]))
	}},
	{80, "wisdom by id, tags, with chapters", same, func(t *testing.T, p *place) {
		ids := p.grouped(t)
		for _, g := range []string{"g1", "g2"} {
			p.do(t, "create_chapter", args{"memory_ids": []string{ids[g]}})
		}
		id := p.do(t, "synthesize", args{})["wisdom_id"]
		p.refused(t, fault.NotFound, "recall_wisdom", args{"wisdom_id": "wisdom_nope"})
		out := p.do(t, "recall_wisdom", args{"tags": []string{"auth"}, "include_chapters": true})
		require.Equal(t, id, list(out, "wisdom")[0]["id"])
		require.Len(t, list(out, "wisdom")[0]["chapter_ids"], 2)
		require.EqualValues(t, 0, p.do(t, "recall_wisdom", args{"tags": []string{"none"}})["total"])
		require.EqualValues(t, 1, p.do(t, "recall_wisdom", args{"query": "synthesis"})["total"])
	}},
	{81, "deleting leaves what is made of it", same, func(t *testing.T, p *place) {
		ids := p.grouped(t)
		chapter := p.do(t, "create_chapter", args{"tags": []string{"auth"}})["chapter_id"]
		p.do(t, "synthesize", args{"min_chapters": 1})
		require.Equal(t, true, p.do(t, "delete_memory", args{"memory_id": ids["g1"]})["deleted"])
		require.Equal(t, false, p.do(t, "delete_memory", args{"memory_id": ids["g1"]})["deleted"])
		require.EqualValues(t, 2, list(p.do(t, "list_chapters", args{}), "chapters")[0]["memory_count"])
		require.Equal(t, true, p.do(t, "delete_chapter", args{"chapter_id": chapter})["deleted"])
		require.Equal(t, false, p.do(t, "delete_chapter", args{"chapter_id": chapter})["deleted"])
		out := p.do(t, "recall_wisdom", args{})
		require.EqualValues(t, 1, out["total"])
		id := list(out, "wisdom")[0]["id"]
		require.Equal(t, true, p.do(t, "delete_wisdom", args{"wisdom_id": id})["deleted"])
		require.Equal(t, false, p.do(t, "delete_wisdom", args{"wisdom_id": id})["deleted"])
		require.EqualValues(t, 6, p.do(t, "list", args{})["total"])
	}},
}

var fileCases = []behaviour{
	{82, "the second call is suppressed", "the same again", func(t *testing.T, p *place) {
		for i := range 12 {
			p.store(t, fmt.Sprint("g", i), i%4 != 3, file("src/many.go"))
		}
		first := p.do(t, "check_file", args{"file": "src/many.go"})
		require.Equal(t, "[RUM] many.go has 10 memories (3 failed)", first["message"])
		require.Len(t, first["memories"], 3)
		require.EqualValues(t, 12, first["total"])
		again := p.do(t, "check_file", args{"file": "src/many.go"})
		delete(first, "meta")
		delete(again, "meta")
		require.Equal(t, first, again)
	}},
}

// document is an example of the document.
func document(name string) args {
	return map[string]args{"store": {
		"intent": args{
			"goal": "Fix JWT token expiry causing logout", "task_type": "bug_fix",
			"context": "Users reporting random logouts",
		},
		"perception": args{"observations": []any{args{
			"what": "Token refresh logic missing", "where": "src/auth/interceptor.ts",
			"significance": "Root cause of issue",
		}}},
		"reasoning": args{
			"approach_chosen": "Add refresh interceptor with retry queue",
			"why_chosen":      "Handles concurrent requests, matches existing patterns",
			"alternatives_considered": []any{args{
				"approach": "Increase token TTL", "why_rejected": "Security concern",
			}},
		},
		"actions": []any{args{
			"type": "file_edit", "file_path": "src/auth/interceptor.ts", "lines_affected": "45-89",
			"diff_summary": "Added refreshToken() on 401 with request queue",
		}},
		"outcome": args{
			"success": true, "summary": "JWT refresh now works correctly",
			"learnings": []string{"Always handle refresh token expiry too"},
		},
		"tags": []string{"auth", "jwt", "interceptor"},
	}}[name]
}
