package watch

import (
	"sync"

	"github.com/fsnotify/fsnotify"
)

// inboxLimit is how many events wait for the worker before they are given up for a look at all.
const inboxLimit = 1 << 16

// inbox are the events that the worker has not seen yet.
//
// It stands between the watcher and the worker because the watcher must never wait for who calls
// it: on Windows Add waits for the goroutine that sends the events, and on Linux an error may be
// sent under the lock that Add and Remove take.
type inbox struct {
	wake chan struct{} // capacity 1

	mu     sync.Mutex
	events []fsnotify.Event
	lost   bool // events came and are not here
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

func (b *inbox) put(e fsnotify.Event) {
	b.mu.Lock()
	switch n := len(b.events); {
	case n >= inboxLimit:
		b.events, b.lost = nil, true
	case n == 0 || b.events[n-1] != e: // an editor that writes a file is heard many times
		b.events = append(b.events, e)
	}
	b.mu.Unlock()
	b.ring()
}

// lose says that events were lost. Those that wait need no look any longer.
func (b *inbox) lose() {
	b.mu.Lock()
	b.events, b.lost = nil, true
	b.mu.Unlock()
	b.ring()
}

func (b *inbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *inbox) take() (events []fsnotify.Event, lost bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, lost = b.events, b.lost
	b.events, b.lost = nil, false
	return events, lost
}
