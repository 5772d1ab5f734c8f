package team

import (
	"context"
	"fmt"
	"sync"
	"time"

	"rookery/internal/fault"
)

// A Memory bounds how many bytes the open vaults of a deployment hold together. When another vault has to
// be opened, vaults that no call uses are closed, the least recently used first. It is safe for concurrent
// use. Nil bounds nothing.
type Memory struct {
	most    int64
	timeout time.Duration

	mu    sync.Mutex
	open  map[*opened]bool
	sizes map[string]int64 // of vaults that were closed, when they were, by their keys
	held  int64
	again bool          // it is looked again soon for what can be closed
	uses  uint64        // counts them
	freed chan struct{} // closed when a vault is closed, or no longer used
}

// useTimeout is how long a call waits for memory that others use.
const useTimeout = time.Second

// minVault is how many bytes an open vault counts at least: for its goroutines, caches of directories and
// the like.
const minVault = 64 << 10

// NewMemory makes a Memory of so many bytes; 0: nil.
func NewMemory(most int64) *Memory {
	if most <= 0 {
		return nil
	}
	return &Memory{
		most: most, timeout: useTimeout, open: map[*opened]bool{}, sizes: map[string]int64{},
		freed: make(chan struct{}),
	}
}

// A use is how an open vault counts in a Memory, which guards it.
type use struct {
	key   string
	count int    // calls that use the vault
	last  uint64 // orders vaults by their last use
	size  int64
	left  chan struct{} // closed when the vault is closed; nil: it stays open
	leave func()        // closes the vault
}

// begin counts a call that uses a vault until its context ends. It returns nil, or a channel: the vault is
// being closed, and can be opened again when the channel is closed.
func (m *Memory) begin(ctx context.Context, o *opened) (left <-chan struct{}) {
	if m == nil {
		return nil
	}
	if u := usesOf(ctx); u != nil {
		if left, done := u.hold(m, o); done {
			return left
		}
	}
	if left := m.hold(o); left != nil {
		return left
	}
	context.AfterFunc(ctx, func() { m.end(o) })
	return nil
}

// hold is begin of a use that lasts until end is called.
func (m *Memory) hold(o *opened) (left <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o.use.left != nil {
		return o.use.left
	}
	m.uses++
	o.use.count++
	o.use.last = m.uses
	return nil
}

// opening counts the one who opens a vault as a use, until the function that it returns is called.
func (m *Memory) opening(o *opened) (end func()) {
	if m == nil {
		return func() {}
	}
	m.hold(o)
	return func() { m.end(o) }
}

// end ends one use of a vault, and closes vaults if more is held by now than may be.
func (m *Memory) end(o *opened) {
	if m.unhold(o) {
		m.shed()
	}
}

// unhold ends one use of a vault, and reports whether more is held by now than may be.
func (m *Memory) unhold(o *opened) bool {
	size := o.size()
	m.mu.Lock()
	defer m.mu.Unlock()
	o.use.count--
	if m.open[o] && o.ready.Load() {
		m.held += size - o.use.size
		o.use.size = size
	}
	m.notify()
	return m.held > m.most
}

// shedAgain is when it is looked again for a vault that could not be closed, for it was being written to.
const shedAgain = 50 * time.Millisecond

// shed closes vaults that no call uses, while more is held than may be.
func (m *Memory) shed() {
	for idle := m.excess(); idle != nil; idle = m.excess() {
		m.close(idle)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held > m.most && !m.again && m.writing() {
		m.again = true
		time.AfterFunc(shedAgain, func() {
			m.mu.Lock()
			m.again = false
			m.mu.Unlock()
			m.shed()
		})
	}
}

// writing reports whether a vault that no call uses is open for what is still written to it. The caller holds mu.
func (m *Memory) writing() bool {
	for o := range m.open {
		if o.unused() {
			return true
		}
	}
	return false
}

// excess is idle where more is held than may be, else nil.
func (m *Memory) excess() *opened {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held <= m.most {
		return nil
	}
	return m.idle()
}

// admit makes room for a vault that is about to be opened and takes so many bytes. Where that is more than
// there may be, or others use the memory and go on doing so, it is UNAVAILABLE.
func (m *Memory) admit(o *opened, size int64) error {
	if m == nil {
		return nil
	}
	var over <-chan time.Time
	for {
		idle, freed, err := m.take(o, size)
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

// take takes memory for a vault, if there is enough or the vault can never have it. Else it returns a vault
// that is to be closed first, if there is one, and what is closed when there may be more memory.
func (m *Memory) take(o *opened, size int64) (idle *opened, freed <-chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size = max(size+minVault, m.sizes[o.use.key])
	switch {
	case size > m.most:
		return nil, nil, m.tooLarge(size)
	case m.held+size > m.most:
		return m.idle(), m.freed, nil
	}
	m.open[o] = true
	o.use.size = size
	m.held += size
	return nil, nil, nil
}

// idle returns the vault that was used least recently, of those that nothing uses now, and makes it one
// that is being closed; nil: there is none. The caller holds mu.
func (m *Memory) idle() *opened {
	var oldest *opened
	for o := range m.open {
		if o.unused() && o.resting() &&
			(oldest == nil || o.use.last < oldest.use.last) {
			oldest = o
		}
	}
	if oldest != nil {
		oldest.use.left = make(chan struct{})
	}
	return oldest
}

// close closes a vault that idle returned.
func (m *Memory) close(o *opened) {
	size := o.size()
	o.use.leave()
	m.mu.Lock()
	m.sizes[o.use.key] = size
	m.mu.Unlock()
	m.forget(o)
	close(o.use.left)
}

// forget no longer counts a vault.
func (m *Memory) forget(o *opened) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open[o] {
		delete(m.open, o)
		m.held -= o.use.size
	}
	m.notify()
}

// notify wakes the calls that wait for memory. The caller holds mu.
func (m *Memory) notify() {
	close(m.freed)
	m.freed = make(chan struct{})
}

// ReasonMemory is the reason of a vault that is refused because of memory.
const ReasonMemory = "memory"

func (m *Memory) tooLarge(size int64) error {
	return fault.New(fault.Unavailable, "the vault takes about %s of memory, and the server keeps at most %s "+
		"for open vaults", mebibytes(size), mebibytes(m.most)).
		With("reason", ReasonMemory).
		OnServer(fmt.Sprintf("serve --memory %dMiB", 2*size>>20+1))
}

func inUse() error {
	return fault.New(fault.Unavailable,
		"other calls use all the memory that the server keeps for open vaults").
		With("reason", ReasonMemory).After(time.Second)
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }

// InMemory reports whether an error refuses a vault because of memory. Other vaults can be opened.
func InMemory(err error) bool {
	return fault.Is(err, fault.Unavailable) && fault.Of(err).Details["reason"] == ReasonMemory
}

// size is about how many bytes an open vault holds.
func (o *opened) size() int64 {
	if !o.ready.Load() {
		return minVault
	}
	return o.vault.Size() + minVault
}

// unused reports whether the vault is open, and no call uses it. The Memory's mu guards it.
func (o *opened) unused() bool { return o.use.count == 0 && o.use.left == nil && o.ready.Load() }

// resting reports whether nothing of the vault is under way that a close would not end: a write that its
// call does not wait for any more.
func (o *opened) resting() bool { return !o.vault.Writing() }
