package orient_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// public is a vault as the public fixture of the system behind the document is: five notes.
var public = map[string]string{
	"Welcome.md":             "---\ntitle: Welcome\ntags: [demo, welcome]\naliases: [Home]\ncreated: 2025-01-01\nupdated: 2025-01-02\n---\n# Welcome\n",
	"Notes.md":               "# Notes\n",
	"Journal.md":             "---\ndate: 2025-01-03\n---\ntext\n",
	"Architecture/Search.md": "---\ntitle: Search\ntags: [architecture, search]\naliases: [Find]\n---\n#inline\n",
	"Guide/Design.md":        "---\ntitle: Design\ntags: [design, chunking]\n---\n",
	"Guide/Empty/readme.txt": "no note",
}

// wide is a vault of four folders, of which one has levels below.
var wide = map[string]string{
	"a/1.md": "---\ntype: person\nstatus: active\ntags: [x, '#y']\n---\n", "a/2.md": "---\ntype: [person, Person]\nstatus:\n---\n",
	"b/c/d/e/3.md": "---\ntype: 3\nstatus: true\n---\n", "b/4.md": "---\ntags: '#y'\nstatus: ''\n---\n",
	"c/5.md": "text #inline\n", "d/6.md": "---\ntype: 2025-03-01\nstatus: [open, open]\n---\n", "7.md": "root\n",
	"out/8.md": "---\ntags: [hidden]\n---\n",
}

// A want is a call, and its data as upstream has it and as ours does; where ours is empty, upstream's is ours.
type want struct {
	tool           string
	in             args
	upstream, ours string
	warns          string
}

func (w want) check(t *testing.T, p *place, vault string) {
	t.Helper()
	in := args{"vault": vault}
	for k, v := range w.in {
		in[k] = v
	}
	got, warnings := p.answered(t, w.tool, in)
	if w.ours == "" {
		w.ours = w.upstream
	}
	require.Equal(t, w.ours, got, "%s %v", w.tool, w.in)
	require.Equal(t, strings.Fields(w.warns), codes(warnings), "%s %v", w.tool, w.in)
}

const isFresh = `"indexFreshness":"fresh"}`

// TestPublicFixture are the cases that reference/notes-and-orientation.md B5 derives from the document. A chunk is a
// unit of our search, so upstream's number of them is another.
func TestPublicFixture(t *testing.T) {
	p := open(t)
	p.fresh(t, "main")
	p.write(t, "main", without(public, "Guide/Empty/readme.txt"))
	one := func(path string) string {
		return fmt.Sprintf(`{"path":%q,"noteCount":1,"childFolders":0,"children":[]}`, path)
	}
	root := func(notes int, children ...string) string {
		return fmt.Sprintf(`{"tree":{"path":"","noteCount":%d,"childFolders":2,"children":[%s]},%s`, notes,
			strings.Join(children, ","), isFresh)
	}
	for _, w := range []want{
		{"vault_overview", nil, `{"noteCount":5,"chunkCount":8,"topLevelFolders":[{"path":"Architecture","noteCount":1},` +
			`{"path":"Guide","noteCount":1}],"topTags":[{"tag":"architecture","noteCount":1},{"tag":"chunking","noteCount":1},` +
			`{"tag":"demo","noteCount":1},{"tag":"design","noteCount":1},{"tag":"search","noteCount":1},{"tag":"welcome","noteCount":1}],` +
			`"frontmatterFields":[{"name":"tags","noteCount":3},{"name":"title","noteCount":3},{"name":"aliases","noteCount":2},` +
			`{"name":"created","noteCount":1},{"name":"date","noteCount":1},{"name":"updated","noteCount":1}],` + isFresh, "", ""},
		{"vault_tree", nil, root(5, one("Architecture"), one("Guide")), "", ""},
		{"vault_tree", args{"directOnly": true}, root(3, one("Architecture"), one("Guide")), "", ""},
		{"vault_tree", args{"direct_only": true}, root(3, one("Architecture"), one("Guide")), "", ""},
		{"vault_tree", args{"limit": 1}, root(5), "", "TREE_LIMIT_EXCEEDED"},
		{"vault_tree", args{"limit": 2}, root(5, one("Architecture")), "", "TREE_LIMIT_EXCEEDED"},
		{"vault_tree", args{"limit": 3}, root(5, one("Architecture"), one("Guide")), "", ""},
		{"vault_facets", nil, `{"facets":[{"name":"tags","noteCount":3},{"name":"title","noteCount":3},{"name":"aliases","noteCount":2},` +
			`{"name":"created","noteCount":1},{"name":"date","noteCount":1},{"name":"updated","noteCount":1}],` + isFresh, "", ""},
	} {
		w.check(t, p, "main")
	}
}

