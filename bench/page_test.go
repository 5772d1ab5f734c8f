package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
)

func TestGoalsAreSetBesideWhatWasMeasured(t *testing.T) {
	r := result{Notes: goalSize, Loads: []sample{
		{Name: readNote, Clients: 1, Took: time.Second, Waits: []time.Duration{2 * time.Millisecond}},
		{Name: setField, Clients: 1, Took: time.Second, Waits: []time.Duration{18 * time.Millisecond}},
		{Name: setField, Clients: 64, Took: time.Second, Waits: make([]time.Duration, 400)},
	}}
	outcome := map[string]string{}
	for _, g := range goalsOf(r) {
		outcome[g.What] = g.Outcome()
	}
	require.Equal(t, map[string]string{
		"read, p50":                      "met",
		"set, p50 at one client":         "missed by 3.0 ms (20 %)",
		"set, p95 at 64 clients":         "met",
		"commits a second at 64 clients": "missed by 100 commits/s (20 %)",
	}, outcome)
}

func TestPageSaysWhatWasMeasured(t *testing.T) {
	r := result{
		Notes: goalSize, Bytes: 3 << 20,
		Import: imported{Took: 2 * time.Second, Longest: time.Second, Calls: 11, Notes: 10_000},
		Starts: []started{{"after the import", 1234, 5 * time.Millisecond, 6 * time.Millisecond,
			7 * time.Millisecond}},
		Memory: []memory{{When: "after the load", Resident: 7 << 20, Peak: 8 << 20}},
		Loads: []sample{{Name: readNote, Clients: 1, Took: time.Second,
			Waits: []time.Duration{4 * time.Millisecond}}},
		Index: indexed{
			Builds: []built{{bothIndexes, 2 * time.Second, 300e6, 140e6}},
			Changes: []changed{{usualNote, 2048, []time.Duration{9 * time.Microsecond},
				[]time.Duration{2 * time.Millisecond}, []time.Duration{3 * time.Microsecond}}},
			Totals: index.Totals{Traits: 12345},
		},
		Kept: kept{
			Commits: 3001, Folded: folded{3001, 2 * time.Second, []time.Duration{time.Second}},
			Images: []picture{{wholeImage, 2048, []time.Duration{90 * time.Millisecond}, 5 << 20}},
			Starts: []reached{{fromImage, []time.Duration{400 * time.Millisecond}, 9 << 20, 6 << 20}},
			Written: []sample{{Name: withFolds, Clients: 64, Took: time.Second,
				Waits: []time.Duration{time.Millisecond}}},
		},
		Asked: []asked{
			{call{What: "an object", Tool: "raven_object_get", Aim: aimLookup},
				waited(time.Millisecond), waited(2 * time.Millisecond), 0},
			{call{What: "a page", Tool: "raven_object_list", Aim: aimLookup},
				waited(2 * time.Millisecond), waited(4 * time.Millisecond), 0},
			{call{What: "words", Tool: "raven_search", Aim: aimSearch},
				waited(4 * time.Millisecond), sample{}, 3 << 10},
		},
		Served: aServed(),
	}
	p := &page{Command: "go run ./bench -seed 5", Date: "2026-01-02", Seed: 5, Ops: 10,
		Limit: time.Second, Results: []result{r}}
	var b bytes.Buffer
	require.NoError(t, p.render(&b))
	for _, want := range []string{
		"| Command | `go run ./bench -seed 5` |", "| Date | 2026-01-02 |", "unknown",
		"| read, p50 | ≤ 3 ms | 4.0 ms | missed by 1.0 ms (33 %) |",
		"| 10,000 | 11 | 2,000 ms | 5,000 | 1,000 ms |",
		"| after the import | 1,234 | 5.0 ms | 6.0 ms | 7.0 ms |",
		"| both indexes, from the texts | ≤ 3 s | 2.0 s | met |",
		"| memory while they are built | ≤ 256 MB | 300 MB | missed by 44.0 MB (17 %) |",
		"| the next index, p50 | ≤ 1 ms | 0.01 ms | met |",
		"| the next search index, p50 | ≤ 1 ms | 2.0 ms | missed by 1.0 ms (100 %) |",
		"| lookup in process, p50; the slowest: a page | ≤ 1 ms | 2.0 ms | missed by 1.0 ms (100 %) |",
		"| lookup over HTTP, p50; the slowest: a page | ≤ 3 ms | 4.0 ms | missed by 1.0 ms (33 %) |",
		"| search in process, p50; the slowest: words | ≤ 5 ms | 4.0 ms | met |",
		"| words | `raven_search` | 4.0 ms | 4.0 ms | refused | refused | 3.0 KiB |",
		"| 3,001 | 2,000 ms | 1,501 | 1 | 1,000 ms | 1,000 ms |",
		"| " + wholeImage + " | 2.0 KiB | 90.0 ms | 90.0 ms | 5.0 MiB |",
		"| " + fromImage + " | 400 ms | 400 ms | 9.0 MiB | 6.0 MiB |",
		"| " + withFolds + " | 64 | 1 | 1.0 | 1.0 ms | 1.0 ms |",
		"| a start from an image and its tail, p50 | ≤ 300 ms | 400 ms | missed by 100 ms (33 %) |",
		"| images of both indexes, loaded, p50 | ≤ 150 ms | 90.0 ms | met |",
		"with 12,345 traits", "2 of each, or as many as go into 166",
		"| read a note | 1 | 1 | 1.0 | 4.0 ms | 4.0 ms | 4.0 ms | none |",
		"| after the load | 7.0 MiB | unknown | 8.0 MiB |",
		"| the first | 1.0 ms | 2.0 ms | 3.0 ms | 4.0 ms |",
		"| memory of the server | 6.0 MiB | 4.0 MiB | 9.0 MiB |",
		"stats`, without a server | 2 | 10.0 ms | 20.0 ms | 20.0 ms | 5.0 ms |",
		"| a sweep, in process | 1 | 150 ms | 150 ms | 150 ms | |",
		"| a file is saved | 1 | 2 | 2,100 ms | 2,200 ms | 100 ms | 200 ms |",
		"| " + besideEditor + " | 8 | 1 | 1.0 | 1.0 ms | 1.0 ms | 1.0 ms | none |",
		"Left alone for 60.0 s, the server was busy for 600 ms: 1.0 % of a core.",
		"| sweep of an unchanged folder, p50 | ≤ 100 ms | 150 ms | missed by 50.0 ms (50 %) |",
		"| a file is saved, until a search finds it after its batch closed, p90 | ≤ 1000 ms | 200 ms | met |",
		"| server of a folder, idle | ≤ 0.5 % of a core | 1.0 % of a core | " +
			"missed by 0.50 % of a core (100 %) |",
	} {
		require.Contains(t, b.String(), want)
	}
}

