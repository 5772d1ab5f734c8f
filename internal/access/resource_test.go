package access_test

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

var public = access.Resource{
	PublicURL: "https://notes.example.test",
	Issuers:   []string{"https://login.example.test", "https://login.example.test/realms/two"},
}

// lacking returns the error of a call that only the scopes of a token prevent.
func lacking(need auth.Role) *fault.Fault {
	return fault.New(fault.PermissionDenied, "no").With("insufficient_scope", true).
		With("required_role", need)
}

// TestMetadata checks the document of RFC 9728, and that there is none without a public URL or
// issuers.
func TestMetadata(t *testing.T) {
	require.JSONEq(t, `{
		"resource": "https://notes.example.test/mcp/x/raven,tree", "resource_name": "Rookery",
		"resource_documentation": "https://notes.example.test/docs",
		"authorization_servers": ["https://login.example.test", "https://login.example.test/realms/two"],
		"scopes_supported": ["reader", "editor", "admin"], "bearer_methods_supported": ["header"]
	}`, string(public.Metadata("/mcp/x/raven,tree")))
	var root struct{ Resource string }
	require.NoError(t, json.Unmarshal(public.Metadata(""), &root))
	require.Equal(t, public.PublicURL, root.Resource, "without a slash at the end, as it was configured")
	require.Nil(t, access.Resource{Issuers: public.Issuers}.Metadata(""))
	require.Nil(t, access.Resource{PublicURL: public.PublicURL}.Metadata("/mcp"))
}

// TestChallenge checks every challenge completely.
func TestChallenge(t *testing.T) {
	const at = `resource_metadata="https://notes.example.test/.well-known/oauth-protected-resource`
	const refused = `error="invalid_token", error_description="the token was not accepted"`
	missing := fault.New(fault.Unauthenticated, "log in")
	expired := fault.New(fault.TokenExpired, "it was")
	scoped := `Bearer realm="rookery", error="insufficient_scope", ` +
		`error_description="the token has too few scopes", scope=`
	for name, c := range map[string]struct {
		resource access.Resource
		path     string
		fault    *fault.Fault
		sent     bool
		want     string
	}{
		"no token":         {public, "", missing, false, `Bearer realm="rookery", scope="reader", ` + at + `"`},
		"no token, a path": {public, "/mcp", missing, false, `Bearer realm="rookery", scope="reader", ` + at + `/mcp"`},
		"a bad token":      {public, "", missing, true, `Bearer realm="rookery", ` + refused + `, scope="reader", ` + at + `"`},
		"an old token": {public, "", expired, true, `Bearer realm="rookery", error="invalid_token", ` +
			`error_description="the token has expired", scope="reader", ` + at + `"`},
		"nowhere to go":       {access.Resource{}, "/mcp", missing, false, `Bearer realm="rookery"`},
		"nowhere, with token": {access.Resource{}, "/mcp", missing, true, `Bearer realm="rookery", ` + refused},
		"API tokens only":     {access.Resource{PublicURL: "https://a.test"}, "", missing, false, `Bearer realm="rookery"`},
		"a realm": {access.Resource{Realm: `the "north" \ wing` + "\r\nX: y"}, "", missing, false,
			`Bearer realm="the \"north\" \\ wingX: y"`},
		"reader":         {public, "", lacking(auth.Reader), true, scoped + `"reader", ` + at + `"`},
		"editor":         {public, "/mcp", lacking(auth.Editor), true, scoped + `"reader editor", ` + at + `/mcp"`},
		"admin":          {public, "", lacking(auth.Admin), true, scoped + `"reader editor admin", ` + at + `"`},
		"admin, nowhere": {access.Resource{}, "", lacking(auth.Admin), true, scoped + `"reader editor admin"`},
		"no role":        {public, "", fault.New(fault.PermissionDenied, "no").With("required_role", auth.Admin), true, ""},
		"read only":      {public, "", fault.New(fault.ReadOnly, "no"), true, ""},
		"not there":      {public, "", fault.NoVault("a"), true, ""},
		"broken":         {public, "", fault.New(fault.Internal, "no"), true, ""},
	} {
		require.Equal(t, c.want, c.resource.Challenge(c.path, c.fault, c.sent), name)
	}
}

// TestSent checks which requests have a token.
func TestSent(t *testing.T) {
	for value, want := range map[string]bool{
		"Bearer x": true, "bearer x": true, "Bearer": true, "Bearer ": true,
		"": false, "Basic eDp5": false, "Bearerx": false, "DPoP x": false,
	} {
		h := http.Header{"Authorization": {value}}
		require.Equal(t, want, access.HasBearerToken(h), value)
	}
	require.False(t, access.HasBearerToken(http.Header{}))
	require.True(t, access.HasBearerToken(http.Header{"Authorization": {"Basic x", "Bearer y"}}))
}

// TestOneToken checks that a request with two tokens is refused before authentication.
func TestOneToken(t *testing.T) {
	asked := 0
	who := access.OneToken(func(*http.Request) (auth.Caller, error) {
		asked++
		return auth.LocalCaller(), nil
	})
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for n, want := range []error{nil, nil, auth.Refused(), auth.Refused()} {
		_, err := who(r)
		require.Equal(t, want, err, n)
		r.Header.Add("Authorization", "Bearer x")
	}
	require.Equal(t, 2, asked)
}

// FuzzChallenge checks that a path adds nothing to a challenge but one URL of the server, and that
// the metadata of the path contains the same URL.
func FuzzChallenge(f *testing.F) {
	for _, path := range []string{
		"/mcp", "/mcp/x/raven,tree", "/mcp\r\nSet-Cookie: a=b", `/mcp", realm="evil`, `/mcp\`, "/mcp\x00",
		"//evil.test/mcp", "/mcp?x=1#y", "/mcp/ünï", "/mcp/\xff", "/../", "/%2e%2e/%", "@evil.test", "",
	} {
		f.Add(path)
	}
	missing := fault.New(fault.Unauthenticated, "log in")
	f.Fuzz(func(t *testing.T, path string) {
		if path != "" {
			path = "/" + path
		}
		got := public.Challenge(path, missing, true)
		rest, ok := strings.CutPrefix(got, `Bearer realm="rookery", error="invalid_token", `+
			`error_description="the token was not accepted", scope="reader", resource_metadata=`)
		require.True(t, ok, got)
		for i := range len(got) {
			require.True(t, got[i] >= ' ' && got[i] <= '~', "%q", got)
		}
		_, params, err := mime.ParseMediaType("x/y; url=" + rest)
		require.NoError(t, err, got)
		require.Len(t, params, 1)
		at, err := url.Parse(params["url"])
		require.NoError(t, err, got)
		require.Equal(t, "https://notes.example.test", at.Scheme+"://"+at.Host)
		require.Equal(t, access.WellKnown+path, at.Path)
		require.Empty(t, at.RawQuery+at.Fragment)

		var document struct{ Resource string }
		require.NoError(t, json.Unmarshal(public.Metadata(path), &document))
		require.Equal(t, strings.Replace(params["url"], access.WellKnown, "", 1), document.Resource)
	})
}
