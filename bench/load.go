package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A load is one kind of operation by several concurrent clients. Each client begins its next
// operation after it has the answer to the previous one.
type load struct {
	name    string
	clients int
	ops     int           // maximum, of all clients together
	limit   time.Duration // time after which no operation begins
	op      func(ctx context.Context, i int) error
}

// A sample is the result of a load.
type sample struct {
	Name    string
	Clients int
	Took    time.Duration
	Waits   []time.Duration // of each operation that succeeded, sorted
	Refused map[string]int  // number of refused operations, by code
}

// run measures the load. An operation without an answer ends it with an error. A refused operation
// is counted.
func (l load) run(ctx context.Context) (sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	parts := make([]sample, l.clients)
	var all sync.WaitGroup
	begun := time.Now()
	for i := range parts {
		all.Go(func() {
			if err := l.client(ctx, &next, begun, &parts[i]); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	s := sample{Name: l.name, Clients: l.clients, Took: time.Since(begun)}
	if err := context.Cause(ctx); err != nil {
		return s, fmt.Errorf("%s with %d clients: %w", l.name, l.clients, err)
	}
	for _, part := range parts {
		s.add(part)
	}
	slices.Sort(s.Waits)
	if len(s.Waits) == 0 {
		return s, fmt.Errorf("%s with %d clients: all were refused: %v", l.name, l.clients,
			s.Refused)
	}
	return s, nil
}

// client makes operations until the maximum number or the time limit is reached.
func (l load) client(
	ctx context.Context, next *atomic.Int64, begun time.Time, s *sample,
) error {
	for ctx.Err() == nil && time.Since(begun) < l.limit {
		i := int(next.Add(1)) - 1
		if i >= l.ops {
			return nil
		}
		sent := time.Now()
		err := l.op(ctx, i)
		wait := time.Since(sent)
		var r *refusal
		switch {
		case errors.As(err, &r):
			s.refuse(r.code)
		case err != nil:
			return err
		default:
			s.Waits = append(s.Waits, wait)
		}
	}
	return nil
}

// refuse counts a refused operation.
func (s *sample) refuse(code string) {
	if s.Refused == nil {
		s.Refused = map[string]int{}
	}
	s.Refused[code]++
}

// add adds the measurements of one client.
func (s *sample) add(part sample) {
	s.Waits = append(s.Waits, part.Waits...)
	for code, n := range part.Refused {
		for range n {
			s.refuse(code)
		}
	}
}

// Ops returns the number of operations that succeeded.
func (s sample) Ops() int { return len(s.Waits) }

// Rate returns the number of operations per second that succeeded.
func (s sample) Rate() float64 { return float64(len(s.Waits)) / s.Took.Seconds() }

// P returns a percentile of the times (nearest rank).
func (s sample) P(percent int) time.Duration { return percentile(s.Waits, percent) }

// percentile returns the smallest of the sorted values that at least percent of them do not exceed.
// It panics if there are none.
func percentile(sorted []time.Duration, percent int) time.Duration {
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}
