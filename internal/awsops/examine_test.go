package awsops

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/doctor"
)

// TestChallenge covers what is found of an API by the answer to a request without a token.
func TestChallenge(t *testing.T) {
	for name, c := range map[string]struct {
		status         int
		header         string
		known          int // of /.well-known/oauth-protected-resource
		want           doctor.Level
		message, inFix string
	}{
		"it comes": {401, "WWW-Authenticate", 200, doctor.LevelOK, "the address for tokens", ""},
		"it is renamed": {
			401, "X-Amzn-Remapped-Www-Authenticate", 200, doctor.LevelWarning, "renames", "infra/cloudfront.yaml",
		},
		"there is no issuer": {401, "X-Amzn-Remapped-Www-Authenticate", 404, doctor.LevelOK, "no identity provider", ""},
		"nothing answers":    {401, "X-Amzn-Remapped-Www-Authenticate", 503, doctor.LevelError, "does not answer", "infra/"},
		"no token is needed": {200, "", 200, doctor.LevelError, "is answered 200", "log"},
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
		require.Equal(t, c.want, found[0].Level, name)
		require.Contains(t, found[0].Message, c.message, name)
		require.Contains(t, found[0].Fix, c.inFix, name)
		require.Equal(t, doctor.LevelOK, found[1].Level, "the clock")
		server.Close()
	}
	s := &Stack{http: http.DefaultClient}
	require.Equal(t, doctor.LevelError, s.api(t.Context())[0].Level, "there is no URL")
	s.URL = "http://127.0.0.1:1"
	require.Equal(t, doctor.LevelError, s.api(t.Context())[0].Level, "it does not answer")
}

// TestClock covers clocks that differ.
func TestClock(t *testing.T) {
	at := func(d time.Duration) answer {
		return answer{header: http.Header{"Date": {time.Now().Add(d).UTC().Format(http.TimeFormat)}}}
	}
	require.Equal(t, doctor.LevelOK, clock(at(0)).Level)
	require.Equal(t, doctor.LevelWarning, clock(at(-time.Hour)).Level)
	require.Equal(t, doctor.LevelWarning, clock(at(time.Hour)).Level)
	require.Equal(t, doctor.LevelSkipped, clock(answer{}).Level)
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
