package repo_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// A crowdTable blocks Gets until the given number is in flight, and records the largest number in
// flight.
type crowdTable struct {
	table.Table
	mu        sync.Mutex
	want      int
	now, most int
	there     chan struct{}
}

func (c *crowdTable) Get(ctx context.Context, k table.Key) (table.Item, error) {
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	if c.now == c.want {
		close(c.there)
		c.want = -1
	}
	c.mu.Unlock()
	<-c.there
	it, err := c.Table.Get(ctx, k)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
	return it, err
}

// TestPrefetch checks that texts are read 32 at once, each run once, and that a search reads all
// texts this way.
func TestPrefetch(t *testing.T) {
	const notes = 100
	e := engine(t)
	v := newVault(t, e)
	for i := range notes {
		change(t, v, edit{fmt.Sprintf("n%d.md", i), fmt.Sprintf("word%d and something", i)})
	}
	var many []edit
	for i := range 10 {
		many = append(many, edit{fmt.Sprintf("m%d.md", i), "of one run"})
	}
	change(t, v, many...)
	for name, ask := range map[string]func(v *repo.Vault, idx *index.Index){
		"Prefetch": func(v *repo.Vault, idx *index.Index) {
			var bodies []index.Body
			for f := range idx.Files() {
				bodies = append(bodies, f.Body, f.Body)
			}
			v.Prefetch(t.Context(), bodies)
			v.Prefetch(t.Context(), bodies)
			for f := range idx.Files() {
				text, err := v.Text(t.Context(), f.Body)
				require.NoError(t, err)
				require.Len(t, text, f.Size)
			}
		},
		"Searchable": func(v *repo.Vault, _ *index.Index) {
			_, err := v.Searchable(t.Context())
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &crowdTable{Table: e.Table, there: make(chan struct{})}
			counted := &countingTable{Table: c}
			late, err := repo.NewVault(repo.VaultOptions{
				Name: "team", Part: "v", Table: counted, Bucket: e.Bucket, Texts: repo.NewTexts(1 << 20),
				Now: repotest.NewClock().Now,
			})
			require.NoError(t, err)
			close(c.there) // until the vault is read
			idx, err := late.Read(t.Context())
			require.NoError(t, err)
			late.DropTexts()
			c.there, c.want, c.most = make(chan struct{}), 32, 0
			counted.gets.Store(0)
			ask(late, idx)
			require.Equal(t, 32, c.most)
			require.EqualValues(t, notes+1, counted.gets.Load(), "each run once")
		})
	}
}
