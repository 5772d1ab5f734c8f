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

var spareFamily = &tool.Family{
	Name: "t", Base: "/v1", Missing: fault.MissingRequired, Malformed: fault.InvalidParameter,
	Several: fault.InvalidParameter,
}

// TestRequiredUnless checks that an argument which is required unless the call is a dry run is
// required in all other calls, however these say that they are not, and that its value is always
// checked.
func TestRequiredUnless(t *testing.T) {
	type in struct {
		Confirm string `json:"confirm" unless:"dry" max:"4" jsonschema:"the name"`
		Plan    bool   `json:"plan,omitempty" alias:"dry_run" means:"dry" jsonschema:"show the plan"`
		Key     string `json:"key,omitempty" means:"key" jsonschema:"a key"`
	}
	type out struct {
		Confirm string `json:"confirm"`
	}
	made := tool.New(tool.Spec{
		Name: "t_erase", Family: spareFamily, Title: "Erase", Doc: "Erase.", Role: auth.Reader,
	}, func(_ context.Context, _ auth.Caller, in in) (out, error) { return out{in.Confirm}, nil })
	cat, err := tool.NewCatalogue([]*tool.Tool{made}, tool.Options{})
	require.NoError(t, err)
	for args, want := range map[string]fault.Code{
		`{}`: fault.MissingRequired, `{"plan":false}`: fault.MissingRequired,
		`{"plan":null}`: fault.MissingRequired, `{"dry_run": false }`: fault.MissingRequired,
		`{"key":"true"}`: fault.MissingRequired, `{"confirm":null}`: fault.MissingRequired,
		`{"confirm":""}`: fault.MissingRequired, `{"confirm":"","plan":true}`: fault.MissingRequired,
		`{"confirm":"x"}`: "", `{"confirm":"x","plan":true}`: "",
		`{"plan":true}`: "", `{"dry_run": true }`: "", `{"plan":true,"confirm":null}`: "",
		`{"confirm":"large"}`: fault.InvalidParameter, `{"confirm":"large","plan":true}`: fault.InvalidParameter,
	} {
		_, err := cat.Invoke(t.Context(), "t_erase", json.RawMessage(args))
		if want == "" {
			require.NoError(t, err, args)
			continue
		}
		require.Equal(t, want, fault.Of(err).Code, args)
		require.Equal(t, "confirm", fault.Of(err).Details["argument"], args)
	}
	require.Empty(t, made.InputSchema().Required, "a client must be able to send a plan without it")
}

// TestRequiredUnlessNothing checks that a tool without the argument that would make another one
// optional is refused.
func TestRequiredUnlessNothing(t *testing.T) {
	type in struct {
		Confirm string `json:"confirm" unless:"dry" jsonschema:"the name"`
	}
	type out struct{}
	require.PanicsWithValue(t,
		`tool t_erase: the argument "confirm" is required unless one means "dry", and none does`, func() {
			tool.New(tool.Spec{
				Name: "t_erase", Family: spareFamily, Title: "Erase", Doc: "Erase.", Role: auth.Reader,
			}, func(context.Context, auth.Caller, in) (out, error) { return out{}, nil })
		})
}
