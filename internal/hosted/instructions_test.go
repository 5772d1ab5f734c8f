package hosted

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/mcptool"
)

// TestInstructions checks that the text names the tools of an offer, and no others.
func TestInstructions(t *testing.T) {
	full := instructions(mcptool.Offer{Tools: first, Writes: true})
	require.Equal(t, 9, strings.Count(full, "\n"))
	require.Contains(t, full, "\nTo write: notes_write, raven_set, raven_edit, raven_add and raven_trait_update. "+
		"After work, store what was learnt: memory_store.\n")
	reader := instructions(mcptool.Offer{Tools: []string{"raven_read"}})
	require.Contains(t, reader, "\nTo find and read notes: raven_read.\n")
	require.NotContains(t, reader, "To write")
	require.NotContains(t, reader, "idempotency")
	require.NotContains(t, instructions(mcptool.Offer{}), "raven_")
	require.NotContains(t, full+reader, "%!")
}
