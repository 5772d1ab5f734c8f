package repo_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
)

// TestFreshness checks the Freshness of DESIGN §5 that follows from a control item, and which of
// several states takes precedence.
func TestFreshness(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	noticed := &repo.Noticed{At: now, Count: 1}
	clean, edited := &repo.Sweep{At: now, Version: 3}, &repo.Sweep{At: now, Count: 1}
	running := &eventlog.Lease{Holder: "h", Until: now.Add(time.Second)}
	for _, c := range []struct {
		name   string
		format int
		files  repo.FileState
		want   repo.Freshness
	}{
		{"nothing is known", 1, repo.FileState{}, repo.Unknown},
		{"a clean sweep", 1, repo.FileState{Sweep: clean}, repo.Fresh},
		{"a sweep that found an edit", 1, repo.FileState{Sweep: edited}, repo.Stale},
		{"a sweep that missed a file", 1, repo.FileState{Sweep: &repo.Sweep{Missed: 1}}, repo.Stale},
		{"noticed before any sweep", 1, repo.FileState{Noticed: noticed}, repo.Pending},
		{"noticed after a clean sweep",
			1, repo.FileState{Sweep: clean, Noticed: noticed}, repo.Pending},
		{"noticed beside what a sweep found",
			1, repo.FileState{Sweep: edited, Noticed: noticed}, repo.Pending},
		{"nothing noticed any more",
			1, repo.FileState{Sweep: clean, Noticed: &repo.Noticed{At: now}}, repo.Fresh},
		{"a reindex", 1, repo.FileState{Sweep: edited, Noticed: noticed, Lease: running},
			repo.Updating},
		{"a reindex that was killed",
			1, repo.FileState{Sweep: clean, Lease: &eventlog.Lease{Until: now}}, repo.Fresh},
		{"a later release", 99, repo.FileState{Sweep: clean, Lease: running},
			repo.Incompatible},
	} {
		t.Run(c.name, func(t *testing.T) {
			control := repo.Control{Control: eventlog.Control{Format: c.format}, FileState: c.files}
			require.Equal(t, c.want, control.Freshness(now))
		})
	}
}
