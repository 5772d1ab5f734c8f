package awsapp

import (
	"sync"
	"time"
)

// patience is how long the end of a call waits for what calls have left to be done.
const patience = 250 * time.Millisecond

// A later runs what calls leave to be done, beside them: a process that is frozen between calls may do nothing
// then. What takes longer than a call waits for goes on with the next one.
type later struct {
	mu      sync.Mutex
	running int
	idle    chan struct{} // closed when nothing runs
}

func newLater() *later { return &later{} }

// run begins to do something.
func (l *later) run(do func()) {
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

func (l *later) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running--; l.running == 0 {
		close(l.idle)
	}
}

// wait waits until nothing runs, and at most so long. It reports whether nothing does.
func (l *later) wait(most time.Duration) bool {
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
