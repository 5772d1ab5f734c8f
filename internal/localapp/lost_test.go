package localapp_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// lostSeed returns a new seed, or that of ROOKERY_SEED, and logs it.
func lostSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if named := os.Getenv("ROOKERY_SEED"); named != "" {
		var err error
		seed, err = strconv.ParseUint(named, 10, 64)
		require.NoError(t, err, "ROOKERY_SEED is a number")
	}
	t.Logf("ROOKERY_SEED=%d", seed)
	return seed
}

// An ending is the end of the process between the call whose answer is lost and its repetition.
type ending string

const (
	goesOn    ending = "the server goes on"
	restarted ending = "the server is started anew"
	killed    ending = "the server is killed"
)

var endings = []ending{goesOn, restarted, killed}

// A loseAnswer makes one call in such a way that its answer is lost. It returns the answer of the server,
// if there is one.
type loseAnswer func(t testing.TB, s *stage, c lostCall) lineAnswer

// A round makes every change on one server, loses the answers, and repeats the calls.
type round struct {
	ending ending
	order  []string // of the tools
	ruin   func(i int) loseAnswer
	early  bool // what is late comes before the repetition, not after it
}

// A control is the effect of every change if no answer is lost.
type control struct {
	prepared
	state []string
	calls map[string]int // of the stores, for each tool
}

// newControl makes every change once, and requires that a repetition changes nothing.
func newControl(t *testing.T, now time.Time) control {
	t.Helper()
	c := control{newPrepared(t, now), nil, map[string]int{}}
	s := c.stage(t)
	for _, name := range c.tools() {
		s.stores.disturb(disturbance{at: 1 << 30})
		first := s.must(t, c.lost(name))
		c.calls[name] = s.stores.heal()
		s.requireAgain(t, c.lost(name), first)
	}
	c.state = s.state(t)
	return c
}

// tools returns the names of all tools that change something, except the one that erases the
// tenant: no token is valid after it. Lost answers of that call are tested with the erasures of
// internal/tenant.
func (p prepared) tools() []string {
	all := slices.Sorted(maps.Keys(p.calls))
	return slices.DeleteFunc(all, func(name string) bool { return name == "team_tenant_erase" })
}

// requireAgain requires that a repeated call has the same answer, and that its key cannot be used
// for another call.
func (s *stage) requireAgain(t testing.TB, c lostCall, first lineAnswer) {
	t.Helper()
	again := s.must(t, c)
	require.True(t, replayed(again.body), "%s: %s", c.tool, again.body)
	require.Equal(t, same(first.body), same(again.body), c.tool)
	require.NotContains(t, string(again.body), `"token":"`, "a secret is shown once")
	other := s.ask(t, c.another())
	require.Equal(t, fault.KeyReused, tooltest.CodeOf(t, other.body), "%s: %s", c.tool, other.body)
}

// another returns a different call. The version of a call of the tree makes no difference.
func (c lostCall) another() lostCall {
	switch {
	case c.tool == "tree_update_nodes":
		return c.with("filter", "nodeId = lost/batch")
	case c.tool == "tree_add_child":
		return c.with("parentNodeId", "lost/batch")
	case c.tool == "tree_sort_children":
		return c.with("parentId", "lost/batch")
	case c.tool == "tree_copy_subtree":
		return c.with("sourceId", "lost/batch")
	case c.tool == "tree_import_merge":
		return c.with("targetId", "lost/")
	case c.tool == "tree_snapshot_restore":
		return c.with("snapshotId", "label")
	case strings.HasPrefix(c.tool, "tree_"):
		return c.with("nodeId", "lost/batch")
	}
	return c.with("if_version", "v1")
}

// run makes a round: each change takes effect once, and a repeated call has the first answer.
func (c control) run(t *testing.T, r round) {
	s := c.stage(t)
	firsts := map[string]lineAnswer{}
	for i, name := range r.order {
		call := c.lost(name)
		call.mcp = i%5 == 4
		first := r.ruin(i)(t, s, call)
		firsts[name] = first
		if r.ending == goesOn {
			s.settle(t, r, call, first)
		}
	}
	s.end(t, r)
	if r.ending != goesOn {
		for i, name := range r.order {
			call := c.lost(name)
			call.mcp = i%5 == 4
			s.settle(t, r, call, firsts[name])
		}
	}
	s.stores.deliver(t.Context())
	require.Equal(t, c.state, s.state(t))
}

// end lets the server end as the round says, and opens it again.
func (s *stage) end(t testing.TB, r round) {
	t.Helper()
	switch r.ending {
	case restarted:
		s.close(t)
		s.open(t)
	case killed:
		s.kill()
		s.open(t)
	}
}

// settle repeats a call until its outcome is known, which takes one repetition.
func (s *stage) settle(t testing.TB, r round, c lostCall, first lineAnswer) {
	t.Helper()
	if r.early {
		s.stores.deliver(t.Context())
	}
	again := s.ended(t, c)
	if first.ok() {
		require.True(t, replayed(again.body), "%s: %s", c.tool, again.body)
		require.Equal(t, same(first.body), same(again.body), c.tool)
	}
	s.requireAgain(t, c, again)
}

