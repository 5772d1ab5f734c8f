package index_test

import (
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// facetTexts are notes with heads of every kind.
var facetTexts = []string{
	"text", "---\ntype: a\nstatus: open\ntags: [x, y]\n---\n", "---\ntags: '#x'\nstatus: [open, done, open]\n---\n",
	"---\ntype: 1.0\ntags: [1, true, null, {a: 1}, [z], x, '# x']\n---\n", "---\ntype: 2025-03-01\nmap: {a: b}\n---\n",
	"---\na: 1\na: 2\n---\n", "---\na: [\n---\n", "---\ntype:\ntags: {x: y}\n\"\": v\n---\n", "---\ntags: a, b\nstatus: Open\n---\n", "-",
}

var facetPaths = []string{
	"a.md", "b/a.md", "b/c/d/a.md", "b/c/e.md", "b-c/a.md", "b/.hidden/a.md", "é/日/x.md", "b0/a.md", "_folder.md",
	"b/dist/a.md",
}

// excluding are texts of raven.yaml.
var excluding = []string{"exclude: [b/]\n", "exclude: ['*', '!b/c/', '!b/c/e.md']\n", "exclude: [/a.md, '!dist/']\n", "- no\n", "-"}

// TestFacetsAreRecounted compares the sums after each commit of a random history with a recount of the texts,
// and with those of an image.
func TestFacetsAreRecounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, texts := index.Empty(), map[string]string{}
		for seq := range rapid.IntRange(1, 8).Draw(t, "commits") {
			var pairs []string
			for range rapid.IntRange(1, 5).Draw(t, "changes") {
				name := rapid.SampledFrom(facetPaths).Draw(t, "path")
				text := rapid.SampledFrom(facetTexts).Draw(t, "text")
				pairs = append(pairs, name, text)
				if texts[name] = text; text == "-" {
					delete(texts, name)
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "settings") == 0 {
				text := rapid.SampledFrom(excluding).Draw(t, "raven.yaml")
				pairs, texts["raven.yaml"] = append(pairs, "raven.yaml", text), text
			}
			x = x.With(commit(uint64(seq+1), pairs...))
			requireFacets(t, x, texts)
		}
		y, err := index.ReadImage(x.AppendImage(nil))
		require.NoError(t, err)
		requireFacets(t, y, texts)
		y = y.With(commit(99, "b/new.md", facetTexts[1]))
		texts["b/new.md"] = facetTexts[1]
		requireFacets(t, y, texts)
	})
}

func requireFacets(t *rapid.T, x *index.Index, texts map[string]string) {
	want := recount(texts)
	folders := map[string]bool{"": true, "b": true, "b/c": true, "none": true, "é": true}
	for name := range want.notes {
		folders[name] = true
	}
	for name := range folders {
		under := slices.Sorted(maps.Keys(want.folders[name]))
		require.Equal(t, index.FolderSum{
			Notes: want.notes[name], Direct: want.direct[name], Folders: len(under),
		}, x.FolderSum(name), name)
		var found []string
		for path, notes := range x.FoldersIn(name) {
			found = append(found, path)
			require.Equal(t, want.notes[path], notes, path)
		}
		require.Equal(t, under, found, name)
	}
	require.Equal(t, want.fields, maps.Collect(x.HeadFields()))
	require.Equal(t, want.tags, maps.Collect(x.HeadTags()))
	require.Equal(t, want.values["type"], maps.Collect(x.HeadValues("type")))
	require.Equal(t, want.values["status"], maps.Collect(x.HeadValues("status")))
	for level := range 5 {
		count := 0
		for name := range want.notes {
			if name != "" && 1+strings.Count(name, "/") == level {
				count++
			}
		}
		require.Equal(t, count, x.FoldersAt(level), level)
	}
	requireSorted(t, x.HeadTags())
	require.Equal(t, want.all, x.Totals().Counted)
}

func requireSorted(t *rapid.T, all iter.Seq2[string, int]) {
	var names []string
	for name := range all {
		names = append(names, name)
	}
	require.True(t, slices.IsSorted(names))
}

// counted is what a recount finds.
type counted struct {
	notes, direct map[string]int
	folders       map[string]map[string]bool
	fields, tags  map[string]int
	values        map[string]map[string]int
	all           index.Counted
}

// recount counts what orientation shows in the plainest way.
func recount(texts map[string]string) counted {
	c := counted{
		map[string]int{}, map[string]int{}, map[string]map[string]bool{}, map[string]int{}, map[string]int{},
		map[string]map[string]int{"type": {}, "status": {}}, index.Counted{},
	}
	config, _ := vault.ParseConfig([]byte(strings.TrimPrefix(texts["raven.yaml"], "-")), nil)
	exclusion := vault.NewExclusion(config.Exclude)
	for name, text := range texts {
		if vault.Path(name).Kind() != vault.KindNote || exclusion.Excludes(name, nil) {
			continue
		}
		c.all.Notes++
		c.all.Units++ // the texts are short
		c.all.Bytes += int64(len(text))
		if markdown.Parse([]byte(text)).Problem != nil {
			c.all.Quarantined++
		}
		dir := ""
		if i := strings.LastIndexByte(name, '/'); i > 0 {
			dir = name[:i]
		}
		c.direct[dir]++
		for dir != "" {
			c.notes[dir]++
			above := path.Dir(dir)
			if above == "." {
				above = ""
			}
			if c.folders[above] == nil {
				c.folders[above] = map[string]bool{}
			}
			c.folders[above][dir] = true
			dir = above
		}
		c.notes[""]++
		c.head(markdown.Parse([]byte(text)).Head())
	}
	return c
}

func (c counted) head(head *markdown.Map) {
	for _, name := range head.Keys {
		c.fields[name]++
		v, _ := head.Get(name)
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		seen := map[string]bool{}
		for _, v := range list {
			text := fmt.Sprint(v)
			switch d := v.(type) {
			case nil, []any, *markdown.Map:
				text = ""
			case markdown.Date:
				text = d.Text
			}
			if name == "tags" {
				text = strings.TrimSpace(strings.TrimPrefix(text, "#"))
			}
			seen[text] = true
		}
		delete(seen, "")
		for text := range seen {
			if name == "tags" {
				c.tags[text]++
			} else if c.values[name] != nil {
				c.values[name][text]++
			}
		}
	}
}
