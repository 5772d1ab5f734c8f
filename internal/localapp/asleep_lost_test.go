package localapp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A crowdOf passes each call to the next of several processes. It is safe for concurrent use.
type crowdOf struct {
	all      []tool.Invoker
	next     atomic.Uint64
	underway sync.RWMutex // held while a call is
}

// Invoke implements tool.Invoker.
func (c *crowdOf) Invoke(
	ctx context.Context, name string, in json.RawMessage,
) (json.RawMessage, error) {
	c.underway.RLock()
	defer c.underway.RUnlock()
	n := c.next.Add(1)
	return c.all[n%uint64(len(c.all))].Invoke(ctx, name, in)
}

// TestNothingLostAsleep is TestNothingLost with processes that sleep between calls: several answer
// calls, and several run the passes of maintenance at random moments. Hours pass only while no call
// runs, for all processes alike: the log relies on every call taking less than an hour when it
// removes an item.
func TestNothingLostAsleep(t *testing.T) {
	t.Parallel()
	s := newSleepers(t, slog.New(slog.DiscardHandler))
	via := &crowdOf{}
	for range manySleepers {
		via.all = append(via.all, s.begin(s.clock.time).invoker())
	}
	notes := []string{"items/one", "items/two"}
	files := map[string]string{"schema.yaml": soakSchema}
	fresh := noteState{value: "none", token: "none"}
	for _, id := range notes {
		files[id+".md"] = fresh.text()
	}
	must(t, via, "team_vault_create", args{"name": "v"})
	made := put(t, via, files).version(t)
	rec := &recorder{start: time.Now(), ops: map[string][]porcupine.Operation{}}
	stop := s.maintainBeside(t, &via.underway)
	soak(t, rec, via, notes)
	stop()
	for _, id := range notes {
		requireNothingLost(t, via, id, made, rec.ops[id])
	}
	s.agree(t, nil, 0)
}

// maintainBeside lets two processes run passes at random moments until stop is called, which
// requires that all of them succeeded. The clock of all processes advances while alone is locked.
func (s *sleepers) maintainBeside(t *testing.T, alone sync.Locker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	seed := repotest.Seed(t)
	var beside sync.WaitGroup
	failed := make(chan error, 2)
	for i, p := range []*sleeper{s.janitor, s.begin(s.clock.time)} {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		beside.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if p == s.janitor && n < s.left {
					alone.Lock()
					s.clock.minutes(61)
					alone.Unlock()
				}
				if err := p.pass(context.WithoutCancel(ctx), auth.Local, r.IntN(4)); err != nil {
					failed <- fmt.Errorf("pass %d: %w", n, err)
					return
				}
			}
		})
	}
	return func() {
		cancel()
		beside.Wait()
		select {
		case err := <-failed:
			require.NoError(t, err)
		default:
		}
	}
}
