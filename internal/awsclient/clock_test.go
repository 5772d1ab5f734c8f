package awsclient_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsclient"
)

// wall is what the clock of the process says in these tests, in the middle of a second.
var wall = time.Date(2026, 11, 23, 12, 0, 0, 500_000_000, time.UTC)

// dated is a store that answers with this Date; an empty one is an answer without.
type dated string

// Do implements aws.HTTPClient.
func (d dated) Do(*http.Request) (*http.Response, error) {
	answer := &http.Response{Header: http.Header{}}
	if d != "" {
		answer.Header.Set("Date", string(d))
	}
	return answer, nil
}

// dead is a store that does not answer.
type dead struct{}

// Do implements aws.HTTPClient.
func (dead) Do(*http.Request) (*http.Response, error) { return nil, errors.New("no answer") }

func ask(t *testing.T, c *awsclient.Clock, store interface {
	Do(*http.Request) (*http.Response, error)
},
) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://store/", nil)
	require.NoError(t, err)
	_, _ = c.Client(store).Do(r)
}

func at(d time.Duration) dated { return dated(wall.Add(d).Format(http.TimeFormat)) }

func TestClockIsCorrected(t *testing.T) {
	for _, c := range []struct {
		store, want time.Duration // from the wall clock
	}{
		{0, 0},
		{2 * time.Second, 0},
		{-2 * time.Second, 0},
		{3 * time.Second, 2500 * time.Millisecond},
		{-3 * time.Second, -3500 * time.Millisecond},
		{24 * time.Hour, 24*time.Hour - 500*time.Millisecond},
		{-24 * time.Hour, -24*time.Hour - 500*time.Millisecond},
	} {
		clock := awsclient.NewClock(func() time.Time { return wall })
		ask(t, clock, at(c.store))
		require.Equal(t, wall.Add(c.want), clock.Now(), "a store at %v", c.store)
	}
}

// TestClockComesBack holds that a correction ends when the clock is set right, or the store agrees again.
func TestClockComesBack(t *testing.T) {
	clock := awsclient.NewClock(func() time.Time { return wall })
	ask(t, clock, at(time.Hour))
	require.NotEqual(t, wall, clock.Now())
	ask(t, clock, dead{})
	ask(t, clock, dated(""))
	ask(t, clock, dated("yesterday"))
	require.NotEqual(t, wall, clock.Now(), "an answer without a Date says nothing")
	ask(t, clock, at(0))
	require.Equal(t, wall, clock.Now())
}

func TestDated(t *testing.T) {
	clock := awsclient.NewClock(func() time.Time { return wall })
	ask(t, clock, at(0))
	seen := clock.Dated()
	require.False(t, seen())
	ask(t, clock, dead{})
	ask(t, clock, dated(""))
	require.False(t, seen())
	ask(t, clock, at(0))
	require.True(t, seen())
	require.False(t, clock.Dated()())
}

func TestNowHasNoMonotonicReading(t *testing.T) {
	now := awsclient.NewClock(nil).Now()
	require.Equal(t, now.Round(0), now)
	require.WithinDuration(t, time.Now(), now, time.Minute)
}
