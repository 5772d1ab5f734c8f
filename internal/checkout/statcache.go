package checkout

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/index"
)

// memoryKey is the key of the statCache in Options.Memory. It may be lost or unreadable: then all
// files are read again.
const memoryKey = "checkout/seen.json"

// A statCache is the stored form of the sights of files, as JSON. With it, a start reads only the
// files whose marks have changed since the last process ended.
type statCache struct {
	Format int                 `json:"format"`
	Seen   map[string]seenFile `json:"seen"` // by path
}

// memoryFormat is the version of the format of statCache, and of the marks in it. A statCache of
// another version is ignored.
const memoryFormat = 1

// A seenFile is the stored sight of a file that can be a note.
type seenFile struct {
	Mark   string       `json:"mark"`
	Digest index.Digest `json:"digest"`
}

// loadStatCache loads the sights of an earlier process. No other goroutine may use the Checkout.
func (c *Checkout) loadStatCache(ctx context.Context) {
	if c.opt.Memory == nil {
		return
	}
	data, _, err := c.opt.Memory.Get(ctx, memoryKey, 0, -1)
	var m statCache
	if err != nil || json.Unmarshal(data, &m) != nil || m.Format != memoryFormat {
		return
	}
	for path, e := range m.Seen {
		c.pending.seen[path] = sight{mark: e.Mark, digest: e.Digest}
	}
}

// saveStatCache stores the sights of files whose text is that of the vault, for the next process.
// Sights of other files are not worth keeping: these are edits, which are read anyway. It stores
// nothing before the first sweep is complete, because the set would be partial. A failure is only
// logged: it costs the next start time, and no data.
func (c *Checkout) saveStatCache(ctx context.Context) {
	if c.opt.Memory == nil || c.first() {
		return
	}
	c.retaining.Lock()
	defer c.retaining.Unlock()
	m := statCache{memoryFormat, map[string]seenFile{}}
	c.mu.Lock()
	nothing := c.ended || !c.pending.seenDirty
	for path, s := range c.pending.seen {
		if f, ok := c.at.File(path); ok && f.Digest == s.digest && s.why == "" {
			m.Seen[path] = seenFile{s.mark, s.digest}
		}
	}
	c.mu.Unlock()
	if nothing {
		return
	}
	data, err := json.Marshal(m)
	if err == nil {
		_, err = c.opt.Memory.Put(ctx, memoryKey, data, blob.Always)
	}
	if err != nil {
		c.log.WarnContext(ctx, "the next start must read all files of the folder",
			slog.String("vault", c.vault.Name), slog.Any("cause", err))
	}
}

// forgetSeen deletes the memory, because it may contain the path of an erased file. The next
// saveStatCache stores it again.
func (c *Checkout) forgetSeen(ctx context.Context) error {
	if c.opt.Memory == nil {
		return nil
	}
	c.retaining.Lock()
	defer c.retaining.Unlock()
	if err := c.opt.Memory.Delete(ctx, memoryKey); err != nil {
		return fmt.Errorf("remove the record of seen files: %w", err)
	}
	return nil
}