// aServed is what a served folder came to.
func aServed() *served {
	const ms = time.Millisecond
	return &served{
		Starts:   []servedStart{{"the first", ms, 2 * ms, 3 * ms, 4 * ms}},
		Memory:   memory{Resident: 6 << 20, Own: 4 << 20, Peak: 9 << 20},
		Commands: alone{[]time.Duration{10 * ms, 20 * ms}, []time.Duration{5 * ms, 6 * ms}},
		Idle:     idle{true, time.Minute, 600 * ms},
		Edits:    []edited{{oneFile, 1, []time.Duration{2100 * ms, 2200 * ms}}},
		Loads: []sample{{Name: besideEditor, Clients: 8, Took: time.Second,
			Waits: []time.Duration{ms}}},
		Sweeps: waited(150 * ms),
	}
}

func TestPageOfOnePartHasNothingOfTheOther(t *testing.T) {
	const vault, folder = "### Import, and start", "### A served folder"
	for _, c := range []struct {
		measured   result
		has, lacks string
	}{
		{result{Notes: goalSize, Served: aServed()}, folder, vault},
		{result{Notes: goalSize, Import: imported{Calls: 1, Took: time.Second}, Kept: kept{
			Folded: folded{Publish: []time.Duration{0}, Took: time.Second},
		}}, vault, folder},
	} {
		var b bytes.Buffer
		require.NoError(t, (&page{Results: []result{c.measured}}).render(&b))
		require.Contains(t, b.String(), c.has)
		require.NotContains(t, b.String(), c.lacks)
	}
}

func TestIdleThatNobodyTellsHasNoGoal(t *testing.T) {
	s := aServed()
	s.Idle = idle{Took: time.Minute}
	for _, g := range s.goals() {
		require.NotContains(t, g.What, "idle")
	}
	var b bytes.Buffer
	require.NoError(t, (&page{Results: []result{{Served: s}}}).render(&b))
	require.Contains(t, b.String(), "this system does not tell")
}

