package clitool_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/clitool"
)

// TestReading checks the progress of reading a folder: without a terminal one line at the beginning
// and one at the end, and none if everything is fast; on a terminal a bar that disappears.
func TestReading(t *testing.T) {
	var said bytes.Buffer
	app := &clitool.App{Err: &said}
	tell := app.Reading()
	for range 2 {
		said.Reset()
		for done := 500; done <= 2000; done += 500 {
			tell(done, 2000)
		}
		require.Equal(t, "reading the folder: 500 of 2000 files\nreading the folder: 2000 of 2000 files\n", said.String())
	}
	said.Reset()
	tell(900, 900)
	require.Empty(t, said.String())

	app.Progress = true
	tell = app.Reading()
	tell(500, 1000)
	require.Contains(t, said.String(), "reading the folder")
	require.Contains(t, said.String(), "500/1000")
	require.NotContains(t, said.String(), "\n")
	tell(1000, 1000)
	require.Regexp(t, `\r *\r$`, said.String(), "the bar is gone")
}
