package access_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A listed is a Directory that knows some vaults, and returns others when the newest state is
// requested.
type listed struct {
	known, there []string
	looks        int
}

func (l *listed) Vaults(_ context.Context, _ auth.Caller, fresh bool) ([]string, error) {
	if fresh {
		l.looks++
		l.known = l.there
	}
	return append([]string(nil), l.known...), nil
}

func (l *listed) ClaimAgent(context.Context, auth.Caller, bool) error { return nil }

// A looked is the input of a tool that reads a vault.
type looked struct{ tool.Vault }

// A seenVault is its output.
type seenVault struct {
	Vault string `json:"vault"`
}

// TestImpliedVault checks that the only known vault is implied without a read of the newest state,
// and that the newest state is read if there is none or there are several.
func TestImpliedVault(t *testing.T) {
	family := &tool.Family{
		Name: "f", Base: "/v1", Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter,
		Several: fault.InvalidParameter,
	}
	for name, c := range map[string]struct {
		known, there []string
		want         string
		looks        int
	}{
		"one":                  {[]string{"a"}, []string{"a"}, "a", 0},
		"one, as far as known": {[]string{"a"}, []string{"a", "b"}, "a", 0},
		"one that is new":      {nil, []string{"a"}, "a", 1},
		"one that is left":     {[]string{"a", "b"}, []string{"b"}, "b", 1},
		"none":                 {nil, nil, "", 1},
		"several":              {[]string{"a", "b"}, []string{"a", "b"}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := &listed{known: c.known, there: c.there}
			got := ""
			cat, err := tool.NewCatalogue([]*tool.Tool{tool.New(tool.Spec{
				Name: "f_look", Family: family, Title: "Look", Doc: "Look.", Role: auth.Reader, Kind: tool.Read,
			}, func(_ context.Context, _ auth.Caller, in looked) (seenVault, error) {
				got = in.Vault.Vault
				return seenVault{got}, nil
			})}, tool.Options{Interceptors: []tool.Interceptor{access.Check(d)}})
			require.NoError(t, err)
			who := auth.Caller{Tenant: "acme", Principal: "p", Agent: "p", Roles: everywhere(auth.Reader)}
			_, err = cat.Invoke(auth.WithCaller(t.Context(), who), "f_look", []byte(`{}`))
			require.Equal(t, c.want == "", fault.Is(err, fault.InvalidParameter), "%v", err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.looks, d.looks)
		})
	}
}
