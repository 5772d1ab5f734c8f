package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// A witness is a table that compares every write of a job with the one before. The progress must
// never decrease, a final state must be the last write, and of two concurrent attempts only one may
// have the lease.
type witness struct {
	table.Table
	t *testing.T

	mu   sync.Mutex // serializes writes, so that their order is known
	jobs map[string]job.Item
}

// Commit implements table.Table.
func (w *witness) Commit(ctx context.Context, ops ...table.Op) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.Table.Commit(ctx, ops...)
	if err != nil {
		return err
	}
	for _, op := range ops {
		if strings.HasPrefix(op.Item.Sort, "job/") && op.Kind != table.OpRemove {
			w.see(op.Item)
		}
	}
	return nil
}

// see checks the new state of a job.
func (w *witness) see(row table.Item) {
	w.t.Helper()
	var now job.Item
	if err := json.Unmarshal(row.Data, &now); err != nil {
		w.t.Error(err)
		return
	}
	was, known := w.jobs[now.ID]
	w.jobs[now.ID] = now
	if !known {
		return
	}
	if was.State.Ended() {
		w.t.Errorf("%s was %s, and is %s", now.ID, was.State, now.State)
	}
	if now.Progress.Done < was.Progress.Done || now.Attempts < was.Attempts {
		w.t.Errorf("%s went back from %+v to %+v", now.ID, was, now)
	}
	taken := was.Lease != nil && now.Lease != nil && now.Lease.Holder != was.Lease.Holder
	if taken && now.Attempts != was.Attempts+1 {
		w.t.Errorf("%s has another holder without another attempt", now.ID)
	}
}

// lives returns how many processes run one after the other in each of three places, and how many
// jobs they create.
func lives() (lives, jobs int) {
	if os.Getenv("ROOKERY_SOAK") != "" {
		return 60, 40
	}
	return 8, 6
}

// TestThreeProcesses runs three processes at once that create, run and cancel jobs, and die at
// random calls of the table; each is followed by another, while leases expire. It checks that each
// job is created once and ends, that each step of a completed job was done at least once and in
// order, and every write with a witness.
func TestThreeProcesses(t *testing.T) {
	repotest.EachSeed(t, nil, func(t *testing.T, seed uint64) {
		b := newBed(t)
		steps := map[string][]string{} // started steps by job
		b.hook = func(_ context.Context, r *job.Run, name string) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			steps[r.Item.ID] = append(steps[r.Item.ID], name)
			return nil
		}
		w := &witness{Table: b.table, t: t, jobs: map[string]job.Item{}}
		most, jobs := lives()
		var all sync.WaitGroup
		for i := range 3 {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			all.Go(func() {
				for n := range most {
					b.live(w, r, fmt.Sprint(i, ".", n%jobs))
				}
			})
		}
		all.Wait()
		b.clock.pass(time.Hour)
		b.table = w
		b.finish()
		require.NotEmpty(t, w.jobs)
		for id, it := range w.jobs {
			require.True(t, it.State.Ended(), "%+v", it)
			if it.State == job.Done {
				requireDone(t, it)
				b.did = steps[id]
				b.requireInOrder("one", "two", "three")
			}
		}
	})
}

// live is one process: it makes random calls until it dies at a random call of the table.
func (b *bed) live(over table.Table, r *rand.Rand, path string) {
	at := []tabletest.Fault{tabletest.Before, tabletest.After}[r.IntN(2)]
	flaky := tabletest.NewFlaky(over, killed(1+r.IntN(40), at))
	j := b.process(flaky, false)
	defer j.Close()
	for range 6 {
		ask := request([]string{"plain", "free", "sure"}[r.IntN(3)])
		ask.Target.Path = path
		switch r.IntN(5) {
		case 0:
			_, _ = j.Add(b.t.Context(), ask)
		case 1:
			_, _ = j.Start(b.t.Context(), ask, nil)
		case 2:
			b.cancelOne(j, r)
		case 3:
			b.clock.pass(time.Duration(r.IntN(90)) * time.Second)
		default:
			_, _ = j.Work(b.t.Context())
		}
	}
}

// cancelOne cancels an open job, if there is one that can be cancelled.
func (b *bed) cancelOne(j *job.Jobs, r *rand.Rand) {
	open, err := j.Open(b.t.Context())
	if err != nil || len(open) == 0 {
		return
	}
	it := open[r.IntN(len(open))]
	_, err = j.Cancel(b.t.Context(), it.ID, false)
	if it.Kind == "sure" && err == nil {
		b.t.Errorf("a job was cancelled that cannot be")
	}
	if err != nil && fault.Is(err, fault.Internal) {
		b.t.Errorf("cancel: %v", err)
	}
}
