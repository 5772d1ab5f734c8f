package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery"
	"github.com/rookeryhq/rookery/internal/fault"
)

// An asked is the result for one kind of call.
type asked struct {
	call
	Inside sample // in this process
	HTTP   sample
	Bytes  int // size of the largest answer
}

// A way sends a call, in this process or over HTTP, and returns the size of the answer in bytes.
type way func(ctx context.Context, tool string, body []byte) (int, error)

// askedLess divides the number of operations and the time limit of a load for each kind of call
// that reads, because there are many kinds.
const askedLess = 6

// inside measures the calls in this process, on the data of the server. It stops the server first.
func (s *suite) inside(ctx context.Context) (err error) {
	if err := s.down(); err != nil {
		return err
	}
	r, err := rookery.Open(ctx, rookery.Config{Data: s.data()})
	if err != nil {
		return fmt.Errorf("open the data: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	invoke := inProcess(r)
	progress("%d notes: lookups and searches in process", s.result.Notes)
	s.result.Asked = make([]asked, len(s.calls))
	for i, c := range s.calls {
		s.result.Asked[i].call = c
		a := &s.result.Asked[i]
		if a.Inside, err = s.ask(ctx, c, a.sized(invoke)); err != nil {
			return err
		}
	}
	return nil
}

// inProcess returns a way that calls the tools in this process.
func inProcess(r *rookery.Rookery) way {
	return func(ctx context.Context, tool string, body []byte) (int, error) {
		answer, err := r.Invoke(ctx, tool, json.RawMessage(body))
		if err != nil {
			f := fault.Of(err)
			return 0, &refusal{code: string(f.Code), message: f.Message}
		}
		return len(answer), nil
	}
}

// sized returns a way that records the size of the largest answer. It must be used by one client at
// a time.
func (a *asked) sized(by way) way {
	return func(ctx context.Context, tool string, body []byte) (int, error) {
		size, err := by(ctx, tool, body)
		a.Bytes = max(a.Bytes, size)
		return size, err
	}
}

// asks measures the calls over HTTP.
func (s *suite) asks(ctx context.Context) (err error) {
	progress("%d notes: lookups and searches over HTTP", s.result.Notes)
	post := func(ctx context.Context, tool string, body []byte) (int, error) {
		answer, err := s.client.post(ctx, tool, body)
		return len(answer), err
	}
	for i, c := range s.calls {
		if s.result.Asked[i].HTTP, err = s.ask(ctx, c, post); err != nil {
			return err
		}
	}
	return nil
}

// ask measures calls of one kind by one client. The first call is not counted. Refusals are
// collected and reported at the end, because none of these calls should be refused.
func (s *suite) ask(ctx context.Context, c call, by way) (sample, error) {
	if _, err := by(ctx, c.Tool, c.args[0]); err != nil {
		s.refused = append(s.refused, fmt.Errorf("%s: %w", c.name(), err))
		return sample{Name: c.What}, nil
	}
	got, err := load{
		name: c.What, clients: 1, ops: (s.cfg.ops + askedLess - 1) / askedLess,
		limit: s.cfg.limit / askedLess,
		op: func(ctx context.Context, i int) error {
			_, err := by(ctx, c.Tool, c.args[i%len(c.args)])
			return err
		},
	}.run(ctx)
	if len(got.Refused) > 0 {
		s.refused = append(s.refused, fmt.Errorf("%s: %s", c.name(), showRefused(got.Refused)))
	}
	return got, err
}

// Waited formats a percentile for the page. It returns "refused" if no call succeeded.
func (s sample) Waited(percent int) string {
	if len(s.Waits) == 0 {
		return "refused"
	}
	return showMillis(s.P(percent))
}

// slowest returns the kind of call with the highest p50 among those with an aim, and that p50. what
// is "" if there is none.
func slowest(list []asked, a aim, by func(asked) sample) (what string, p50 time.Duration) {
	for _, k := range list {
		if s := by(k); k.Aim == a && len(s.Waits) > 0 && s.P(50) >= p50 {
			what, p50 = k.What, s.P(50)
		}
	}
	return what, p50
}
