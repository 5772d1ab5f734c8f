package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// TestParsingAndIDs covers C10 1 to 9.
func TestParsingAndIDs(t *testing.T) {
	p := open(t, website)
	children := func(id string) string { return ids(p.data(t, "list_children", args{"nodeId": id})) }
	get := func(id string) args { return p.data(t, "get_node", args{"nodeId": id})["node"].(args) }

	require.Equal(t, "projects/website#goals projects/website#r projects/website#notes", children(w("")))
	require.Equal(t, "projects/website#q1", children(w("#goals")))
	require.Equal(t, w(""), get(w("#website"))["nodeId"])

	risk := get(w("#r"))
	require.Equal(t, args{"severity": 2.0}, risk["payload"])
	has := func(node, want args) {
		for name, v := range want {
			require.Equal(t, v, node[name], name)
		}
	}
	has(risk, args{"payloadType": "risk", "title": "Risks", "body": "R text.", "level": 2.0, "kind": "section", "depth": 3.0})
	note := get("/projects/website.md")
	has(note, args{"payloadType": "project", "title": "Website", "body": "Intro.", "childrenCount": 3.0, "path": "projects/website.md"})
	require.Equal(t, "daily/ people/ projects/", children("/"))
	require.Equal(t, "api Website", names(p.data(t, "list_children", args{"nodeId": "projects"})))

	var path []string
	for _, on := range p.data(t, "get_path", args{"nodeId": w("#q1")})["path"].([]any) {
		path = append(path, fmt.Sprintf("%s(%v)", on.(args)["nodeId"], on.(args)["depth"]))
	}
	require.Equal(t, "/(0) projects/(1) projects/website(2) projects/website#goals(3) projects/website#q1(4)", strings.Join(path, " "))
	for in, want := range map[string]string{
		w("#q1") + " " + w("#r"): w(""), w("#q1") + " projects/api": "projects/", w("") + " " + w("#q1"): w(""),
		w("#q1") + " " + w("#q1"): w("#q1"), w("#q1") + " people/alice": "/", "projects": "projects/",
	} {
		require.Equal(t, want, p.data(t, "get_common_ancestor", args{"nodeIds": strings.Fields(in)})["nodeId"], in)
	}
}

// TestTitles covers C3: where the title of a node is read, and that a new title is shown.
func TestTitles(t *testing.T) {
	p := open(t, map[string]string{
		"schema.yaml":  "types:\n  person:\n    name_field: name\n    fields:\n      name: {type: string}\n",
		"field.md":     "---\ntitle: Zed\n---\n\ntext\n",
		"case.md":      "---\nTitle: Zed\n---\n\ntext\n",
		"number.md":    "---\ntitle: 2026\n---\n\ntext\n",
		"both.md":      "---\ntitle: Zed\n---\n\n# Heading\n\n## Part\n::person(name=Freya)\n",
		"person.md":    "---\ntype: person\ntitle: Zed\nname: Freya\n---\n\n# Heading\n",
		"none.md":      "text\n",
		"f/_folder.md": "---\ntitle: Zed\n---\n",
	})
	title := func(id string) any {
		node := p.data(t, "get_node", args{"nodeId": id})["node"].(args)
		require.Equal(t, node["title"], node["name"], id)
		return node["title"]
	}
	for id, want := range map[string]string{
		"field": "Zed", "case": "Zed", "number": "2026", "both": "Zed", "both#part": "Part", "person": "Freya", "none": "none", "f/": "Zed",
	} {
		require.Equal(t, want, title(id), id)
		p.write(t, "update_payload_property", args{"nodeId": id, "propertyName": "title", "newValue": "New " + id[:1]})
		if id == "both#part" {
			id = "both#new-b"
		}
		require.Equal(t, "New "+id[:1], title(id), id)
	}
	require.Equal(t, "---\nTitle: New c\n---\n\ntext\n", p.file(t, "case.md"))
}

// TestHeadings covers C10 4 to 6: which headings are nodes, and where they are.
func TestHeadings(t *testing.T) {
	for _, c := range []struct{ text, upstream, want string }{
		{"# A\n\n## A1\n\n# B\n", "", "a[a1] b"},
		{"intro\n\n# A\n\n## A1\n", "", "a[a1]"},
		{"# A\n\n## A1\n", "", "a1"},
		{"## Ideas\n\n## Ideas\n", "", "ideas ideas-2"},
		{"## A\n\n#### C\n\n## B", "", "a[c] b"},
	} {
		p := open(t, map[string]string{"n.md": c.text})
		node := p.data(t, "get_subtree", args{"nodeId": "n"})["node"].(args)
		require.Equal(t, c.want, shape(node), c.text)
	}
}

