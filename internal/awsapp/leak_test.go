package awsapp_test

import (
	"bytes"
	"io"
	"log"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/leaktest"
)

// printed returns the output of a function to the streams of the process and to the standard
// logger. Tests that use it cannot run in parallel with others.
func printed(t *testing.T, do func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout, stderr, logs := os.Stdout, os.Stderr, log.Writer()
	os.Stdout, os.Stderr = w, w
	log.SetOutput(w)
	done := make(chan string)
	go func() {
		text, _ := io.ReadAll(r) // it ends when the writer is closed
		done <- string(text)
	}()
	func() {
		defer func() {
			os.Stdout, os.Stderr = stdout, stderr
			log.SetOutput(logs)
		}()
		do()
	}()
	require.NoError(t, w.Close())
	return <-done
}

// TestNothingLeaks checks that the output of a function contains nothing of a request, whatever is
// wrong with the request. Its path, query, headers and body contain canaries.
func TestNothingLeaks(t *testing.T) {
	d := newDeployment(t)
	a := d.function(t)
	secret := token(t, a, "acme")
	all := leaktest.Text + " " + leaktest.Field + " " + leaktest.Query
	out := printed(t, func() {
		for _, path := range []string{
			"/" + all, "/v1/vaults/main/objects/" + all, "/v1/vaults/" + all + "/stats", "//" + all, all, "",
			"/v1/tools/" + all, "/mcp/" + all, "/%zz" + all, "/\x01" + all, "/http://" + all + ":99999/",
		} {
			for _, method := range []string{"GET", "POST", leaktest.Text, "", "A B"} {
				for _, host := range []string{"notes.example.test", "abc.lambda-url.eu-north-1.on.aws", all, ""} {
					e := event(method, path)
					e.RequestContext.DomainName = host
					e.RawQueryString = url.QueryEscape(all) + "=%zz" + all
					e.Headers = map[string]string{
						"authorization": "Bearer " + secret, "x-" + leaktest.Text: all, all: all, "idempotency-key": all,
						"if-match": all, "x-agent-id": all, "x-readonly": all, "accept": all, "origin": "https://" + leaktest.Text,
					}
					e.Cookies, e.Body, e.IsBase64Encoded = []string{all}, all, path == ""
					_, err := a.Invoke(t.Context(), marshalled(t, e))
					require.NoError(t, err)
				}
			}
		}
		for _, payload := range []string{
			all, `{"version":"2.0","requestContext":{"http":"` + all + `"}}`, `{"rookery":"` + all + `"}`,
			`{"rookery":"token-create","tenant":"` + all + `","name":"x","role":"admin"}`,
			`{"rookery":"token-create","tenant":"acme","name":"x","role":"` + all + `"}`,
		} {
			_, err := a.Invoke(t.Context(), []byte(payload))
			require.Error(t, err)
			leaktest.RequireNone(t, err.Error(), "an error of the function")
		}
	})
	require.Empty(t, out)
	require.NotEmpty(t, d.logs.String())
	found, err := leaktest.Search(bytes.NewReader([]byte(d.logs.String())))
	require.NoError(t, err)
	require.Empty(t, found, "%.2000s", strings.TrimSpace(d.logs.String()))
}
