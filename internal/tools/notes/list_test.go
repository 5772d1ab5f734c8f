package notes_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// synthetic is a vault as the one on which the cases of A17 were seen: eight notes, two of them without a date.
var synthetic = map[string]string{
	"inbox/alpha.md":                 "---\ntitle: Alpha\ndate: 2026-02-10\nsource: slack\nsource_id: m-1\ntags: On Call, pager\n---\nThe pager rang on Tuesday.\n",
	"inbox/beta.md":                  "---\ndate: \"2026-01-05\"\nproject: Apollo\nentity: [Acme Corp, Bob]\n---\nBeta on the pager.\n",
	"projects/apollo/decision-1.md":  "---\ndate: 2026-01-20\ncausal_chain_id: Queue Choice\nentity: acme-corp\nepisode_id: Planning 1\n---\nA queue.\n",
	"projects/apollo/decision-2.md":  "---\nupdated: 2026-02-15\ncausal_chain_id: queue-choice\n---\nAnother queue, for the pager.\n",
	"projects/apollo/inbox/gamma.md": "---\ndate: 2026-02-20T10:00:00Z\n---\nGamma\n",
	"projects/Blue Moon/plan.md":     "# Plan\n\nNothing dated.\n",
	"approvals/2026-03-01-x.md":      "---\ndate: 2026-03-01\nkind: approval_log\n---\npager approved\n",
	"areas/undated.md":               "---\ntags: [x, 'on call']\n---\n",
	"templates/note.md":              "template of a pager\n",
	"areas/Meta/x.md":                "template\n",
}

// TestListShapes covers the JSON of the document, with the order of its keys.
func TestListShapes(t *testing.T) {
	p := open(t, synthetic)
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"folder": "inbox"}, `{"notes":[{"path":"inbox/alpha.md","title":"Alpha","project":null,"tags":["on-call","pager"],"date":"2026-02-10T00:00:00.000Z"},` +
			`{"path":"inbox/beta.md","title":null,"project":"apollo","tags":[],"date":"2026-01-05"}],"total":2}`},
		{args{"folder": "inbox", "fields": "path"}, `{"notes":[{"path":"inbox/alpha.md"},{"path":"inbox/beta.md"}],"total":2}`},
		{args{"folder": "inbox/beta.md", "fields": "full"}, `{"notes":[{"path":"inbox/beta.md","frontmatter":{"date":"2026-01-05","project":"Apollo","entity":["Acme Corp","Bob"]},"body":"Beta on the pager."}],"total":1}`},
		{args{"count_only": true}, `{"total":8}`},
		{args{"folder": "nowhere"}, `{"notes":[],"total":0}`},
		{args{"limit": 0}, `{"notes":[],"total":8}`},
		{args{"offset": 100}, `{"notes":[],"total":8}`},
	} {
		require.Equal(t, c.want, p.bare(t, "notes_list", c.in), "%v", c.in)
	}
}

