package repotest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/search"
)

// queries are searched for.
var queries = []string{"tea", "lantern -oil", `"buy"`, "größe", "mill*", "important", "Ünïcode canal"}

// answers is what a vault answers of a version beside its index: the texts, the history of some files,
// and what is found.
func (c *chronicle) answers(ctx context.Context, v *repo.Vault, version uint64) string {
	s, err := v.SearchableAt(ctx, version)
	require.NoError(c.t, err)
	require.Equal(c.t, version, s.Index.Version())
	c.requireTold("searchable", s.Index)
	var b strings.Builder
	for f := range s.Index.Files() {
		text, err := v.Text(ctx, f.Body)
		require.NoError(c.t, err)
		require.Equal(c.t, f.Digest, index.DigestOf(text), "the text of %s in v%d", f.Path, version)
	}
	for _, q := range queries {
		found, err := s.Search.Search(search.ParseQuery(q), search.Options{
			Text: func(doc string) ([]byte, error) {
				n, _ := s.Index.Note(doc)
				return v.Text(ctx, n.Body)
			},
		})
		require.NoError(c.t, err)
		fmt.Fprintf(&b, "%s: %d %v\n", q, found.Total, found.Partial)
		for _, hit := range found.Items {
			fmt.Fprintf(&b, "\t%+v\n", hit)
		}
	}
	c.traces(ctx, v, s.Index, &b)
	c.rememberings(ctx, v, version, &b)
	return b.String()
}

// traces writes the history of some paths as of a version.
func (c *chronicle) traces(
	ctx context.Context, v *repo.Vault, x *index.Index, b *strings.Builder,
) {
	r := rand.New(rand.NewPCG(x.Version(), 0)) // the same paths whenever the version is asked of
	for range 4 {
		path := NewAuthor(r).Path()
		was, seq, err := v.Trace(ctx, x.Version(), []string{path},
			func(n *eventlog.Note) bool { return n.Path == path })
		require.NoError(c.t, err)
		fmt.Fprintf(b, "%s was last changed by v%d\n", cmp.Or(was, path), seq)
		for revision, err := range v.Revisions(ctx, path, seq) {
			require.NoError(c.t, err)
			fmt.Fprintf(b, "\tv%d %v %v %s %s %v\n", revision.Seq, revision.Deleted, revision.Traits,
				revision.Time, revision.Digest, revision.Prev)
		}
	}
}
