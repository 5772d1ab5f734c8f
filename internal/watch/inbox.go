package watch

import (
	"sync"

	"github.com/fsnotify/fsnotify"
)

// inboxLimit is the maximum number of events in an inbox. If there are more, they are dropped,
// and the tree is searched again.
const inboxLimit = 1 << 16

// An inbox contains the events that the worker has not processed yet.
//
// It decouples the watcher from the worker, because the watcher must never wait for a caller of
// its methods: on Windows, Add waits for the goroutine that sends the events, and on Linux an
// error can be sent under the lock that Add and Remove need.
type inbox struct {
	wake chan struct{} // receives when there is something to take; capacity 1

	mu     sync.Mutex
	events []fsnotify.Event
	lost   bool // events were dropped
}

// newInbox returns an empty inbox.
func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// put adds an event. It drops an event that is equal to the last one.
func (b *inbox) put(e fsnotify.Event) {
	b.mu.Lock()
	switch n := len(b.events); {
	// The dropped events are replaced by a search of the whole tree.
	case n >= inboxLimit:
		b.events, b.lost = nil, true
	case n == 0 || b.events[n-1] != e: // writing a file causes many equal events
		b.events = append(b.events, e)
	}
	b.mu.Unlock()
	b.ring()
}

// lose reports that events were lost. It drops the waiting events too, because the whole tree
// will be searched again.
func (b *inbox) lose() {
	b.mu.Lock()
	b.events, b.lost = nil, true
	b.mu.Unlock()
	b.ring()
}

// ring wakes the worker.
func (b *inbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take returns and removes the events, and reports whether others were lost.
func (b *inbox) take() (events []fsnotify.Event, lost bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, lost = b.events, b.lost
	b.events, b.lost = nil, false
	return events, lost
}
