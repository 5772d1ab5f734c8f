package awsclient

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// tolerance is the largest difference from the clock of the store that is not corrected.
const tolerance = 2 * time.Second

// A Clock is the time of this process, corrected by the Date of the store's answers. Processes with
// different clocks then agree, within seconds, about what has expired and which requests are too
// old to be sent. A process needs only one. It is safe for concurrent use.
type Clock struct {
	wall   func() time.Time
	offset atomic.Int64  // nanoseconds that are added to wall
	dates  atomic.Uint64 // number of answers with a Date
}

// NewClock returns a clock that corrects wall; nil is time.Now.
func NewClock(wall func() time.Time) *Clock {
	if wall == nil {
		wall = time.Now
	}
	return &Clock{wall: wall}
}

// Now returns the corrected time. It has no monotonic reading, which does not advance while a process is
// frozen.
func (c *Clock) Now() time.Time {
	return c.wall().Round(0).Add(time.Duration(c.offset.Load()))
}

// Dated starts an interval. The function that it returns reports whether an answer with a Date came
// since then: only in that case is Now known to be right.
func (c *Clock) Dated() func() bool {
	before := c.dates.Load()
	return func() bool { return c.dates.Load() != before }
}

// Client returns an HTTP client of AWS whose answers correct the clock.
func (c *Clock) Client(next aws.HTTPClient) aws.HTTPClient { return clockClient{c, next} }

type clockClient struct {
	clock *Clock
	next  aws.HTTPClient
}

// Do implements aws.HTTPClient.
func (c clockClient) Do(r *http.Request) (*http.Response, error) {
	sent := c.clock.wall().Round(0)
	answer, err := c.next.Do(r)
	if err != nil {
		return answer, err
	}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		c.clock.correct(date, sent, c.clock.wall().Round(0))
	}
	return answer, nil
}

// correct sets the offset from the date of an answer, which has whole seconds. sent and came are
// when the request was sent and the answer came, by the wall clock. A date within the tolerance
// sets the offset to 0.
func (c *Clock) correct(date, sent, came time.Time) {
	var offset time.Duration
	switch {
	case date.Add(time.Second).Before(sent.Add(-tolerance)):
		offset = date.Sub(sent)
	case date.After(came.Add(tolerance)):
		offset = date.Sub(came)
	}
	c.offset.Store(int64(offset))
	c.dates.Add(1)
}
