package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

type halfOut struct {
	tool.Aside `json:"-"`
	Text       string `json:"text"`
}

// half returns a tool that fails after it has built its output.
func half(fails func(context.Context) error) *tool.Tool {
	return tool.New(tool.Spec{
		Name: "half", Family: family, Title: "Half", Doc: "half.", Role: auth.Reader,
	}, func(ctx context.Context, _ auth.Caller, _ struct{}) (halfOut, error) {
		out := halfOut{Text: "private"}
		out.Note("version", "v1")
		out.Warn("WARNED", "a warning", nil)
		return out, fails(ctx)
	})
}

// invoked returns the answer of half and the log output.
func invoked(
	ctx context.Context, t testing.TB, fails func(context.Context) error,
) (answer json.RawMessage, logged string, err error) {
	t.Helper()
	var log bytes.Buffer
	cat, err := tool.NewCatalogue([]*tool.Tool{half(fails)},
		tool.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	answer, err = cat.Invoke(ctx, "half", nil)
	return answer, log.String(), err
}

// TestFailureHasNoData checks that a failed call returns nothing of its output except warnings.
func TestFailureHasNoData(t *testing.T) {
	answer, _, err := invoked(t.Context(), t, func(context.Context) error {
		return fault.New(fault.NotFound, "nothing there")
	})
	require.True(t, fault.Is(err, fault.NotFound))
	require.Contains(t, string(answer), `"warnings":[{"code":"WARNED","message":"a warning"}]}`)
	for _, key := range []string{"data", "meta", "private"} {
		require.NotContains(t, string(answer), key)
	}
}

// TestCallerThatLeaves checks that a caller that disconnects before the answer is not an internal
// error.
func TestCallerThatLeaves(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	answer, logged, err := invoked(ctx, t, func(ctx context.Context) error {
		leave()
		<-ctx.Done()
		return ctx.Err()
	})
	require.True(t, fault.Is(err, fault.Unavailable), "%s", answer)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, logged)
	_, logged, err = invoked(t.Context(), t, func(context.Context) error { return context.Canceled })
	require.True(t, fault.Is(err, fault.Internal), "nobody has left")
	require.NotEmpty(t, logged)
}

// TestTimeIsUp checks that a call that exceeds its deadline reports that, and that a fault which
// reports the outcome is kept: whether nothing was written, or how to repeat the call safely.
func TestTimeIsUp(t *testing.T) {
	for _, c := range []struct {
		says *fault.Fault
		want string
	}{
		{nil, "the call did not end in time"},
		{fault.New(fault.IndexError, "not read"), "the call did not end in time"},
		{fault.New(fault.Unavailable, "outcome unknown"), "outcome unknown"},
		{fault.New(fault.StorageError, "no room"), "no room"},
		{fault.New(fault.IndexBusy, "nothing was written"), "nothing was written"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		<-ctx.Done()
		_, _, err := invoked(ctx, t, func(ctx context.Context) error {
			if c.says == nil {
				return ctx.Err()
			}
			return c.says.Because(ctx.Err())
		})
		require.Equal(t, c.want, fault.Of(err).Message)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

// TestTimeGoesBack checks that a duration is never negative, even if the clock is set back during a
// call.
func TestTimeGoesBack(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	back := half(func(context.Context) error {
		now = now.Add(-time.Hour)
		return nil
	})
	cat, err := tool.NewCatalogue([]*tool.Tool{back}, tool.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	answer, err := cat.Invoke(t.Context(), "half", nil)
	require.NoError(t, err)
	require.Contains(t, string(answer), `"query_time_ms":0`)
}

// TestAnAnswerHasItsDataOnce checks that the text of an answer contains the data that was encoded, and
// no copy of it; and that another spelling of its fixes is a copy, which leaves it as it is.
func TestAnAnswerHasItsDataOnce(t *testing.T) {
	fixed := tool.New(tool.Spec{
		Name: "fixed", Family: family, Title: "Fixed", Doc: "fixed.", Role: auth.Reader,
	}, func(context.Context, auth.Caller, struct{}) (halfOut, error) {
		out := halfOut{Text: "text"}
		out.Warn("WARNED", "a warning", map[string]any{"fixes": []string{`half {"text":"x"}`}})
		return out, nil
	})
	half := half(func(context.Context) error { return nil })
	cat, err := tool.NewCatalogue([]*tool.Tool{fixed, half}, tool.Options{})
	require.NoError(t, err)
	a := cat.Do(t.Context(), cat.Request("fixed", nil))
	text := string(a.JSON())
	require.Same(t, &a.JSON()[bytes.Index(a.JSON(), a.Data)], &a.Data[0])
	b := a.Respell(func(fault.Call) string { return "other" })
	require.Contains(t, string(b.JSON()), `["other"]`)
	require.Equal(t, text, string(a.JSON()))
	require.True(t, json.Valid(a.JSON()))
}
