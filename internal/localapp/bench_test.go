package localapp_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkServed measures calls over the handler of the server, without a network. The cost of
// limits is the ratio of two releases.
func BenchmarkServed(b *testing.B) {
	app, _ := openVault(b)
	defer func() { require.NoError(b, app.Close()) }()
	files := map[string]string{"schema.yaml": loadSchema}
	for n := range 500 {
		files[fmt.Sprintf("items/%d.md", n)] = fmt.Sprintf("---\ntype: item\ntitle: Item %d\nvalue: none\n---\n\n# Part\n\n%s\n",
			n, strings.Repeat(fmt.Sprintf("word%d and others ", n%50), 50))
	}
	must(b, local{app}, "team_vault_import", args{"vault": "v", "mode": "replace", "notes": listOf(files)})
	h := app.Handler("test", []string{"x"})
	send := func(b *testing.B, line, body string) {
		method, path, _ := strings.Cut(line, " ")
		r := httptest.NewRequest(method, "http://x"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey,
			net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80})))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(b, http.StatusOK, w.Code, w.Body)
	}
	for name, body := range map[string]string{
		"read":   `{"vault":"v","path":"items/7.md"}`,
		"search": `{"vault":"v","query":"word7 others"}`,
		"set":    `{"vault":"v","id":"items/7","fields":{"value":"%d"}}`,
	} {
		b.Run(name, func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				send(b, "POST /v1/tools/raven_"+name, strings.Replace(body, "%d", fmt.Sprint(n), 1))
			}
		})
	}
}
