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

	"rookery/internal/table"
)

// Accesses of memories are counted beside the log, in items of the vault's partition: they are in no version of it, and
// nothing follows from them (log.md §7). A process sums them for a minute and then writes one item, so that a recall
// costs no write of its own. What a process has not written when it ends is lost.
//
// The key of an item is accessPrefix, the minute in which it was written and the process; its data is JSON: by the id
// of a memory, how often it was told of, and when last in milliseconds. Items that are old are summed up in one.
const (
	accessPrefix = "access/"
	lastAccess   = accessPrefix + "~" // behind the keys of all items
	accessSum    = accessPrefix + "+" // the item of the sum; before the keys of minutes

	accessEvery = time.Minute

	// accessRest is how old an item is that is summed up: nobody writes it any more. mostAccess is how many there
	// must be, and how many are summed up at once.
	accessRest = 10 * time.Minute
	mostAccess = 50
)

// An Access is how often a memory was told of, and when last in Unix milliseconds.
type Access struct {
	Count int
	Last  int64
}

// MarshalJSON writes two numbers.
func (a Access) MarshalJSON() ([]byte, error) { return json.Marshal([2]int64{int64(a.Count), a.Last}) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (a *Access) UnmarshalJSON(data []byte) error {
	var pair [2]int64
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	*a = Access{int(pair[0]), pair[1]}
	return nil
}

func (a Access) plus(b Access) Access { return Access{a.Count + b.Count, max(a.Last, b.Last)} }

// Accesses are the accesses that a process knows of.
type accesses struct {
	name string // of the process, in keys

	mu      sync.Mutex
	pending map[string]Access // that are not written yet
	since   time.Time         // from when on
	written map[string]Access // as they were read; nil: they are not
	read    time.Time
}

func newAccesses() *accesses {
	return &accesses{name: fmt.Sprintf("%016x", rand.Uint64()), pending: map[string]Access{}} //nolint:gosec // it only tells processes apart
}

// Accessed counts that some memories were told of. It never fails: what cannot be written now is written later.
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

// writeAccesses writes the accesses that are pending.
func (v *Vault) writeAccesses(ctx context.Context) error {
	a := v.accesses
	a.mu.Lock()
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
		err = v.log.opt.Table.Commit(ctx, table.Create(table.Item{
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

// Accesses are how often memories were told of, by their ids, as far as this process knows: others' may be a minute
// late. It costs a Query a minute.
func (v *Vault) Accesses(ctx context.Context) (map[string]Access, error) {
	a, now := v.accesses, v.Now()
	a.mu.Lock()
	known := a.written != nil && now.Sub(a.read) < accessEvery && !now.Before(a.read)
	a.mu.Unlock()
	if !known {
		written := map[string]Access{}
		for it, err := range v.log.opt.Table.Query(ctx, v.part, accessPrefix, lastAccess) {
			if err != nil {
				return nil, unreadable(ctx, err)
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

// addAccesses adds what an item says. One that cannot be read says nothing: it is only a count.
func addAccesses(to map[string]Access, data []byte) {
	var of map[string]Access
	if json.Unmarshal(data, &of) != nil {
		return
	}
	for id, n := range of {
		to[id] = to[id].plus(n)
	}
}

// foldAccesses writes what is pending, and sums up the items that are old, if there are many. Those of memories that are
// gone are dropped. Whoever sums them up at the same time makes the commit fail, and then nothing has changed.
func (v *Vault) foldAccesses(ctx context.Context) error {
	if err := v.writeAccesses(ctx); err != nil {
		return notFolded(err)
	}
	if v.Known().Memories().Len() == 0 {
		return nil
	}
	var sum *table.Item
	var old []table.Item
	limit := v.Now().Add(-accessRest).UnixMilli()
	for it, err := range v.log.opt.Table.Query(ctx, v.part, accessPrefix, lastAccess) {
		if err != nil {
			return unreadable(ctx, err)
		}
		var written int64
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

// eraseAccesses takes memories that are gone out of all items. A process that does not know yet that they are gone may
// write them once more.
func (v *Vault) eraseAccesses(ctx context.Context) error {
	a := v.accesses
	a.mu.Lock()
	a.written = nil
	a.mu.Unlock()
	var all []table.Item
	for it, err := range v.log.opt.Table.Query(ctx, v.part, accessPrefix, lastAccess) {
		if err != nil {
			return unreadable(ctx, err)
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
		if err := v.log.opt.Table.Commit(ctx, op); err != nil && !errors.As(err, new(*table.Conflict)) {
			return notFolded(err) // who changed it has dropped them, or the next pass does
		}
	}
	return nil
}

// dropGone drops the memories that are not there, and reports whether there were any. Where nothing is known of the
// vault yet, all stay.
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

// sumUp puts the sum of some items in their place.
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
		return err // so many memories that are told of: their items stay
	}
	if sum == nil {
		ops = append(ops, table.Create(table.Item{Key: key, Data: data}))
	} else {
		ops = append(ops, table.Replace(*sum, table.Item{Key: key, Data: data}))
	}
	err = v.log.opt.Table.Commit(ctx, slices.Clip(ops)...)
	if conflict := (*table.Conflict)(nil); errors.As(err, &conflict) {
		return nil
	}
	if err != nil {
		return notFolded(err)
	}
	return nil
}
