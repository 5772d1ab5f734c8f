package checkout_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// BenchmarkSweep measures the regular comparison of a folder of 10,000 notes with its log when
// nothing has changed.
func BenchmarkSweep(b *testing.B) {
	p := newPlace(b, nil)
	v, folder := p.open(b)
	for folders := range 100 {
		_, err := v.Update(b.Context(), repo.Call{Tool: "test"},
			func(ctx context.Context, tx *repo.Tx) (any, error) {
				for i := range 100 {
					path := vault.Path(fmt.Sprintf("folder %d/note %d.md", folders, i))
					if err := tx.Put(ctx, path, []byte(song)); err != nil {
						return nil, err
					}
				}
				return nil, nil
			})
		require.NoError(b, err)
	}
	folder.Close()              // no more background sweeps
	time.Sleep(3 * time.Second) // the files are at rest
	_, err := folder.Sweep(b.Context())
	require.NoError(b, err)
	for b.Loop() {
		_, err := folder.Sweep(b.Context())
		require.NoError(b, err)
	}
}
