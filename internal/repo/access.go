package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/table"
)

// Accesses of memories are counted in items beside the log, in the partition of the vault: they
// belong to no version, and no state is derived from them (log.md §7). A process adds them up for a
// minute (accessEvery) and then writes one item, so that a recall needs no write of its own.
// Accesses that a process has not written when it exits are lost.
//
// The key of an item is accessPrefix, the time of the write in Unix milliseconds, "-" and the id of
// the process. Its data is a JSON object from the id of a memory to its Access. The compaction in
// foldAccesses merges old items into one.
const (
	accessPrefix = "access/"
	lastAccess   = accessPrefix + "~" // after the keys of all items
	accessSum    = accessPrefix + "+" // the merged item; sorts before the timed keys

	accessEvery = time.Minute

	// accessRest is the age from which an item is merged: no process writes to it any more.
	// mostAccess is how many old items there must be for a merge, and how many one merge takes.
	accessRest = 10 * time.Minute
	mostAccess = 50
)

// An Access is the number of accesses of a memory, and the time of the last one in Unix
// milliseconds.
type Access struct {
	// Count is the number of accesses, including those that were merged.
	Count int
	// Last is the time of the last access in Unix milliseconds.
	Last int64
}

// MarshalJSON returns the JSON array [Count, Last].
func (a Access) MarshalJSON() ([]byte, error) { return json.Marshal([2]int64{int64(a.Count), a.Last}) }

// UnmarshalJSON reads the array that MarshalJSON returns.
func (a *Access) UnmarshalJSON(data []byte) error {
	var pair [2]int64
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	*a = Access{int(pair[0]), pair[1]}
	return nil
}

// plus returns the sum of two accesses, with the later of the two times.
func (a Access) plus(b Access) Access { return Access{a.Count + b.Count, max(a.Last, b.Last)} }

// An accesses contains the accesses that this process knows: those not yet written, and a cached
// copy of the stored ones. It is safe for concurrent use. The sums are approximate: during a write
// its accesses are in neither map, and if the stored ones are read at that moment, they may count
// twice until the next read.
type accesses struct {
	name string // random id of the process, used in keys

	mu      sync.Mutex
	pending map[string]Access // not yet written
	since   time.Time         // time of the first access in pending
	written map[string]Access // the stored accesses, as of read; nil: not read yet
	read    time.Time
}

// newAccesses returns an empty accesses with a random process id.
func newAccesses() *accesses {
	return &accesses{name: fmt.Sprintf("%016x", rand.Uint64()), pending: map[string]Access{}} //nolint:gosec // it only tells processes apart
}

// Accessed counts one access for each of the memories in ids. It never fails: if the accesses
// cannot be written now, they stay pending and are written later. At most once in accessEvery it
// writes the pending accesses, and waits for that write.
func (v *Vault) Accessed(ctx context.Context, ids []string) {
	now := v.Now()
	a := v.accesses
	a.mu.Lock()
	if len(a.pending) == 0 {
		a.since = now
	}
	for _, id := range ids {
		a.pending[id] = a.pending[id].plus(Access{1, now.UnixMilli()})
	}
	due := now.Sub(a.since) >= accessEvery
	a.mu.Unlock()
	if due {
		_ = v.writeAccesses(ctx) // they are still pending
	}
}

