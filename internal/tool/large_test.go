package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A large is a tool that answers with a text, a warning or a fault.
type large struct {
	kind          tool.Kind
	text, warning string
	fault         error
}

// invoke calls the tool.
func (l large) invoke(t testing.TB, args string) (json.RawMessage, error) {
	t.Helper()
	made := tool.New(tool.Spec{
		Name: "large", Family: family, Title: "Large", Doc: "large.", Role: auth.Editor, Kind: l.kind,
	}, func(context.Context, auth.Caller, struct{}) (halfOut, error) {
		out := halfOut{Text: l.text}
		if l.warning != "" {
			out.Warn("WARNED", l.warning, nil)
		}
		return out, l.fault
	})
	cat, err := tool.NewCatalogue([]*tool.Tool{made}, tool.Options{})
	require.NoError(t, err)
	return cat.Invoke(t.Context(), "large", json.RawMessage(args))
}

// quoted returns the size of an answer as a JSON string, the form in which MCP sends it.
func quoted(t testing.TB, answer json.RawMessage) int {
	t.Helper()
	text, err := tool.Marshal(string(answer))
	require.NoError(t, err)
	return len(text)
}

// TestNoAnswerIsTooLarge checks that an answer above the size limit, in itself or as a JSON string,
// is a fault if it cannot be made smaller; that a fault keeps its code; and that a completed change
// is not reported as not done.
func TestNoAnswerIsTooLarge(t *testing.T) {
	many := strings.Repeat("x", tool.MaxBody)
	for name, c := range map[string]struct {
		large
		args string
		code fault.Code
		says string
	}{
		"a text": {large{text: many}, `{}`, fault.BatchTooLarge, "the limit is 4194304"},
		"control characters": {
			large{text: many[:tool.MaxBody/7] + strings.Repeat("\x01", tool.MaxBody/7)},
			`{}`, fault.BatchTooLarge, "the limit is 4194304",
		},
		"quotes":           {large{text: strings.Repeat(`"`, tool.MaxBody/4)}, `{}`, fault.BatchTooLarge, "the limit is 4194304"},
		"without envelope": {large{text: many}, `{"envelope":false}`, fault.BatchTooLarge, "the limit is 4194304"},
		"a warning":        {large{warning: many}, `{}`, fault.BatchTooLarge, "the limit is 4194304"},
		"a warning beside a fault": {
			large{warning: many, fault: fault.New(fault.Conflict, "it changed")}, `{}`, fault.Conflict, "it changed",
		},
		"a fault": {
			large{fault: fault.New(fault.InvalidValue, "no such field").With("fields", []string{many})},
			`{}`, fault.InvalidValue, "no such field",
		},
		"a message": {large{fault: fault.New(fault.InvalidValue, "%s", many)}, `{}`, fault.InvalidValue, "xxx…"},
		"a change":  {large{kind: tool.Write, text: many}, `{}`, fault.BatchTooLarge, "the call is complete"},
	} {
		answer, err := c.invoke(t, c.args)
		require.Equal(t, c.code, fault.Of(err).Code, name)
		require.Contains(t, fault.Of(err).Message, c.says, name)
		require.Less(t, quoted(t, answer), 4096, name)
		require.Contains(t, string(answer), string(c.code), name)
		require.NotContains(t, string(answer), many[:4096], name)
	}
	answer, err := large{text: many[:tool.MaxBody-1024]}.invoke(t, `{}`)
	require.NoError(t, err)
	require.LessOrEqual(t, quoted(t, answer), tool.MaxBody)
}

// TestChangesFitBeforeTheyAreMade checks that an output that is too large for an answer is detected
// before anything is written, wherever its bytes are.
func TestChangesFitBeforeTheyAreMade(t *testing.T) {
	many := strings.Repeat("x", tool.MaxBody)
	fits := halfOut{Text: many[:tool.MaxBody-64<<10]}
	require.NoError(t, tool.CheckFits(&fits))
	fits.Note("version", many)
	require.True(t, fault.Is(tool.CheckFits(&fits), fault.BatchTooLarge))
	warned := halfOut{}
	warned.Warn("WARNED", many, nil)
	require.True(t, fault.Is(tool.CheckFits(&warned), fault.BatchTooLarge))
	require.True(t, fault.Is(tool.CheckFits(&halfOut{Text: many}), fault.BatchTooLarge))
}

// TestSizesAreKnownBefore checks that the estimated size of a value in an answer is never below the
// actual size, also over MCP, and that as much of a text fits as reported.
func TestSizesAreKnownBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{
		"a", "\"", "\\", "\n", "\t", "\x00", "\x1f", "\x7f", "é", "\u2028", "\u2029", "日", "🙂", "\xff", "\xe2\x80", "<&>",
	}
	text := func() string {
		var b strings.Builder
		for range r.IntN(40) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		return b.String()
	}
	for range 2000 {
		value := struct {
			Text  string         `json:"text,omitempty"`
			List  []any          `json:"list"`
			Names map[string]any `json:"names"`
			Time  time.Time      `json:"time"`
			Raw   json.RawMessage
			Inner *struct{ A, B string }
		}{
			Text: text(), List: []any{text(), 1.5, true, nil, []string{text()}},
			Names: map[string]any{text(): text(), "n": -1234567890.25}, Time: time.Now(),
			Raw: fmt.Appendf(nil, "%q", "a\nb"), Inner: &struct{ A, B string }{text(), text()},
		}
		data, err := tool.Marshal(value)
		require.NoError(t, err)
		require.LessOrEqual(t, quoted(t, data)-2, tool.SizeOf(value), "%s", data)
		require.LessOrEqual(t, quoted(t, mustJSON(t, value.Text))-2, tool.SizeOf(value.Text), "%q", value.Text)
	}
	var a tool.Aside
	require.True(t, a.Fits(strings.Repeat("x", 3<<20)))
	long := strings.Repeat("é\x01\"", 1<<20)
	n := a.Fitting(long)
	require.Less(t, n, len(long))
	require.False(t, a.Fits(long[:n+4]))
	require.True(t, a.Fits(long[:n]))
}

func mustJSON(t testing.TB, v any) json.RawMessage {
	t.Helper()
	data, err := tool.Marshal(v)
	require.NoError(t, err)
	return data
}
