package httptool_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// FuzzRequest checks that no request, whatever its path, query, headers and body, causes a panic or
// an internal error, and that every answer is an envelope or bare data.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][5]string{
		{"GET", "/v1/vaults/main/books/a%2Fb%20c%23d%25", "only=id", `W/"v42"`, ""},
		{"GET", "/v1/vaults/main/books", "id=a/b&id=c&envelope=false", `"`, ""},
		{"POST", "/v1/tools/books_new", "a=%ff", `""`, `{"id":"x","id":"y"}`},
		{"PATCH", "/v1/vaults/main/books/x", "if_version=v1", `"v2"`, `{"if_version":null}`},
		{"DELETE", "/v1//books/%2e%2e", "%zz", "v1", `[1]`},
		{"HEAD", "/v1/vaults/%00/books/\xff", "=&;", "\"\xff\"", "null"},
		{"OPTIONS", "/healthz/", "", "", "{"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	f.Fuzz(func(t *testing.T, method, path, query, match, body string) {
		r := &http.Request{
			Method: method, Host: "memory.example.test", URL: &url.URL{RawQuery: query},
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"If-Match": {match}, "Content-Type": {"application/json"}},
		}
		decoded, err := url.PathUnescape(path)
		if err != nil || !strings.HasPrefix(path, "/") {
			return // net/http refuses it
		}
		r.URL.Path, r.URL.RawPath = decoded, path
		requireAnswered(t, r.WithContext(t.Context()), body)
	})
}

// requireAnswered checks that a request gets a valid answer.
func requireAnswered(t *testing.T, r *http.Request, body string) {
	sent := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Body, r.ContentLength = sent.Body, sent.ContentLength
	w := httptest.NewRecorder()
	httptool.New(tooltest.Sample(), httptool.Options{
		Hosts: []string{"memory.example.test"}, Document: document("{}"),
	}).ServeHTTP(w, r)
	require.Less(t, w.Code, 500, "%s", w.Body)
	if w.Header().Get("Content-Type") == "application/json" {
		require.True(t, json.Valid(w.Body.Bytes()), "%s", w.Body)
	}
	require.NotContains(t, w.Header().Get("X-Warnings"), "\n")
	require.NotEmpty(t, w.Header().Get("X-Request-Id"))
}
