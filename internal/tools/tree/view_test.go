package tree_test

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// as is the place as another agent and session see it.
func (p *place) as(agent, session string) *place {
	c := auth.LocalCaller()
	c.Agent, c.Session = agent, session
	return &place{p.catalogue, tooltest.As(p.catalogue, c), p.teams, p.table, p.close}
}

// property is tree P of reference/tree.md, B8: a folder for each node with children, a note for each without.
var property = map[string]string{
	"property/_folder.md":          "---\ntitle: Property\nsquarefeet: 20000\norder: [house/, shed, basement/]\n---\n",
	"property/house/_folder.md":    "---\ntitle: House\nsquarefeet: 2500\norder: [kitchen, bathroom]\n---\n",
	"property/house/kitchen.md":    "---\nsquarefeet: 600\n---\n# Kitchen\n",
	"property/house/bathroom.md":   "---\nsquarefeet: 300\n---\n# Bathroom\n",
	"property/shed.md":             "---\nsquarefeet: 240\n---\n# Shed\n",
	"property/basement/_folder.md": "---\ntitle: Basement\nsquarefeet: 1500\n---\n",
	"property/basement/bedroom.md": "---\nsquarefeet: 400\n---\n# Bedroom\n",
}

// outline is a view with the last parts of addresses: `a[b c]`, a collapsed node with `+` behind it.
func outline(node args) string {
	id := strings.TrimSuffix(node["nodeId"].(string), "/")
	name := id[strings.LastIndexAny(id, "/#")+1:]
	if node["skeleton"] == true {
		name = "(" + name + ")"
	}
	if node["isExpanded"] == false && node["childrenCount"].(float64) > 0 {
		name += "+"
	}
	children, _ := node["children"].([]any)
	if len(children) == 0 {
		return name
	}
	var all []string
	for _, c := range children {
		all = append(all, outline(c.(args)))
	}
	return name + "[" + strings.Join(all, " ") + "]"
}

// view is the outline of a view.
func (p *place) view(t *testing.T, in args) string {
	t.Helper()
	return outline(p.data(t, "get_view", in)["view"].(args))
}

const whole = "property[house[kitchen bathroom] shed basement[bedroom]]"

func of(id string) args { return args{"rootNodeId": id} }

// TestViewCases covers B8 6, 7, 9 to 14 and 54 to 57.
func TestViewCases(t *testing.T) {
	house := args{"nodeId": "property/house"}
	root := of("property")
	for _, c := range []struct {
		name     string
		upstream string // where it differs
		do       func(*testing.T, *place)
		in       args
		want     string
	}{
		{name: "whole", in: root, want: whole},
		{name: "depth 0", in: args{"depthLimit": 0}, want: "property+"},
		{name: "depth 1", in: args{"depthLimit": 1}, want: "property[house+ shed basement+]"},
		{name: "collapse", do: func(t *testing.T, p *place) {
			got := p.write(t, "collapse_node", house)
			require.Equal(t, false, got["isExpanded"])
			require.Equal(t, 2.0, got["childrenCount"])
		}, want: "property[house+ shed basement[bedroom]]"},
		{name: "toggle twice", do: func(t *testing.T, p *place) {
			require.Equal(t, false, p.write(t, "toggle_node", house)["isExpanded"])
			require.Equal(t, true, p.write(t, "toggle_node", house)["isExpanded"])
		}, want: whole},
		{name: "collapse all", upstream: "of the whole tree", do: func(t *testing.T, p *place) {
			require.Equal(t, 7.0, p.write(t, "collapse_all", root)["affected"])
		}, want: "property+"},
		{name: "collapse all below", do: func(t *testing.T, p *place) { p.write(t, "collapse_all", of("property/house/")) },
			want: "property[house+ shed basement[bedroom]]"},
		{name: "expand all again", do: func(t *testing.T, p *place) {
			p.write(t, "collapse_all", of("/"))
			p.write(t, "expand_all", root)
		}, want: whole},
		{name: "two levels", do: func(t *testing.T, p *place) {
			p.write(t, "set_expansion_recursive", args{"nodeId": "property", "expanded": true, "maxDepth": 1})
		}, want: "property[house+ shed basement+]"},
		{name: "no level", do: func(t *testing.T, p *place) {
			p.write(t, "set_expansion_recursive", args{"nodeId": "property", "expanded": true, "maxDepth": 0})
		}, want: "property+"},
		{name: "collapse all levels", do: func(t *testing.T, p *place) {
			p.write(t, "set_expansion_recursive", args{"nodeId": "property", "expanded": false})
		}, want: "property+"},
		{name: "one in what is collapsed", do: func(t *testing.T, p *place) {
			p.write(t, "collapse_all", root)
			p.write(t, "expand_node", args{"nodeId": "property"})
		}, want: "property[house+ shed basement+]"},
		{name: "default collapsed", in: args{"defaultExpanded": false}, want: "property+"},
		{name: "default collapsed, one expanded", do: func(t *testing.T, p *place) {
			p.write(t, "collapse_node", args{"nodeId": "property"})
			p.write(t, "expand_node", args{"nodeId": "property"})
		}, in: args{"defaultExpanded": false}, want: "property[house+ shed basement+]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, property)
			if c.do != nil {
				c.do(t, p)
			}
			in := of("property")
			maps.Copy(in, c.in)
			require.Equal(t, c.want, p.view(t, in), "upstream: %s", c.upstream)
		})
	}
}

