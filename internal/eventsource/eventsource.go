// Package eventsource hands messages of SQS and records of streams of DynamoDB to functions on this machine, as the
// event source mappings of AWS Lambda do, and events at fixed times, as a rule of EventBridge does. It is for tests and for trying functions out; no function links it.
package eventsource

import (
	"context"
	"errors"
	"sync"
	"time"
)

// An Invoker is a function, such as a lambdahost.Host.
type Invoker interface {
	Invoke(ctx context.Context, event []byte) ([]byte, error)
}

// errRefused says that a function did not take all of a batch.
var errRefused = errors.New("the function reports failures")

// pollPause is how long a mapping waits when its source did not answer.
const pollPause = 200 * time.Millisecond

// A Mapping polls its source until it is closed.
type Mapping struct {
	stop context.CancelFunc
	runs sync.WaitGroup
	end  func() // is called when it is closed; nil: nothing is
}

// start polls until the context ends, or the mapping is closed: so many times at the same time.
func start(ctx context.Context, most int, poll func(ctx context.Context) error) *Mapping {
	ctx, stop := context.WithCancel(ctx)
	m := &Mapping{stop: stop}
	for range most {
		m.runs.Go(func() {
			for ctx.Err() == nil {
				if poll(ctx) != nil {
					pause(ctx)
				}
			}
		})
	}
	return m
}

// pause waits before the next poll.
func pause(ctx context.Context) {
	timer := time.NewTimer(pollPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Close ends the mapping, and waits for the calls that it makes.
func (m *Mapping) Close() {
	m.stop()
	m.runs.Wait()
	if m.end != nil {
		m.end()
	}
}
