package stream_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThousandCommits holds that the files of 1,000 commits, of whose records only the first comes, are written in one
// call: each note once, with its newest text, in a few Queries and with one write of the cursor.
func TestThousandCommits(t *testing.T) {
	const commits, notes = 1000, 200
	b := newVaultFixture(t)
	b.sync(t, 1)
	first, last := uint64(0), uint64(0)
	want := map[string]string{}
	for i := range commits {
		path, text := fmt.Sprintf("%03d.md", i*7%notes), fmt.Sprintf("text %d\n", i)
		last = b.write(t, path, text)
		if first == 0 {
			first = last
		}
		want[path] = text
	}
	b.reset()
	b.sync(t, first)
	var files []string
	for path, text := range want {
		files = append(files, path+": "+text)
	}
	slices.Sort(files)
	require.Equal(t, files, b.files(t))
	require.Equal(t, last, b.control(t).Cursors["checkout"].Seq)
	require.Equal(t, []int{1, 1, 1, 2 * notes}, b.requests(), "Queries, Gets, writes, and a GET and a PUT of each note")
}