// TestVisibleOnly covers that a search for visible nodes finds those that a view of the session shows, also if nodes
// without a rule are collapsed by default.
func TestVisibleOnly(t *testing.T) {
	p := open(t, property)
	found := func() (all []string) {
		in := args{"rootNodeId": "property", "visibleOnly": true, "pageSize": 100}
		for _, n := range p.data(t, "search", in)["items"].([]any) {
			all = append(all, n.(args)["name"].(string))
		}
		return all
	}
	require.Len(t, found(), 6, "all are expanded")
	p.write(t, "import_view", args{"viewJson": args{
		"rootNodeId": "/", "defaultExpanded": false, "view": args{"nodeId": "/"},
	}})
	require.Empty(t, found(), "the default is collapsed")
	p.write(t, "expand_node", args{"nodeId": "property"})
	require.Equal(t, []string{"House", "Shed", "Basement"}, found())
	require.Equal(t, "property[house+ shed basement+]", p.view(t, of("property")))
}

// TestFiltersOfViews covers B8 10 to 13 and 56.
func TestFiltersOfViews(t *testing.T) {
	p := open(t, property)
	has := func(in args, names ...string) args {
		t.Helper()
		all := of("property/house/")
		maps.Copy(all, in)
		node := p.data(t, "get_view", all)["view"].(args)
		for _, name := range append(names, "nodeId", "payloadType", "isExpanded", "childrenCount", "children") {
			require.Contains(t, node, name)
		}
		return node
	}
	require.NotContains(t, has(args{"includedProperties": []string{"Name"}}, "name"), "squarefeet")
	child := has(args{"excludedProperties": []string{"SquareFeet"}}, "name")["children"].([]any)[0].(args)
	require.NotContains(t, child, "squarefeet")
	node := has(args{"included": []string{"name", "squarefeet"}, "excluded": []string{"squarefeet"}}, "name")
	require.NotContains(t, node, "squarefeet", "exclusion wins")

	p.write(t, "set_filters", args{"included": []string{"name"}})
	require.NotContains(t, has(nil, "name"), "squarefeet", "later views obey")
	got := p.data(t, "get_node", args{"nodeId": "property/shed"})["node"].(args)
	require.Empty(t, got["payload"], "and get_node")
	require.Contains(t, has(args{"included": []string{"squarefeet"}}), "squarefeet", "the lists of a call come first")
	lists := p.write(t, "set_filters", args{"included": []string{"squarefeet"}, "replaceExisting": false})
	require.Equal(t, []any{"name", "squarefeet"}, lists["includedProperties"])
	p.write(t, "set_filters", args{"scope": "view", "excluded": []string{"squarefeet"}})
	require.NotContains(t, has(nil, "name"), "squarefeet")
	got = p.data(t, "get_node", args{"nodeId": "property/shed"})["node"].(args)
	require.Contains(t, got["payload"], "squarefeet", "of views alone")
	p.write(t, "set_filters", args{})
	p.write(t, "set_filters", args{"scope": "view"})
	has(nil, "name", "squarefeet")
}

