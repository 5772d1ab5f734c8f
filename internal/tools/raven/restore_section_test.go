package raven_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
)

// TestRestoreOfASection covers where a section returns to in a note that changed after it was deleted: beside the
// nearest of its siblings that are still there.
func TestRestoreOfASection(t *testing.T) {
	const note = "# N\n\nIntro.\n\n## One\n\n1\n\n## Two\n\n2\n\n## Three\n\n3\n"
	for _, c := range []struct {
		name, id string
		from, to string // an edit after the deletion
		headings []string
	}{
		{name: "the first", id: "n#one", from: "Intro.", to: "Changed.", headings: []string{"One", "Two", "Three"}},
		{name: "one between", id: "n#two", from: "Intro.", to: "Changed.", headings: []string{"One", "Two", "Three"}},
		{name: "the last", id: "n#three", from: "Intro.", to: "Changed.", headings: []string{"One", "Two", "Three"}},
		{
			name: "its predecessor is gone", id: "n#two", from: "## One\n\n1\n\n", to: "",
			headings: []string{"Two", "Three"},
		},
		{
			name: "only an earlier one is left", id: "n#three", from: "## Two\n\n2", to: "## Last\n\n2",
			headings: []string{"One", "Three", "Last"},
		},
		{
			name: "all are gone", id: "n#one", from: "## Two\n\n2\n\n## Three\n\n3\n", to: "## Other\n",
			headings: []string{"Other", "One"},
		},
		{
			name: "a successor is in a quote now", id: "n#one", from: "## Two", to: "> ## Two",
			headings: []string{"Two", "Three", "One"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, map[string]string{"n.md": note})
			p.must(t, "raven_delete", args{"id": c.id}, nil)
			text := p.texts(t)["n.md"]
			require.Equal(t, 1, strings.Count(text, c.from))
			p.write(t, map[string]string{"n.md": strings.Replace(text, c.from, c.to, 1)})
			p.must(t, "raven_restore", args{"id": c.id, "confirm": true}, nil)
			var headings []string
			for line := range strings.Lines(p.texts(t)["n.md"]) {
				if _, heading, ok := strings.Cut(line, "## "); ok {
					headings = append(headings, strings.TrimSpace(heading))
				}
			}
			require.Equal(t, c.headings, headings)
		})
	}
}

// TestARenamedSectionKeepsItsNode covers that a section has the uid that it had, also without a text by which it could
// be found again, or with a reference to itself that is rewritten.
func TestARenamedSectionKeepsItsNode(t *testing.T) {
	p := open(t, map[string]string{"n.md": "# N\n\n## One\n\n### Part\n\n## Two\n\nSee [[n#two]].\n"})
	nodes := func() []index.UID {
		s, err := p.vault(t).Read(t.Context())
		require.NoError(t, err)
		n, ok := s.Note("n.md")
		require.True(t, ok)
		return n.NodeIDs()
	}
	before := nodes()
	require.Len(t, before, 4)
	p.must(t, "raven_section", args{"op": "rename", "id": "n#one", "title": "First"}, nil)
	require.Equal(t, before, nodes())
	p.must(t, "raven_section", args{"op": "rename", "id": "n#two", "title": "Second"}, nil)
	require.Equal(t, before, nodes())
	require.Equal(t, "# N\n\n## First\n\n### Part\n\n## Second\n\nSee [[n#second]].\n", p.texts(t)["n.md"])
}

// TestARenamedSectionWithAnID covers references by the heading of a section that declares an id.
func TestARenamedSectionWithAnID(t *testing.T) {
	p := open(t, map[string]string{
		"n.md": "# N\n\n## One\n::section(id=i)\n", "r.md": "[[n#One]] [[n#one|shown]] [l](n.md#one) [[n#i]]\n",
	})
	var out struct {
		ID    string `json:"id"`
		Total int    `json:"updated_refs_total"`
	}
	p.must(t, "raven_section", args{"op": "rename", "id": "n#i", "title": "First"}, &out)
	require.Equal(t, "n#i", out.ID)
	require.Equal(t, 3, out.Total)
	require.Equal(t, "[[n#i]] [[n#i|shown]] [l](n.md#i) [[n#i]]\n", p.texts(t)["r.md"])
}
