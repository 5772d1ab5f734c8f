package cloudtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/cloudtest"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// A site is a server of the product, and a token of its tenant acme.
type site struct{ url, token string }

// newSite is a server of this process over stores of files, without a gateway.
func newSite(t *testing.T) site {
	t.Helper()
	dir := t.TempDir()
	db, err := bolttable.Open(filepath.Join(dir, "t.db"), bolttable.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	server := httptest.NewUnstartedServer(nil)
	s := site{url: "http://" + server.Listener.Addr().String()}
	a, err := awsapp.New(awsapp.Options{Server: config.Config{PublicURL: s.url}, Table: db, Bucket: files})
	require.NoError(t, err)
	t.Cleanup(a.Close)
	server.Config.Handler = a.Handler()
	server.Start()
	t.Cleanup(server.Close)
	made, err := a.Invoke(t.Context(),
		[]byte(`{"rookery":"token-create","tenant":"acme","name":"first","role":"admin"}`))
	require.NoError(t, err)
	var first struct{ Token string }
	require.NoError(t, json.Unmarshal(made, &first))
	s.token = first.Token
	return s
}

// get is the answer to a path: its status and its comparable body.
func (s site) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: cloudtest.Bearer(s.token)}).Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(resp.Body)
	require.NoError(t, err)
	body = strings.ReplaceAll(text.String(), s.url, "URL")
	if json.Valid(text.Bytes()) {
		body = tooltest.Comparable(json.RawMessage(body))
	}
	if path == "/docs" || path == "/openapi.json" { // the version of the program is in them
		body = fmt.Sprint(len(body) > 10_000)
	}
	return resp.StatusCode, body
}

// TestTheSamePages covers that paths which are no calls, or calls of nothing, are answered as by a server that no
// gateway is in front of. What tools answer is compared by the stories of internal/localapp.
func TestTheSamePages(t *testing.T) {
	d := deploy(t, cloudtest.NewStores(t))
	far, near := site{d.URL, writeFixture(t, d).Token}, newSite(t)
	for _, path := range []string{
		"/docs", "/openapi.json", "/healthz", "/readyz", "/nowhere", "/v1/vaults/none/nowhere", "/v1/whoami/x",
		"/.well-known/oauth-protected-resource", "/v1/vaults/none/objects/a%2Fb%23c?depth=9", "/v1/vaults/none/stats",
	} {
		status, text := far.get(t, path)
		wanted, want := near.get(t, path)
		require.Equal(t, wanted, status, path)
		require.Equal(t, want, text, path)
	}
}