// TestViewPages says that the pages of a view, put together, are the view.
func TestViewPages(t *testing.T) {
	p := open(t, property)
	p.write(t, "collapse_node", args{"nodeId": "property/basement/"})
	want := "property[house[kitchen bathroom] shed basement+]"
	for size := 1; size <= 7; size++ {
		var pages []string
		in := args{"rootNodeId": "property", "pageSize": size}
		for {
			got := p.data(t, "get_view", in)
			pages = append(pages, outline(got["view"].(args)))
			token, more := got["nextPageToken"]
			if !more {
				break
			}
			in["pageToken"] = token
		}
		require.Len(t, pages, (6+size-1)/size, "%v", pages)
		if size == 6 {
			require.Equal(t, want, pages[0])
		}
		if size == 4 {
			require.Equal(t, []string{"property[house[kitchen bathroom]]", "(property)[shed basement+]"}, pages)
		}
	}
	f := p.refused(t, "get_view", args{"rootNodeId": "property", "pageToken": "not-base64!!!"})
	require.Equal(t, fault.InvalidParameter, f.Code)
	for _, size := range []int{0, 1000} {
		require.Equal(t, fault.InvalidParameter, p.refused(t, "get_view", args{"pageSize": size}).Code)
	}
	require.Equal(t, fault.NotFound, p.refused(t, "get_view", of("nonexistent")).Code)
}

// TestSessionsAreApart covers B8 57 for three sessions, of two agents.
func TestSessionsAreApart(t *testing.T) {
	p := open(t, property)
	a, b, c := p.as("one", "a"), p.as("one", "b"), p.as("two", "a")
	a.write(t, "collapse_node", args{"nodeId": "property/house"})
	b.write(t, "collapse_node", args{"nodeId": "property/basement"})
	c.write(t, "set_filters", args{"included": []string{"name"}})
	in := of("property")
	require.Equal(t, "property[house+ shed basement[bedroom]]", a.view(t, in))
	require.Equal(t, "property[house[kitchen bathroom] shed basement+]", b.view(t, in))
	require.Equal(t, whole, c.view(t, in))
	require.Equal(t, whole, p.view(t, in))
}

// TestViewsFollowTheirNodes says that what is collapsed stays so when its address changes.
func TestViewsFollowTheirNodes(t *testing.T) {
	p := open(t, website)
	p.write(t, "collapse_node", args{"nodeId": w("#goals")})
	p.write(t, "update_payload_property", args{"nodeId": w("#goals"), "propertyName": "title", "newValue": "Aims"})
	require.Equal(t, "website[aims+ r notes]", p.view(t, of(w(""))))
}

