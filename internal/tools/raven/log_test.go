package raven_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
)

// An entry is an entry of the log, as JSON.
type entry map[string]any

// pages reads the log in pages of a size, to its end.
func pages(t testing.TB, p *place, limit int, in args) (all []entry) {
	t.Helper()
	for token := ""; ; {
		ask := args{"limit": limit}
		for k, v := range in {
			ask[k] = v
		}
		if token != "" {
			ask["page_token"] = token
		}
		var data struct{ Entries []entry }
		e := p.must(t, "raven_log", ask, &data)
		all = append(all, data.Entries...)
		if e.Meta["has_more"] != true {
			return all
		}
		token, _ = e.Meta["next_page_token"].(string)
		require.NotEmpty(t, token)
	}
}

// imported is an audit log that another Raven wrote.
const imported = `{"ts":"2026-02-27T10:00:00Z","op":"create","entity":"object","id":"people/old","type":"person"}
not a line
{"ts":"2026-02-28T10:00:00Z","op":"create","entity":"trait","id":"due-a3f2b1","parent":"daily/2026-02-28","trait":"due","value":"2026-03-05","content":"Review"}
{"ts":"2026-03-02T11:30:00Z","op":"reindex","file":"people/old.md","modified":["object:people/old"]}
`

// history makes a random history in a vault, of which each step is an hour apart.
func history(t testing.TB, seed uint64, steps int) *place {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	p := open(t, nil)
	at := noon.Add(-time.Duration(steps) * time.Hour)
	p.now = func() time.Time { return at }
	p.serve(t)
	p.write(t, batchVault)
	for i := range steps {
		at = at.Add(time.Hour)
		id := fmt.Sprintf("notes/n%d", r.IntN(4))
		switch r.IntN(7) {
		case 0:
			_, _ = p.call("raven_delete", args{"id": id})
		case 1:
			_, _ = p.call("raven_new", args{"type": "page", "path": id})
		case 2:
			_, _ = p.call("raven_trait_create", args{"trait_type": "due", "value": "today", "parent_id": id, "content": fmt.Sprintf("task %d", i)})
		case 3:
			_, _ = p.call("raven_set", args{"id": id, "set": args{"n": i}})
		case 4:
			p.write(t, map[string]string{".raven/audit.log": imported + strings.Repeat("\n", i%2)})
		case 5:
			_, _ = p.call("raven_batch", args{"operations": operations("ww"), "agent_id": "local", "atomic": false})
		default:
			_, err := p.vault(t).Update(t.Context(), eventlog.Call{Who: eventlog.Who{Principal: "user:ada", Agent: "ed"}, Tool: "raven_reindex", Outside: true},
				outside(id+".md", fmt.Sprintf("# %d\n\n- @due(2026-03-0%d) found\n", i, 1+i%9)))
			require.NoError(t, err)
		}
	}
	return p
}

// naive is the log as the lines of the audit log have it, without what is no line, and each imported line once.
func naive(t testing.TB, p *place) (all []entry) {
	t.Helper()
	seen := map[string]bool{}
	for c, err := range p.vault(t).Commits(t.Context(), 1) {
		require.NoError(t, err)
		var own []entry
		for line := range strings.Lines(string(repo.AuditLines(c))) {
			e := entry{}
			if json.Unmarshal([]byte(line), &e) != nil {
				continue
			}
			if e["version"] == nil {
				if !seen[line] {
					seen[line] = true
					e["imported"], e["version"] = true, eventlog.Version(c.Seq)
					all = append(all, e)
				}
				continue
			}
			own = append(own, e)
		}
		slices.SortStableFunc(own, func(a, b entry) int { return strings.Compare(nameOf(a), nameOf(b)) })
		all = append(all, own...)
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		return timeOf(t, a).Compare(timeOf(t, b))
	})
	return all
}

func nameOf(e entry) string {
	if id, ok := e["id"].(string); ok {
		return id
	}
	file, _ := e["file"].(string)
	return file
}

func timeOf(t testing.TB, e entry) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, e["ts"].(string))
	require.NoError(t, err)
	return at
}

// same are entries as they are compared: the log says beside how they were made.
func same(all []entry) []string {
	lines := []string{}
	for _, e := range all {
		lines = append(lines, fmt.Sprint(e["ts"], e["version"], e["op"], nameOf(e), e["imported"], e["principal"], e["changes"], e["discovered"], e["removed"]))
	}
	return lines
}

// TestLogIsWhole covers that the log has every event of random histories once, in order, whatever the size of its
// pages.
func TestLogIsWhole(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		p := history(t, seed, 40)
		want := same(naive(t, p))
		require.Greater(t, len(want), 20)
		for _, limit := range []int{1, 3, 7, 200} {
			require.Equal(t, want, same(pages(t, p, limit, args{"all": true})), "seed %d limit %d", seed, limit)
		}
		p.serve(t)
		require.Equal(t, want, same(pages(t, p, 50, args{"all": true})), "after a start")
		_, err := p.vault(t).Rebuild(t.Context(), true)
		require.NoError(t, err)
		require.Equal(t, want, same(pages(t, p, 50, args{"all": true})), "after a rebuild")
		require.NoError(t, p.vault(t).Compact(t.Context(), eventlog.Compaction{All: true}))
		p.serve(t)
		require.Equal(t, want, same(pages(t, p, 50, args{"all": true})), "from segments and an image")
	}
}

