package checkout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
)

// TestSavedAnewInTheFirstReading is an editor that removes its file and creates it again while a
// process reads the folder for the first time: the reading does not find the file, and finds it
// before it ingests the removal. The debounce time is 8 s and not 2 s, for slow machines.
func TestSavedAnewInTheFirstReading(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", song)
	write(t, v, "a.md", above(song, "ours"))
	folder.Close()
	p.remove(t, "a.md")
	missed := make(chan struct{})
	p.files.missed = func() { close(missed) }
	v = p.vault(t)
	folder, err := checkout.Open(t.Context(), v, p.options().Slowed(4))
	require.NoError(t, err)
	defer folder.Close()
	<-missed
	p.edit(t, "a.md", below(song, "mine"))
	require.NoError(t, folder.Ready(t.Context()))
	settled(t, p, v, folder)
	require.Equal(t, above(below(song, "mine"), "ours"), text(t, v, "a.md"))
}
