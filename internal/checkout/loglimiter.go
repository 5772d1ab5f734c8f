package checkout

import (
	"errors"
	"sync"
	"time"
)

// logEvery is the shortest time between two log messages with the same cause. A failed step is
// repeated every second, for every note, and a disk may be full for days.
const logEvery = time.Minute

// A logLimiter contains the errors that were logged recently. The zero value is ready for use. It
// is safe for concurrent use.
type logLimiter struct {
	mu     sync.Mutex
	logged map[string]time.Time // time of the last message, by step and cause
}

// isRepeated reports whether an error with the same step and cause was logged within a time. If
// not, it is recorded as logged now. what is the step that failed.
func (g *logLimiter) isRepeated(what string, err error, within time.Duration) bool {
	key, now := what+"\n"+innermost(err), time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if last, known := g.logged[key]; known && now.Sub(last) < within {
		return true
	}
	if g.logged == nil || len(g.logged) >= maxLogged {
		g.logged = map[string]time.Time{}
	}
	g.logged[key] = now
	return false
}

// maxLogged is the largest number of recorded messages; at that number all are dropped.
const maxLogged = 100

// innermost returns the message of the last error in a chain. That is the cause, without the name
// of a file, so that one cause is logged once, whatever the number of notes.
func innermost(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}
