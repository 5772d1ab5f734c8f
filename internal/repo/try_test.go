package repo_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

var errTried = errors.New("tried")

// A tried is a part of a call: its writes, and whether it fails in the end.
type tried struct {
	paths []vault.Path
	texts []string
	fails bool
}

// drawTried returns a random part of a call.
func drawTried(r *rand.Rand) tried {
	part := tried{fails: r.IntN(2) == 0}
	for range r.IntN(5) {
		part.paths = append(part.paths, vault.Path(fmt.Sprintf("n%d.md", r.IntN(3))))
		part.texts = append(part.texts, []string{
			"", "# A\n\n- @due(2026-03-01) one\n", "# A\n\n- @due(2026-03-01) one\n- @due(2026-03-02) one\n",
			"- @due(2026-03-02) other\n\n## B\n",
		}[r.IntN(4)])
	}
	return part
}

// run makes the writes of the part. An empty text removes the note.
func (p tried) run(ctx context.Context, tx *repo.Tx) error {
	for i, path := range p.paths {
		err := error(nil)
		if p.texts[i] == "" {
			err = tx.Remove(ctx, path)
		} else {
			err = tx.Put(ctx, path, []byte(p.texts[i]))
		}
		if err != nil {
			return err
		}
		tx.Index()
	}
	if p.fails {
		return errTried
	}
	return nil
}

// TestTryLeavesNoTrace checks that a call with parts that fail has the same effect as the call
// without them, and that its state equals the one derived from the log.
func TestTryLeavesNoTrace(t *testing.T) {
	v, other := newVault(t, engine(t)), newVault(t, engine(t))
	schema := edit{"schema.yaml", "traits:\n  due: {type: date}\n"}
	change(t, v, schema)
	change(t, other, schema)
	r := rand.New(rand.NewPCG(5, 5))
	for range 40 {
		parts := make([]tried, 1+r.IntN(5))
		for i := range parts {
			parts[i] = drawTried(r)
		}
		tryAll(t, v, parts, true)
		tryAll(t, other, parts, false)
		require.Equal(t, outcome(t, other), outcome(t, v))
	}
	live, err := v.Read(t.Context())
	require.NoError(t, err)
	again, err := v.Rebuild(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, again.AppendImage(nil), live.AppendImage(nil))
}

// tryAll runs the parts in one call: all of them, or only those that do not fail.
func tryAll(t *testing.T, v *repo.Vault, parts []tried, all bool) {
	t.Helper()
	_, err := v.Update(t.Context(), caller(), func(ctx context.Context, tx *repo.Tx) (any, error) {
		for _, p := range parts {
			if p.fails && !all {
				continue
			}
			before := tx.Index()
			touched := tx.Touched()
			err := tx.Try(func() error { return p.run(ctx, tx) })
			require.Equal(t, p.fails, errors.Is(err, errTried))
			if p.fails {
				require.Same(t, before, tx.Index())
				require.Equal(t, touched, tx.Touched())
			}
		}
		return nil, nil
	})
	require.NoError(t, err)
}

// outcome returns the texts and the ids of traits in a vault.
func outcome(t *testing.T, v *repo.Vault) map[string][]string {
	t.Helper()
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	all := map[string][]string{"version": {fmt.Sprint(idx.Version())}}
	for f := range idx.Files() {
		text, err := v.Text(t.Context(), f.Body)
		require.NoError(t, err)
		all[f.Path] = []string{string(text)}
		if f.Note != nil {
			all[f.Path] = append(all[f.Path], f.Note.TraitIDs()...)
		}
	}
	return all
}
