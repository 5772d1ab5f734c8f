package repotest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/vault"
)

const (
	crowdClients   = 64
	crowdProcesses = 4
	crowdNotes     = 12

	// crowdPass is after how many calls somebody folds, and a process may be begun anew.
	crowdPass = 50
)

// crowdSeeds are those with which the test failed once.
var crowdSeeds = []uint64{}

// crowds lets many clients edit the same notes through several processes over one table, which fold
// and trim the log meanwhile, while the stores fail now and then.
func crowds(t *testing.T, e Engine) {
	EachSeed(t, crowdSeeds, func(t *testing.T, seed uint64) {
		c := newCrowd(t, e, seed)
		edits := 30
		if soaking() {
			edits = 1000
		}
		began := time.Now()
		c.run(t, edits)
		took := time.Since(began)
		c.check(t)
		t.Logf("%d commits of %d clients in %v, %.0f a second; %d passes, %v by the clock",
			c.commits.Load(), crowdClients, took.Round(time.Second),
			float64(c.commits.Load())/took.Seconds(), c.passes.Load(),
			c.place.clock.Now().Sub(NewClock().Now()).Round(time.Hour))
	})
}

// A crowd is several processes that have one vault open, and the history of what was done to it.
type crowd struct {
	place     *place
	processes [crowdProcesses]atomic.Pointer[repo.Vault]
	start     time.Time

	// pace is held for reading by who appends, and for writing by who moves the clock: an append is
	// sent within five minutes of what it builds on, and the store refuses one that comes later.
	pace sync.RWMutex

	chance sync.Mutex
	r      *rand.Rand

	turns                 chan struct{} // of who folds
	done, commits, passes atomic.Int64
	over                  atomic.Bool
	history               history
}

func newCrowd(t *testing.T, e Engine, seed uint64) *crowd {
	c := &crowd{
		r: rand.New(rand.NewPCG(seed, 0)), start: time.Now(),
		turns: make(chan struct{}, crowdProcesses),
	}
	name := fmt.Sprintf("crowd %d", seed)
	c.place = newPlace(e, name, func(tabletest.Call) tabletest.Fault { return c.fault(200) })
	c.place.bucket.plan = func(int) tabletest.Fault { return c.fault(50) }
	require.NoError(t, c.place.log(t, c.place.Engine).Create(t.Context()))
	for i := range c.processes {
		c.processes[i].Store(c.open(t, c.place.flakyEngine()))
	}
	return c
}

// open is the vault as a process has it that begins now.
func (c *crowd) open(t *testing.T, e Engine) *repo.Vault {
	return vaultKind.open(t, c.place, e).(vaultSubject).Vault
}

// fault is one, now and then, until all is over.
func (c *crowd) fault(rarely int) tabletest.Fault {
	if c.over.Load() {
		return tabletest.None
	}
	if n := tabletest.Fault(c.chosen(rarely)); n <= tabletest.LateNext {
		return n
	}
	return tabletest.None
}

// chosen is a number below n.
func (c *crowd) chosen(n int) int {
	c.chance.Lock()
	defer c.chance.Unlock()
	return c.r.IntN(n)
}

// run lets everybody edit, and fold.
func (c *crowd) run(t *testing.T, edits int) {
	var folding sync.WaitGroup
	for i := range crowdProcesses {
		folding.Go(func() {
			for range c.turns {
				c.pass(t, i)
			}
		})
	}
	seed := c.r.Uint64()
	together(crowdClients, func(i int) {
		w := &member{crowd: c, id: i, r: rand.New(rand.NewPCG(seed, uint64(i)))}
		for n := 0; n < edits && !t.Failed(); n++ {
			w.turn(t, n)
			if c.done.Add(1)%crowdPass == 0 {
				select {
				case c.turns <- struct{}{}:
				default: // everybody folds already
				}
			}
		}
	})
	close(c.turns)
	folding.Wait()
}

// pass lets one process fold. Now and then time goes by before, what is late arrives, or the process
// is begun anew.
func (c *crowd) pass(t *testing.T, i int) {
	c.passes.Add(1)
	if c.chosen(4) == 0 {
		c.pace.Lock()
		c.place.clock.Move(time.Duration(15+c.chosen(60)) * time.Minute)
		c.pace.Unlock()
	}
	if c.chosen(4) == 0 {
		c.place.flaky.Deliver(t.Context())
		c.place.bucket.deliver()
	}
	if c.chosen(8) == 0 {
		c.processes[i].Store(c.open(t, c.place.flakyEngine()))
	}
	folding := eventlog.Compaction{All: c.chosen(3) > 0}
	if err := c.processes[i].Load().Compact(t.Context(), folding); !excused(err) {
		t.Errorf("a pass: %v", err)
	}
}

