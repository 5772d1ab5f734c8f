package crashdisk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A deed is one write that a client asks for. It is the tool of its commit, so that the log tells
// how often it was done.
type deed struct {
	name  string
	key   string
	files map[string]string // what it writes whole; empty: it takes the note away
	line  vault.Path        // the note to which it adds its name as a line
	acked bool
}

// shared are notes that all clients add lines to.
var shared = []vault.Path{"shared/a.md", "shared/b.md", "a.md"}

// newDeed is a deed at random. The notes of a client are its own, but for the shared ones.
func newDeed(r *rand.Rand, name, client string) *deed {
	d := &deed{name: name, files: map[string]string{}}
	if r.IntN(2) == 0 {
		d.key = "key of " + name
	}
	own := func() string { return fmt.Sprintf("own/%s/%d.md", client, r.IntN(5)) }
	switch r.IntN(8) {
	case 0, 1, 2:
		d.line = shared[r.IntN(len(shared))]
	case 3: // more than an item of the log holds
		d.files[own()] = d.text(r, 17<<10)
	case 4: // several in one commit
		for i := range 4 {
			d.files[fmt.Sprintf("batch/%s/%d/%d.md", client, r.IntN(2), i)] = d.text(r, 1+r.IntN(7<<10))
		}
	case 5:
		d.files[own()] = ""
	default:
		d.files[own()] = d.text(r, 1+r.IntN(3000))
	}
	return d
}

// text is one that does not become smaller when it is packed.
func (d *deed) text(r *rand.Rand, size int) string {
	var b strings.Builder
	for fmt.Fprintf(&b, "%s.\n", d.name); b.Len() < size; {
		fmt.Fprintf(&b, "%x %x\n", r.Uint64(), r.Uint64())
	}
	return b.String()
}

// do asks for the deed.
func (d *deed) do(ctx context.Context, v *repo.Vault) (repo.Receipt, error) {
	c := eventlog.Call{
		Who: eventlog.Who{Principal: "p"}, Tool: d.name, Key: d.key, Request: []byte(d.name),
	}
	return v.Update(ctx, c, func(ctx context.Context, tx *repo.Tx) (any, error) {
		if d.line != "" {
			text, _, err := tx.Text(ctx, d.line)
			if err != nil {
				return nil, err
			}
			text = append(bytes.Clone(text), d.name+"\n"...)
			return d.name, tx.Put(ctx, d.line, text)
		}
		return d.name, d.put(ctx, tx)
	})
}

func (d *deed) put(ctx context.Context, tx *repo.Tx) error {
	for path, text := range d.files {
		if text != "" {
			if err := tx.Put(ctx, vault.Path(path), []byte(text)); err != nil {
				return err
			}
			continue
		}
		_, there, err := tx.Text(ctx, vault.Path(path))
		if err == nil && there {
			err = tx.Remove(ctx, vault.Path(path))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Clients do deeds until they are stopped.
type clients struct {
	mu      sync.Mutex
	deeds   []*deed
	acks    chan struct{}
	stopped atomic.Bool
	paused  sync.RWMutex // held by each deed
	running sync.WaitGroup
}

func startClients(l *life, n, seq int, r *rand.Rand) *clients {
	c := &clients{acks: make(chan struct{}, 1)}
	for id := range n {
		own := rand.New(rand.NewPCG(r.Uint64(), 0))
		c.running.Go(func() {
			for i := 0; !c.stopped.Load(); i++ {
				name := fmt.Sprintf("deed-%d-%d-%d", seq, id, i)
				c.do(l, newDeed(own, name, fmt.Sprint(id)))
			}
		})
	}
	return c
}

// pause does something while no deed is under way.
func (c *clients) pause(do func()) {
	c.paused.Lock()
	defer c.paused.Unlock()
	do()
}

func (c *clients) do(l *life, d *deed) {
	c.mu.Lock()
	c.deeds = append(c.deeds, d)
	c.mu.Unlock()
	c.paused.RLock()
	r, err := d.do(context.Background(), l.vault)
	c.paused.RUnlock()
	if err != nil || !r.Changed && d.key == "" {
		return // it says nothing: a deed that changed nothing has no commit
	}
	c.mu.Lock()
	d.acked = true
	c.mu.Unlock()
	select {
	case c.acks <- struct{}{}:
	default:
	}
}

// told are the deeds that were asked for, as they are known now.
func (c *clients) told() []*deed {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*deed
	for _, d := range c.deeds {
		known := *d
		all = append(all, &known)
	}
	return all
}

func (c *clients) stop() {
	c.stopped.Store(true)
	c.running.Wait()
}

// requireRepeated repeats every deed that has a key. What was acknowledged is answered as then; what
// was not is done now, or known to be done.
func requireRepeated(t *testing.T, l *life, deeds []*deed) {
	t.Helper()
	for _, d := range deeds {
		if d.key == "" {
			continue
		}
		r, err := d.do(t.Context(), l.vault)
		require.NoError(t, err, d.name)
		if d.acked {
			require.NotNil(t, r.Replayed, "%s was acknowledged, and done again", d.name)
		}
		if r.Replayed != nil {
			var answer string
			require.NoError(t, json.Unmarshal(r.Replayed, &answer))
			require.Equal(t, d.name, answer)
		}
		d.acked = true
	}
}
