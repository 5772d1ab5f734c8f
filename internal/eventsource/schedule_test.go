package eventsource_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventsource"
)

// A called is a function that hands its events over, and fails.
type called chan []byte

func (c called) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	select {
	case c <- event:
	case <-ctx.Done():
	}
	return nil, errors.New("failed")
}

// TestSchedule holds that a function is invoked again and again with the event of a schedule, also after a failure, and
// not after the mapping is closed.
func TestSchedule(t *testing.T) {
	c := make(called, 3)
	m := eventsource.Schedule(t.Context(), time.Millisecond, c)
	for range 3 {
		var e events.EventBridgeEvent
		require.NoError(t, json.Unmarshal(<-c, &e))
		require.Equal(t, "Scheduled Event", e.DetailType)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Close()
	}()
	for open := true; open; { // it may be at work
		select {
		case <-c:
		case <-done:
			open = false
		}
	}
	for len(c) > 0 {
		<-c
	}
	require.Empty(t, c)
}
