package repotest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// An arrival says when that arrives which is late.
type arrival int

const (
	atNext      arrival = iota // just before the next call of the same store
	inMinutes                  // when an append that was begun before may not be sent any more
	whenTrimmed                // when the runs of that time have left the table
)

// A foldTrial is one kind of fault in a vault whose log moves outward between its calls.
type foldTrial struct {
	trial
	arrival
}

// foldTrials are all of them.
func foldTrials() []foldTrial {
	var all []foldTrial
	for _, c := range []struct {
		name    string
		fault   tabletest.Fault
		arrival arrival
	}{
		{"before", tabletest.Before, atNext},
		{"after", tabletest.After, atNext},
		{"late, at the next call", tabletest.LateNext, atNext},
		{"late by minutes", tabletest.Late, inMinutes},
		{"late, when trimmed", tabletest.Late, whenTrimmed},
	} {
		one := trial{kind: mixedKind, fault: c.fault, name: "table, " + c.name}
		gaveUp, bucket := one, one
		gaveUp.name, gaveUp.gaveUp = one.name+", gave up", true
		bucket.name, bucket.bucket = "bucket, "+c.name, true
		for _, tr := range []trial{one, gaveUp, bucket} {
			all = append(all, foldTrial{tr, c.arrival})
		}
	}
	return all
}

// Of so many calls of the table, and of the bucket, one is met by a fault, but when soaking: then it
// is each. Which, is left to chance.
const (
	tableStride  = 120
	bucketStride = 16
)

// oneEffectFolding puts each fault at calls of a scenario in which the log is folded and trimmed
// between the steps, and images are lost.
func oneEffectFolding(t *testing.T, e Engine) {
	chance := seeded(t)
	for _, tr := range foldTrials() {
		stride := tableStride
		if tr.bucket {
			stride = bucketStride
		}
		fewest := 20 // calls that the scenario makes
		if tr.bucket && e.Items {
			fewest = 12 // images are in the table
		}
		calls := sampled(chance, stride)
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			for n := range calls.all() {
				r := newFoldRunner(e, tr, n)
				if r.run(t); !r.met.Load() {
					require.Greater(t, n, fewest, "the scenario made fewer calls than it must")
					return
				}
			}
		})
	}
}

// A foldRunner runs the scenario once, with folding.
type foldRunner struct {
	runner
	arrival
	used   []subject
	asleep subject // a process that reads at the start, and then only when all is over
}

// newFoldRunner is a runner whose fault is at the n-th call of the table, or of the bucket.
func newFoldRunner(e Engine, tr foldTrial, n int) *foldRunner {
	r := &foldRunner{runner: runner{trial: tr.trial}, arrival: tr.arrival}
	part := fmt.Sprintf("fold %s %d", tr.name, n)
	if !tr.bucket {
		r.place = newPlace(e, part, func(c tabletest.Call) tabletest.Fault { return r.plan(c, n) })
		return r
	}
	r.place = newPlace(e, part, nil)
	r.place.bucket.plan = func(call int) tabletest.Fault {
		if call != n || r.over.Load() {
			return tabletest.None
		}
		r.met.Store(true)
		return tr.fault
	}
	return r
}

// run runs the scenario over two processes in turn, of which now one folds and now the other, and
// checks what came of it.
func (r *foldRunner) run(t *testing.T) {
	require.NoError(t, r.place.log(t, r.place.Engine).Create(t.Context()))
	r.counts = map[string][2]int{}
	for range 2 {
		r.used = append(r.used, r.open(t, r.place, r.place.flakyEngine()))
	}
	r.asleep = r.open(t, r.place, r.place.Engine)
	_, err := r.asleep.state(t.Context())
	require.NoError(t, err)
	for i, s := range scenario() {
		r.step(t, r.used[i/2%2], s)
		r.place.clock.Move(6 * time.Minute)
		if r.arrival == inMinutes {
			r.deliver(t)
		}
		if i%2 == 1 {
			r.fold(t, r.used[i/4%2])
		}
		if i%5 == 4 {
			r.loseImages(t)
		}
		if i%4 == 3 {
			r.place.clock.Move(time.Hour)
			r.fold(t, r.used[i/8%2])
		}
	}
	r.over.Store(true)
	r.end(t)
}

// deliver lets everything arrive that is late.
func (r *foldRunner) deliver(t *testing.T) {
	r.place.flaky.Deliver(t.Context())
	r.place.bucket.deliver()
}

// fold makes one pass. It may fail only by the fault.
func (r *foldRunner) fold(t *testing.T, u subject) {
	excused := !r.met.Load()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.giveUp.Store(&cancel)
	err := u.(vaultSubject).Compact(ctx, eventlog.Compaction{All: true})
	r.broken.Store(false)
	require.True(t, err == nil || excused && r.met.Load(), "%v", err)
}

// loseImages deletes every image, as somebody may at any time.
func (r *foldRunner) loseImages(t *testing.T) {
	r.place.dropImages(t.Context(), t, r.place.images(t.Context(), t))
}

// objects are the keys in the bucket under a prefix.
func (r *foldRunner) objects(t *testing.T, prefix string) []string {
	var keys []string
	for o, err := range r.place.Bucket.List(t.Context(), prefix) {
		require.NoError(t, err)
		keys = append(keys, o.Key)
	}
	return keys
}

// end folds and trims everything, lets arrive what is late, and checks everything that is promised.
func (r *foldRunner) end(t *testing.T) {
	r.empty(t)
	r.deliver(t)
	for _, u := range r.used {
		r.step(t, u, step{tool: "after", key: "k9", put: map[string]string{"z": "z"}})
	}
	again := step{tool: "more, again", key: "k5", grow: "g", replays: "more"}
	r.step(t, r.open(t, r.place, r.place.Engine), again)
	r.step(t, r.fromSegments(t), again)
	everybody := append([]subject{r.asleep}, r.used...)
	r.check(t, everybody)
	r.empty(t)
	r.place.clock.Move(25 * time.Hour)
	r.fold(t, r.used[0])
	r.requireSwept(t)
	r.check(t, append(everybody, r.fromSegments(t)))
	_, err := r.used[1].(vaultSubject).Verify(t.Context(), nil)
	require.NoError(t, err)
}

// empty folds everything, and lets it leave the table.
func (r *foldRunner) empty(t *testing.T) {
	for i := range 2 {
		r.place.clock.Move(61 * time.Minute)
		r.fold(t, r.used[i])
	}
}

// fromSegments is a process that begins where no image is left.
func (r *foldRunner) fromSegments(t *testing.T) subject {
	r.loseImages(t)
	return r.open(t, r.place, r.place.Engine)
}

// requireSwept requires that nothing is left that nobody names: no payload, for all runs are in
// segments, no image but those of the control item, no item below the low mark.
func (r *foldRunner) requireSwept(t *testing.T) {
	require.Empty(t, r.objects(t, "payload/"))
	c, err := r.used[0].(vaultSubject).Control(t.Context())
	require.NoError(t, err)
	for _, found := range r.place.images(t.Context(), t) {
		named := slices.ContainsFunc(append(c.Images, *c.Image), func(i eventlog.Image) bool {
			return found.item == (i.Items > 0) && found.of(fmt.Sprintf("image/%d/%012d", i.Format, i.Seq))
		})
		require.True(t, named, found.key)
	}
	for it, err := range r.place.Table.Query(t.Context(), Part, "", "~") {
		require.NoError(t, err)
		require.False(t, strings.HasPrefix(it.Sort, "log/0"), "%s is below %d", it.Sort, c.Low)
	}
}
