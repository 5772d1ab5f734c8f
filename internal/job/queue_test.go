package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// last returns the message that was sent last.
func (b *bed) last() job.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sent[len(b.sent)-1]
}

// TestRun checks the handling of a job's message: it is handled once, an early message must be
// delivered again when the job is due, and a job that continues later has sent another message.
func TestRun(t *testing.T) {
	b := newBed(t)
	j := b.process(b.table, false)
	it, err := j.Add(t.Context(), request("plain"))
	require.NoError(t, err)
	b.hook = func(_ context.Context, _ *job.Run, name string) error {
		if name == "two" {
			return fault.New(fault.Unavailable, "not now")
		}
		return nil
	}
	next, err := j.Run(t.Context(), it.ID)
	require.True(t, fault.Is(err, fault.Unavailable), err)
	require.Zero(t, next, "the queue was told")
	require.Equal(t, 5*time.Second, b.last().After)
	require.Equal(t, it.ID, b.last().Job)

	next, err = b.process(b.table, false).Run(t.Context(), it.ID)
	require.NoError(t, err)
	require.Equal(t, b.clock.time().Add(5*time.Second), next, "it is not due")

	b.hook = nil
	b.clock.pass(5 * time.Second)
	next, err = b.process(b.table, false).Run(t.Context(), it.ID)
	require.NoError(t, err)
	require.Zero(t, next)
	got, err := j.Get(t.Context(), it.ID)
	require.NoError(t, err)
	requireDone(t, got)

	for _, id := range []string{it.ID, job.NewID(b.clock.time()), "no id"} {
		next, err = j.Run(t.Context(), id)
		require.NoError(t, err)
		require.Zero(t, next, "it has ended, or is gone")
	}
}

// TestRunOfADeadProcess checks that the message of a job whose process was killed during the call
// is delivered when its lease expires, and continues the job.
func TestRunOfADeadProcess(t *testing.T) {
	b := newBed(t)
	b.hook = func(_ context.Context, _ *job.Run, name string) error {
		if name == "two" {
			return context.Canceled
		}
		return nil
	}
	dead := b.process(tabletest.NewFlaky(b.table, killed(3, tabletest.Before)), false)
	_, err := dead.Start(t.Context(), request("sure"), nil)
	require.Error(t, err)
	m := b.sent[0]
	require.Equal(t, time.Minute, m.After)

	b.hook = nil
	other := b.process(b.table, false)
	next, err := other.Run(t.Context(), m.Job)
	require.NoError(t, err)
	require.Equal(t, b.clock.time().Add(time.Minute), next, "its lease is not over")
	b.clock.pass(time.Minute)
	next, err = other.Run(t.Context(), m.Job)
	require.NoError(t, err)
	require.Zero(t, next)
	it, err := other.Get(t.Context(), m.Job)
	require.NoError(t, err)
	requireDone(t, it)
}

// TestWorker checks which messages are handled, which are delivered again, and which are buried at
// once.
func TestWorker(t *testing.T) {
	var did []string
	var buried []string
	full := errors.New("the queue of dead letters is full")
	var bury error
	w := job.Worker{
		Handlers: map[string]job.Handler{
			"good":  func(_ context.Context, m job.Message) error { did = append(did, m.Vault); return nil },
			"bad":   func(context.Context, job.Message) error { return fault.New(fault.Unavailable, "not now") },
			"panic": func(context.Context, job.Message) error { panic("secret") },
			"dead":  func(context.Context, job.Message) error { return job.ErrMessage },
		},
		Bury: func(_ context.Context, body []byte) error {
			if bury == nil {
				buried = append(buried, string(body))
			}
			return bury
		},
	}
	body, err := json.Marshal(job.Message{V: 1, Kind: "good", Tenant: "a", Vault: "v", After: time.Hour})
	require.NoError(t, err)
	require.JSONEq(t, `{"v":1,"kind":"good","tenant":"a","vault":"v"}`, string(body))
	require.NoError(t, w.Work(t.Context(), body))
	require.Equal(t, []string{"v"}, did)

	require.True(t, fault.Is(w.Work(t.Context(), []byte(`{"v":1,"kind":"bad","tenant":"a"}`)), fault.Unavailable))
	err = w.Work(t.Context(), []byte(`{"v":1,"kind":"panic","tenant":"a"}`))
	require.ErrorContains(t, err, "panic in a job: string")
	require.NotContains(t, err.Error(), "secret")
	require.Empty(t, buried)

	dead := []string{
		``, `{}`, `[]`, `no JSON`, `{"v":2,"kind":"good","tenant":"a"}`, `{"kind":"good","tenant":"a"}`,
		`{"v":1,"kind":"new","tenant":"a"}`, `{"v":1,"kind":"good"}`, `{"v":1,"kind":"dead","tenant":"a"}`,
	}
	for _, body := range dead {
		require.NoError(t, w.Work(t.Context(), []byte(body)), body)
	}
	require.Equal(t, dead, buried)
	bury = full
	require.ErrorIs(t, w.Work(t.Context(), []byte(`{}`)), full, "it is not lost")
	require.Equal(t, []string{"v"}, did)
}
