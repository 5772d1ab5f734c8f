package repo

import (
	"context"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
)

// PastLife is how long an unused past state is cached.
const PastLife = pastLife

// Kept returns the number of cached past states.
func (p *SnapshotCache) Kept() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.kept)
}

// Held returns about how many bytes the cached past states take.
func (p *SnapshotCache) Held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := int64(0)
	for _, s := range p.kept {
		held += s.size
	}
	return held
}

// DropTexts removes all texts of the vault from the cache.
func (v *Vault) DropTexts() { v.texts.dropAll(v.part) }

// Waiting returns the number of calls in the queue of a vault.
func (v *Vault) Waiting() int {
	waiting, _ := v.log.Queue()
	return waiting
}

// GoOn makes a pass that writes an image of the newest state, calls between, and continues from the
// image, however small it is.
func (v *Vault) GoOn(ctx context.Context, between func()) error {
	return v.log.CompactWith(ctx, eventlog.Compaction{All: true}, eventlog.Pass[*index.Index]{
		Newest: func(ctx context.Context) (eventlog.Snapshot[*index.Index], eventlog.Sections, error) {
			return v.searchedHead(ctx, nil)
		},
		Published: func(ctx context.Context, s eventlog.Snapshot[*index.Index], i eventlog.Image) error {
			between()
			return v.goOnFrom(ctx, s, i)
		},
	})
}

// CachedTexts returns the number of entries in the cache of texts.
func (v *Vault) CachedTexts() int {
	v.texts.mu.Lock()
	defer v.texts.mu.Unlock()
	return v.texts.lru.Len()
}

// PutPast caches a state of the vault as one that is built before between is called, and reports
// whether it is cached then.
func (v *Vault) PutPast(state Searchable, between func()) bool {
	k, since := snapshotKey{v, state.Index.Version()}, v.pasts.state()
	between()
	v.pasts.put(k, state, since)
	_, kept := v.pasts.get(k, false)
	return kept
}

// DropPasts removes all past states of the vault from the cache.
func (v *Vault) DropPasts() { v.pasts.dropAll(v) }
