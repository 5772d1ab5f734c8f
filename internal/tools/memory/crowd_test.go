package memory_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

// crowdSize is how many agents work at once, and how many calls each makes; ROOKERY_SOAK has all of the issue.
func crowdSize() (agents, calls int) {
	if os.Getenv("ROOKERY_SOAK") != "" {
		return 64, 200
	}
	return 16, 20
}

// A worker is an agent of the crowd, and what it must be left with.
type worker struct {
	*place
	name     string
	r        *rand.Rand
	live     map[string]bool // its memories: whether they tell of a success
	versions []string        // that its calls made
}

// A yard is where the memories of all workers are.
type yard struct {
	mu  sync.Mutex
	ids []string
}

func (y *yard) add(id string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.ids = append(y.ids, id)
}

func (y *yard) pick(r *rand.Rand) string {
	y.mu.Lock()
	defer y.mu.Unlock()
	if len(y.ids) == 0 {
		return "mem_none"
	}
	return y.ids[r.IntN(len(y.ids))]
}

// own picks a memory of the worker.
func (w *worker) own() string {
	for id := range w.live {
		return id
	}
	return ""
}

// work makes one call at random.
func (w *worker) work(t *testing.T, y *yard, n int) {
	id, kind := w.own(), w.r.IntN(10)
	if id == "" {
		kind = 0
	}
	var out args
	switch {
	case kind < 4:
		success := w.r.IntN(2) == 0
		out = w.do(t, "store", args{
			"intent":  args{"goal": fmt.Sprint(w.name, " ", n), "task_type": "bug_fix"},
			"outcome": args{"success": success, "summary": "s"}, "tags": []string{w.name},
		})
		w.live[out["memory_id"].(string)] = success
		y.add(out["memory_id"].(string))
	case kind < 6:
		success := w.r.IntN(2) == 0
		out = w.do(t, "update_memory", args{
			"memory_id": id, "outcome": args{"success": success, "summary": fmt.Sprint("s", n)},
		})
		w.live[id] = success
	case kind < 9:
		raw, err := w.call("memory_link", args{"source_id": id, "target_id": y.pick(w.r), "link_type": "caused_by"})
		if err != nil { // the other one is gone, or the same
			assert.Contains(t, []fault.Code{fault.NotFound, fault.InvalidQuery}, fault.Of(err).Code)
			return
		}
		if !strings.Contains(string(raw), `"created":true`) {
			return
		}
		out = args{"meta": args{"version": versionIn(string(raw))}}
	default:
		out = w.do(t, "delete_memory", args{"memory_id": id})
		delete(w.live, id)
	}
	w.versions = append(w.versions, out["meta"].(args)["version"].(string))
}

// versionIn is meta.version of an answer.
func versionIn(answer string) string {
	_, rest, _ := strings.Cut(answer, `"version":"`)
	version, _, _ := strings.Cut(rest, `"`)
	return version
}

// TestCrowd holds that many agents at once lose nothing: counters are those of the memories that are left, no link leads
// to a memory that is gone, and each write has a version of its own.
func TestCrowd(t *testing.T) {
	p := open(t)
	agents, calls := crowdSize()
	y, workers := &yard{}, make([]*worker, agents)
	var wg sync.WaitGroup
	for i := range workers {
		name := fmt.Sprint("w", i)
		w := &worker{
			place: p.as(person(name, "", auth.Editor)), name: name, live: map[string]bool{},
			r: rand.New(rand.NewPCG(uint64(i), 1)), //nolint:gosec // it is no secret
		}
		workers[i] = w
		wg.Go(func() {
			for n := range calls {
				w.work(t, y, n)
			}
		})
	}
	wg.Wait()
	made, total := map[string]bool{}, 0
	for _, w := range workers {
		total += len(w.live)
		w.requireCounted(t)
		for _, version := range w.versions {
			require.False(t, made[version], "two writes made %s", version)
			made[version] = true
		}
	}
	p.requireWhole(t, total)
	last, err := strconv.Atoi(strings.TrimPrefix(p.do(t, "list", args{})["meta"].(args)["version"].(string), "v"))
	require.NoError(t, err)
	require.Equal(t, last-1, len(made), "each version but the first is a write of one of them")
}

// requireCounted requires that the counters of the worker are those of its memories.
func (w *worker) requireCounted(t *testing.T) {
	info := w.do(t, "identity", args{"action": "info"})
	require.EqualValues(t, len(w.live), info["memory_count"], w.name)
	successes := 0
	for _, success := range w.live {
		if success {
			successes++
		}
	}
	if len(w.live) > 0 {
		require.InDelta(t, float64(successes)/float64(len(w.live)), info["success_rate"], 1e-9)
	}
	require.EqualValues(t, len(w.live), w.do(t, "list", args{})["total"])
}

// requireWhole requires that there are so many memories, also after a restart, and that their links lead to them.
func (p *place) requireWhole(t *testing.T, total int) {
	p.serve(t)
	all := map[string]bool{}
	for token := ""; ; {
		in := args{"kind": "memory", "limit": 200}
		if token != "" {
			in["page_token"] = token
		}
		page := p.do(t, "complete", in)
		for _, id := range texts(page["items"]) {
			all[id] = true
		}
		token, _ = page["meta"].(args)["next_page_token"].(string)
		if token == "" {
			break
		}
	}
	require.Len(t, all, total)
	for id := range all {
		for _, linked := range p.links(t, id) {
			for _, other := range texts(linked) {
				require.True(t, all[other], "%s leads to %s, which is gone", id, other)
			}
		}
	}
}

// TestOneKeyAtOnce holds that several stores with one key at once are one memory.
func TestOneKeyAtOnce(t *testing.T) {
	p := open(t)
	const n = 8
	var wg sync.WaitGroup
	var mu sync.Mutex
	created, times := 0, map[float64]bool{}
	for i := range n {
		wg.Go(func() {
			out := p.do(t, "store", args{
				"key": "ci/fp1", "intent": args{"goal": fmt.Sprint("g", i), "task_type": "other"},
				"outcome": args{"success": false, "summary": "s"},
			})
			mu.Lock()
			defer mu.Unlock()
			if out["created"].(bool) {
				created++
			}
			times[out["times"].(float64)] = true
		})
	}
	wg.Wait()
	require.Equal(t, 1, created)
	require.Len(t, times, n, "each has counted once")
	require.EqualValues(t, 1, p.do(t, "list", args{})["total"])
}
