package tenant

import (
	"context"
	"slices"
	"sync"
)

// A callUses contains the open vaults that a call uses. Each counts as one use until the call ends,
// which saves a goroutine for each request of a vault. All of them belong to one Memory. It is safe
// for concurrent use, because a call may read several vaults at the same time.
type callUses struct {
	done <-chan struct{} // of the context of the call

	mu     sync.Mutex
	held   []*openVault
	memory *Memory
	ended  bool
}

// A usesKey is the context key of a callUses.
type usesKey struct{}

// Using returns the context of a call, and a function that releases the open vaults that the call
// uses. The function must be called when the call ends. Without Using, each request of a vault is
// one use that ends with its context.
func Using(ctx context.Context) (context.Context, func()) {
	u := &callUses{done: ctx.Done()}
	return context.WithValue(ctx, usesKey{}, u), u.end
}

// usesOf returns the vaults used by the call of a context, or nil if the context does not end
// together with that of the call: work that continues after the call, or ends before it, must count
// its uses by itself.
func usesOf(ctx context.Context) *callUses {
	u, _ := ctx.Value(usesKey{}).(*callUses)
	if u == nil || u.done != ctx.Done() {
		return nil
	}
	return u
}

// hold is Memory.acquire until the call ends. done is false if the call has ended or uses vaults of
// another Memory.
func (u *callUses) hold(m *Memory, o *openVault) (left <-chan struct{}, done bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.ended, u.memory != nil && u.memory != m:
		return nil, false
	case slices.Contains(u.held, o):
		return nil, true
	}
	if left := m.acquire(o); left != nil {
		return left, true
	}
	u.memory, u.held = m, append(u.held, o)
	return nil, true
}

// end releases the vaults.
func (u *callUses) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	much := false
	for _, o := range u.held {
		much = u.memory.release(o) || much
	}
	if u.held = nil; much {
		go u.memory.evict() // in the background, so that the answer does not wait
	}
}
