package notes_test

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// A drawn is a random note, and what must be read of it: both are written down at once, so that nothing here
// parses Markdown or YAML.
type drawn struct {
	path, text string
	fields     map[string]any // as JavaScript has them; dates as their text
	headings   []treeNode     // in text order
}

// A piece of a text is Markdown with its meaning. A node is one that is not text: it is parted from its
// neighbours by a blank.
type piece struct {
	markdown, means string
	node            bool
}

var (
	plainPieces = []piece{
		{"word", "word", false}, {"two words", "two words", false}, {" ", " ", false}, {"&amp;", "&", false}, {`\*`, "*", false},
		{"é", "é", false}, {"e\u0301", "é", false}, {"日本", "日本", false}, {"~~x~~", "~~x~~", false}, {"[[w|a]]", "[[w|a]]", false},
		{":e:", ":e:", false}, {"{#id}", "{#id}", false}, {"a_b", "a_b", false}, {"&#65;", "A", false}, {"\u00a0", " ", false}, {"C++", "C++", false},
	}
	nodePieces = []piece{
		{"**bold**", "bold", true}, {"*em*", "em", true}, {"`code`", "code", true}, {"[l](u)", "l", true}, {"![alt](u)", "alt", true},
		{"<b>", "<b>", true}, {"<https://x.y>", "https://x.y", true}, {"[a *b*](u)", "a b", true},
	}
)

// inline draws the text of a heading.
func inline(t *rapid.T, first string) (markdown, means string) {
	parts := []string{first}
	markdown = first
	for range rapid.IntRange(0, 4).Draw(t, "pieces") {
		p := rapid.SampledFrom(plainPieces).Draw(t, "text")
		markdown += p.markdown
		parts[len(parts)-1] += p.means
		if rapid.Bool().Draw(t, "node") { // never two beside each other: their marks would be one run
			p = rapid.SampledFrom(nodePieces).Draw(t, "node")
			markdown += p.markdown
			parts = append(parts, p.means, "")
		}
	}
	return markdown, strings.Join(strings.Fields(norm.NFC.String(strings.Join(parts, " "))), " ")
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

func naiveSlug(s string) string {
	return strings.Trim(notSlug.ReplaceAllString(strings.ToLower(s), "-"), "-")
}

// add notes a heading.
func (d *drawn) add(level int, text string) {
	slug := naiveSlug(text)
	if slug == "" {
		slug = "heading"
	}
	id := fmt.Sprintf("h%d-%s-%04d", level, slug, len(d.headings)+1)
	d.headings = append(d.headings, treeNode{ID: id, Text: text, Level: level, Children: []treeNode{}})
}

// block draws a block of the body.
func (d *drawn) block(t *rapid.T) string {
	level := rapid.IntRange(1, 6).Draw(t, "level")
	marks := strings.Repeat("#", level)
	switch form := rapid.IntRange(0, 13).Draw(t, "form"); form {
	case 0, 1, 2, 3, 4, 5:
		first := rapid.SampledFrom([]string{"", "Plan "}).Draw(t, "first")
		text, means := inline(t, first)
		d.add(level, means)
		before := map[int]string{2: "> ", 3: "- ", 4: "> - ", 5: "1. "}[form]
		return before + marks + " " + text + rapid.SampledFrom([]string{"", " ##", "  "}).Draw(t, "end")
	case 6:
		text, means := inline(t, "Two\nlines ")
		d.add(1+level%2, means)
		return text + "\n" + strings.Repeat([]string{"=", "-"}[level%2], 3)
	case 7:
		d.add(level, "")
		return marks
	case 8:
		many := rapid.IntRange(400, 520).Draw(t, "many")
		for range many {
			d.add(level, "x")
		}
		return strings.TrimSuffix(strings.Repeat(marks+" x\n", many), "\n")
	}
	return rapid.SampledFrom([]string{
		"text", "```\n# no\n```", "text\n\n    # no", "<div>\n# no\n</div>", "<!-- a\n\n# no\n\n-->", "#NoSpace\n####### seven", "[ref]: /u",
		`\# no`,
	}).Draw(t, "no heading")
}

// A scalar is a value of YAML, as it is written and as a text.
type scalar struct{ yaml, text string }

// nullItem is null in a list: the text null if the items are read one by one, and empty in the list as a text.
const nullItem = "\x00"

var scalars = []scalar{
	{"Alpha", "Alpha"}, {`"On Call"`, "On Call"}, {`"x, Y z"`, "x, Y z"}, {`" "`, " "}, {`""`, ""}, {"日本", "日本"}, {`"É a"`, "É a"},
	{`"#a b"`, "#a b"}, {"42", "42"}, {"1.50", "1.5"}, {"007", "7"}, {"true", "true"}, {"2026-03-01", "2026-03-01T00:00:00.000Z"},
	{"2026-03-01 10:00:00", "2026-03-01T10:00:00.000Z"}, {"'2026-03-01'", "2026-03-01"}, {"2026-3-1", "2026-3-1"},
	{strings.Repeat("ab-", 100), strings.Repeat("ab-", 100)}, {strings.Repeat("y", 255) + "😀", strings.Repeat("y", 255) + "😀"},
}

// value draws a value: a text, a list of them, or nil.
func value(t *rapid.T) (yaml string, v any) {
	one := func() scalar { return rapid.SampledFrom(scalars).Draw(t, "value") }
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return "", nil
	case 1, 2:
		n := rapid.SampledFrom([]int{0, 1, 2, 3, 101}).Draw(t, "items")
		var items []string
		list := make([]string, n)
		for i := range list {
			s := one()
			if s.yaml == "42" && i%2 == 0 {
				s = scalar{"null", nullItem}
			}
			items, list[i] = append(items, s.yaml), s.text
		}
		return "[" + strings.Join(items, ", ") + "]", list
	}
	s := one()
	return s.yaml, s.text
}

