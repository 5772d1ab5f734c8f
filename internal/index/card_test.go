package index_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
)

// TestCards covers what a card says, and that a note without a head in the strict form has an empty one.
func TestCards(t *testing.T) {
	card := func(path, text string) (*index.Note, *index.Card) {
		x := index.Empty().With(commit(1, path, text))
		y, err := index.ReadImage(x.AppendImage(nil))
		require.NoError(t, err)
		n, _ := x.Note(path)
		again, _ := y.Note(path)
		require.Equal(t, n.Card(), again.Card())
		require.Equal(t, n.Project(), again.Project())
		return n, n.Card()
	}
	n, c := card("projects/Big Mill/card.md", cardText)
	require.Equal(t, "The Card", c.Title)
	require.Empty(t, n.Project(), "the head says that there is none")
	require.Equal(t, []string{"on-call", "x"}, c.Tags)
	require.Equal(t, "On Call x", c.TagsAsWritten())
	require.Equal(t, "2026-03-01T00:00:00.000Z", c.Date)
	require.Equal(t, "2026-03-02", c.Updated())
	require.Equal(t, c.Date, c.Day())
	require.Equal(t, []string{"queue-choice", "7", "approval_log"}, []string{c.Chain(), c.Episode(), c.Kind()})
	require.Equal(t, []string{"alice", "bob"}, c.Entities())
	require.Equal(t, []string{"In short", "base", "0xA", "Paid"}, c.Words)
	require.Equal(t, []string{"base", "0xA", "Paid"}, []string{c.Network(), c.WalletAddress(), c.PaymentStatus()})
	for text, project := range map[string]string{
		"no head":                           "big-mill",
		"---\nproject: \n---\n":             "big-mill",
		"---\nproject: 日本\n---\n":           "",
		"---\nproject: Other\n---\n":        "other",
		"---\nproject: Other\n---":          "big-mill",
		"\ufeff---\nproject: X\n---\n":      "big-mill",
		"--- \nproject: X\n---\n":           "big-mill",
		"---\nproject: X\n--- \n":           "big-mill",
		"---\na: [\n---\n":                  "big-mill",
		"---\n---\nproject: X\n---\n":       "x",
		"---\nproject: X\nm: {a: b}\n---\n": "x",
	} {
		n, _ := card("projects/Big Mill/x.md", text)
		require.Equal(t, project, n.Project(), "%q", text)
	}
	n, c = card("projects/foo.md", "---\ntitle: 42\ntags: [1, true, null, ' ', a]\nupdated: 2025-03-01T10:00:00+02:00\n---\n")
	require.Equal(t, "foo-md", n.Project())
	require.Equal(t, "42", c.Title)
	require.Equal(t, []string{"1", "true", "null", "a"}, c.Tags)
	require.Equal(t, "2025-03-01T08:00:00.000Z", c.Day())
}
