package tenant

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A Memory limits the total size of a deployment's open vaults, in bytes. When another vault has to
// be opened, vaults that no call uses are closed, the least recently used first. It is safe for
// concurrent use. A nil Memory is no limit.
//
// Sizes are estimates of the vaults themselves (repo.Vault.Size). A vault is counted when it is
// about to be opened, with its expected size, and again at the end of each use, because it grows
// with its writes. So the limit can be exceeded for a while: a vault in use is never closed, and
// neither is one with a write in progress. The mutex of a Tenant may be held when that of the Memory
// is locked, never the other way round.
type Memory struct {
	most    int64         // maximum, in bytes
	timeout time.Duration // maximum time that a call waits for memory

	mu    sync.Mutex
	open  map[*openVault]bool
	sizes map[string]int64 // sizes of closed vaults when they were closed, by key
	total int64            // sum of the sizes of open vaults, in bytes
	again bool             // a retry of evict is scheduled
	uses  uint64           // number of uses so far
	freed chan struct{}    // closed when a vault is closed or no longer used
}

// useTimeout is the maximum time that a call waits for memory that other calls use.
const useTimeout = time.Second

// minVault is the minimum size in bytes of an open vault, for goroutines, directory caches and the
// like.
const minVault = 64 << 10

// NewMemory returns a Memory with a limit in bytes, or nil, no limit, if most is not positive.
func NewMemory(most int64) *Memory {
	if most <= 0 {
		return nil
	}
	return &Memory{
		most: most, timeout: useTimeout, open: map[*openVault]bool{}, sizes: map[string]int64{},
		freed: make(chan struct{}),
	}
}

// A use is the accounting of an open vault in a Memory. The Memory's mutex guards it. The life of a
// vault is: opened by the first use, counted while calls use it, closed by idle and close when it
// is in the way, and then opened again as a new value by the next use.
type use struct {
	key    string
	count  int           // number of calls that use the vault
	last   uint64        // number of its last use, for the order of closing
	size   int64         // bytes that are counted for it
	closed chan struct{} // closed when the vault is closed; nil: it is not being closed
	leave  func()        // closes the vault
}

// begin counts a call that uses a vault until ctx ends, and returns nil. If the vault is being
// closed, it counts nothing and returns a channel that is closed when the vault can be opened
// again. If ctx is that of a call (see Using), the vault counts once for the whole call; otherwise
// each begin is a use of its own, and needs a goroutine when ctx ends.
func (m *Memory) begin(ctx context.Context, o *openVault) (left <-chan struct{}) {
	if m == nil {
		return nil
	}
	if u := usesOf(ctx); u != nil {
		if left, done := u.hold(m, o); done {
			return left
		}
	}
	if left := m.acquire(o); left != nil {
		return left
	}
	context.AfterFunc(ctx, func() { m.end(o) })
	return nil
}

// acquire is begin for a use that lasts until end is called.
func (m *Memory) acquire(o *openVault) (left <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o.use.closed != nil {
		return o.use.closed
	}
	m.uses++
	o.use.count++
	o.use.last = m.uses
	return nil
}

// opening counts the opening of a vault as a use, until the returned function is called.
func (m *Memory) opening(o *openVault) (end func()) {
	if m == nil {
		return func() {}
	}
	m.acquire(o)
	return func() { m.end(o) }
}

// end ends one use of a vault, and closes unused vaults if the limit is exceeded.
func (m *Memory) end(o *openVault) {
	if m.release(o) {
		m.evict()
	}
}

// release ends one use of a vault, updates its size, and reports whether the limit is exceeded. The
// size is read before mu is locked, because the vault has locks of its own.
func (m *Memory) release(o *openVault) bool {
	size := o.size()
	m.mu.Lock()
	defer m.mu.Unlock()
	o.use.count--
	if m.open[o] && o.ready.Load() {
		m.total += size - o.use.size
		o.use.size = size
	}
	m.notify()
	return m.total > m.most
}

// evictRetry is the delay before evict is retried if a vault could not be closed because it was being
// written to.
const evictRetry = 50 * time.Millisecond

