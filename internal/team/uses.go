package team

import (
	"context"
	"slices"
	"sync"
)

// callUses are the open vaults that a call uses, each of which counts once until the call ends. They spare the call a
// goroutine for each time that it asks for a vault.
type callUses struct {
	done <-chan struct{} // of the context of the call

	mu    sync.Mutex
	held  []*opened
	of    *Memory
	ended bool
}

type usesKey struct{}

// Using returns the context of a call, and a function that ends what the call uses of open vaults; it is called
// when the call ends.
func Using(ctx context.Context) (context.Context, func()) {
	u := &callUses{done: ctx.Done()}
	return context.WithValue(ctx, usesKey{}, u), u.end
}

// usesOf returns what the call uses that a context is of; nil if the context may end at another time than it.
func usesOf(ctx context.Context) *callUses {
	u, _ := ctx.Value(usesKey{}).(*callUses)
	if u == nil || u.done != ctx.Done() {
		return nil
	}
	return u
}

// hold is Memory.hold until the call ends. It is not done if the call has ended, or uses vaults of another Memory.
func (u *callUses) hold(m *Memory, o *opened) (left <-chan struct{}, done bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.ended, u.of != nil && u.of != m:
		return nil, false
	case slices.Contains(u.held, o):
		return nil, true
	}
	if left := m.hold(o); left != nil {
		return left, true
	}
	u.of, u.held = m, append(u.held, o)
	return nil, true
}

func (u *callUses) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	much := false
	for _, o := range u.held {
		much = u.of.unhold(o) || much
	}
	if u.held = nil; much {
		go u.of.shed() // the answer need not wait for it
	}
}