// TestViewTokens covers B8 34 and 35, and what T4 to T6 say.
func TestViewTokens(t *testing.T) {
	p := open(t, property)
	node := args{"nodeId": "property/house"}
	old := p.token(t)
	for _, token := range []any{nil, "999", "v999", "", "nonsense"} {
		in := maps.Clone(node)
		if token != nil {
			in["versionToken"] = token
		}
		f := p.refused(t, "collapse_node", in)
		require.Equal(t, fault.Conflict, f.Code, token)
		require.Equal(t, old, f.Details["latestVersion"])
	}
	p.put(t, map[string]string{"other.md": "text\n"})
	got := p.data(t, "collapse_node", args{"nodeId": "property/house", "versionToken": old})
	require.Equal(t, p.token(t), got["versionToken"], "an edit of notes does not make a token stale for views")
	f := p.refused(t, "expand_node", args{"nodeId": "property/house", "versionToken": old})
	require.Equal(t, fault.Conflict, f.Code, "but a change of the view does")
	require.Equal(t, old, p.as("other", "default").data(t, "get_node", args{"nodeId": "/", "as_of": old})["versionToken"])
	p.as("other", "default").data(t, "expand_node", args{"nodeId": "property/house", "versionToken": old})
	require.Equal(t, fault.NotFound, p.refused(t, "expand_node", p.with(t, args{"nodeId": "nope"})).Code)
	require.Error(t, func() error {
		_, err := p.call(t, "expand_node", p.with(t, args{"nodeId": "property", "dryRun": true}))
		return err
	}(), "view tools show no plan")
}

// TestViewKeys says that a key makes one effect, of each agent.
func TestViewKeys(t *testing.T) {
	p := open(t, property)
	in := p.with(t, args{"nodeId": "property/house", "idempotencyKey": "k"})
	first := p.data(t, "toggle_node", in)
	again := p.data(t, "toggle_node", in)
	require.Equal(t, first, again, "also with its old token")
	in["nodeId"] = "property"
	require.Equal(t, fault.KeyReused, p.refused(t, "toggle_node", in).Code)
	p.as("other", "default").data(t, "toggle_node", in)
}

// TestTooManyRules covers T19.
func TestTooManyRules(t *testing.T) {
	files := map[string]string{}
	for i := range 501 {
		files[fmt.Sprintf("n/%03d.md", i)] = "## A\n"
	}
	p := open(t, files)
	token := p.token(t)
	for i := range 500 {
		token = p.data(t, "collapse_node", args{"nodeId": fmt.Sprintf("n/%03d", i), "versionToken": token})["versionToken"].(string)
	}
	last := args{"nodeId": "n/500", "versionToken": token}
	require.Equal(t, fault.QuotaExceeded, p.refused(t, "collapse_node", last).Code)
	p.write(t, "collapse_all", of("n/"))
	p.data(t, "expand_node", last)
}

// TestBookmarks covers B8 60 and T20.
func TestBookmarks(t *testing.T) {
	p := open(t, website)
	other := p.as("other", "default")
	list := func(p *place) (all []string) {
		for _, b := range p.data(t, "list_bookmarks", nil)["bookmarks"].([]any) {
			mark := fmt.Sprint(b.(args)["label"], " ", b.(args)["nodeId"], " ", b.(args)["name"])
			if b.(args)["stale"] == true {
				mark += " stale"
			}
			all = append(all, mark)
		}
		return all
	}
	require.Empty(t, list(p))
	mark := args{"nodeId": w("#goals"), "label": "here"}
	require.Equal(t, w("#goals"), p.write(t, "bookmark", mark)["nodeId"])
	p.write(t, "bookmark", mark)
	require.Equal(t, []string{"here projects/website#goals Goals"}, list(p))
	require.Empty(t, list(other), "bookmarks are of an agent")
	require.Equal(t, []string{"here projects/website#goals Goals"}, list(p.as("local", "another session")))
	f := p.refused(t, "bookmark", p.with(t, args{"nodeId": w("#r"), "label": "here"}))
	require.Equal(t, "label_exists", f.Details["reason"])
	p.write(t, "bookmark", args{"nodeId": w("#r"), "label": "here", "overwrite": true})
	require.Equal(t, []string{"here projects/website#r Risks"}, list(p))
	p.put(t, map[string]string{"projects/website.md": "# Website\n"})
	require.Equal(t, []string{"here projects/website#r Risks stale"}, list(p))
	require.Equal(t, fault.NotFound, other.refused(t, "remove_bookmark", other.with(t, args{"label": "here"})).Code)
	p.write(t, "remove_bookmark", args{"label": "here"})
	require.Empty(t, list(p))
	require.Equal(t, fault.NotFound, p.refused(t, "remove_bookmark", p.with(t, args{"label": "here"})).Code)
	for _, bad := range []string{"", " ", "a\nb", strings.Repeat("x", 129), "\u202e"} {
		require.Equal(t, fault.InvalidParameter,
			p.refused(t, "bookmark", p.with(t, args{"nodeId": "/", "label": bad})).Code, "%q", bad)
	}
	p.write(t, "bookmark", args{"nodeId": "/", "label": strings.Repeat("é", 128)})
}

