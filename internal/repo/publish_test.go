package repo_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
)

// TestLargeImagesAreRare checks that the next image of a vault with a large image comes later if
// little was appended, so that the storage of the images of an hour does not grow with the vault.
func TestLargeImagesAreRare(t *testing.T) {
	s := newShelf(t)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 6 {
		var b strings.Builder
		for b.Len() < repo.MaxNote*9/10 {
			fmt.Fprintf(&b, "%x ", random.Uint64())
		}
		change(t, s.vault, edit{fmt.Sprintf("large-%d.md", i), b.String()})
	}
	s.fold(t)
	image := func() eventlog.Image {
		c, err := s.vault.Control(t.Context())
		require.NoError(t, err)
		return *c.Image
	}
	first := image()
	for i := range 500 {
		change(t, s.vault, edit{"small.md", fmt.Sprint("edit ", i)})
	}
	pass := func() {
		require.NoError(t, s.vault.Compact(t.Context(), eventlog.Compaction{}))
	}
	const size = 16 << 20
	waits := first.Size / size
	require.Positive(t, waits, "the image is no large one")
	for range waits {
		s.clock.Move(time.Minute)
		pass()
		require.Equal(t, first.Seq, image().Seq)
	}
	s.clock.Move(time.Minute)
	pass()
	require.Greater(t, image().Seq, first.Seq)
}