func without(texts map[string]string, path string) map[string]string {
	rest := map[string]string{}
	for name, text := range texts {
		if name != path {
			rest[name] = text
		}
	}
	return rest
}

// TestRules are the rules of the document (B4) and what the reference decides where it is silent.
func TestRules(t *testing.T) {
	p := open(t)
	p.fresh(t, "main")
	p.fresh(t, "empty")
	p.write(t, "main", wide)
	node := func(path string, notes, folders int, children ...string) string {
		return fmt.Sprintf(`{"path":%q,"noteCount":%d,"childFolders":%d,"children":[%s]}`, path, notes, folders,
			strings.Join(children, ","))
	}
	tree := func(root string) string { return `{"tree":` + root + "," + isFresh }
	for _, w := range []want{
		// Depth: the root is at 0; where it ends there is no warning, and childFolders tells.
		{"vault_tree", args{"depth": 1}, tree(node("", 7, 4, node("a", 2, 0), node("b", 2, 1), node("c", 1, 0), node("d", 1, 0))), "", ""},
		{"vault_tree", nil, tree(node("", 7, 4, node("a", 2, 0), node("b", 2, 1, node("b/c", 1, 1)), node("c", 1, 0), node("d", 1, 0))), "", ""},
		{"vault_tree", args{"depth": 10, "directOnly": true}, tree(node("", 1, 4, node("a", 2, 0),
			node("b", 1, 1, node("b/c", 0, 1, node("b/c/d", 0, 1, node("b/c/d/e", 1, 0)))), node("c", 1, 0), node("d", 1, 0))), "", ""},
		// Breadth first: the level is cut, not the first branch.
		{"vault_tree", args{"depth": 10, "limit": 5}, tree(node("", 7, 4, node("a", 2, 0), node("b", 2, 1), node("c", 1, 0), node("d", 1, 0))), "", "TREE_LIMIT_EXCEEDED"},
		{"vault_tags", nil, `{"tags":[{"tag":"y","noteCount":2},{"tag":"x","noteCount":1}],` + isFresh, "", ""},
		{"vault_tags", args{"limit": 1}, `{"tags":[{"tag":"y","noteCount":2}],` + isFresh, "", "TAGS_TRUNCATED"},
		{"vault_facets", nil, `{"facets":[{"name":"status","noteCount":5,"values":[{"value":"active","noteCount":1},{"value":"open","noteCount":1},` +
			`{"value":"true","noteCount":1}]},{"name":"type","noteCount":4,"values":[{"value":"person","noteCount":2},{"value":"2025-03-01","noteCount":1},` +
			`{"value":"3","noteCount":1},{"value":"Person","noteCount":1}]},{"name":"tags","noteCount":2}],` + isFresh, "", ""},
		{"vault_facets", args{"limit": 1}, `{"facets":[{"name":"status","noteCount":5,"values":[{"value":"active","noteCount":1},{"value":"open","noteCount":1},` +
			`{"value":"true","noteCount":1}]}],` + isFresh, "", "FACETS_TRUNCATED"},
	} {
		w.check(t, p, "main")
	}
	for _, w := range []want{
		{"vault_overview", nil, `{"noteCount":0,"chunkCount":0,"topLevelFolders":[],"topTags":[],"frontmatterFields":[],` + isFresh, "", ""},
		{"vault_tree", nil, tree(node("", 0, 0)), "", ""},
		{"vault_tags", nil, `{"tags":[],` + isFresh, "", ""},
		{"vault_facets", nil, `{"facets":[],` + isFresh, "", ""},
	} {
		w.check(t, p, "empty")
	}
	p.write(t, "empty", map[string]string{"schema.yaml": "types: {}\n"})
	want{"vault_tags", nil, `{"tags":[],` + isFresh, "", ""}.check(t, p, "empty")
}

