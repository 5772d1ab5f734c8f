package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An everyIn is an input with arguments of every kind.
type everyIn struct {
	tool.Vault
	tool.Page
	tool.Mutation
	Text   string         `json:"text,omitempty"`
	Number *float64       `json:"number,omitempty" null:"kept"`
	List   []string       `json:"list,omitempty"`
	Object *innerIn       `json:"object,omitempty"`
	Fields tool.Fields    `json:"fields,omitempty"`
	Whole  tool.JSON      `json:"whole,omitempty" null:"kept"`
	Part   tool.Structure `json:"part,omitempty"`
}

type innerIn struct {
	ID string `json:"id"`
	At int    `json:"at,omitempty" default:"3"`
}

// An everyOut has what a tool was called with, and fixes in all places.
type everyOut struct {
	tool.Aside `json:"-"`
	In         string           `json:"in"`
	Digest     string           `json:"digest"`
	Results    []map[string]any `json:"results"`
}

// Partly implements tool.Partial.
func (o *everyOut) Partly() bool { return true }

// every returns a catalogue with a tool that fails if it is called with the text "fail".
func every(t testing.TB) *tool.Catalogue {
	t.Helper()
	cat, err := tool.NewCatalogue([]*tool.Tool{tool.New(tool.Spec{
		Name: "f_every", Family: family, Title: "T", Doc: "Does it.", Role: auth.Editor, Kind: tool.Write,
	}, func(_ context.Context, _ auth.Caller, in everyIn) (everyOut, error) {
		f := fault.New(fault.NotFound, "no").Try("f_every", fault.Args{"text": "x"})
		digest := in.Request()
		out := everyOut{Digest: string(compactJSON(t, digest)), In: string(compactJSON(t, in)),
			Results: []map[string]any{{"error": f}}}
		out.Warn("W", "a warning", map[string]any{"fixes": f.Fixes, "create_call": f.Fixes[0], "ref": f.Fixes[0]})
		out.Warn("V", "another", map[string]any{"fixes": []any{f.Fixes[0], 1}})
		out.Note("version", "v1")
		if in.Text == "fail" {
			return out, f
		}
		return out, nil
	})}, tool.Options{Now: func() time.Time { return time.Unix(0, 0) }})
	require.NoError(t, err)
	return cat
}

// asLocal returns the context of calls of the local caller, all in one request.
func asLocal(t testing.TB) context.Context {
	c := auth.LocalCaller()
	c.RequestID = "r"
	return auth.WithCaller(t.Context(), c)
}

func compactJSON(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

// everyCall are arguments in every spelling.
var everyCall = []string{
	``, `{}`, `{"text":"fail"}`, `{"text":"x","envelope":false}`, `{"text":"fail","envelope":false}`,
	`{"vault":"main","text":"a\u00e9<&>","number":1.50,"list":[ "a" ,"b"],"only":["in"]}`,
	`{"number":null,"whole":null,"text":null}`,
	`{"object":{"id":"x"},"fields":{"a":[1, 2]},"whole":[ {"a" : 1e3} ],"part":{ "b":[ ] }}`,
	`{"fields":["a=1","b=2"],"idempotency_key":"k","dry_run":true,"limit":3}`,
	`{"unknown":1,"text":2}`, `{"text":`, `[]`,
}

// TestDoIsInvoke checks that a typed call has the answer of a call in JSON, byte for byte but for
// the time it took, and that its parts are those of the answer.
func TestDoIsInvoke(t *testing.T) {
	cat := every(t)
	for _, args := range everyCall {
		want, err := cat.Invoke(asLocal(t), "f_every", json.RawMessage(args))
		a := cat.Do(asLocal(t), cat.Request("f_every", json.RawMessage(args)))
		require.Equal(t, string(want), string(a.JSON()), args)
		require.Equal(t, err != nil, a.Fault != nil, args)
		var e struct {
			Data json.RawMessage
			Meta map[string]any
		}
		require.NoError(t, json.Unmarshal(a.JSON(), &e))
		if !strings.Contains(args, "envelope") {
			require.Equal(t, string(e.Data), string(a.Data), args)
			require.Equal(t, e.Meta["version"], a.Meta["version"])
		}
	}
}

// TestInputIsThatOfAnObject checks that an input is filled as encoding/json fills it from an object
// of all arguments.
func TestInputIsThatOfAnObject(t *testing.T) {
	cat := every(t)
	for _, args := range everyCall {
		a := cat.Do(asLocal(t), cat.Request("f_every", json.RawMessage(args)))
		if a.Fault != nil || !json.Valid([]byte(args)) || strings.Contains(args, "only") {
			continue
		}
		var out everyOut
		data, err := a.Bare()
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &out))
		var whole everyIn
		require.NoError(t, json.Unmarshal([]byte(args), &whole))
		if whole.Limit == 0 {
			whole.Limit = 50
		}
		if whole.Object != nil {
			whole.Object.At = 3
		}
		require.JSONEq(t, string(compactJSON(t, whole)), out.In, args)
	}
}

// TestRespellOfAnAnswer checks that the fixes of an answer change as those of its JSON do.
func TestRespellOfAnAnswer(t *testing.T) {
	cat := every(t)
	short := func(c fault.Call) string { return strings.ToUpper(c.Tool) }
	for _, args := range everyCall {
		a := cat.Do(asLocal(t), cat.Request("f_every", json.RawMessage(args)))
		data, err := a.Result()
		want, failed := tool.Respell(append(json.RawMessage(nil), data...), err, short)
		got, gotErr := a.Respell(short).Result()
		require.Equal(t, string(want), string(got), args)
		if failed != nil {
			require.Equal(t, fault.Of(failed).Fixes, fault.Of(gotErr).Fixes)
		}
		require.Equal(t, string(data), string(a.JSON()), "the answer itself is unchanged")
	}
}
