package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An issuer is a server that issues tokens as GitHub does, and a Rookery server that reports their
// audience.
type issuer struct {
	audience, bearer string
	asked            []string // with which token tools were called
}

func (s *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource":
		_ = json.NewEncoder(w).Encode(map[string]string{"resource": "https://memory.example.test"})
	case "/token":
		s.audience, s.bearer = r.URL.Query().Get("audience"), r.Header.Get("Authorization")
		_ = json.NewEncoder(w).Encode(map[string]string{"value": "made-out-token"})
	default:
		s.asked = append(s.asked, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true,"data":{"memories":[],"memory_id":"mem_1"},"meta":{"version":"v1"}}`))
	}
}

// TestTokenOfTheJob checks that a job uses the token that its CI system issues for the tenant, and
// masks it in the log.
func TestTokenOfTheJob(t *testing.T) {
	s := &issuer{}
	server := httptest.NewServer(s)
	defer server.Close()
	t.Setenv("PATH", os.Getenv("PATH"))
	env := map[string]string{
		"ROOKERY_SERVER": server.URL, "ROOKERY_TENANT": "acme", "ROOKERY_VAULT": "builds",
		"ACTIONS_ID_TOKEN_REQUEST_URL":   server.URL + "/token?api-version=1",
		"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "request-secret", "XDG_CONFIG_HOME": t.TempDir(),
	}
	code, _, errs := rookeryIn(t, env, "ci", "learn", "--", "false")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "learnt as mem_1")
	require.Contains(t, errs, "::add-mask::made-out-token\n")
	require.Equal(t, "https://memory.example.test/t/acme", s.audience)
	require.Equal(t, "Bearer request-secret", s.bearer)
	require.NotEmpty(t, s.asked)
	for _, shown := range s.asked {
		require.Equal(t, "Bearer made-out-token", shown)
	}

	for name, change := range map[string]map[string]string{
		"Bearer of-gitlab": {"ROOKERY_ID_TOKEN": "of-gitlab"},
		"Bearer given":     {"ROOKERY_TOKEN": "given", "ROOKERY_ID_TOKEN": "of-gitlab"},
	} {
		s.asked = nil
		with := map[string]string{}
		for k, v := range env {
			with[k] = v
		}
		for k, v := range change {
			with[k] = v
		}
		_, _, errs := rookeryIn(t, with, "ci", "recall", "--strict")
		require.NotEmpty(t, s.asked, errs)
		require.Equal(t, name, s.asked[0])
	}

	env["ACTIONS_ID_TOKEN_REQUEST_URL"] = "http://issuer.example.test/token"
	code, _, errs = rookeryIn(t, env, "ci", "learn", "--", "false")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "not learnt: ACTIONS_ID_TOKEN_REQUEST_URL must be an https URL")
	delete(env, "ACTIONS_ID_TOKEN_REQUEST_URL")
	_, _, errs = rookeryIn(t, env, "ci", "learn", "--", "false")
	require.Contains(t, errs, "not learnt: GitHub does not issue tokens to this job")
}

// TestOutputComesAsItIs checks that every byte of a command's output is forwarded, to the stream to
// which the command wrote it, and that the command gets our standard input.
func TestOutputComesAsItIs(t *testing.T) {
	var out, errs bytes.Buffer
	r := &running{in: strings.NewReader("in\n"), out: &out, errs: &errs}
	exit := r.run([]string{"sh", "-c", `cat; printf 'a\000\377b'; printf 'err' >&2; exit 9`})
	require.Equal(t, 9, exit)
	require.Equal(t, "in\na\x00\xffb", out.String())
	require.Equal(t, "err", errs.String())
	require.Contains(t, r.kept.String(), "in\n")
}

// TestChildrenDoNotHold checks that a command ends even if a process that it has started keeps its
// output open.
func TestChildrenDoNotHold(t *testing.T) {
	var out, errs bytes.Buffer
	r := &running{in: strings.NewReader(""), out: &out, errs: &errs}
	file := filepath.Join(t.TempDir(), "pid")
	require.Equal(t, 4, r.run([]string{"sh", "-c", `sleep 600 & echo $! > "$0"; exit 4`, file}))
	pid, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Zero(t, (&running{in: strings.NewReader(""), out: &out, errs: &errs}).run(
		[]string{"kill", strings.TrimSpace(string(pid))}))
}
