package awstest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMeter covers which requests are counted, by which names, and with which bytes.
func TestMeter(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(w, r.Body)
		require.NoError(t, err)
	}))
	t.Cleanup(server.Close)
	m := &Meter{Ignore: func(operation string, body []byte) bool {
		return operation == "PutItem" && strings.Contains(string(body), "note")
	}}
	send := func(method, path, target, body string) {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		if target != "" {
			r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+target)
		}
		answer, err := m.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		got, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, body, string(got), "what is counted arrives")
	}
	require.Empty(t, m.Count().String())
	send("POST", "/", "Query", "12345")
	send("POST", "/", "PutItem", "123")
	send("POST", "/", "PutItem", "a note")
	send("GET", "/bucket?list-type=2", "", "")
	send("PUT", "/bucket/key", "", "1234567")
	send("PUT", "/bucket/key", "", "")
	n := m.Count()
	require.Equal(t, "1 LIST, 2 PUT, 1 PutItem, 1 Query", n.String())
	require.Equal(t, 5, n.Requests())
	require.EqualValues(t, []int64{15, 15}, []int64{n.Sent, n.Got})
	m.Reset()
	require.Zero(t, m.Count().Requests())
}
