package checkout

import (
	"context"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/vault"
)

// A Reading is the progress of the first reading of a folder. Total grows while the folder is
// listed.
type Reading struct {
	Read  int // files whose edits are ingested, that are unchanged, or that are skipped
	Total int // files of the vault listed so far
}

// A progress counts the files of the first reading. It has its own mutex, so that Reading does not
// wait for mu, which a sweep holds while it reads a file. It is safe for concurrent use.
type progress struct {
	mu  sync.Mutex
	now Reading
}

// add adds to the numbers of files that were read and listed.
func (p *progress) add(read, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.Read += read
	p.now.Total += total
}

// reset sets both numbers to 0, for a reading that starts again.
func (p *progress) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = Reading{}
}

// Reading returns the progress of the first reading of this process, and whether it goes on: it
// ends when the folder was compared with the log once, and the edits found were ingested or need
// confirmation. Before that, a note may be missing although its file exists.
func (c *Checkout) Reading() (Reading, bool) {
	c.progress.mu.Lock()
	defer c.progress.mu.Unlock()
	now := c.progress.now
	now.Read = min(now.Read, now.Total)
	return now, c.first()
}

// First returns a channel that is closed when the first reading is complete, or has failed.
func (c *Checkout) First() <-chan struct{} { return c.ready }

// awaitRemovals waits until the last removal that the first sweep found is older than debounce. An
// editor may create a removed file again a moment later, as part of a save. If the removal were
// ingested first, the new file would be another note, without the changes that others made to the
// old one.
func (c *Checkout) awaitRemovals(ctx context.Context) {
	c.mu.Lock()
	q := &queue{moment: c.moment()}
	rest := q.settleTime(c.pending.removed)
	c.mu.Unlock()
	if rest <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(rest):
	}
}

// goneAt returns when a missing file was removed: now or, in the first reading, when names in its
// folder last changed, because the file may have been missing for days. If the file system does not
// report that, it returns now. The caller holds mu.
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

// readSettings ingests the schema and the configuration before all other files, because they
// determine how notes are read. A removed settings file is left to the first reading, and so is
// everything if a batch needs confirmation since an earlier process.
func (c *Checkout) readSettings(ctx context.Context) error {
	if c.pending.held != nil {
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
		if e := c.pending.edits[path]; e != nil && e.mark != "" {
			e.since = e.at.Add(-c.span(longest)) // make it due
			p.paths = append(p.paths, path)
		}
		c.mu.Unlock()
	}
	if len(p.paths) == 0 {
		return nil
	}
	_, err := c.Ingest(ctx, IngestOptions{background: true, part: p})
	return err
}
