package checkout

import (
	"errors"
	"sync"
	"time"
)

// grumbleEvery is how often the same trouble is logged while it lasts: what failed is tried again each
// second, for every note, and a disk may be full for days.
const grumbleEvery = time.Minute

// A grumble knows which troubles were logged of late. The zero value knows none.
type grumble struct {
	mu   sync.Mutex
	said map[string]time.Time // by what was being done, and the cause
}

// again reports whether the cause of an error was logged within a time; if it was not, it counts as
// logged now. what tells what was being done.
func (g *grumble) again(what string, err error, within time.Duration) bool {
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

// maxGrumbles is how many causes are told apart.
const maxGrumbles = 100

// innermost is the cause at the end of the chain of an error. It names no file, so that one cause is
// one trouble, however many notes it keeps from being written.
func innermost(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}