// ended repeats a call until its job, if it has one, has ended; the server runs the job in the
// background.
func (s *stage) ended(t testing.TB, c lostCall) lineAnswer {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		again := s.must(t, c)
		if !bytes.Contains(again.body, []byte(`"state":"running"`)) && !bytes.Contains(again.body, []byte(`"state":"queued"`)) {
			return again
		}
		require.Less(t, time.Since(begin), 2*time.Minute, "%s: its job does not end: %s", c.tool, again.body)
	}
}

// cuts are the ways in which a connection is lost.
var cuts = []struct {
	name string
	cut  func(request int) *wire
}{
	{"before the request is sent", func(n int) *wire { return newWire(n-1, everything) }},
	{"when it is sent", func(n int) *wire { return newWire(n, everything) }},
	{"before the answer", func(int) *wire { return newWire(everything, 0) }},
	{"in the answer", func(int) *wire { return newWire(everything, 100) }},
}

// TestLostConnection checks that a change whose answer is lost with the connection takes effect
// once, and that its repetition with the same key has the same answer, wherever the connection was
// cut and however the server ended.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	c := newControl(t, noon)
	chance := rand.New(rand.NewPCG(lostSeed(t), 1))
	for _, end := range endings {
		for turn := range rounds(len(cuts), 1) {
			r := round{ending: end, order: shuffled(chance, c.tools()), ruin: func(i int) loseAnswer {
				return func(t testing.TB, s *stage, c lostCall) lineAnswer {
					raw := c.request(t)
					w := cuts[(turn+i)%len(cuts)].cut(len(raw))
					return c.said(t, s.line.send(t, raw, w))
				}
			}}
			t.Run(fmt.Sprintf("%s, %d", end, turn), func(t *testing.T) { t.Parallel(); c.run(t, r) })
		}
	}
}

// shuffled returns names in another order.
func shuffled(chance *rand.Rand, names []string) []string {
	chance.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// soaked reports whether all cases must be run, and not a sample.
func soaked() bool { return os.Getenv("ROOKERY_SOAK") != "" }

// rounds returns the number of rounds: all of them with ROOKERY_SOAK.
func rounds(all, some int) int {
	if soaked() {
		return all
	}
	return some
}

// faults are the failures of one call of the stores.
var faults = []tabletest.Fault{
	tabletest.Before, tabletest.After, tabletest.Late, tabletest.LateNext,
}

// TestLostInStores checks the same for stores that fail at each call in turn with an unknown
// outcome, and for a server that loses the stores there while its client disconnects.
func TestLostInStores(t *testing.T) {
	t.Parallel()
	c := newControl(t, noon)
	t.Logf("calls of the stores: %v", c.calls)
	chance := rand.New(rand.NewPCG(lostSeed(t), 2))
	all := slices.Max(slices.Collect(maps.Values(c.calls))) * len(faults) * 2
	for _, end := range endings {
		for turn := range rounds(all, 2) {
			plans := map[string]disturbance{}
			for _, name := range c.tools() {
				plans[name] = c.plan(name, turn)
				if !soaked() {
					plans[name] = c.plan(name, chance.IntN(all))
				}
			}
			r := round{ending: end, order: shuffled(chance, c.tools()), early: chance.IntN(2) == 0}
			r.ruin = func(i int) loseAnswer {
				d, last := plans[r.order[i]], i == len(r.order)-1
				return func(t testing.TB, s *stage, c lostCall) lineAnswer {
					return s.disturbed(t, c, d, last && end == killed)
				}
			}
			t.Run(fmt.Sprintf("%s, %d", end, turn), func(t *testing.T) { t.Parallel(); c.run(t, r) })
		}
	}
}

// plan returns the n-th disturbance of the call of a tool. After the last one, the first follows
// again.
func (c control) plan(name string, n int) disturbance {
	kind := n / 2 % len(faults)
	return disturbance{
		at: 1 + n/2/len(faults)%c.calls[name], fault: faults[kind], dies: n%2 == 1,
	}
}

// disturbed makes a call while the stores are disturbed. With stays, they remain disturbed, because
// the server is killed next. If they stop to work, the client disconnects.
func (s *stage) disturbed(t testing.TB, c lostCall, d disturbance, stays bool) lineAnswer {
	t.Helper()
	hit := s.stores.disturb(d)
	if !d.dies {
		hit = nil
	}
	c.mcp = c.mcp && !stays
	w := newWire(everything, everything)
	s.line.start(t, c.request(t), w, hit)
	if c.mcp {
		s.stores.heal() // over MCP, a client that disconnects does not end its call
	}
	<-w.ended
	if !stays {
		s.stores.heal()
	}
	a := w.answer(t)
	if a.status != 0 && !c.mcp {
		require.True(t, a.ok() || a.status >= 500, "%s, %+v: %d %s", c.tool, d, a.status, a.body)
	}
	return c.said(t, a)
}