// TestListFilters covers A17 38 to 48 and the rows of A4. upstream says where ours differs.
func TestListFilters(t *testing.T) {
	p := open(t, synthetic)
	for _, c := range []struct {
		in       args
		want     string // paths without .md
		upstream string
	}{
		{args{"folder": "proj"}, "", ""},
		{args{"folder": "projects/"}, "gamma decision-2 decision-1 plan", ""},
		{args{"folder": `projects\apollo`}, "gamma decision-2 decision-1", ""},
		{args{"folder": "Projects"}, "", ""},
		{args{"folder": "."}, "2026-03-01-x gamma decision-2 alpha decision-1 beta undated plan", ""},
		{args{"project": "Apollo"}, "gamma decision-2 decision-1 beta", ""},
		{args{"project": "blue moon"}, "plan", ""},
		{args{"project": "日本"}, "", ""},
		{args{"since": "2026-02-01"}, "2026-03-01-x gamma decision-2 alpha", ""},
		{args{"until": "2026-02-01"}, "decision-1 beta", "two more without a date"},
		{args{"since": "2026-03"}, "2026-03-01-x", ""},
		{args{"until": "2026"}, "", ""},
		{args{"since": "2026-01-20T23:00:00Z", "until": "2026-02-10"}, "alpha decision-1", ""},
		{args{"chain": "Queue Choice", "order": "date-asc"}, "decision-1 decision-2", ""},
		{args{"entity": "acme-corp"}, "decision-1 beta", ""},
		{args{"episode": "planning 1"}, "decision-1", ""},
		{args{"tag": "On Call"}, "alpha undated", ""},
		{args{"limit": 2, "offset": 1}, "gamma decision-2", ""},
		{args{"order": "date-asc"}, "undated plan beta decision-1 alpha decision-2 gamma 2026-03-01-x", ""},
		{args{"order": "path"}, "2026-03-01-x undated alpha beta plan decision-1 decision-2 gamma", "in the order of a locale"},
		{args{"content_scope": "approval_logs"}, "2026-03-01-x", ""},
		{args{"content_scope": "notes", "limit": 1}, "gamma", ""},
	} {
		var out struct{ Notes []struct{ Path string } }
		c.in["fields"] = "path"
		require.NoError(t, json.Unmarshal([]byte(p.bare(t, "notes_list", c.in)), &out))
		var names []string
		for _, n := range out.Notes {
			names = append(names, strings.TrimSuffix(n.Path[strings.LastIndex(n.Path, "/")+1:], ".md"))
		}
		require.Equal(t, c.want, strings.Join(names, " "), "%v", c.in)
	}
	for _, in := range []args{
		{"limit": 101}, {"limit": -1}, {"offset": -1}, {"fields": "bogus"}, {"order": "bogus"}, {"limit": "abc"},
		{"content_scope": "x"}, {"bogus": 1}, {"since": "today"}, {"until": "today"}, {"until": "20260201"},
		{"since": " "},
	} {
		f, _ := p.refused(t, "notes_list", in)
		require.Equal(t, "INVALID_PARAMETER", string(f.Code), "%v", in)
	}
}

// drawnNote is a note of a random vault.
func drawnNote(t *rapid.T) string {
	field := func(name string, values ...string) string {
		v := rapid.SampledFrom(append(values, "")).Draw(t, name)
		if v == "" {
			return ""
		}
		return name + ": " + v + "\n"
	}
	head := field("project", "Apollo", "\"\"", "x y", "日本") + field("tags", "[A b, c]", "\"c, On Call\"", "[1, null]") +
		field("date", "2026-01-01", "2026-01-02T10:00:00Z", "\"2026-01-02\"", "soon") + field("updated", "2026-01-03") +
		field("causal_chain_id", "One Two", "3") + field("entity", "\"A, B\"", "[b]") + field("episode_id", "e") +
		field("network", "Base") + field("kind", "approval_log") + field("title", "T")
	if head == "" {
		return "text\n"
	}
	return "---\n" + head + "---\ntext\n"
}

// TestListsAreFilterAndSort compares lists with a plain filter and sort of the texts.
func TestListsAreFilterAndSort(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		files := map[string]string{}
		for range rapid.IntRange(0, 12).Draw(rt, "notes") {
			path := rapid.SampledFrom([]string{"a", "b/a", "b/c/d", "projects/Apollo/x", "projects/y", "approvals/z",
				"Templates/t", "b/node_modules/n", "b-c/x"}).Draw(rt, "folder") + fmt.Sprint(rapid.IntRange(0, 2).Draw(rt, "n"))
			files[path+".md"] = drawnNote(rt)
		}
		p := open(t, files)
		for range 8 {
			in := args{"fields": "path", "limit": 100}
			for name, values := range map[string][]string{
				"folder": {"b", "b/c/", "projects", ""}, "project": {"apollo", "Apollo", "X Y", "y0-md"}, "tag": {"a b", "On-call", "null", "c"},
				"since": {"2026-01-02", "2026-01-03"}, "until": {"2026-01-01", "2026-01-02T00:00:00Z"}, "chain": {"one two"},
				"entity": {"b"}, "episode": {"E"}, "network": {"bASE "}, "content_scope": {"notes", "approval_logs"},
			} {
				if rapid.IntRange(0, 4).Draw(rt, name) == 0 {
					in[name] = rapid.SampledFrom(values).Draw(rt, "value")
				}
			}
			in["order"] = rapid.SampledFrom([]string{"date", "date-asc", "path"}).Draw(rt, "order")
			var out struct {
				Notes []struct{ Path string }
				Total int
			}
			require.NoError(rt, json.Unmarshal([]byte(p.bare(t, "notes_list", in)), &out))
			got := []string{}
			for _, n := range out.Notes {
				got = append(got, n.Path)
			}
			require.Equal(rt, naiveList(files, in), got, "%v", in)
			require.Equal(rt, len(got), out.Total)
		}
	})
}

