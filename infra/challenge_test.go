package infra_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/lambdahost"
)

// overwrites are the response parameters of an integration, as lambdahost takes them.
func overwrites(t *testing.T, tpl *Template, id string) map[int]map[string]string {
	t.Helper()
	all := map[int]map[string]string{}
	statuses, _ := at(t, tpl, id, "ResponseParameters").(map[string]any)
	for status, of := range statuses {
		code, err := strconv.Atoi(status)
		require.NoError(t, err)
		all[code] = map[string]string{}
		parameters, _ := of.(map[string]any)["ResponseParameters"].([]any)
		for _, p := range parameters {
			m, _ := p.(map[string]any)
			to, ok := strings.CutPrefix(fmt.Sprint(m["Destination"]), "overwrite:header.")
			require.True(t, ok, m["Destination"])
			from, ok := strings.CutPrefix(fmt.Sprint(m["Source"]), "$response.header.")
			require.True(t, ok, m["Source"])
			all[code][to] = from
		}
	}
	return all
}

// refused is a function that refuses every request as ours do.
type refused int

func (status refused) Invoke(context.Context, []byte) ([]byte, error) {
	return fmt.Appendf(nil, `{"statusCode":%d,"body":"{}",`+
		`"headers":{"Www-Authenticate":"Bearer x","Rookery-Challenge":%q}}`, status,
		`Bearer resource_metadata="https://notes.example.test/.well-known/oauth-protected-resource"`), nil
}

// TestChallenge requires that the response parameters of every integration bring the challenge of a refused
// request to the client, under its own name.
func TestChallenge(t *testing.T) {
	tpl := template(t)
	for _, f := range requestFunctions {
		for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
			g, err := lambdahost.NewGateway(map[string]lambdahost.Invoker{"$default": refused(status)})
			require.NoError(t, err)
			g.Overwrites = overwrites(t, tpl, f.ID()+"Integration")
			w := httptest.NewRecorder()
			g.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil))
			require.Equal(t, status, w.Code)
			require.Contains(t, w.Header().Get("WWW-Authenticate"), "resource_metadata=", "%s %d", f.Name, status)
		}
	}
}