// TestExportAndImport covers B8 65.
func TestExportAndImport(t *testing.T) {
	p := open(t, property)
	p.write(t, "collapse_node", args{"nodeId": "property/house"})
	p.write(t, "set_filters", args{"included": []string{"name"}})
	exported := p.data(t, "export_view", of("property"))["viewJson"].(args)
	require.Equal(t, "property/", exported["rootNodeId"])
	require.Equal(t, []any{"name"}, exported["includedProperties"])
	other := p.as("other", "default")
	in := args{"viewJson": exported}
	got := other.write(t, "import_view", in)
	require.Equal(t, 5.0, got["restored"])
	require.Empty(t, got["ignored"])
	require.Equal(t, "property[house+ shed basement[bedroom]]", other.view(t, of("property")))
	require.Equal(t, exported, other.data(t, "export_view", of("property"))["viewJson"], "filters too")
	text := string(marshalled(t, exported))
	pascal := text
	for _, name := range []string{"nodeId", "isExpanded", "children", "view", "rootNodeId", "payloadType", "defaultExpanded"} {
		pascal = strings.ReplaceAll(pascal, `"`+name+`"`, `"`+strings.ToUpper(name[:1])+name[1:]+`"`)
	}
	third := p.as("third", "default")
	third.write(t, "import_view", args{"viewJson": pascal})
	require.Equal(t, "property[house+ shed basement[bedroom]]", third.view(t, of("property")))
	for reason, bad := range map[string]args{
		"missing_root": {"view": args{"nodeId": "/"}}, "missing_view": {"rootNodeId": "/"},
		"missing_node_id":      {"rootNodeId": "/", "view": args{}},
		"unknown_payload_type": {"rootNodeId": "/", "view": args{"nodeId": "/", "payloadType": "nope"}},
	} {
		f := p.refused(t, "import_view", p.with(t, args{"viewJson": bad}))
		require.Equal(t, reason, f.Details["reason"])
		require.Equal(t, fault.InvalidParameter, f.Code)
	}
	unknown := args{"rootNodeId": "gone", "view": args{"nodeId": "gone", "children": []args{{"nodeId": "x"}}}}
	require.Equal(t, fault.NotFound, p.refused(t, "import_view", p.with(t, args{"viewJson": unknown})).Code)
	got = p.write(t, "import_view", args{"viewJson": unknown, "rootLookupStrategy": "current"})
	require.Equal(t, "/", got["rootNodeId"])
	require.Equal(t, []any{"x"}, got["ignored"])
	byName := args{"rootNodeId": "/property/House", "view": args{"nodeId": "1", "isExpanded": false, "payloadType": "Space"}}
	got = p.write(t, "import_view", args{"viewJson": byName, "rootLookupStrategy": "path", "payloadTypes": args{"Space": "folder"}})
	require.Equal(t, "property/house/", got["rootNodeId"])
	require.Equal(t, "property[house+ shed basement[bedroom]]", p.view(t, of("property")))
}