// shape is what is below a node: slugs, with brackets around children.
func shape(node args) string {
	var all []string
	children, _ := node["children"].([]any)
	for _, child := range children {
		_, slug, _ := strings.Cut(child.(args)["nodeId"].(string), "#")
		if below := shape(child.(args)); below != "" {
			slug += "[" + below + "]"
		}
		all = append(all, slug)
	}
	return strings.Join(all, " ")
}

// house is the tree P of B8 as a vault.
var house = map[string]string{
	"property.md": "---\nSquareFeet: 20000\n---\n\n# Property\n\n" +
		"## House\n::section(SquareFeet=2500)\n\n### Kitchen\n::section(SquareFeet=600)\n\n### Bathroom\n::section(SquareFeet=300)\n\n" +
		"## Shed\n::section(SquareFeet=240)\n\n## Basement\n::section(SquareFeet=1500)\n\n### Bedroom\n::section(SquareFeet=400)\n",
}

// TestReads covers B8 1 to 5, 8 and 14 to 17, with the answers of upstream beside ours.
func TestReads(t *testing.T) {
	p := open(t, house)
	for _, c := range []struct {
		what           string
		tool           string
		in             args
		upstream, ours string // a code, or the addresses or names of the answer
	}{
		{"children are not inlined", "list_children", args{"nodeId": "property"}, "subtrees", "House Shed Basement"},
		{"an unknown node", "get_path", args{"nodeId": "nonexistent"}, "not_found", "not_found"},
		{"a token that is none", "list_children", args{"nodeId": "property", "pageToken": "not-base64!!!", "limit": 2}, "House Shed", "invalid_argument"},
		{"a page of nothing", "list_children", args{"nodeId": "property", "limit": 0}, "House", "invalid_argument"},
		{"a page too large", "list_children", args{"nodeId": "property", "pageSize": 1000}, "House Shed Basement", "invalid_argument"},
		{"no nodes", "get_common_ancestor", args{"nodeIds": []string{}}, "invalid_argument", "invalid_argument"},
		{"one that is unknown", "get_common_ancestor", args{"nodeIds": []string{"property", "x"}}, "not_found", "not_found"},
		{"too many", "get_common_ancestor", args{"nodeIds": strings.Fields(strings.Repeat("property ", 101))}, "property", "invalid_argument"},
		{"an equal text", "search", args{"rootNodeId": "property", "filters": []args{{"path": "Name", "op": "eq", "value": "kitchen"}}}, "Kitchen", "Kitchen"},
		{"an unknown operator", "search", args{"filters": []args{{"path": "Name", "op": "foo", "value": "kitchen"}}}, "Kitchen", "invalid_argument"},
		{"an unknown property", "search", args{"filters": []args{{"path": "Nope", "op": "eq", "value": "kitchen"}}}, "", ""},
		{"an unknown root", "search", args{"rootNodeId": "nope"}, "all", "not_found"},
		{"sorted", "search_advanced", args{"rootId": "property#house", "sortBy": "SquareFeet"}, "Bathroom Kitchen", "Bathroom Kitchen"},
		{"sorted down", "search_advanced", args{"rootId": "property", "sortBy": args{"path": "squarefeet", "direction": "desc"}}, "House Basement Kitchen Bedroom Bathroom Shed", "House Basement Kitchen Bedroom Bathroom Shed"},
		{"a query", "select_nodes", args{"queryDsl": "SquareFeet > 1000"}, "Property House Basement", "Property House Basement"},
		{"no query", "select_nodes", args{"queryDsl": " "}, "", "invalid_argument"},
		{"a bad query", "select_nodes", args{"queryDsl": "Name ~~ x"}, "", "invalid_argument"},
	} {
		answer, err := p.call(t, c.tool, c.in)
		if err != nil {
			require.Equal(t, c.ours, string(fault.Of(err).Status()), "%s: %v", c.what, answer)
			require.Equal(t, c.ours, answer["code"], c.what)
			continue
		}
		require.Equal(t, c.ours, names(answer), c.what)
	}
	node := p.data(t, "get_node", args{"nodeId": "property#house"})["node"].(args)
	require.NotContains(t, node, "children")
	require.Equal(t, 2.0, node["childrenCount"])
	f := p.refused(t, "select_nodes", args{"queryDsl": "Name ~~ x"})
	require.Equal(t, 5, f.Details["position"])
	require.Equal(t, "syntax", f.Details["reason"])
}