// TestLogOfThen covers that the log of an earlier version has the entries of that time and nothing else.
func TestLogOfThen(t *testing.T) {
	t.Parallel()
	p := history(t, 11, 30)
	all := naive(t, p)
	for then := uint64(1); then <= p.version(t); then += 3 {
		var want []entry
		for _, e := range all {
			if made, _ := eventlog.ParseVersion(e["version"].(string)); made <= then {
				want = append(want, e)
			}
		}
		require.Equal(t, same(want), same(pages(t, p, 5, args{"all": true, "as_of": eventlog.Version(then)})), "v%d", then)
	}
}

// TestLogFilters covers that each filter, and several together, agree with a scan of the whole log.
func TestLogFilters(t *testing.T) {
	t.Parallel()
	p := history(t, 9, 60)
	all := naive(t, p)
	day := noon.Add(-24 * time.Hour)
	is := func(name, value string) func(entry) bool {
		return func(e entry) bool { return e[name] == value }
	}
	named := func(kind string) func(entry) bool {
		return func(e entry) bool {
			if e["op"] != "reindex" {
				return e["entity"] == kind
			}
			return slices.ContainsFunc(namesIn(e), func(name string) bool { return strings.HasPrefix(name, kind+":") })
		}
	}
	since := func(e entry) bool { return !timeOf(t, e).Before(day) }
	for name, c := range map[string]struct {
		in    args
		holds func(entry) bool
	}{
		"op":       {args{"op": "create", "all": true}, is("op", "create")},
		"reindex":  {args{"op": "reindex", "all": true}, is("op", "reindex")},
		"object":   {args{"entity": "object", "all": true}, named("object")},
		"trait":    {args{"entity": "trait", "all": true}, named("trait")},
		"file":     {args{"entity": "file", "all": true}, named("file")},
		"agent":    {args{"actor": "ed", "all": true}, is("agent", "ed")},
		"person":   {args{"actor": "user:ada", "all": true}, is("principal", "user:ada")},
		"nobody":   {args{"actor": "user:eve", "all": true}, func(entry) bool { return false }},
		"since":    {args{"since": day.Format(time.RFC3339)}, since},
		"until":    {args{"until": day.Format(time.RFC3339), "all": true}, func(e entry) bool { return !timeOf(t, e).After(day) }},
		"a day":    {args{"since": "2026-03-01", "until": "2026-03-01"}, func(e entry) bool { return strings.HasPrefix(e["ts"].(string), "2026-03-01") }},
		"together": {args{"since": day.Format(time.RFC3339), "op": "create", "entity": "trait"}, func(e entry) bool { return since(e) && e["op"] == "create" && e["entity"] == "trait" }},
		"type":     {args{"type": "person", "all": true}, is("type", "person")},
		"settings": {args{"id": "schema.yaml"}, is("id", "schema.yaml")},
	} {
		want := []entry{}
		for _, e := range all {
			if c.holds(e) {
				want = append(want, e)
			}
		}
		require.Equal(t, same(want), same(pages(t, p, 4, c.in)), name)
	}
	for _, e := range pages(t, p, 50, args{"path": "notes", "all": true}) {
		require.Contains(t, fmt.Sprint(e), "notes/")
	}
	var inFiles int
	for i := range 4 {
		inFiles += len(pages(t, p, 50, args{"path": fmt.Sprintf("notes/n%d.md", i), "all": true}))
	}
	require.Len(t, pages(t, p, 50, args{"path": "notes/", "all": true}), inFiles)
}

func namesIn(e entry) (all []string) {
	for _, key := range []string{"discovered", "modified", "removed"} {
		names, _ := e[key].([]any)
		for _, name := range names {
			all = append(all, name.(string))
		}
	}
	return all
}

// TestLogOfOneThing covers the log of an id: of a note, a section, a trait, what is gone, and what is not.
func TestLogOfOneThing(t *testing.T) {
	t.Parallel()
	p := open(t, batchVault)
	p.must(t, "raven_set", args{"id": "people/thor", "set": args{"rating": 4}}, nil)
	p.must(t, "raven_trait_update", args{"id": "call", "set": args{"value": "2026-03-09"}}, nil)
	p.must(t, "raven_delete", args{"id": "people/thor"}, nil)
	ops := func(id string) (all []string) {
		for _, e := range pages(t, p, 1, args{"id": id}) {
			require.Equal(t, id, e["id"])
			all = append(all, e["op"].(string))
		}
		return all
	}
	require.Equal(t, []string{"create", "update", "delete"}, ops("people/thor"))
	require.Equal(t, []string{"create", "update"}, ops("call"))
	require.Equal(t, []string{"create"}, ops("people/freya"))
	require.Equal(t, fault.NotFound, p.answer(t, "raven_log", args{"id": "people/sif"}).Error.Code)
	var data struct{ Entries []entry }
	p.must(t, "raven_log", args{"id": "people/thor", "as_of": "v3"}, &data)
	require.Len(t, data.Entries, 2, "the log of then")
	e := p.must(t, "raven_log", args{"since": "yesterday", "until": "today"}, &data)
	require.Equal(t, "2026-03-01T00:00:00Z", e.Meta["from"])
	require.Equal(t, "2026-03-02T23:59:59Z", e.Meta["to"])
	require.Equal(t, "UTC", e.Meta["timezone"])
	e = p.must(t, "raven_log", args{"since": "tomorrow"}, nil)
	require.Equal(t, "NO_RESULTS", e.Warnings[0].Code)
	for _, in := range []args{{"since": "someday"}, {"until": "never"}, {"op": "make"}, {"entity": "note"}, {"page_token": "x"}} {
		require.Equal(t, fault.InvalidValue, p.answer(t, "raven_log", in).Error.Code, in)
	}
}