// TestReadOnlyVaultsKeepViews covers T7: a vault that is read-only refuses what changes views and bookmarks. Roles and
// callers who may only read are cases of every tool.
func TestReadOnlyVaultsKeepViews(t *testing.T) {
	p := open(t, property)
	calls := map[string]args{
		"expand_node": {"nodeId": "/"}, "collapse_node": {"nodeId": "/"}, "toggle_node": {"nodeId": "/"},
		"expand_all": of("/"), "collapse_all": of("/"), "set_expansion_recursive": {"nodeId": "/", "expanded": true},
		"set_filters": {}, "import_view": {"viewJson": args{"rootNodeId": "/", "view": args{"nodeId": "/"}}},
		"bookmark": {"nodeId": "/", "label": "x"}, "remove_bookmark": {"label": "x"},
	}
	p.write(t, "bookmark", args{"nodeId": "/", "label": "x"})
	for name, in := range calls {
		require.Equal(t, fault.Conflict, p.refused(t, name, in).Code, "%s without a token", name)
		made, _ := p.catalogue.Find("tree_" + name)
		require.Equal(t, auth.Editor, made.Role, name)
	}
	_, err := p.Invoke(t.Context(), "team_vault_set", marshalled(t, args{"name": "v", "readonly": true}))
	require.NoError(t, err)
	for name, in := range calls {
		require.Equal(t, fault.ReadOnly, p.refused(t, name, p.with(t, in)).Code, name)
	}
	require.Len(t, p.data(t, "list_bookmarks", nil)["bookmarks"], 1)
}

// TestViewsAreAudited covers T9.
func TestViewsAreAudited(t *testing.T) {
	p := open(t, property)
	p.write(t, "collapse_node", args{"nodeId": "property/house"})
	p.write(t, "collapse_node", args{"nodeId": "property/house"})
	answer, err := p.Invoke(t.Context(), "team_audit", marshalled(t, args{"tool": "tree_collapse_node", "outcome": "ok"}))
	require.NoError(t, err)
	entries := decode(t, answer)["data"].(args)["entries"].([]any)
	require.Len(t, entries, 2, "also of a call that changes nothing")
	e := entries[0].(args)
	require.Equal(t, []any{"property/house"}, e["targets"])
	require.Equal(t, "v", e["vault"])
	require.Equal(t, p.token(t), e["version_after"])
	require.Equal(t, e["version_before"], e["version_after"])
}

// TestCallsCost covers what a call costs of the table: a read gets the lists of the session, and a change of a view gets
// and writes it. Each asks the log for new commits besides.
func TestCallsCost(t *testing.T) {
	p := open(t, property)
	token := p.token(t)
	cost := func(name string, in args) tabletest.Counts {
		p.table.Reset()
		p.data(t, name, in)
		return p.table.Counts()
	}
	require.Equal(t, tabletest.Counts{Gets: 1, Queries: 1, Pages: 1}, cost("get_node", args{"nodeId": "property/"}))
	require.Equal(t, tabletest.Counts{Gets: 1, Queries: 1, Pages: 1, Commits: 1, Ops: 2},
		cost("collapse_node", args{"nodeId": "property/", "versionToken": token}), "the view, and an entry of the audit log")
}

// TestDeepViews covers that the JSON of a view is parsed once, however deep it is: four times the levels take about four
// times the memory. Parsed anew at each level, they took sixteen times as much.
func TestDeepViews(t *testing.T) {
	p := open(t, map[string]string{"a.md": "a\n"})
	deep := func(levels int) string {
		return `{"rootNodeId":"/","view":` + strings.Repeat(`{"nodeId":"/","children":[`, levels) +
			`{"nodeId":"a"}` + strings.Repeat(`]}`, levels) + `}`
	}
	bytes := func(levels int) uint64 { // that a call allocates
		in := p.with(t, args{"viewJson": deep(levels)})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p.data(t, "import_view", in)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	t.Log(bytes(500), bytes(2000))
	require.Less(t, bytes(2000), 6*bytes(500))
}
