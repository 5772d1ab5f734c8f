// Package eventsource invokes functions on this machine with messages of SQS and with records of
// DynamoDB streams, as the event source mappings of AWS Lambda do, and with events at fixed times,
// as a rule of EventBridge does. It is for tests and for trying functions. No function links it.
package eventsource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// An Invoker is a function, such as a *lambdahost.Host.
type Invoker interface {
	Invoke(ctx context.Context, event []byte) ([]byte, error)
}

// errRefused is the error of a batch of which the function reports failures.
var errRefused = errors.New("the function reports failures")

// pollPause is how long a mapping waits after an error of its source.
const pollPause = 200 * time.Millisecond

// A Mapping polls its source until it is closed.
type Mapping struct {
	stop context.CancelFunc
	runs sync.WaitGroup
	end  func() // called by Close; may be nil
}

// start returns a Mapping that polls in most goroutines until the context ends, or the mapping is
// closed.
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

// pause waits for pollPause, or until the context ends.
func pause(ctx context.Context) {
	timer := time.NewTimer(pollPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Close stops the mapping, and waits for its running calls.
func (m *Mapping) Close() {
	m.stop()
	m.runs.Wait()
	if m.end != nil {
		m.end()
	}
}

// Schedule invokes a function with the event of a schedule, for the first time after one period,
// and then once per period. It skips periods in which the function is still running.
func Schedule(ctx context.Context, every time.Duration, to Invoker) *Mapping {
	tick := time.NewTicker(every)
	m := start(ctx, 1, func(ctx context.Context) error {
		select {
		case at := <-tick.C:
			return ring(context.WithoutCancel(ctx), at, to)
		case <-ctx.Done():
			return nil
		}
	})
	m.end = tick.Stop
	return m
}

// ring invokes a function once.
func ring(ctx context.Context, at time.Time, to Invoker) error {
	event, err := json.Marshal(events.EventBridgeEvent{
		Version: "0", ID: "scheduled", DetailType: "Scheduled Event", Source: "aws.events", Time: at.UTC(),
		Detail: json.RawMessage(`{}`),
	})
	if err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	_, err = to.Invoke(ctx, event)
	return err
}