// TestRanges covers what is out of range: refused, and never clamped.
func TestRanges(t *testing.T) {
	p := open(t)
	p.fresh(t, "main")
	for name, ranges := range map[string]map[string][2]int{
		"vault_tree": {"depth": {1, 10}, "limit": {1, 500}}, "vault_tags": {"limit": {1, 200}}, "vault_facets": {"limit": {1, 200}},
	} {
		for arg, r := range ranges {
			for _, v := range []any{r[0] - 1, r[1] + 1, -1, 1.5, "2", true, []int{1}} {
				f := p.refused(t, fault.InvalidParameter, name, args{"vault": "main", arg: v})
				require.Equal(t, 2, f.Code.Exit())
				require.Contains(t, f.Message, fmt.Sprintf("from %d to %d", r[0], r[1]))
			}
			for _, v := range r {
				p.answered(t, name, args{"vault": "main", arg: v})
			}
		}
	}
	for _, in := range []args{{"limt": 1}, {"limit": 1}, {"depth": 1}} {
		p.refused(t, fault.InvalidParameter, "vault_overview", in)
	}
	p.refused(t, fault.InvalidParameter, "vault_tree", args{"vault": "main", "directOnly": true, "direct_only": true})
	p.refused(t, fault.NotFound, "vault_tags", args{"vault": "other"})
}

// TestTruncation covers each list that is longer than it may be.
func TestTruncation(t *testing.T) {
	p := open(t)
	p.fresh(t, "main")
	texts := map[string]string{}
	for i := range 55 {
		texts[fmt.Sprintf("f%02d/a.md", i)] = fmt.Sprintf("---\nfield%02d: 1\ntags: [t%d]\n---\n", i, i)
	}
	var values []string
	for i := range 1001 {
		values = append(values, fmt.Sprintf("v%04d", i))
	}
	texts["many.md"] = "---\ntype: [" + strings.Join(values, ", ") + "]\nstatus: [" + strings.Join(values, ", ") + "]\n---\n"
	p.write(t, "main", texts)
	_, warnings := p.answered(t, "vault_overview", args{"vault": "main"})
	require.Equal(t, []string{"TOP_LEVEL_FOLDERS_TRUNCATED", "TOP_TAGS_TRUNCATED", "FRONTMATTER_FIELDS_TRUNCATED"}, codes(warnings))
	for i, message := range []string{
		"20 of 55 folders are shown; vault_tree shows more", "50 of 55 tags are shown; vault_tags shows more",
		"50 of 58 fields are shown; vault_facets shows more",
	} {
		require.Equal(t, map[string]any{"total": []float64{55, 55, 58}[i]}, warnings[i].Fields)
		require.Equal(t, message, warnings[i].Message)
	}
	data, warnings := p.answered(t, "vault_facets", args{"vault": "main", "limit": 200})
	require.Equal(t, []string{"FACETS_TRUNCATED", "FACETS_TRUNCATED"}, codes(warnings))
	require.Equal(t, map[string]any{"field": "status", "total": 1001.0}, warnings[0].Fields)
	require.Equal(t, map[string]any{"field": "type", "total": 1001.0}, warnings[1].Fields)
	require.Equal(t, `1000 of 1001 values of "status" are shown`, warnings[0].Message)
	require.Equal(t, 2000, strings.Count(data, `"value":`))
	for limit, message := range map[int]string{1: "1 of 55 tags are shown; use a higher limit", 54: "54 of 55 tags are shown; use a higher limit"} {
		_, warnings = p.answered(t, "vault_tags", args{"vault": "main", "limit": limit})
		require.Equal(t, message, warnings[0].Message)
	}
	_, warnings = p.answered(t, "vault_tags", args{"vault": "main", "limit": 55})
	require.Empty(t, warnings)
	_, warnings = p.answered(t, "vault_tree", args{"vault": "main"})
	require.Equal(t, []string{"TREE_LIMIT_EXCEEDED"}, codes(warnings))
	require.Equal(t, map[string]any{"total": 56.0}, warnings[0].Fields)
	require.Equal(t, "50 of 56 folders, including the root, are shown; use a higher limit, or less depth", warnings[0].Message)
}

// states are what the control item of a vault may say, with the state and the warning of it.
var states = []struct {
	name, state, code string
	change            func(*repo.Control)
	fixes             []any
}{
	{"no comparison", "unknown", "INDEX_UNKNOWN", func(c *repo.Control) { c.Sweep = nil }, []any{`raven_reindex {"vault":"main"}`}},
	{"all compared", "fresh", "", func(*repo.Control) {}, nil},
	{"a file that is none", "stale", "INDEX_STALE", func(c *repo.Control) { c.Sweep.Count = 2 }, []any{`raven_reindex {"vault":"main"}`}},
	{"a file that is missing", "stale", "INDEX_STALE", func(c *repo.Control) { c.Sweep.Missed = 1 }, []any{`raven_reindex {"vault":"main"}`}},
	{"files that wait", "pending", "INDEX_PENDING", func(c *repo.Control) { c.Noticed = &repo.Noticed{Count: 3} },
		[]any{`raven_reindex {"vault":"main"}`}},
	{"files that need confirmation", "pending", "INDEX_PENDING", func(c *repo.Control) { c.Held = &repo.Held{Removed: 30} },
		[]any{
			`raven_reindex {"vault":"main","pending":"accept"}`, `raven_reindex {"vault":"main","pending":"discard"}`,
		}},
	{"a reindex", "updating", "INDEX_UPDATING", func(c *repo.Control) { c.Lease = &eventlog.Lease{Until: noon.Add(time.Minute)} }, nil},
}