// draw draws a note.
func draw(t *rapid.T) *drawn {
	d := &drawn{fields: map[string]any{}, path: rapid.SampledFrom([]string{
		"a.md", "inbox/my-note_name.md", "projects/Born Free/inbox/n.md", "projects/foo.md", "x/-.md", "a/b.markdown.md", "projects.md",
	}).Draw(t, "path")}
	head := ""
	for _, name := range []string{"title", "project", "tags", "date", "updated", "causal_chain_id", "entity", "episode_id", "other"} {
		if rapid.IntRange(0, 2).Draw(t, name) > 0 {
			continue
		}
		yaml, v := value(t)
		head += name + ": " + yaml + "\n"
		d.fields[name] = v
	}
	if head != "" {
		d.text = "---\n" + head + "---\n"
	}
	var blocks []string
	for range rapid.IntRange(0, 8).Draw(t, "blocks") {
		blocks = append(blocks, d.block(t))
	}
	d.text += strings.Join(blocks, "\n\n") + "\n"
	if rapid.Bool().Draw(t, "CRLF") {
		d.text = strings.ReplaceAll(d.text, "\n", "\r\n")
	}
	return d
}

// asText is a field as JavaScript's String has it.
func (d *drawn) asText(name string) (text string, says bool) {
	switch v := d.fields[name].(type) {
	case string:
		return v, true
	case []string:
		return strings.ReplaceAll(strings.Join(v, ","), nullItem, ""), true
	}
	return "", false
}

// units is a text of at most 256 UTF-16 units, without the half of a character.
func (a *facetsAnswer) units(s string) string {
	n := 0
	for i, r := range s {
		if n++; r > 0xffff {
			n++
		}
		if n > 256 {
			a.Truncated = true
			return s[:i]
		}
	}
	return s
}

