package checkout

import (
	"context"
	"sync"
	"time"

	"rookery/internal/vault"
)

// A Reading says how far the first reading of a folder is. Total grows while the folder is listed.
type Reading struct {
	Read  int // files that are in the vault as they were found, or skipped
	Total int // files that belong to the vault, as far as the folder is listed
}

// A progress counts the files of the first reading.
type progress struct {
	mu  sync.Mutex
	now Reading
}

func (p *progress) add(read, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.Read += read
	p.now.Total += total
}

func (p *progress) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = Reading{}
}

// Reading returns how far the first reading of this process is, and whether it is still under way: until
// the folder was compared with the log once, and what was found is synced or held. Until then a note may
// be missing though its file is there.
func (c *Checkout) Reading() (Reading, bool) {
	c.progress.mu.Lock()
	defer c.progress.mu.Unlock()
	now := c.progress.now
	now.Read = min(now.Read, now.Total)
	return now, c.first()
}

// First is closed when the first reading is complete, or given up because the checkout is closed.
func (c *Checkout) First() <-chan struct{} { return c.ready }

// awaitRemovals waits until the removals that the first sweep found are older than quiet. A file that was
// removed a moment ago may be made anew in the next, by an editor that saves so: if the removal were
// taken in, the new file would be another note, without what others had written to this one.
func (c *Checkout) awaitRemovals(ctx context.Context) {
	c.mu.Lock()
	q := &queue{moment: c.moment()}
	rest := q.restOf(c.outside.removed)
	c.mu.Unlock()
	if rest <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(rest):
	}
}

// goneAt returns when a file was removed that is not there: at the latest now; in the first reading, when
// names in its folder changed last. The caller holds mu.
func (c *Checkout) goneAt(ctx context.Context, path string) time.Time {
	if !c.first() {
		return time.Now()
	}
	touched, err := c.files.Touched(ctx, c.key(path))
	if err != nil {
		return time.Now()
	}
	return changedAt(touched)
}

// readSettings syncs the schema and the configuration before all other files, as they are now: they say
// how notes are read, and which types there are. What needs confirmation since an earlier process, and a
// file that is gone, are left to the first reading.
func (c *Checkout) readSettings(ctx context.Context) error {
	if c.outside.held != nil {
		return nil
	}
	if _, err := c.vault.Read(ctx); err != nil {
		return err
	}
	p := &plan{}
	for _, path := range []string{vault.SchemaFile, vault.ConfigRaven, vault.ConfigRookery} {
		if err := c.examineNow(ctx, path); err != nil {
			return err
		}
		c.mu.Lock()
		if e := c.outside.edits[path]; e != nil && e.mark != "" {
			e.since = e.at.Add(-c.span(longest)) // it is due
			p.paths = append(p.paths, path)
		}
		c.mu.Unlock()
	}
	if len(p.paths) == 0 {
		return nil
	}
	_, err := c.TakeIn(ctx, Taking{unasked: true, part: p})
	return err
}