var five = []string{"vault_overview", "vault_tree", "vault_tags", "vault_facets", "vault_status"}

// TestFreshness covers each state through the control item: the answer has it, and its warning comes first.
func TestFreshness(t *testing.T) {
	p := open(t)
	p.fresh(t, "main")
	many := map[string]string{}
	for i := range 60 {
		many[fmt.Sprintf("f%d/a.md", i)] = fmt.Sprintf("---\nt%d: 1\ntags: t%d\n---\n", i, i)
	}
	p.write(t, "main", many)
	for _, s := range states {
		p.control(t, "main", func(c *repo.Control) {
			*c = repo.Control{
				Control:   eventlog.Control{Format: c.Format, Rev: c.Rev, Made: c.Made, Cursors: c.Cursors},
				FileState: repo.FileState{Sweep: &repo.Sweep{At: noon, Version: 1}},
			}
			s.change(c)
		})
		for _, name := range five {
			data, warnings := p.answered(t, name, args{"vault": "main"})
			require.Contains(t, data, fmt.Sprintf(`"indexFreshness":%q`, s.state), s.name)
			if s.code == "" {
				require.NotContains(t, strings.Join(codes(warnings), " "), "INDEX_", s.name)
				continue
			}
			require.Equal(t, s.code, warnings[0].Code, "%s %s", s.name, name)
			fields := map[string]any{"state": s.state}
			if s.fixes != nil {
				fields["fixes"] = s.fixes
			}
			require.Equal(t, fields, warnings[0].Fields, s.name)
			require.Equal(t, name == "vault_status", len(warnings) == 1)
			data, warnings = p.answered(t, name, args{"vault": "main", "as_of": "v1"})
			require.Contains(t, data, `"indexFreshness":"fresh"`, s.name)
			require.NotContains(t, strings.Join(codes(warnings), " "), "INDEX_", s.name)
		}
	}
	data, _ := p.answered(t, "vault_status", args{"vault": "main"})
	require.JSONEq(t, `{"indexFreshness":"updating","noteCount":60,"chunkCount":60,"byteCount":1480,"quarantinedCount":0,
		"pendingChangeCount":0,"heldChangeCount":0,"sweptAt":"2026-11-23T12:00:00Z","sweptVersion":"v1",
		"committedAt":"2026-11-23T12:00:00Z","cursors":{"checkout":"v0","image":"v0","segments":"v0","audit":"v0"},
		"reindexRequired":false,"reindexReasons":[]}`, data)
}

// TestNoIndex covers a vault that has files and nothing of them in the log: the control item alone knows of them.
func TestNoIndex(t *testing.T) {
	p := open(t)
	p.make(t, "new")
	_, warnings := p.answered(t, "vault_overview", args{"vault": "new"})
	require.Equal(t, []string{"INDEX_UNKNOWN"}, codes(warnings), "a vault that was just made is empty")
	for name, change := range map[string]func(*repo.Control){
		"noticed": func(c *repo.Control) { c.Noticed = &repo.Noticed{Count: 1} },
		"held":    func(c *repo.Control) { c.Held = &repo.Held{Created: 1} },
		"left":    func(c *repo.Control) { c.Left = &repo.Left{Count: 1} },
		"edited":  func(c *repo.Control) { c.Sweep = &repo.Sweep{Count: 1} },
		"missing": func(c *repo.Control) { c.Sweep = &repo.Sweep{Missed: 1} },
	} {
		p.make(t, name)
		p.control(t, name, change)
		for _, of := range five {
			f := p.refused(t, fault.IndexNotFound, of, args{"vault": name})
			require.Equal(t, 409, f.HTTP())
			require.Equal(t, 4, f.Code.Exit())
			fix := `raven_reindex {"vault":"` + name + `"}`
			if name == "held" {
				fix = `raven_reindex {"pending":"accept","vault":"held"}`
			}
			require.Contains(t, strings.Join(f.Fixes, " "), strings.SplitN(fix, " ", 2)[0])
			p.answered(t, of, args{"vault": name, "as_of": "v0"})
		}
		p.write(t, name, map[string]string{"a.md": "one\n"})
		p.answered(t, "vault_overview", args{"vault": name})
	}
}

