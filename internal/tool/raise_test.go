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

// raising returns a tool that reads, changes something with `make`, and deletes something with
// `wipe`.
func raising() *tool.Tool {
	type in struct {
		Make bool `json:"make,omitempty" jsonschema:"make what is missing" alias:"create"`
		Wipe bool `json:"wipe,omitempty" jsonschema:"wipe it"`
	}
	type out struct {
		tool.Aside `json:"-"`
	}
	return tool.New(tool.Spec{
		Name: "t_check", Family: &tool.Family{
			Name: "t", Base: "/v1", Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter,
			Several: fault.InvalidParameter,
		},
		Title: "Check", Doc: "Check.", Role: auth.Reader,
		Raises: map[string]tool.Raise{
			"make": {Role: auth.Editor, Kind: tool.Write}, "wipe": {Role: auth.Admin, Kind: tool.Destroy},
		},
	}, func(context.Context, auth.Caller, in) (out, error) { return out{}, nil })
}

// TestWhatACallNeeds checks that an argument raises the role and the kind of calls with it, and of
// no others, under all of its names and spellings.
func TestWhatACallNeeds(t *testing.T) {
	made := raising()
	read, write := tool.Raise{Role: auth.Reader, Kind: tool.Read}, tool.Raise{Role: auth.Editor, Kind: tool.Write}
	destroy := tool.Raise{Role: auth.Admin, Kind: tool.Destroy}
	for args, want := range map[string]tool.Raise{
		`{}`: read, `{"make":false}`: read, `{"make":null}`: read, `{"make": false }`: read, `{"other":true}`: read,
		`{"make":true}`: write, `{"create":true}`: write, `{"make":"yes"}`: write, `{"make":1}`: write,
		`{"wipe":true}`: destroy, `{"wipe":true,"make":true}`: destroy, `{"wipe":false,"make":true}`: write,
	} {
		c := &tool.Call{Tool: made}
		require.NoError(t, json.Unmarshal([]byte(args), &c.Args))
		require.Equal(t, want, c.Needs(), args)
	}
	require.True(t, made.MayMutate())
}

// TestHiddenArguments checks that a list shows a caller no argument with which its call would be
// refused.
func TestHiddenArguments(t *testing.T) {
	made := raising()
	for _, c := range []struct {
		role     auth.Role
		readOnly bool
		want     []string
	}{
		{auth.Admin, false, nil}, {auth.Editor, false, []string{"wipe"}},
		{auth.Reader, false, []string{"make", "wipe"}}, {auth.Admin, true, []string{"make", "wipe"}},
	} {
		caller := auth.Caller{Roles: map[string]auth.Role{"v": c.role}, ReadOnly: c.readOnly}
		require.Equal(t, c.want, made.Hidden(caller))
		require.True(t, made.Usable(caller), "the tool itself is for all of them")
	}
}