// evict closes unused vaults while the limit is exceeded. It waits for each vault to close, so
// callers that must not wait run it in a goroutine. If an unused vault could not be closed because
// it was being written to, it is called again after evictRetry.
func (m *Memory) evict() {
	for idle := m.nextToEvict(); idle != nil; idle = m.nextToEvict() {
		m.close(idle)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.total > m.most && !m.again && m.writing() {
		m.again = true
		time.AfterFunc(evictRetry, func() {
			m.mu.Lock()
			m.again = false
			m.mu.Unlock()
			m.evict()
		})
	}
}

// writing reports whether a vault that no call uses is open. shed calls it after it has closed all
// others, so such a vault is still being written to. The caller holds mu.
func (m *Memory) writing() bool {
	for o := range m.open {
		if o.unused() {
			return true
		}
	}
	return false
}

// nextToEvict returns the vault to close next if the limit is exceeded, else nil.
func (m *Memory) nextToEvict() *openVault {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.total <= m.most {
		return nil
	}
	return m.idle()
}

// admit reserves size bytes for a vault that is about to be opened. It returns UNAVAILABLE if the
// vault exceeds the limit by itself, or if other calls keep using the memory until the timeout. It
// may close other vaults, which it waits for.
func (m *Memory) admit(o *openVault, size int64) error {
	if m == nil {
		return nil
	}
	var over <-chan time.Time
	for {
		idle, freed, err := m.tryReserve(o, size)
		switch {
		case err != nil || freed == nil:
			return err
		case idle != nil:
			m.close(idle)
			continue
		}
		if over == nil {
			over = time.After(m.timeout)
		}
		select {
		case <-freed:
		case <-over:
			return inUse()
		}
	}
}

// tryReserve reserves memory for a vault if there is enough. If there is not, it returns a vault to close
// first, or nil, and a channel that is closed when more memory may be available. It returns an
// error if the vault can never fit. If the vault was open before, its size when it was closed
// counts if that is more: the estimate before the first read is low for some vaults.
func (m *Memory) tryReserve(o *openVault, size int64) (idle *openVault, freed <-chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size = max(size+minVault, m.sizes[o.use.key])
	switch {
	case size > m.most:
		return nil, nil, m.tooLarge(size)
	case m.total+size > m.most:
		return m.idle(), m.freed, nil
	}
	m.open[o] = true
	o.use.size = size
	m.total += size
	return nil, nil, nil
}

// idle returns the least recently used vault of those that can be closed, and marks it as being
// closed: calls that want it now wait for that, and then open it again. It returns nil if there is
// none. The caller holds mu.
func (m *Memory) idle() *openVault {
	var oldest *openVault
	for o := range m.open {
		if o.unused() && o.isIdle() &&
			(oldest == nil || o.use.last < oldest.use.last) {
			oldest = o
		}
	}
	if oldest != nil {
		oldest.use.closed = make(chan struct{})
	}
	return oldest
}

// close closes a vault that idle returned.
func (m *Memory) close(o *openVault) {
	size := o.size()
	o.use.leave()
	m.mu.Lock()
	m.sizes[o.use.key] = size
	m.mu.Unlock()
	m.forget(o)
	close(o.use.closed)
}

// forget stops counting a vault.
func (m *Memory) forget(o *openVault) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open[o] {
		delete(m.open, o)
		m.total -= o.use.size
	}
	m.notify()
}

// notify wakes the calls that wait for memory. The caller holds mu.
func (m *Memory) notify() {
	close(m.freed)
	m.freed = make(chan struct{})
}

// ReasonMemory is the detail `reason` of the fault of a vault that is refused because of the memory
// limit.
const ReasonMemory = "memory"

// tooLarge returns the UNAVAILABLE fault of a vault that exceeds the limit by itself. Its fix
// suggests a limit of twice the size, because the index grows while it is read.
func (m *Memory) tooLarge(size int64) error {
	return fault.New(fault.Unavailable, "the vault takes about %s of memory, and the server keeps at most %s "+
		"for open vaults", mebibytes(size), mebibytes(m.most)).
		With("reason", ReasonMemory).
		OnServer(fmt.Sprintf("serve --memory %dMiB", 2*size>>20+1))
}

// inUse returns the fault of a vault for which no memory became free.
func inUse() error {
	return fault.New(fault.Unavailable,
		"other calls use all the memory that the server keeps for open vaults").
		With("reason", ReasonMemory).After(time.Second)
}

// mebibytes formats a number of bytes in MiB, rounded up.
func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }

// InMemory reports whether an error refuses a vault because of the memory limit. Other vaults may
// still be opened.
func InMemory(err error) bool {
	return fault.Is(err, fault.Unavailable) && fault.Of(err).Details["reason"] == ReasonMemory
}

// size returns the approximate size of an open vault in bytes.
func (o *openVault) size() int64 {
	if !o.ready.Load() {
		return minVault
	}
	return o.vault.Size() + minVault
}

// unused reports whether the vault is open and no call uses it. The caller holds the Memory's
// mutex.
func (o *openVault) unused() bool { return o.use.count == 0 && o.use.closed == nil && o.ready.Load() }

// isIdle reports whether no write is in progress that its call no longer waits for. Closing the
// vault would not end such a write.
func (o *openVault) isIdle() bool { return !o.vault.Writing() }

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
