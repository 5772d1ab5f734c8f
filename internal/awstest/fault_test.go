package awstest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// served starts a store that answers "0123456789", and returns its URL.
func served(t *testing.T) string {
	t.Helper()
	url, _ := counted(t)
	return url
}

func counted(t *testing.T) (string, *atomic.Int64) {
	t.Helper()
	var effects atomic.Int64
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		effects.Add(1)
		_, _ = io.WriteString(w, "0123456789")
	}))
	t.Cleanup(store.Close)
	return store.URL, &effects
}

// A shape is a request as one of the services gets it.
type shape struct{ method, target, condition string }

var (
	query     = shape{http.MethodPost, "DynamoDB_20120810.Query", ""}
	putItem   = shape{http.MethodPost, "DynamoDB_20120810.PutItem", ""}
	transact  = shape{http.MethodPost, "DynamoDB_20120810.TransactWriteItems", ""}
	get       = shape{http.MethodGet, "", ""}
	put       = shape{http.MethodPut, "", ""}
	putAbsent = shape{http.MethodPut, "", "*"}
)

func (s shape) request(ctx context.Context, t *testing.T, url string) *http.Request {
	t.Helper()
	body := strings.NewReader(`{"TransactItems":[{},{}]}`)
	r, err := http.NewRequestWithContext(ctx, s.method, url, body)
	require.NoError(t, err)
	if s.target != "" {
		r.Header.Set("X-Amz-Target", s.target)
	}
	if s.condition != "" {
		r.Header.Set("If-None-Match", s.condition)
	}
	return r
}

func TestAnswersOfFaults(t *testing.T) {
	for _, c := range []struct {
		fault  Fault
		shape  shape
		status int
		body   string
	}{
		{None, putItem, 200, "0123456789"},
		{Throttle, query, 400, "ProvisionedThroughputExceededException"},
		{TransactionConflict, putItem, 400, "TransactionConflictException"},
		{
			TransactionConflict, transact, 400,
			`"CancellationReasons":[{"Code":"TransactionConflict"},{"Code":"None"}]`,
		},
		{ErrorBefore, putItem, 500, "InternalServerError"},
		{ErrorAfter, putItem, 500, "InternalServerError"},
		{ErrorAfter, put, 500, "<Code>InternalError</Code>"},
		{SlowDown, get, 503, "<Code>SlowDown</Code>"},
		{Conflict, putAbsent, 409, "<Code>ConditionalRequestConflict</Code>"},
	} {
		url, effects := counted(t)
		f := NewFaults(http.DefaultClient, At(1, c.fault))
		answer, err := f.Do(c.shape.request(t.Context(), t, url))
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, c.status, answer.StatusCode)
		require.Contains(t, string(body), c.body)
		require.Equal(t, c.fault.HasEffect(), effects.Load() == 1)
		require.Equal(t, map[Fault]int{c.fault: 1}, f.Met())
	}
}

func TestLostAnswers(t *testing.T) {
	for _, fault := range []Fault{ResetBefore, ResetAfter, SilenceBefore, SilenceAfter} {
		url, effects := counted(t)
		ctx, cancel := context.WithCancel(t.Context())
		f := NewFaults(http.DefaultClient, func(Request) Fault { return fault })
		switch fault {
		case SilenceBefore:
			cancel()
		case SilenceAfter:
			f.next = cancelling{cancel}
		}
		_, err := f.Do(putItem.request(ctx, t, url))
		cancel()
		if fault == ResetBefore || fault == ResetAfter {
			require.ErrorIs(t, err, syscall.ECONNRESET)
		} else {
			require.ErrorIs(t, err, context.Canceled)
		}
		require.Equal(t, fault.HasEffect(), effects.Load() == 1)
	}
}

// cancelling gives a request up when its answer has come.
type cancelling struct{ cancel func() }

// Do implements aws.HTTPClient.
func (c cancelling) Do(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(strings.NewReader(string(body)))
	c.cancel()
	return answer, err
}

func TestCutBody(t *testing.T) {
	url, effects := counted(t)
	answer, err := NewFaults(http.DefaultClient, At(1, CutAfter)).Do(get.request(t.Context(), t, url))
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "01234", string(body))
	require.Equal(t, int64(1), effects.Load())
}

// TestEvery holds that each kind of request meets every fault that its service can answer with, each silence
// once, and no other request meets one.
func TestEvery(t *testing.T) {
	for _, c := range []struct {
		shape shape
		want  []Fault
	}{
		{query, []Fault{Throttle}},
		{putItem, []Fault{Throttle, TransactionConflict}},
		{get, []Fault{SlowDown}},
		{put, []Fault{SlowDown}},
		{putAbsent, []Fault{SlowDown, Conflict}},
	} {
		plan, met := Every(3, 2), map[Fault]int{}
		for n := 1; n <= 300; n++ {
			_, operation, _ := strings.Cut(c.shape.target, ".")
			r := Request{N: n, Operation: operation, Request: c.shape.request(t.Context(), t, "http://store/")}
			fault := plan(r)
			require.Equal(t, n%3 == 0, fault != None)
			met[fault]++
		}
		delete(met, None)
		for _, fault := range append(c.want, ErrorBefore, ErrorAfter, ResetBefore, ResetAfter, CutAfter) {
			require.NotZero(t, met[fault], "%d", fault)
			delete(met, fault)
		}
		require.Equal(t, map[Fault]int{SilenceBefore: 1, SilenceAfter: 1}, met)
	}
}
