package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/bench/corpus"
)

func TestLoadMakesEachOperationOnce(t *testing.T) {
	for _, clients := range []int{1, 3, 64} {
		var mu sync.Mutex
		var made []int
		s, err := load{clients: clients, ops: 50, limit: time.Hour,
			op: func(_ context.Context, i int) error {
				mu.Lock()
				defer mu.Unlock()
				made = append(made, i)
				return nil
			}}.run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 50, s.Ops())
		require.True(t, slices.IsSorted(s.Waits))
		require.Positive(t, s.Rate())
		slices.Sort(made)
		for i, n := range made {
			require.Equal(t, i, n)
		}
	}
}

func TestLoadIsMadeByAllClientsAtOnce(t *testing.T) {
	var together sync.WaitGroup
	together.Add(8)
	_, err := load{clients: 8, ops: 8, limit: time.Hour, op: func(context.Context, int) error {
		together.Done()
		together.Wait() // returns only once eight are here
		return nil
	}}.run(t.Context())
	require.NoError(t, err)
}

func TestLoadBeginsNothingBehindItsLimit(t *testing.T) {
	var made atomic.Int64
	s, err := load{clients: 1, ops: 1 << 40, limit: time.Millisecond,
		op: func(context.Context, int) error { made.Add(1); return nil }}.run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, made.Load(), s.Ops())
}

func TestLoadCountsRefusals(t *testing.T) {
	s, err := load{clients: 4, ops: 40, limit: time.Hour, op: func(_ context.Context, i int) error {
		if i%4 == 0 {
			return &refusal{409, "INDEX_BUSY", "contended"}
		}
		return nil
	}}.run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 30, s.Ops())
	require.Equal(t, map[string]int{"INDEX_BUSY": 10}, s.Refused)
	require.Equal(t, "10 INDEX_BUSY", showRefused(s.Refused))
}

func TestLoadFailsWithoutAnswers(t *testing.T) {
	broken := errors.New("connection reset")
	_, err := load{name: "x", clients: 4, ops: 40, limit: time.Hour,
		op: func(context.Context, int) error { return broken }}.run(t.Context())
	require.ErrorIs(t, err, broken)

	_, err = load{name: "x", clients: 4, ops: 40, limit: time.Hour,
		op: func(context.Context, int) error { return &refusal{code: "READ_ONLY"} }}.run(t.Context())
	require.ErrorContains(t, err, "READ_ONLY:40")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = load{clients: 1, ops: 1, limit: time.Hour,
		op: func(context.Context, int) error { return nil }}.run(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestPercentileIsByNearestRank(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1))
	}
	for percent, want := range map[int]time.Duration{1: 1, 50: 50, 95: 95, 99: 99, 100: 100} {
		require.Equal(t, want, percentile(hundred, percent))
	}
	require.EqualValues(t, 2, percentile([]time.Duration{1, 2, 3}, 50))
	require.EqualValues(t, 3, percentile([]time.Duration{1, 2, 3}, 99))
	require.EqualValues(t, 7, percentile([]time.Duration{7}, 1))
}

func TestChunksBringEachFileOnce(t *testing.T) {
	files := slices.Collect(corpus.Vault(1, 2500))
	var came []corpus.File
	for c, err := range chunks("v", files) {
		require.NoError(t, err)
		require.LessOrEqual(t, len(c.body), 4<<20)
		var call struct {
			Vault string
			Notes []corpus.File
		}
		require.NoError(t, json.Unmarshal(c.body, &call))
		require.Equal(t, "v", call.Vault)
		require.Len(t, call.Notes, c.notes)
		require.LessOrEqual(t, c.notes, 1000)
		came = append(came, call.Notes...)
	}
	require.Equal(t, files, came)
}

func TestChunksKeepToTheSizeOfABody(t *testing.T) {
	big := corpus.File{Path: "a.md", Text: strings.Repeat("\n", 1<<20)} // two bytes each, escaped
	calls := 0
	for c, err := range chunks("v", []corpus.File{big, big, big}) {
		require.NoError(t, err)
		require.LessOrEqual(t, len(c.body), 4<<20)
		require.Equal(t, 1, c.notes)
		calls++
	}
	require.Equal(t, 3, calls)

	huge := corpus.File{Path: "huge.md", Text: strings.Repeat("x", 5<<20)}
	for _, err := range chunks("v", []corpus.File{huge}) {
		require.ErrorContains(t, err, "huge.md")
	}
}

// seen is what a server got.
type seen struct{ method, path, contentType, body string }

// answering is a client of a server that gives the same answer to everything.
func answering(t *testing.T, status int, body string) (*client, *seen) {
	got := &seen{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		*got = seen{r.Method, r.URL.EscapedPath(), r.Header.Get("Content-Type"), string(sent)}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return newClient(s.URL, "v", 1), got
}

func TestClientSpeaksTheContract(t *testing.T) {
	c, got := answering(t, 200, `{"ok":true,"data":{},"warnings":[],"meta":{"version":"v42"}}`)
	require.NoError(t, c.tool(t.Context(), "some_tool", map[string]any{"id": "a"}))
	require.Equal(t, seen{"POST", "/v1/tools/some_tool", "application/json",
		`{"id":"a","vault":"v"}`}, *got)

	require.NoError(t, c.get(t.Context(), "files", "notes/θ.md"))
	require.Equal(t, "/v1/vaults/v/files/notes%2F%CE%B8.md", got.path)
	require.Equal(t, "GET", got.method)

	version, err := c.version(t.Context())
	require.NoError(t, err)
	require.Equal(t, 42, version)
}

func TestClientTellsRefusals(t *testing.T) {
	c, _ := answering(t, 409, `{"ok":false,"error":{"code":"CONFLICT","message":"stale"}}`)
	err := c.tool(t.Context(), "some_tool", map[string]any{})
	var r *refusal
	require.ErrorAs(t, err, &r)
	require.Equal(t, refusal{409, "CONFLICT", "stale"}, *r)

	c, _ = answering(t, 502, `<html>`)
	require.ErrorContains(t, c.get(t.Context(), "objects", "a"), "502")

	c, _ = answering(t, 200, `{"ok":true,"meta":{}}`)
	_, err = c.version(t.Context())
	require.Error(t, err)
}
