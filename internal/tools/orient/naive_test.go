package orient_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A recount is what orientation says of some texts, found in the plainest way: by reading them all.
type recount struct {
	notes, units, bytes, quarantined int
	below, direct                    map[string]int // by folder
	tags, fields                     map[string]int
	values                           map[string]map[string]int
}

// recounted reads all texts.
func recounted(texts map[string]string) recount {
	r := recount{
		below: map[string]int{}, direct: map[string]int{}, tags: map[string]int{}, fields: map[string]int{},
		values: map[string]map[string]int{"type": {}, "status": {}},
	}
	exclusion := exclusionOf(texts)
	for name, text := range texts {
		if vault.Path(name).Kind() == vault.KindNote && !exclusion.Excludes(name, nil) {
			r.note(name, text)
		}
	}
	return r
}

// exclusionOf is what the raven.yaml of a vault excludes.
func exclusionOf(texts map[string]string) *vault.Exclusion {
	config, _ := vault.ParseConfig([]byte(texts["raven.yaml"]), nil)
	return vault.NewExclusion(config.Exclude)
}

func (r *recount) note(name, text string) {
	doc := markdown.Parse([]byte(text))
	r.notes, r.bytes, r.units = r.notes+1, r.bytes+len(text), r.units+unitsOf(name, text)
	if doc.Problem != nil {
		r.quarantined++
	}
	dir := strings.TrimPrefix(path.Dir("/"+name), "/")
	r.direct[dir]++
	for r.below[dir]++; dir != ""; r.below[dir]++ {
		dir = strings.TrimPrefix(path.Dir("/"+dir), "/")
	}
	head := doc.Head()
	for i, field := range head.Keys {
		r.fields[field]++
		list, ok := head.Values[i].([]any)
		if !ok {
			list = []any{head.Values[i]}
		}
		seen := map[string]bool{}
		for _, v := range list {
			seen[shown(field, v)] = true
		}
		delete(seen, "")
		for value := range seen {
			if field == "tags" {
				r.tags[value]++
			} else if r.values[field] != nil {
				r.values[field][value]++
			}
		}
	}
}

func shown(field string, v any) string {
	text := fmt.Sprint(v)
	switch d := v.(type) {
	case nil, []any, *markdown.Map:
		return ""
	case markdown.Date:
		text = d.Text
	}
	if field == "tags" {
		text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "#"))
	}
	return text
}

// unitsOf is how many units search has of a note.
func unitsOf(name, text string) int {
	x := index.Empty().With(index.Commit{Seq: 1, Changes: []index.Change{{Path: name, Text: []byte(text)}}})
	n, _ := x.Note(name)
	return search.Empty("english").With([]search.Change{{Doc: name, Note: repo.SearchNote(n, []byte(text))}}).Units()
}