func TestBusyInReadsBehindTheName(t *testing.T) {
	busy, err := busyIn("7 (a ) b 9) S 1 7 7 0 -1 0 5 0 0 0 250 50 0 0 20 0 9 0 1")
	require.NoError(t, err)
	require.Equal(t, 3*time.Second, busy)
	for _, broken := range []string{"", "7 (a) S 1 2", "7 (a) S 1 7 7 0 -1 0 5 0 0 0 x 50 0"} {
		_, err := busyIn(broken)
		require.Error(t, err, broken)
	}
}

// waited is a sample of one operation.
func waited(d time.Duration) sample { return sample{Waits: []time.Duration{d}} }

func TestMountedAtFindsTheInnermost(t *testing.T) {
	mounts := "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/b /tmp/deep xfs rw 0 0\nbroken\n"
	for dir, want := range map[string]string{
		"/home/x": "ext4", "/tmp": "tmpfs", "/tmp/x": "tmpfs", "/tmp/deep/er": "xfs",
		"/tmpfolder": "ext4",
	} {
		require.Equal(t, want, mountedAt(mounts, dir), dir)
	}
	require.Empty(t, mountedAt("", "/"))
}

func TestParseRefusesWhatMeasuresNothing(t *testing.T) {
	cfg, err := parse([]string{"-sizes", "5, 10", "-clients", "2", "-ops", "7", "-seed", "9"})
	require.NoError(t, err)
	require.Equal(t, []int{5, 10}, cfg.sizes)
	require.Equal(t, []int{2}, cfg.clients)
	require.Equal(t, `go run ./bench -sizes "5, 10" -clients 2 -ops 7 -seed 9`, cfg.command())
	for _, args := range [][]string{
		{"-sizes", ""}, {"-sizes", "0"}, {"-clients", "1,x"}, {"-ops", "0"}, {"-limit", "0s"}, {"more"},
		{"-edits", "0"}, {"-idle", "0s"}, {"-only", "half"},
	} {
		_, err := parse(args)
		require.Error(t, err, args)
	}
}

func TestBenchMeasuresTheRealServer(t *testing.T) {
	out := filepath.Join(t.TempDir(), "page.md")
	cfg, err := parse([]string{
		"-sizes", "40", "-clients", "1,4", "-ops", "24", "-out", out, "-dir", t.TempDir(),
		"-idle", "50ms", "-edits", "1", "-times", "1",
	})
	require.NoError(t, err)
	require.NoError(t, bench(t.Context(), cfg))
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Contains(t, string(text), "## 40 notes")
	for _, load := range []string{
		"| " + wholeImage + " |", "| " + fromImage + " |", "| as of a year ago, with no image |",
		"| " + withFolds + " | 64 | 48 |",
		"| " + readNote + " | 1 | 24 |", "| " + getObject + " | 1 | 24 |",
		"| " + setField + " | 1 | 24 |", "| " + setField + " | 4 | 24 |",
		"| " + addLine + " | 1 | 6 |", "| " + addLine + " | 4 | 6 |",
		"| " + setHot + " | 1 | 6 |", "| " + setPopular + " | 1 | 6 |",
		"| the first, which reads all notes |", "| a later one, of an unchanged folder |",
		"| " + oneFile + " | 1 | 1 |", "| a sweep, in process |",
		"| " + setField + " | 64 | 24 |", "| " + besideEditor + " | 8 | 24 |",
		"| " + setAgenda + " | 1 | 1 |", "| " + setHandbook + " | 1 | 1 |", "| a note's text | `raven_read` |",
	} {
		require.Contains(t, string(text), load)
	}
	// What the page says of the second start: a commit for the vault, one for the import, and one
	// for each acknowledged operation.
	require.Contains(t, string(text), "| after the load | 76 |")
	require.NotContains(t, string(text), "| refused | refused |")
	left, err := os.ReadDir(cfg.dir)
	require.NoError(t, err)
	require.Empty(t, left, "the data stays behind")
}

func TestServerThatSaysNothingIsAnError(t *testing.T) {
	for line, want := range map[string]string{
		"exit 3":                   "said nothing",
		"echo what a day":          "no address",
		"echo trouble >&2; exit 1": "trouble",
	} {
		launch := func(string) []string { return []string{"/bin/sh", "-c", line} }
		_, err := start(t.Context(), launch, filepath.Join(t.TempDir(), "data"))
		require.ErrorContains(t, err, want)
		require.False(t, strings.Contains(err.Error(), "<nil>"))
	}
}
