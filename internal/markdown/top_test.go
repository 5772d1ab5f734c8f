package markdown_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
)

func TestHeadingsInListsAndQuotesAreNotAtTheTop(t *testing.T) {
	text := "# T\n\n## A\n\na\n\n> ## Q\n> q\n\n- # In list\n\n### B\n\n## C\n"
	d := markdown.Parse([]byte(text))
	type top struct {
		text   string
		top    bool
		parent int
	}
	var got []top
	for _, h := range d.Headings {
		got = append(got, top{h.Text, h.Top, h.TopParent})
	}
	require.Equal(t, []top{
		{"T", true, -1}, {"A", true, 0}, {"Q", false, -1}, {"In list", false, -1}, {"B", true, 1}, {"C", true, 0},
	}, got, "two headings of level 1 fold no title")
}

func TestTheTitleIsNoParentAtTheTop(t *testing.T) {
	d := markdown.Parse([]byte("# T\n\n### A\n\n## B\n\n#### C\n"))
	require.True(t, d.Headings[0].Title)
	var parents []int
	for _, h := range d.Headings {
		parents = append(parents, h.TopParent)
	}
	require.Equal(t, []int{-1, -1, -1, 2}, parents)
}

func TestBodies(t *testing.T) {
	text := "---\ntype: x\n---\n# T\n\nIntro.\n\n## A\n::risk(id=r)\n\nR text.\n\n> ## Q\n> in A\n\n### S\n![[a#b|c]]\n\n" +
		"## Two\n![[a]] ![[b]]\n\n## Empty\n\n## Fenced\n\n```\n## no heading\n```\n"
	d := markdown.Parse([]byte(text))
	var got []string
	var embeds []bool
	for i, b := range d.Bodies([]byte(text)) {
		if i == 0 || d.Headings[i-1].Top && !d.Headings[i-1].Title {
			got, embeds = append(got, text[b.Start:b.End]), append(embeds, b.Embeds)
		}
	}
	require.Equal(t, []string{"Intro.", "R text.\n\n> ## Q\n> in A", "![[a#b|c]]", "![[a]] ![[b]]", "",
		"```\n## no heading\n```"}, got)
	require.Equal(t, []bool{false, false, true, false, false, false}, embeds)
}
