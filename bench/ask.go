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

// asked is what the calls of one kind came to.
type asked struct {
	call
	Inside sample // in this process
	HTTP   sample
	Bytes  int // of the largest answer
}

// A way carries calls: into this process, or over HTTP. It is the size of the answer.
type way func(ctx context.Context, tool string, body []byte) (int, error)

// A call that reads is made this many times less than the operations of other loads, and as much
// shorter: there are many kinds.
const askedLess = 6

// inside measures the calls in this process, on the data of the server, which is stopped for it.
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

// inProcess calls the tools in this process.
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

// sized notes how large the largest answer is that comes this way. One client uses it.
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

// ask measures calls of one kind by one client, after one that is not counted. Refusals are kept for
// the end: none of these calls may be refused.
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

// Waited is a percentile as the page shows it; of calls that were all refused there is none.
func (s sample) Waited(percent int) string {
	if len(s.Waits) == 0 {
		return "refused"
	}
	return showMillis(s.P(percent))
}

// slowest is the kind of call with an aim that took longest, half of the time.
func slowest(list []asked, a aim, by func(asked) sample) (what string, p50 time.Duration) {
	for _, k := range list {
		if s := by(k); k.Aim == a && len(s.Waits) > 0 && s.P(50) >= p50 {
			what, p50 = k.What, s.P(50)
		}
	}
	return what, p50
}