// pairs are counts as JSON, those with the most notes first, and at most so many.
func pairs(counts map[string]int, key string, limit int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	list := []string{}
	for _, name := range names[:min(limit, len(names))] {
		list = append(list, fmt.Sprintf(`{%q:%s,"noteCount":%d}`, key, quoted(name), counts[name]))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func quoted(s string) string {
	b := &strings.Builder{}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSpace(b.String())
}

func (r *recount) overview() string {
	top := map[string]int{}
	for dir, n := range r.below {
		if dir != "" && !strings.Contains(dir, "/") {
			top[dir] = n
		}
	}
	return fmt.Sprintf(`{"noteCount":%d,"chunkCount":%d,"topLevelFolders":%s,"topTags":%s,"frontmatterFields":%s,`+
		`"indexFreshness":"fresh"}`, r.notes, r.units, pairs(top, "path", 20), pairs(r.tags, "tag", 50),
		pairs(r.fields, "name", 50))
}

func (r *recount) tagsAnswer(limit int) string {
	return fmt.Sprintf(`{"tags":%s,"indexFreshness":"fresh"}`, pairs(r.tags, "tag", limit))
}

func (r *recount) facets(limit int) string {
	text := pairs(r.fields, "name", limit)
	for name, values := range r.values {
		was := fmt.Sprintf(`{"name":%q,"noteCount":%d}`, name, r.fields[name])
		text = strings.Replace(text, was, strings.TrimSuffix(was, "}")+`,"values":`+pairs(values, "value", 1000)+"}", 1)
	}
	return fmt.Sprintf(`{"facets":%s,"indexFreshness":"fresh"}`, text)
}

// inside are the folders in a folder, by path.
func (r *recount) inside(dir string) []string {
	list := []string{}
	for other := range r.below {
		if other != "" && strings.TrimPrefix(path.Dir("/"+other), "/") == dir {
			list = append(list, other)
		}
	}
	slices.Sort(list)
	return list
}

// tree is the answer of vault_tree, and how many folders there are down to a depth.
func (r *recount) tree(depth, limit int, direct bool) (answer string, total int) {
	shown, level := map[string]bool{}, []string{""}
	for range depth + 1 {
		var next []string
		for _, dir := range level {
			if total++; total <= limit {
				shown[dir] = true
			}
			next = append(next, r.inside(dir)...)
		}
		level = next
	}
	return `{"tree":` + r.node("", shown, direct) + `,"indexFreshness":"fresh"}`, total
}

func (r *recount) node(dir string, in map[string]bool, direct bool) string {
	children := []string{}
	for _, other := range r.inside(dir) {
		if in[other] {
			children = append(children, r.node(other, in, direct))
		}
	}
	n := r.below[dir]
	if direct {
		n = r.direct[dir]
	}
	return fmt.Sprintf(`{"path":%s,"noteCount":%d,"childFolders":%d,"children":[%s]}`, quoted(dir), n,
		len(r.inside(dir)), strings.Join(children, ","))
}

// require requires that the five answers about a vault, as of a version or now, are those of the recount.
func (r *recount) require(t require.TestingT, p *place, in args, limit, depth int, direct bool) {
	with := func(more args) args {
		all := maps.Clone(in)
		maps.Copy(all, more)
		return all
	}
	check := func(want, name string, more args, warned ...string) {
		got, warnings := p.answered(t, name, with(more))
		require.Equal(t, want, got, "%s %v", name, with(more))
		require.Equal(t, append([]string{}, warned...), codes(warnings), "%s %v", name, with(more))
	}
	when := func(yes bool, code string) []string {
		if yes {
			return []string{code}
		}
		return nil
	}
	top := len(r.inside(""))
	check(r.overview(), "vault_overview", nil, slices.Concat(when(top > 20, "TOP_LEVEL_FOLDERS_TRUNCATED"),
		when(len(r.tags) > 50, "TOP_TAGS_TRUNCATED"), when(len(r.fields) > 50, "FRONTMATTER_FIELDS_TRUNCATED"))...)
	check(r.tagsAnswer(limit), "vault_tags", args{"limit": limit}, when(len(r.tags) > limit, "TAGS_TRUNCATED")...)
	check(r.facets(limit), "vault_facets", args{"limit": limit}, when(len(r.fields) > limit, "FACETS_TRUNCATED")...)
	tree, total := r.tree(depth, limit, direct)
	check(tree, "vault_tree", args{"depth": depth, "limit": limit, "directOnly": direct},
		when(total > limit, "TREE_LIMIT_EXCEEDED")...)
	got, warnings := p.answered(t, "vault_status", in)
	require.Empty(t, warnings)
	require.True(t, strings.HasPrefix(got, fmt.Sprintf(`{"indexFreshness":"fresh","noteCount":%d,"chunkCount":%d,"byteCount":%d,`+
		`"quarantinedCount":%d,"pendingChangeCount":0,"heldChangeCount":0,`, r.notes, r.units, r.bytes, r.quarantined)), got)
}
