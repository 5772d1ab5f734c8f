package tool_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A placeIn is the input of a tool that refuses calls about a vault.
type placeIn struct {
	tool.Vault
	tool.AsOf
	ID string `json:"id" jsonschema:"an id"`
}

// refusing returns a tool that answers with a fault.
func refusing(name string, role auth.Role, f *fault.Fault) *tool.Tool {
	family := &tool.Family{Name: "f", Missing: "MISSING_REQUIRED", Malformed: "INVALID_VALUE",
		Several: "VALIDATION_FAILED"}
	return tool.New(tool.Spec{Name: name, Family: family, Title: "T", Doc: "Does it.", Role: role},
		func(context.Context, auth.Caller, placeIn) (struct{}, error) { return struct{}{}, f })
}

// TestFixesAreCompleted checks how the catalogue changes the calls in a fault: it sorts their
// arguments, adds those of the request, and drops calls that the caller cannot make.
func TestFixesAreCompleted(t *testing.T) {
	f := fault.New(fault.NotFound, "no").Fix("look").
		Try("f_read", fault.Args{"id": "x"}).
		Try("f_read", fault.Args{"id": "x", "vault": "other"}).
		Try("f_read", nil).
		Try("f_admin", fault.Args{"id": "x"}).
		Try("g_elsewhere", fault.Args{"id": "x"})
	single := fault.New(fault.InvalidValue, "one").Try("f_read", fault.Args{"id": "y"})
	f.Errors = []*fault.Fault{single}
	cat, err := tool.NewCatalogue([]*tool.Tool{
		refusing("f_read", auth.Reader, f), refusing("f_admin", auth.Admin, f),
	}, tool.Options{})
	require.NoError(t, err)
	reader := auth.Caller{Principal: "p", Roles: map[string]auth.Role{"*": auth.Reader}}
	ctx := auth.WithCaller(t.Context(), reader)
	answer, err := cat.Invoke(ctx, "f_read", json.RawMessage(`{"id":"a","as_of":"v1","vault":"main"}`))
	want := []string{"look", `f_read {"vault":"main","as_of":"v1","id":"x"}`,
		`f_read {"vault":"other","as_of":"v1","id":"x"}`, `g_elsewhere {"id":"x"}`}
	require.Equal(t, want, fault.Of(err).Fixes)
	var e struct{ Error fault.Fault }
	require.NoError(t, json.Unmarshal(answer, &e))
	require.Equal(t, want, e.Error.Fixes)
	require.Equal(t, []string{`f_read {"vault":"main","as_of":"v1","id":"y"}`}, e.Error.Errors[0].Fixes)
	_, err = cat.Invoke(ctx, "f_read", json.RawMessage(`{"id":"a"}`))
	require.Contains(t, fault.Of(err).Fixes, `f_read {"id":"x"}`)
}

// TestRespell checks that only fixes change, byte for byte.
func TestRespell(t *testing.T) {
	const data = `{"fixes":["a_b {}"],"create_call":"a_b {}","error":{"fixes":["a_b {}"]}}`
	short := func(c fault.Call) string { return c.Tool[2:] }
	spell := func(answer string) string {
		out, err := tool.Respell(json.RawMessage(answer), nil, short)
		require.NoError(t, err)
		return string(out)
	}
	require.Equal(t, `{"ok":true,"data":`+data+`,"warnings":[{"code":"X","ref":"a_b {}","create_call":"b",`+
		`"fixes":["b","do it"]}]}`,
		spell(`{"ok":true,"data":`+data+`,"warnings":[{"code":"X","ref":"a_b {}","create_call":"a_b {}",`+
			`"fixes":["a_b {}","do it"]}]}`))
	require.Equal(t, data, spell(data), "bare data has no fixes of ours")
	require.Equal(t, `{"fixes`, spell(`{"fixes`))
	bare := fault.New(fault.NotFound, "no").Try("a_b", nil)
	raw, err := tool.Marshal(bare)
	require.NoError(t, err)
	out, failed := tool.Respell(raw, bare, short)
	require.Equal(t, []string{"b"}, fault.Of(failed).Fixes)
	require.Contains(t, string(out), `"fixes":["b"]`)
}