// A facetsAnswer is the answer of notes_metadata_facets, with the keys in the order of the document.
type facetsAnswer struct {
	Schema string `json:"schema"`
	Path   string `json:"path"`
	Facets struct {
		Project *string  `json:"project"`
		Tags    []string `json:"tags"`
		Date    *string  `json:"date"`
		Updated *string  `json:"updated"`
		Chain   *string  `json:"causal_chain_id"`
		Entity  []string `json:"entity"`
		Episode *string  `json:"episode_id"`
	} `json:"facets"`
	Inferred struct {
		Folder *string `json:"folder"`
		Source *string `json:"source_type"`
	} `json:"inferred"`
	Truncated bool `json:"truncated"`
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// facets is what notes_metadata_facets must answer.
func (d *drawn) facets() *facetsAnswer {
	a := &facetsAnswer{Schema: "knowtation.metadata_facets/v0", Path: d.path}
	text := func(name string) string {
		s, _ := d.asText(name)
		return a.units(s)
	}
	list := func(name string) []string {
		values, isList := d.fields[name].([]string)
		if s, says := d.asText(name); says && !isList {
			values = strings.Split(s, ",")
		}
		if len(values) > 100 {
			a.Truncated, values = true, values[:100]
		}
		slugs := []string{}
		for _, v := range values {
			if s := naiveSlug(a.units(strings.TrimSpace(strings.ReplaceAll(v, nullItem, "null")))); s != "" {
				slugs = append(slugs, s)
			}
		}
		return slugs
	}
	a.Facets.Project = orNull(naiveSlug(text("project")))
	if d.fields["project"] == nil && strings.HasPrefix(d.path, "projects/") {
		a.Facets.Project = orNull(naiveSlug(strings.Split(d.path, "/")[1]))
	}
	a.Facets.Tags, a.Facets.Entity = list("tags"), list("entity")
	a.Facets.Date, a.Facets.Updated = orNull(text("date")), orNull(text("updated"))
	a.Facets.Chain, a.Facets.Episode = orNull(naiveSlug(text("causal_chain_id"))), orNull(naiveSlug(text("episode_id")))
	if i := strings.LastIndex(d.path, "/"); i >= 0 {
		a.Inferred.Folder = orNull(d.path[:i])
	}
	return a
}

// title is what an outline and a tree must have as the title.
func (d *drawn) title() *string {
	if s, _ := d.asText("title"); strings.TrimSpace(s) != "" {
		return orNull(strings.TrimSpace(s))
	}
	name := strings.TrimSuffix(path.Base(d.path), ".md")
	return orNull(strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' }), " "))
}

// TestAnswersAboutOneNote compares outline, tree and facets of random notes with what they were drawn as, to the
// byte.
func TestAnswersAboutOneNote(t *testing.T) {
	p := open(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		p.put(t, map[string]string{d.path: d.text})
		require.Equal(rt, encoded(t, d.facets()), p.bare(t, "notes_metadata_facets", args{"path": d.path}), "%q", d.text)

		shown := d.headings[:min(500, len(d.headings))]
		title, cut := encoded(t, d.title()), len(d.headings) > 500
		var rows, rest = []string{}, shown
		for _, h := range shown {
			rows = append(rows, fmt.Sprintf(`{"level":%d,"text":%s,"id":%q}`, h.Level, encoded(t, h.Text), h.ID))
		}
		require.Equal(rt, fmt.Sprintf(`{"schema":"knowtation.note_outline/v1","path":%q,"title":%s,"headings":[%s],"truncated":%t}`,
			d.path, title, strings.Join(rows, ","), cut), p.bare(t, "notes_outline", args{"path": d.path}), "%q", d.text)

		tree := []string{}
		for len(rest) > 0 {
			var node string
			node, rest = treeJSON(t, rest)
			tree = append(tree, node)
		}
		require.Equal(rt, fmt.Sprintf(`{"schema":"knowtation.document_tree/v0","path":%q,"title":%s,"root":{"children":[%s]},"truncated":%t}`,
			d.path, title, strings.Join(tree, ","), cut), p.bare(t, "notes_document_tree", args{"path": d.path}), "%q", d.text)
	})
}

// treeJSON is the first heading with those below it, and the headings behind them.
func treeJSON(t testing.TB, all []treeNode) (node string, rest []treeNode) {
	h, children := all[0], []string{}
	for rest = all[1:]; len(rest) > 0 && rest[0].Level > h.Level; {
		var child string
		child, rest = treeJSON(t, rest)
		children = append(children, child)
	}
	return fmt.Sprintf(`{"id":%q,"level":%d,"text":%s,"children":[%s]}`, h.ID, h.Level, encoded(t, h.Text), strings.Join(children, ",")), rest
}

func encoded(t testing.TB, v any) string { return string(marshalled(t, v)) }
