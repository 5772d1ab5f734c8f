package notes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const noFacets = `{"project":null,"tags":[],"date":null,"updated":null,"causal_chain_id":null,"entity":[],"episode_id":null}`

// TestFacets covers A17 29 to 36 and 65, and the rows of A7.
func TestFacets(t *testing.T) {
	wrap := func(path, facets, folder string, truncated bool) string {
		return fmt.Sprintf(`{"schema":"knowtation.metadata_facets/v0","path":%q,"facets":%s,"inferred":{"folder":%s,"source_type":null},"truncated":%t}`,
			path, facets, folder, truncated)
	}
	for _, c := range []struct{ path, text, facets, folder string }{
		{"projects/My Project/note.md", "---\nproject: Front Matter Project\ntags: Research, AI Safety\ndate: 2026-01-02\nupdated: '2026-01-03'\n" +
			"causal_chain_id: Launch Rollout\nentity: [Alice B, Core API]\nepisode_id: Episode 1\n---\n",
			`{"project":"front-matter-project","tags":["research","ai-safety"],"date":"2026-01-02T00:00:00.000Z","updated":"2026-01-03","causal_chain_id":"launch-rollout","entity":["alice-b","core-api"],"episode_id":"episode-1"}`,
			`"projects/My Project"`},
		{"projects/Born Free/inbox/note.md", "", strings.Replace(noFacets, `"project":null`, `"project":"born-free"`, 1), `"projects/Born Free/inbox"`},
		{"projects/foo.md", "", strings.Replace(noFacets, `"project":null`, `"project":"foo-md"`, 1), `"projects"`},
		{"projects/x/a.md", "---\nproject: ''\n---\n", noFacets, `"projects/x"`},
		{"projects/x/a.md", "---\nproject: 日本\n---\n", noFacets, `"projects/x"`},
		{"inbox/note.md", "---\n{}\n---\n", noFacets, `"inbox"`},
		{"note.md", "---\nlabel: x\nocr_text: y\nprovider_key: z\n---\nbody", noFacets, "null"},
		{"a.md", "---\ntags: [1, true, null]\nentity: 'Alice, Bob'\n---\n",
			`{"project":null,"tags":["1","true","null"],"date":null,"updated":null,"causal_chain_id":null,"entity":["alice","bob"],"episode_id":null}`, "null"},
		{"a.md", "---\ntags: ['#one #two', '', x, x]\ncausal_chain_id: [x, y]\ndate: true\n---\n",
			`{"project":null,"tags":["one-two","x","x"],"date":"true","updated":null,"causal_chain_id":"x-y","entity":[],"episode_id":null}`, "null"},
	} {
		p := open(t, map[string]string{c.path: c.text})
		want := wrap(c.path, c.facets, c.folder, false)
		for range 5 {
			require.Equal(t, want, p.bare(t, "notes_metadata_facets", args{"path": c.path}), c.text)
		}
	}
	var tags []string
	for i := range 150 {
		tags = append(tags, fmt.Sprintf("tag-%d", i))
	}
	p := open(t, map[string]string{
		"many.md": "---\ntags: [" + strings.Join(tags, ", ") + "]\n---\n",
		"long.md": "---\nproject: " + strings.Repeat("x", 1000) + "\ntags: [" + strings.Repeat("y", 1000) + "]\ndate: " + strings.Repeat("z", 255) + "😀\n---\n",
	})
	many := p.bare(t, "notes_metadata_facets", args{"path": "many"})
	require.Contains(t, many, `"tag-99"]`)
	require.Contains(t, many, `"truncated":true`)
	long := p.bare(t, "notes_metadata_facets", args{"path": "long"})
	require.Contains(t, long, `"project":"`+strings.Repeat("x", 256)+`"`)
	require.Contains(t, long, `"tags":["`+strings.Repeat("y", 256)+`"]`)
	require.Contains(t, long, `"date":"`+strings.Repeat("z", 255)+`"`, "half a character is dropped")
	require.Contains(t, long, `"truncated":true`)
}