// writeAccesses writes the pending accesses as one new item. On an error they become pending again.
func (v *Vault) writeAccesses(ctx context.Context) error {
	a := v.accesses
	a.mu.Lock()
	// The pending accesses are taken out of the shared map before the write, so that accesses
	// during the write are kept apart and no lock is held during I/O.
	pending := a.pending
	a.pending = map[string]Access{}
	a.mu.Unlock()
	v.dropGone(pending)
	if len(pending) == 0 {
		return nil
	}
	data, err := json.Marshal(pending)
	if err == nil {
		key := fmt.Sprintf("%s%012d-%s", accessPrefix, v.Now().UnixNano()/int64(time.Millisecond), a.name)
		err = v.table.Commit(ctx, table.Create(table.Item{
			Key: table.Key{Part: v.part, Sort: key}, Data: data,
		}))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, n := range pending {
		if err != nil {
			a.pending[id] = a.pending[id].plus(n)
		} else if a.written != nil {
			a.written[id] = a.written[id].plus(n)
		}
	}
	return err
}

// Accesses returns the accesses of all memories by memory id, as this process knows them. Those
// that other processes counted may be a minute late. It makes at most one Query a minute. If the
// table cannot be read, it returns UNAVAILABLE or INDEX_ERROR. The caller owns the map.
func (v *Vault) Accesses(ctx context.Context) (map[string]Access, error) {
	a, now := v.accesses, v.Now()
	a.mu.Lock()
	known := a.written != nil && now.Sub(a.read) < accessEvery && !now.Before(a.read)
	a.mu.Unlock()
	if !known {
		written := map[string]Access{}
		for it, err := range v.table.Query(ctx, v.part, accessPrefix, lastAccess) {
			if err != nil {
				return nil, eventlog.Unreadable(ctx, err)
			}
			addAccesses(written, it.Data)
		}
		a.mu.Lock()
		a.written, a.read = written, now
		a.mu.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	all := maps.Clone(a.written)
	for id, n := range a.pending {
		all[id] = all[id].plus(n)
	}
	return all, nil
}

// addAccesses adds the accesses in the data of an item to to. It ignores data that cannot be
// decoded: they are only counts.
func addAccesses(to map[string]Access, data []byte) {
	var of map[string]Access
	if json.Unmarshal(data, &of) != nil {
		return
	}
	for id, n := range of {
		to[id] = to[id].plus(n)
	}
}

// foldAccesses writes the pending accesses and, if there are at least mostAccess old items, merges
// these into one. Accesses of memories that no longer exist are dropped. If another process merges
// at the same time, the commit fails and nothing changes.
func (v *Vault) foldAccesses(ctx context.Context) error {
	if err := v.writeAccesses(ctx); err != nil {
		return eventlog.NotCompacted(err)
	}
	if v.Known().Memories().Len() == 0 {
		return nil
	}
	var sum *table.Item
	var old []table.Item
	limit := v.Now().Add(-accessRest).UnixMilli()
	for it, err := range v.table.Query(ctx, v.part, accessPrefix, lastAccess) {
		if err != nil {
			return eventlog.Unreadable(ctx, err)
		}
		var written int64
		// Timed keys contain the time of writing; the key of the merged item does not.
		switch _, err := fmt.Sscanf(strings.TrimPrefix(it.Sort, accessPrefix), "%d-", &written); {
		case it.Sort == accessSum:
			sum = &it
		case err == nil && written < limit && len(old) < mostAccess:
			old = append(old, it)
		}
	}
	if len(old) < mostAccess {
		return nil
	}
	return v.sumUp(ctx, sum, old)
}

// eraseAccesses removes the accesses of memories that no longer exist from all items. A process
// that has not seen the removal yet may write them once more.
func (v *Vault) eraseAccesses(ctx context.Context) error {
	a := v.accesses
	a.mu.Lock()
	a.written = nil
	a.mu.Unlock()
	var all []table.Item
	for it, err := range v.table.Query(ctx, v.part, accessPrefix, lastAccess) {
		if err != nil {
			return eventlog.Unreadable(ctx, err)
		}
		all = append(all, it)
	}
	for _, it := range all {
		of := map[string]Access{}
		addAccesses(of, it.Data)
		if !v.dropGone(of) {
			continue
		}
		data, err := json.Marshal(of)
		if err != nil {
			return fmt.Errorf("write accesses: %w", err)
		}
		op := table.Replace(it, table.Item{Key: it.Key, Data: data})
		if len(of) == 0 {
			op = table.Remove(it.Key)
		}
		if err := v.table.Commit(ctx, op); err != nil && !errors.As(err, new(*table.Conflict)) {
			return eventlog.NotCompacted(err) // the other writer dropped them, or the next pass does
		}
	}
	return nil
}

// dropGone deletes the entries of memories that no longer exist, and reports whether there were
// any. It deletes nothing while this process has not read the vault yet (version 0).
func (v *Vault) dropGone(of map[string]Access) bool {
	if v.Known().Version() == 0 {
		return false
	}
	x, before := v.Known().Memories(), len(of)
	maps.DeleteFunc(of, func(id string, _ Access) bool {
		_, there := x.Card(id)
		return !there
	})
	return len(of) < before
}

// sumUp replaces the old items and the merged item sum, which may be nil, by one new merged item.
// If that would be too large, or another process changed one of the items, it changes nothing.
func (v *Vault) sumUp(ctx context.Context, sum *table.Item, old []table.Item) error {
	all := map[string]Access{}
	key := table.Key{Part: v.part, Sort: accessSum}
	var ops []table.Op
	if sum != nil {
		addAccesses(all, sum.Data)
	}
	for _, it := range old {
		addAccesses(all, it.Data)
		ops = append(ops, table.Remove(it.Key))
	}
	v.dropGone(all)
	data, err := json.Marshal(all)
	if err != nil || len(data) > table.MaxItem-table.MaxKey {
		return err // too large for one item: the old items stay
	}
	if sum == nil {
		ops = append(ops, table.Create(table.Item{Key: key, Data: data}))
	} else {
		ops = append(ops, table.Replace(*sum, table.Item{Key: key, Data: data}))
	}
	err = v.table.Commit(ctx, slices.Clip(ops)...)
	// A conflict means that another process merged or erased some of the items.
	if conflict := (*table.Conflict)(nil); errors.As(err, &conflict) {
		return nil
	}
	if err != nil {
		return eventlog.NotCompacted(err)
	}
	return nil
}
