package eventsource

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

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
