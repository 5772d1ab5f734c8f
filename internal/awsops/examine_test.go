package awsops

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/repo"
)

// TestChallenge covers what is found of an API by the answer to a request without a token.
func TestChallenge(t *testing.T) {
	for name, c := range map[string]struct {
		status         int
		header         string
		known          int // of /.well-known/oauth-protected-resource
		want           repo.Health
		message, inFix string
	}{
		"it comes": {401, "WWW-Authenticate", 200, repo.Healthy, "the address for tokens", ""},
		"it is renamed": {
			401, "X-Amzn-Remapped-Www-Authenticate", 200, repo.Worrying, "renames", "infra/cloudfront.yaml",
		},
		"there is no issuer": {401, "X-Amzn-Remapped-Www-Authenticate", 404, repo.Healthy, "no identity provider", ""},
		"nothing answers":    {401, "X-Amzn-Remapped-Www-Authenticate", 503, repo.Broken, "does not answer", "infra/"},
		"no token is needed": {200, "", 200, repo.Broken, "is answered 200", "log"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/mcp" {
				w.WriteHeader(c.known)
				return
			}
			if c.header != "" {
				w.Header().Set(c.header, `Bearer resource_metadata="x"`)
			}
			w.WriteHeader(c.status)
		}))
		s := &Stack{URL: server.URL, http: server.Client()}
		found := s.api(t.Context())
		require.Equal(t, "challenge", found[0].Check, name)
		require.Equal(t, c.want, found[0].State, name)
		require.Contains(t, found[0].Message, c.message, name)
		require.Contains(t, found[0].Fix, c.inFix, name)
		require.Equal(t, repo.Healthy, found[1].State, "the clock")
		server.Close()
	}
	s := &Stack{http: http.DefaultClient}
	require.Equal(t, repo.Broken, s.api(t.Context())[0].State, "there is no URL")
	s.URL = "http://127.0.0.1:1"
	require.Equal(t, repo.Broken, s.api(t.Context())[0].State, "it does not answer")
}

// TestClock covers clocks that differ.
func TestClock(t *testing.T) {
	at := func(d time.Duration) answer {
		return answer{header: http.Header{"Date": {time.Now().Add(d).UTC().Format(http.TimeFormat)}}}
	}
	require.Equal(t, repo.Healthy, clock(at(0)).State)
	require.Equal(t, repo.Worrying, clock(at(-time.Hour)).State)
	require.Equal(t, repo.Worrying, clock(at(time.Hour)).State)
	require.Equal(t, repo.Unchecked, clock(answer{}).State)
}

// TestQueueNames covers the names of queues of dead letters.
func TestQueueNames(t *testing.T) {
	all, err := chosen("")
	require.NoError(t, err)
	require.Len(t, all, len(Queues()))
	one, err := chosen("stream")
	require.NoError(t, err)
	require.Equal(t, "StreamDeadLetters", one[0].id)
	_, err = chosen("other")
	require.ErrorContains(t, err, "it must be jobs, events, stream")
}
