package checkout_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
)

// seconds returns a number of seconds as a duration.
func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// TestDue checks when which edits are due. Times are in seconds before now: when the first and the
// last change of the file was noticed.
func TestDue(t *testing.T) {
	const (
		changed = checkout.EditChanged
		made    = checkout.EditMade
		removed = checkout.EditRemoved
		joins   = checkout.EditJoins
	)
	type edits = map[string]checkout.Edit
	for _, c := range []struct {
		name  string
		edits edits
		due   []string
		wait  float64 // until more may be due; 0: for nothing
	}{
		{"nothing", nil, nil, 0},
		{"just changed", edits{"a": {changed, 0.5, 0.5}}, nil, 1.5},
		{"quiet", edits{"a": {changed, 2, 2}}, []string{"a"}, 0},
		{"saved twice", edits{"a": {changed, 3, 1}}, nil, 1},
		{"goes on changing", edits{"a": {changed, 4, 0.1}}, nil, 1},
		{"goes on changing for long", edits{"a": {changed, 5, 0.1}}, []string{"a"}, 0},
		{"quiet beside a busy file", edits{"a": {changed, 2, 2}, "busy": {changed, 2.5, 0.2}},
			[]string{"a"}, 1.8},
		{"quiet beside a new busy file", edits{"a": {changed, 2, 2}, "busy": {made, 2.5, 0.2}},
			[]string{"a"}, 1.8},
		{"a busy file that is due beside one that is not quiet",
			edits{"a": {changed, 0.5, 0.5}, "busy": {changed, 5.5, 0.2}}, []string{"busy"}, 1.5},
		{"saved at almost the same time", edits{"a": {changed, 2, 2}, "b": {changed, 1.5, 1.5}},
			nil, 0.5},
		{"which is not waited for without end", edits{"a": {changed, 3, 3}, "b": {changed, 1.5, 1.5}},
			[]string{"a"}, 0.5},
		{"removed just now", edits{"a": {removed, 1, 1}}, nil, 1},
		{"removed", edits{"a": {removed, 2, 2}}, []string{"a"}, 0},
		{"removed beside a busy file", edits{"a": {removed, 2, 2}, "busy": {changed, 3, 0.1}},
			[]string{"a"}, 1.9},
		{"removed, and perhaps moved", edits{"a": {removed, 4, 4}, "new": {made, 4, 0.5}}, nil, 1},
		{"and perhaps moved to a file that never is quiet",
			edits{"a": {removed, 10, 10}, "new": {made, 1, 0.2}}, []string{"a"}, 1.8},
		{"removals that go on", edits{"a": {removed, 8, 8}, "b": {removed, 0.5, 0.5}}, nil, 1.5},
		{"removals that go on for long",
			edits{"a": {removed, 10, 10}, "b": {removed, 5, 5}, "c": {removed, 0.5, 0.5}},
			[]string{"a", "b"}, 1.5},
		{"what waits with removals", edits{"a": {removed, 0.5, 0.5}, "b": {joins, 6, 6}}, nil, 1.5},
		{"and is due with them", edits{"a": {removed, 2, 2}, "b": {joins, 6, 6}},
			[]string{"a", "b"}, 0},
		{"changed while others are removed",
			edits{"a": {changed, 3, 3}, "b": {removed, 0.1, 0.1}}, []string{"a"}, 1.9},
		{"changed beside a large removal",
			and(removals(21), edits{"a": {changed, 2, 2}, "b": {changed, 60, 60}}), []string{"b"}, 0.8},
		{"busy beside a large removal", and(removals(21), edits{"a": {changed, 6, 0.1}}),
			[]string{"a"}, 0.8},
	} {
		t.Run(c.name, func(t *testing.T) {
			due, wait := checkout.Due(c.edits)
			require.Equal(t, c.due, due)
			require.InDelta(t, c.wait, wait.Seconds(), 1e-6)
		})
	}
}

// removals returns n removals of files 1.2 seconds ago.
func removals(n int) map[string]checkout.Edit {
	all := map[string]checkout.Edit{}
	for i := range n {
		all[fmt.Sprintf("removed-%d", i)] = checkout.Edit{Kind: checkout.EditRemoved, First: 1.2, Last: 1.2}
	}
	return all
}

// and returns the union of two sets of edits.
func and(a, b map[string]checkout.Edit) map[string]checkout.Edit {
	maps.Copy(a, b)
	return a
}

// TestDueOfACheckout checks that files which a program changes one after another are synced in few
// commits. It simulates when each file changes, and determines the due edits every tenth of a
// second.
func TestDueOfACheckout(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   int
		apart   time.Duration
		commits int
	}{
		{"fast", 500, time.Millisecond, 1},
		{"slow", 50, 100 * time.Millisecond, 5},
		{"slower", 20, time.Second, 20},
		{"one file after a long time", 2, time.Minute, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := make([]time.Duration, c.files)
			for i := range at {
				at[i] = time.Duration(i) * c.apart
			}
			commits, latest := dueOf(at)
			require.LessOrEqual(t, commits, c.commits)
			require.LessOrEqual(t, latest, seconds(3.2), "a file that does not change any more")
		})
	}
}

// dueOf returns in how many commits files that change at these times are synced, and the longest
// time between the change and the sync of a file.
func dueOf(at []time.Duration) (commits int, latest time.Duration) {
	const tick = 100 * time.Millisecond
	waiting := map[int]time.Duration{}
	last := slices.Max(at)
	for now := time.Duration(0); now <= last+seconds(10); now += tick {
		for i, then := range at {
			if then <= now && then > now-tick {
				waiting[i] = then
			}
		}
		edits := map[string]checkout.Edit{}
		names := map[string]int{}
		for i, then := range waiting {
			name := string(rune('0' + i))
			names[name] = i
			age := (now - then).Seconds()
			edits[name] = checkout.Edit{Kind: checkout.EditChanged, First: age, Last: age}
		}
		due, _ := checkout.Due(edits)
		if len(due) > 0 {
			commits++
		}
		for _, name := range due {
			latest = max(latest, now-waiting[names[name]])
		}
		maps.DeleteFunc(waiting, func(i int, _ time.Duration) bool {
			return slices.Contains(due, string(rune('0'+i)))
		})
	}
	return commits, latest
}
