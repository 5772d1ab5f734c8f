package localapp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// stats is the part of an answer of raven_stats about the files.
type stats struct {
	Freshness string
	Swept     string   `json:"swept_version"`
	SweptAt   string   `json:"swept_at"`
	Pending   []string `json:"pending_outside"`
	Edited    []string `json:"edited_outside"`
	Held      heldBatch
	Copies    []string `json:"conflicts"`
	Unparsed  []string `json:"quarantined"`
	Left      []struct{ File, Reason, Twin string }
}

// A heldBatch is the report about a batch that waits for a decision.
type heldBatch struct {
	Since                             string
	Count, Removed, Reverted, Changed int
	Moved, Created                    int
	Paths                             []string
}

func statsOf(t *testing.T, via tool.Invoker, in args) stats {
	t.Helper()
	return into[stats](t, must(t, via, "raven_stats", in))
}

// TestFreshness checks the report of raven_stats about the files of a vault: at the start, with a
// file that cannot be a note, and with a batch that waits for a decision.
func TestFreshness(t *testing.T) {
	app, dir := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	via := local{app}
	require.Eventually(t, func() bool { return statsOf(t, via, nil).Freshness != "unknown" },
		time.Minute, time.Millisecond)
	many := numbered(30)
	many["a.md"] = "one\n"
	put(t, via, many)
	s := statsOf(t, via, nil)
	require.Equal(t, "fresh", s.Freshness)
	require.NotEmpty(t, s.Swept)
	require.NotEmpty(t, s.SweptAt)
	require.Empty(t, statsOf(t, via, args{"as_of": "v2"}).Freshness)

	file := filepath.Join(folderOf(dir), "a.md")
	require.NoError(t, os.WriteFile(file, []byte("one \xff\n"), 0o600))
	told := into[reindexed](t, must(t, via, "raven_reindex", nil))
	require.Len(t, told.Errors, 1)
	require.Equal(t, "a.md", told.Errors[0].File)
	require.Contains(t, told.Errors[0].Message, "not UTF-8; save it as UTF-8")
	s = statsOf(t, via, nil)
	require.Equal(t, "stale", s.Freshness)
	require.Equal(t, []string{"a.md"}, s.Edited)
	require.Equal(t, "encoding", s.Left[0].Reason)
	require.Equal(t, "one\n", read(t, via, "a"), "what is read is what the log says")
	require.Equal(t, []string{"left_file", "stale_index"}, filesChecked(t.Context(), t, via))

	require.NoError(t, os.WriteFile(file, []byte("one\n"), 0o600))
	must(t, via, "raven_reindex", nil)
	s = statsOf(t, via, nil)
	require.Equal(t, "fresh", s.Freshness)
	require.Empty(t, s.Left)
	require.Empty(t, filesChecked(t.Context(), t, via))
	require.Equal(t, []string{"check_incomplete"}, filesChecked(brief{t.Context()}, t, via))

	removeNumbered(t, dir, 25)
	must(t, via, "raven_reindex", nil)
	s = statsOf(t, via, nil)
	require.Equal(t, "pending", s.Freshness)
	require.Equal(t, 25, s.Held.Removed)
	require.Equal(t, []string{"stale_index"}, filesChecked(t.Context(), t, via))
	require.Empty(t, statsOf(t, via, args{"as_of": "v2"}).Held.Paths)
	must(t, via, "raven_reindex", args{"pending": "discard"})
	require.Equal(t, "fresh", statsOf(t, via, nil).Freshness)
}

// A brief is a context whose deadline is soon, and that does not end.
type brief struct{ context.Context }

func (brief) Deadline() (time.Time, bool) { return time.Now().Add(time.Millisecond), true }

// filesChecked returns the codes of a check about the files of a vault and about the check itself,
// sorted.
func filesChecked(ctx context.Context, t *testing.T, via local) []string {
	t.Helper()
	a, err := call(ctx, via, "raven_check", args{"issues": []string{"left_file", "stale_index", "check_incomplete"}})
	require.NoError(t, err)
	var codes []string
	for _, i := range into[struct {
		Issues []struct {
			Details struct {
				Code string `json:"raven_code"`
			}
		}
	}](t, a).Issues {
		codes = append(codes, i.Details.Code)
	}
	slices.Sort(codes)
	return codes
}

// numbered returns n notes.
func numbered(n int) map[string]string {
	notes := map[string]string{}
	for i := range n {
		notes[fmt.Sprintf("many/%02d.md", i)] = fmt.Sprintf("note %d\n", i)
	}
	return notes
}

// removeNumbered removes the first of them from the folder.
func removeNumbered(t *testing.T, dir string, n int) {
	t.Helper()
	for path := range numbered(n) {
		require.NoError(t, os.Remove(filepath.Join(folderOf(dir), path)))
	}
}

// TestUpdating checks that a running reindex is reported while it runs, and not after that, even if
// it fails.
func TestUpdating(t *testing.T) {
	dir := history(t)
	app := open(t, dir)
	defer func() { require.NoError(t, app.Close()) }()
	via := local{app}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			select {
			case <-stop:
				done <- nil
				return
			default:
				_, err = call(t.Context(), via, "raven_reindex", args{"full": true})
			}
		}
		done <- err
	}()
	require.Eventually(t, func() bool { return statsOf(t, via, nil).Freshness == "updating" },
		time.Minute, time.Microsecond)
	close(stop)
	require.NoError(t, <-done)
	require.Equal(t, "fresh", statsOf(t, via, nil).Freshness)

	require.NoError(t, os.Remove(payloads(t, dir)[0]))
	refused(t, fault.IndexError, via, "raven_reindex", args{"full": true})
	require.Equal(t, "fresh", statsOf(t, via, nil).Freshness, "a lease is given back")
}
