package awsapp

import (
	"sync"
	"time"
)

// laterTimeout is how long a call waits at its end for work that calls have left behind.
const laterTimeout = 250 * time.Millisecond

// A background runs work that calls leave behind, in goroutines. The process is frozen between calls, so
// work that takes longer than laterTimeout continues during the next call, or never. It is safe for
// concurrent use.
type background struct {
	mu      sync.Mutex
	running int
	idle    chan struct{} // closed when nothing runs
}

// newBackground returns a later without work.
func newBackground() *background { return &background{} }

// run runs do in a goroutine.
func (l *background) run(do func()) {
	l.mu.Lock()
	if l.running++; l.running == 1 {
		l.idle = make(chan struct{})
	}
	l.mu.Unlock()
	go func() {
		defer l.done()
		do()
	}()
}

// done records the end of one goroutine.
func (l *background) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running--; l.running == 0 {
		close(l.idle)
	}
}

// wait waits until no work is running, for at most the given time, and reports whether that is so.
// Without it, the process would be frozen as soon as the call is answered, and a short write could
// take minutes.
func (l *background) wait(most time.Duration) bool {
	l.mu.Lock()
	running, idle := l.running, l.idle
	l.mu.Unlock()
	if running == 0 {
		return true
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-timer.C:
		return false
	}
}
