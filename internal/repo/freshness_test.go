package repo_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/repo"
)

// TestFreshness checks the Freshness of DESIGN §5 that follows from a control item, and which of
// several states takes precedence.
func TestFreshness(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	noticed := &repo.Noticed{At: now, Count: 1}
	clean, edited := &repo.Sweep{At: now, Version: 3}, &repo.Sweep{At: now, Count: 1}
	running := &repo.Lease{Holder: "h", Until: now.Add(time.Second)}
	for _, c := range []struct {
		name    string
		control repo.Control
		want    repo.Freshness
	}{
		{"nothing is known", repo.Control{Format: 1}, repo.Unknown},
		{"a clean sweep", repo.Control{Format: 1, Sweep: clean}, repo.Fresh},
		{"a sweep that found an edit", repo.Control{Format: 1, Sweep: edited}, repo.Stale},
		{"a sweep that missed a file", repo.Control{Format: 1, Sweep: &repo.Sweep{Missed: 1}}, repo.Stale},
		{"noticed before any sweep", repo.Control{Format: 1, Noticed: noticed}, repo.Pending},
		{"noticed after a clean sweep",
			repo.Control{Format: 1, Sweep: clean, Noticed: noticed}, repo.Pending},
		{"noticed beside what a sweep found",
			repo.Control{Format: 1, Sweep: edited, Noticed: noticed}, repo.Pending},
		{"nothing noticed any more",
			repo.Control{Format: 1, Sweep: clean, Noticed: &repo.Noticed{At: now}}, repo.Fresh},
		{"a reindex", repo.Control{Format: 1, Sweep: edited, Noticed: noticed, Lease: running},
			repo.Updating},
		{"a reindex that was killed",
			repo.Control{Format: 1, Sweep: clean, Lease: &repo.Lease{Until: now}}, repo.Fresh},
		{"a later release", repo.Control{Format: 99, Sweep: clean, Lease: running},
			repo.Incompatible},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, c.control.Freshness(now)) })
	}
}