// excused reports whether an error is none, or comes of a fault that was injected.
func excused(err error) bool { return err == nil || errors.Is(err, tabletest.ErrInjected) }

// A member of the crowd is one client. It calls any of the processes.
type member struct {
	*crowd
	id   int
	r    *rand.Rand
	seen uint64 // the newest version that it was told
}

var (
	errThere  = errors.New("the note is there")
	errAbsent = errors.New("the note is not there")
)

// The kinds of edits, by how often they are done.
var crowdKinds = []string{"read", "read", "create", "set", "set", "edit", "edit", "edit", "delete"}

// turn makes the n-th call of a client.
func (w *member) turn(t *testing.T, n int) {
	d := &deed{
		note: fmt.Sprintf("n%02d.md", w.r.IntN(crowdNotes)),
		kind: crowdKinds[w.r.IntN(len(crowdKinds))],
		word: fmt.Sprintf("c%02d-%04d", w.id, n), client: w.id,
	}
	d.dry = d.kind != "read" && w.r.IntN(8) == 0
	if w.r.IntN(4) == 0 {
		d.ifVersion = w.seen
	}
	if w.r.IntN(4) == 0 {
		d.key = d.word
	}
	if w.r.IntN(16) == 0 {
		d.size = 20 << 10
	}
	d.called = time.Since(w.start)
	err := w.do(t, d)
	d.returned = time.Since(w.start)
	if err != nil {
		if !excused(err) {
			t.Errorf("%+v: %v", d, err)
		}
		return
	}
	if d.at < w.seen {
		t.Errorf("client %d was at %d, and then at %d", w.id, w.seen, d.at)
	}
	w.seen = d.at
	w.history.add(d)
}

// do makes the call of a deed, and writes down what came of it. A deed with a key is done twice: by
// another process, or the same, at the same time or later.
func (w *member) do(t *testing.T, d *deed) error {
	if d.kind == "read" {
		return w.read(t.Context(), d)
	}
	w.pace.RLock()
	defer w.pace.RUnlock()
	if d.key == "" || d.dry {
		_, err := w.write(t.Context(), d)
		return err
	}
	return w.twice(t, d)
}

// process is any of the processes.
func (w *member) process() *repo.Vault {
	return w.processes[w.chosen(crowdProcesses)].Load()
}

// read reads a note.
func (w *member) read(ctx context.Context, d *deed) error {
	v := w.process()
	idx, err := v.Read(ctx)
	if err != nil {
		return err
	}
	d.at = idx.Version()
	f, there := idx.File(d.note)
	if !there {
		return nil
	}
	text, err := v.Text(ctx, f.Body)
	d.found, d.there = string(text), true
	return err
}

// write does what a deed changes.
func (w *member) write(ctx context.Context, d *deed) (repo.Receipt, error) {
	call := eventlog.Call{
		Who: eventlog.Who{Principal: "tester"}, Tool: d.word, Key: d.key, Request: []byte(d.word),
		DryRun: d.dry, IfVersion: d.ifVersion,
	}
	receipt, err := w.process().Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		text, there, err := tx.Text(ctx, vault.Path(d.note))
		if err != nil {
			return nil, err
		}
		d.at, d.found, d.there = tx.Before().Version(), string(text), there
		return d.word, d.change(ctx, tx)
	})
	switch {
	case err == nil && !d.dry && receipt.Replayed == nil:
		d.at, d.done = receipt.Seq, true
		w.commits.Add(1)
	case errors.Is(err, errThere), errors.Is(err, errAbsent):
		d.refused = true
		err = nil
	case fault.Is(err, fault.Conflict):
		d.refused, d.stale = true, true
		err = nil
	}
	return receipt, err
}

// twice does a deed twice at once, and again if that failed. One of the two is the first.
func (w *member) twice(t *testing.T, d *deed) error {
	twins := [2]deed{*d, *d}
	receipts, failures := [2]repo.Receipt{}, [2]error{}
	attempt := func(i int) { receipts[i], failures[i] = w.write(t.Context(), &twins[i]) }
	together(2, attempt)
	for i := range twins {
		for tries := 0; failures[i] != nil && excused(failures[i]) && tries < 20; tries++ {
			attempt(i)
		}
	}
	first, other := twins[0], twins[1]
	if !first.done && (!first.refused || other.done) {
		first, other = other, first
	}
	if err := errors.Join(failures[:]...); err != nil || first.refused {
		*d = first
		return err
	}
	if first.done && (other.done || receipts[0].Seq != receipts[1].Seq) && !other.refused {
		t.Errorf("%s was done twice: %+v, %+v", d.word, receipts[0], receipts[1])
	}
	*d = first
	return nil
}