// A naive note is what a second implementation reads of a text.
type naive struct {
	path, project, day string
	text               func(string) string
	list               func(string) []string
}

func naiveNote(path, text string) naive {
	head, _ := markdown.StrictHead([]byte(text))
	n := naive{path: path, text: func(name string) string {
		if v, _ := head.Get(name); v != nil {
			return markdown.TextOf(v)
		}
		return ""
	}}
	n.list = func(name string) (all []string) {
		v, _ := head.Get(name)
		if list, ok := v.([]any); ok {
			for _, item := range list {
				all = append(all, markdown.PlainSlug(markdown.TextOf(item)))
			}
			return all
		}
		for _, part := range strings.Split(n.text(name), ",") {
			all = append(all, markdown.PlainSlug(part))
		}
		return all
	}
	n.day = cmp.Or(n.text("date"), n.text("updated"))
	n.project = markdown.PlainSlug(n.text("project"))
	parts := strings.Split(path, "/")
	if v, _ := head.Get("project"); v == nil && parts[0] == "projects" {
		n.project = markdown.PlainSlug(parts[1])
	}
	return n
}

func (n naive) holds(name, value string) bool {
	slug := markdown.PlainSlug(value)
	begins := func(s string) string { return s[:min(10, len(s))] }
	switch name {
	case "folder":
		return value == "" || strings.HasPrefix(n.path, strings.TrimSuffix(value, "/")+"/")
	case "project":
		return n.project == slug
	case "tag":
		return slices.Contains(n.list("tags"), slug)
	case "entity":
		return slices.Contains(n.list("entity"), slug)
	case "chain":
		return markdown.PlainSlug(n.text("causal_chain_id")) == slug
	case "episode":
		return markdown.PlainSlug(n.text("episode_id")) == slug
	case "since":
		return n.day != "" && begins(n.day) >= begins(value)
	case "until":
		return n.day != "" && begins(n.day) <= begins(value)
	case "network":
		return strings.EqualFold(n.text("network"), strings.TrimSpace(value))
	case "content_scope":
		isLog := strings.HasPrefix(n.path, "approvals/") || n.text("kind") == "approval_log"
		return isLog == (value == "approval_logs")
	}
	return true
}

func naiveList(files map[string]string, in args) []string {
	var all []naive
	for path, text := range files {
		n, holds := naiveNote(path, text), true
		for _, part := range strings.Split(strings.ToLower(path), "/") {
			holds = holds && part != "templates" && part != "node_modules"
		}
		for name, value := range in {
			s, ok := value.(string)
			holds = holds && (!ok || n.holds(name, s))
		}
		if holds {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b naive) int {
		byDay := map[string]int{"date": cmp.Compare(b.day, a.day), "date-asc": cmp.Compare(a.day, b.day)}
		return cmp.Or(byDay[in["order"].(string)], cmp.Compare(a.path, b.path))
	})
	paths := []string{}
	for _, n := range all {
		paths = append(paths, n.path)
	}
	return paths
}