// TestPagesJoined covers B8 3 and 14: the pages of every list are the list, also sorted and as a tree.
func TestPagesJoined(t *testing.T) {
	p := open(t, house)
	for _, c := range []struct {
		tool string
		in   args
	}{
		{"list_children", args{"nodeId": "property"}}, {"search", args{}}, {"select_nodes", args{"queryDsl": "depth exists"}},
		{"search_advanced", args{"sortBy": "name"}}, {"search_advanced", args{"sortBy": args{"path": "none"}}},
	} {
		whole := ids(p.data(t, c.tool, c.in))
		var parts []string
		in := args{"limit": 2}
		for name, v := range c.in {
			in[name] = v
		}
		for {
			answer := p.data(t, c.tool, in)
			parts = append(parts, ids(answer))
			token, more := answer["nextPageToken"]
			if !more {
				break
			}
			in["pageToken"] = token
		}
		require.Equal(t, whole, strings.Join(parts, " "), "%s %v", c.tool, c.in)
		require.Greater(t, len(parts), 1)
	}
	first := p.data(t, "list_children", args{"nodeId": "property", "limit": 1})
	f := p.refused(t, "list_children", args{"nodeId": "property#house", "limit": 1, "pageToken": first["nextPageToken"]})
	require.Equal(t, fault.InvalidParameter, f.Code)
}

// TestSubtrees covers B8 8: depths, and pages that are trees with skeletons.
func TestSubtrees(t *testing.T) {
	p := open(t, house)
	require.Equal(t, "house shed basement", shape(p.data(t, "get_subtree", args{"nodeId": "property", "depthLimit": 1})["node"].(args)))
	require.Equal(t, "", shape(p.data(t, "get_subtree", args{"nodeId": "property", "depthLimit": 0})["node"].(args)))
	require.Equal(t, "house[kitchen bathroom] shed basement[bedroom]", shape(p.data(t, "get_subtree", args{"nodeId": "property"})["node"].(args)))
	first := p.data(t, "get_subtree", args{"nodeId": "property", "paging": args{"pageSize": 3}, "filters": args{"includedProperties": []string{"Name"}}})
	require.Equal(t, "house[kitchen]", shape(first["node"].(args)))
	node := first["node"].(args)
	require.Equal(t, "Property", node["name"])
	require.NotContains(t, node, "payload")
	second := p.data(t, "get_subtree", args{"nodeId": "property", "paging": args{"pageSize": 3, "pageToken": first["nextPageToken"]}, "includedProperties": []string{"Name"}})
	require.Equal(t, "house[bathroom] shed basement", shape(second["node"].(args)))
	require.Equal(t, true, second["node"].(args)["skeleton"])
	house := second["node"].(args)["children"].([]any)[0].(args)
	require.Equal(t, true, house["skeleton"])
	f := p.refused(t, "get_subtree", args{"nodeId": "property", "paging": args{"pageSize": 3}, "pageSize": 2})
	require.Equal(t, fault.InvalidParameter, f.Code)
}

// TestTexts covers queries about texts, and lists that show them.
func TestTexts(t *testing.T) {
	p := open(t, website)
	require.Equal(t, "projects/website#r", ids(p.data(t, "select_nodes", args{"queryDsl": "body contains 'r TEXT' AND kind = section"})))
	require.Equal(t, "projects/website projects/website#goals projects/website#q1", ids(p.data(t, "select_nodes", args{"queryDsl": "content contains q1"})))
	items := p.data(t, "list_children", args{"nodeId": w(""), "includedProperties": []string{"body", "name"}})["items"].([]any)
	require.Equal(t, "G text.", items[0].(args)["body"])
	require.NotContains(t, items[0], "uid")
	node := p.data(t, "get_node", args{"nodeId": w("#goals"), "includedProperties": []string{"content"}})["node"].(args)
	require.Equal(t, "G text.\n\n### Q1\n\nq1 text", node["content"])
}

// TestTags covers the last part of C10 40, B8 58 and 59 for what reads.
func TestTags(t *testing.T) {
	p := open(t, map[string]string{
		"a.md": "---\ntags: [Web, \"#x\"]\n---\n\nWith #deep/er here.\n\n## S\n::section(tags=[web])\n\n#web #other\n\n## T\n\nsee #web and #web\n",
		"b.md": "---\ntags: one, WEB\n---\n",
	})
	source := func(in args) string {
		var all []string
		for _, item := range p.data(t, "query_by_tag", in)["items"].([]any) {
			all = append(all, item.(args)["nodeId"].(string)+":"+item.(args)["source"].(string))
		}
		return strings.Join(all, " ")
	}
	require.Equal(t, "a:explicit a#s:explicit a#t:inline b:explicit", source(args{"tag": "WEB"}))
	require.Equal(t, "a#s:explicit a#t:inline", source(args{"tag": "#web", "rootNodeId": "a"}))
	require.Equal(t, "", source(args{"tag": "deep"}))
	require.Equal(t, "a:inline", source(args{"tag": "deep", "includeNested": true}))
	tags := p.data(t, "get_tags", args{"nodeId": "a#s"})
	require.Equal(t, []any{"web"}, tags["tags"])
	require.Equal(t, []any{"other"}, tags["inline"])
	require.Equal(t, []any{"Web", "x"}, p.data(t, "get_tags", args{"nodeId": "a"})["tags"])
	require.Equal(t, []any{}, p.data(t, "get_tags", args{"nodeId": "/"})["tags"])
}
