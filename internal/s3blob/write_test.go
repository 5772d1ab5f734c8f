package s3blob_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/s3blob"
)

// done returns a context that is done.
func done(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// next plans these faults for the next requests, and none after them.
func (r *rig) next(faults ...awstest.Fault) {
	before := r.faults.Requests()
	r.plan = func(q awstest.Request) awstest.Fault {
		if i := q.N - before - 1; i < len(faults) {
			return faults[i]
		}
		return awstest.None
	}
}

// conditions creates an object and returns the conditions that are met for one Put of its key.
func (r *rig) conditions(key string) map[string]blob.Cond {
	r.Helper()
	require.NoError(r, r.other().Delete(r.Context(), "absent/"+key))
	return map[string]blob.Cond{
		"absent/" + key:  blob.IfAbsent,
		"present/" + key: blob.IfTag(r.put(r.other(), "present/"+key, "before")),
		"any/" + key:     blob.Always,
	}
}

// TestOwnAfterAnUnknownOutcome loses the answer to a Put that had its effect.
func TestOwnAfterAnUnknownOutcome(t *testing.T) {
	r := newRig(t, s3blob.Options{Attempt: 300 * time.Millisecond})
	for _, lost := range []awstest.Fault{
		awstest.ErrorAfter, awstest.ResetAfter, awstest.SilenceAfter, awstest.ErrorBefore, awstest.ResetBefore,
	} {
		for key, c := range r.conditions("a") {
			r.next(lost, awstest.None)
			sent := 2
			if lost.HasEffect() && c != blob.Always {
				sent = 3 // the existing object is read
			}
			var tag blob.Tag
			require.Equal(t, sent, r.requests(func() {
				var err error
				tag, err = r.Put(t.Context(), key, []byte("text"), c)
				require.NoError(t, err, "%s, fault %d", key, lost)
			}), "%s, fault %d", key, lost)
			data, now, err := r.Get(t.Context(), key, 0, -1)
			require.NoError(t, err)
			require.Equal(t, "text", string(data))
			require.Equal(t, now, tag)
		}
	}
}

// TestTwiceUnknown loses two answers, and then gets an error.
func TestTwiceUnknown(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	for key, c := range r.conditions("a") {
		r.next(awstest.ResetBefore, awstest.ErrorAfter)
		_, err := r.Put(t.Context(), key, []byte("text"), c)
		require.NoError(t, err, key)
	}
	for key, c := range r.conditions("b") {
		r.next(awstest.ResetBefore, awstest.ErrorBefore, awstest.ResetBefore)
		require.Equal(t, 3, r.requests(func() {
			_, err := r.Put(t.Context(), key, []byte("text"), c)
			require.Error(t, err, key)
			require.NotErrorIs(t, err, blob.ErrCondition, "its outcome is unknown")
		}))
	}
}

// TestSameBytesOfAnother checks that an object with the same bytes from another Put does not meet
// the condition, and that the error says so, also after a request without an answer.
func TestSameBytesOfAnother(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	other := r.other()
	before := r.put(other, "a", "before")
	_, err := other.Put(t.Context(), "a", []byte("text"), blob.IfTag(before))
	require.NoError(t, err)
	_, err = other.Put(t.Context(), "b", []byte("text"), blob.IfAbsent)
	require.NoError(t, err)
	for key, c := range map[string]blob.Cond{"a": blob.IfTag(before), "b": blob.IfAbsent} {
		for _, lost := range []awstest.Fault{awstest.None, awstest.ErrorBefore, awstest.ErrorAfter} {
			r.next(lost)
			_, err := r.Put(t.Context(), key, []byte("text"), c)
			require.ErrorIs(t, err, blob.ErrCondition, "%s, fault %d", key, lost)
		}
	}
}

// TestReplacedAfterAnUnknownOutcome lets another process write between a Put whose answer is lost
// and its next request, and checks that only certain results are reported.
func TestReplacedAfterAnUnknownOutcome(t *testing.T) {
	type change func(r *rig, key string)
	replace := func(r *rig, key string) {
		_, tag, err := r.other().Get(r.Context(), key, 0, 0)
		require.NoError(r, err)
		_, err = r.other().Put(r.Context(), key, []byte("later"), blob.IfTag(tag))
		require.NoError(r, err)
	}
	overwrite := func(r *rig, key string) { r.put(r.other(), key, "later") }
	remove := func(r *rig, key string) { require.NoError(r, r.other().Delete(r.Context(), key)) }
	for _, c := range []struct {
		name   string
		change change
		want   error
	}{
		{"replaced", replace, s3blob.ErrUnknown},
		{"overwritten", overwrite, s3blob.ErrUnknown},
		{"deleted", remove, blob.ErrCondition},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, s3blob.Options{})
			key, before := "a", r.put(r.other(), "a", "before")
			n := r.faults.Requests()
			r.plan = func(q awstest.Request) awstest.Fault {
				switch q.N - n {
				case 1:
					return awstest.ErrorAfter
				case 2:
					c.change(r, key)
				}
				return awstest.None
			}
			_, err := r.Put(t.Context(), key, []byte("ours"), blob.IfTag(before))
			require.ErrorIs(t, err, c.want)
			if c.want != blob.ErrCondition {
				require.NotErrorIs(t, err, blob.ErrCondition)
			}
		})
	}
}

