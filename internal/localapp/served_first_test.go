package localapp_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/localapp"
)

// TestServesWhatItHasRead stops the first read of a folder after its first piece: what was read is
// served, and the vault is being updated until all is (issue 6, §1.2).
func TestServesWhatItHasRead(t *testing.T) {
	t.Parallel()
	const notes = 1200
	p := newPerson(t, nil)
	for i := range notes {
		p.write(fmt.Sprintf("v/n%04d.md", i), "# Note\n")
	}
	first, goOn := make(chan int), make(chan struct{})
	var told []int
	cfg := p.config("v")
	cfg.Progress = func(done, total int) {
		if told = append(told, done); len(told) == 1 {
			first <- total
			<-goOn
		}
	}
	app, err := localapp.Open(t.Context(), cfg)
	require.NoError(t, err)
	via, stop := serve(t, app)
	require.Equal(t, notes, <-first)
	count := func() int {
		return into[struct {
			Count int `json:"file_count"`
		}](t, must(t, via, "raven_stats", nil)).Count
	}
	require.Equal(t, 500, count())
	require.Eventually(t, func() bool { return statsOf(t, via, nil).Freshness == "updating" },
		time.Minute, time.Millisecond)
	close(goOn)
	require.NoError(t, app.CaughtUp(t.Context()))
	require.Equal(t, notes, count())
	require.Eventually(t, func() bool { return statsOf(t, via, nil).Freshness == "fresh" },
		time.Minute, time.Millisecond)
	require.Equal(t, []int{500, 1000, notes}, told)
	stop()
	require.NoError(t, app.Close())

	cfg.Progress = func(int, int) { t.Error("nothing is to be read") }
	app, err = localapp.Open(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, app.CaughtUp(t.Context()))
	p.close(app)
}

// TestClosedWhileItReads ends a server in the midst of the first read: the next start goes on, and takes
// nothing in twice.
func TestClosedWhileItReads(t *testing.T) {
	t.Parallel()
	p := newPerson(t, nil)
	for i := range 1200 {
		p.write(fmt.Sprintf("v/n%04d.md", i), "# Note\n")
	}
	reading := make(chan struct{}, 3)
	cfg := p.config("v")
	cfg.Progress = func(int, int) { reading <- struct{}{} }
	app, err := localapp.Open(t.Context(), cfg)
	require.NoError(t, err)
	_, stop := serve(t, app)
	<-reading
	stop()
	p.close(app)
	app = p.open("v")
	defer p.close(app)
	log := folder(t, p.path("v"))[".raven/audit.log"]
	require.Len(t, into[struct{ Items []struct{ ID string } }](t,
		must(t, local{app}, "raven_object_list", args{"limit": 200})).Items, 200)
	seen := map[string]bool{}
	for _, line := range discovered.FindAllString(log, -1) {
		require.False(t, seen[line], "%s is told twice", line)
		seen[line] = true
	}
}

// discovered is what an audit log tells of an object that was found in the folder.
var discovered = regexp.MustCompile(`"discovered":\["object:[^"]*"\]`)
