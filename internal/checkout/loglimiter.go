package checkout

import (
	"errors"
	"sync"
	"time"
)

// grumbleEvery is the shortest time between two log messages with the same cause. A failed step is
// repeated every second, for every note, and a disk may be full for days.
const grumbleEvery = time.Minute

// A logLimiter contains the errors that were logged recently. The zero value is ready for use. It
// is safe for concurrent use.
type logLimiter struct {
	mu   sync.Mutex
	said map[string]time.Time // time of the last message, by step and cause
}

// again reports whether an error with the same step and cause was logged within a time. If not, it
// is recorded as logged now. what is the step that failed.
func (g *logLimiter) again(what string, err error, within time.Duration) bool {
	key, now := what+"\n"+innermost(err), time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if last, known := g.said[key]; known && now.Sub(last) < within {
		return true
	}
	if g.said == nil || len(g.said) >= maxGrumbles {
		g.said = map[string]time.Time{}
	}
	g.said[key] = now
	return false
}

// maxGrumbles is the largest number of recorded messages; at that number all are dropped.
const maxGrumbles = 100

// innermost returns the message of the last error in a chain. That is the cause, without the name
// of a file, so that one cause is logged once, whatever the number of notes.
func innermost(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}