// TestConflicts checks the behaviour when another write to the object is in progress.
func TestConflicts(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	for key, c := range r.conditions("a") {
		if c == blob.Always {
			continue
		}
		five := []awstest.Fault{
			awstest.Conflict, awstest.Conflict, awstest.Conflict, awstest.Conflict, awstest.Conflict,
		}
		r.next(append(five, awstest.Conflict)...)
		require.Equal(t, 6, r.requests(func() {
			_, err := r.Put(t.Context(), key, []byte("text"), c)
			require.Error(t, err)
			require.NotErrorIs(t, err, blob.ErrCondition)
		}))
		r.next(five...)
		require.Equal(t, 6, r.requests(func() {
			_, err := r.Put(t.Context(), key, []byte("text"), c)
			require.NoError(t, err)
		}))
	}
}

// TestSlowDown checks that S3's request to slow down has no effect and leaves no outcome unknown.
func TestSlowDown(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	r.put(r.other(), "a", "before")
	r.next(awstest.SlowDown, awstest.SlowDown, awstest.SlowDown)
	require.Equal(t, 4, r.requests(func() {
		_, err := r.Put(t.Context(), "a", []byte("text"), blob.IfAbsent)
		require.ErrorIs(t, err, blob.ErrCondition)
	}), "no object is asked for")
	r.next(awstest.SlowDown, awstest.ErrorAfter, awstest.ResetBefore)
	require.NoError(t, r.Delete(t.Context(), "a"))
	_, _, err := r.Get(t.Context(), "a", 0, -1)
	require.ErrorIs(t, err, blob.ErrNotExist)
}

// TestNothingIsSignedLate advances the clock by an hour between the beginning of a call, or one of
// its requests, and the next request.
func TestNothingIsSignedLate(t *testing.T) {
	var moved atomic.Int64
	start := time.Now()
	r := newRig(t, s3blob.Options{Now: func() time.Time { return start.Add(time.Duration(moved.Load())) }})
	calls := map[string]func() error{
		"put": func() error {
			_, err := r.Put(t.Context(), "a", []byte("late"), blob.Always)
			return err
		},
		"delete": func() error { return r.Delete(t.Context(), "a") },
	}
	r.put(r.other(), "a", "before")
	for name, call := range calls {
		n := r.faults.Requests()
		r.plan = func(q awstest.Request) awstest.Fault {
			if q.N == n+1 {
				moved.Add(int64(time.Hour))
				return awstest.ErrorBefore
			}
			return awstest.None
		}
		require.Equal(t, 1, r.requests(func() {
			require.ErrorIs(t, call(), awsclient.ErrLate, name)
		}), "%s: nothing is sent after an hour", name)
	}
	data, _, err := r.Get(t.Context(), "a", 0, -1)
	require.NoError(t, err, "a read may be late")
	require.Equal(t, "before", string(data))
}

// TestCancelledInAFlight ends the context while a request is in progress.
func TestCancelledInAFlight(t *testing.T) {
	r := newRig(t, s3blob.Options{Attempt: time.Hour})
	r.put(r.other(), "a", "before")
	for name, call := range map[string]func(ctx context.Context) error{
		"put": func(ctx context.Context) error {
			_, err := r.Put(ctx, "a", []byte("x"), blob.Always)
			return err
		},
		"get":    func(ctx context.Context) error { _, _, err := r.Get(ctx, "a", 0, -1); return err },
		"head":   func(ctx context.Context) error { _, _, err := r.Get(ctx, "a", 0, 0); return err },
		"delete": func(ctx context.Context) error { return r.Delete(ctx, "a") },
		"list": func(ctx context.Context) error {
			for _, err := range r.List(ctx, "") {
				return err
			}
			return nil
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		r.plan = func(awstest.Request) awstest.Fault {
			cancel()
			return awstest.SilenceBefore
		}
		require.Equal(t, 1, r.requests(func() {
			require.ErrorIs(t, call(ctx), context.Canceled, name)
		}), name)
	}
}