// TestIncompatible covers a vault whose control item is of a newer format: each tool refuses, but for the one that
// tells the state.
func TestIncompatible(t *testing.T) {
	p := open(t)
	p.fresh(t, "main")
	p.write(t, "main", map[string]string{"a.md": "one\n"})
	p.age(t)
	p.serve(t)
	for _, name := range five[:4] {
		f := p.refused(t, fault.IndexIncompatible, name, args{"vault": "main"})
		require.Equal(t, 409, f.HTTP())
		require.Equal(t, 7, f.Code.Exit())
		require.NotEmpty(t, f.Fixes)
	}
	raw, err := p.call("vault_status", args{"vault": "main"})
	require.NoError(t, err)
	var e struct {
		Data     json.RawMessage
		Warnings []tool.Warning
	}
	require.NoError(t, json.Unmarshal(raw, &e))
	require.Equal(t, `{"indexFreshness":"incompatible","reindexRequired":false,"reindexReasons":[]}`, string(e.Data))
	require.Equal(t, []string{"INDEX_INCOMPATIBLE"}, codes(e.Warnings))
	require.Equal(t, map[string]any{"state": "incompatible"}, e.Warnings[0].Fields)
}

// ways are the ways in to a place.
func (p *place) ways(t *testing.T) []tooltest.Way {
	t.Helper()
	server := httptest.NewServer(httptool.New(p.cat, httptool.Options{}))
	t.Cleanup(server.Close)
	over := httptest.NewServer(mcptool.New(p.cat, mcptool.Options{}))
	t.Cleanup(over.Close)
	client := tooltest.NewMCPClient(over.URL+mcptool.Path+"/x/orient", nil)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return []tooltest.Way{
		tooltest.Invoking("catalogue", tooltest.As(p.cat, auth.LocalCaller())), tooltest.Routes(p.cat, server.URL),
		tooltest.Invoking("mcp", client),
		tooltest.Commands(p.cat.Tools(), tooltest.InProcess(p.cat, auth.LocalCaller())),
	}
}

// TestEveryWayTellsTheState covers that the states of a vault are the same over every way, with the status of HTTP and
// the exit code of the command that belong to them.
func TestEveryWayTellsTheState(t *testing.T) {
	p := open(t)
	p.fresh(t, "main")
	p.write(t, "main", wide)
	p.make(t, "lost")
	p.control(t, "lost", func(c *repo.Control) { c.Left = &repo.Left{Count: 1} })
	p.make(t, "held")
	p.write(t, "held", wide)
	p.control(t, "held", func(c *repo.Control) { c.Held = &repo.Held{Removed: 1} })
	same := func(t *testing.T) {
		var first []string
		for i, way := range p.ways(t) {
			var all []string
			for _, vault := range []string{"main", "lost", "held"} {
				for _, name := range five {
					answer, carried := way.Call(t, tooltest.NewCall(t, name, `{"vault":"`+vault+`"}`))
					require.True(t, carried)
					all = append(all, took.ReplaceAllString(string(answer), ""))
				}
			}
			if i == 0 {
				first = all
			}
			require.Equal(t, first, all, way.Name)
		}
		require.Contains(t, first[5], "INDEX_NOT_FOUND")
		require.Contains(t, first[10], `"fixes":["raven_reindex {\"vault\":\"held\",\"pending\":\"accept\"}"`)
	}
	t.Run("compatible", same)
	p.age(t)
	p.serve(t)
	t.Run("incompatible", func(t *testing.T) {
		same(t)
		for _, way := range p.ways(t) {
			answer, _ := way.Call(t, tooltest.NewCall(t, "vault_tree", `{"vault":"main"}`))
			require.Contains(t, string(answer), "INDEX_INCOMPATIBLE", way.Name)
		}
	})
}

// took is what differs between answers.
var took = regexp.MustCompile(`"query_time_ms":\d+|"request_id":"[^"]*"`)

// age gives the control items of all vaults a format that no release knows.
func (p *place) age(t *testing.T) {
	t.Helper()
	it, err := p.table.Get(t.Context(), table.Key{Part: "local/main/1", Sort: "log/~"})
	require.NoError(t, err)
	it.Data = bytes.Replace(it.Data, []byte(`"format":1`), []byte(`"format":99`), 1)
	require.NoError(t, p.table.Commit(t.Context(), table.Set(it)))
}
