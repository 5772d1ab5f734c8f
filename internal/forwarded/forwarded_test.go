package forwarded_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/forwarded"
)

func prefixes(all ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, s := range all {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

// request is one from an address to a listener, with what its header says.
func request(from, to string, said ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/v1/whoami", nil)
	r.RemoteAddr = from
	if len(said) > 0 {
		r.Header["X-Forwarded-Proto"] = said
	}
	if to == "" {
		return r
	}
	at := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(to))
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(at)))
}

// TestCheck holds who is let through, and that the header counts from trusted proxies alone.
func TestCheck(t *testing.T) {
	proxies := prefixes("10.0.0.0/8", "192.0.2.7/32", "fd00::/8", "::ffff:198.51.100.0/120",
		"fe80::/10")
	const out = "203.0.113.5:7780" // our listener
	for name, c := range map[string]struct {
		trusted  []netip.Prefix
		from, to string
		said     []string
		ok       bool
	}{
		"plain":                        {nil, "203.0.113.9:1", out, nil, false},
		"plain, with a word":           {nil, "203.0.113.9:1", out, []string{"https"}, false},
		"loopback":                     {nil, "127.0.0.1:1", "127.0.0.1:7780", nil, true},
		"loopback, IPv6":               {nil, "[::1]:1", "[::1]:7780", nil, true},
		"loopback, mapped":             {nil, "[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:7780", nil, true},
		"a word of nobody is no harm":  {nil, "127.0.0.1:1", "127.0.0.1:7780", []string{"http"}, true},
		"no listener known":            {nil, "127.0.0.1:1", "", nil, false},
		"loopback where one is behind": {proxies, "127.0.0.1:1", "127.0.0.1:7780", nil, false},
		"loopback lies":                {proxies, "127.0.0.1:1", "127.0.0.1:7780", []string{"https"}, false},
		"loopback proxy": {
			prefixes("127.0.0.1/32"), "127.0.0.1:1", "127.0.0.1:7780", []string{"https"}, true,
		},
		"loopback proxy says http": {
			prefixes("127.0.0.1/32"), "127.0.0.1:1", "127.0.0.1:7780", []string{"http"}, false,
		},
		"proxy":                 {proxies, "10.1.2.3:1", out, []string{"https"}, true},
		"proxy, in capitals":    {proxies, "10.1.2.3:1", out, []string{" HTTPS"}, true},
		"proxy, one address":    {proxies, "192.0.2.7:1", out, []string{"https"}, true},
		"the address beside it": {proxies, "192.0.2.8:1", out, []string{"https"}, false},
		"proxy, IPv6":           {proxies, "[fd00::1]:1", out, []string{"https"}, true},
		"proxy, mapped":         {proxies, "[::ffff:10.1.2.3]:1", out, []string{"https"}, true},
		"network, mapped":       {proxies, "198.51.100.9:1", out, []string{"https"}, true},
		"proxy, with a zone":    {proxies, "[fe80::1%eth0]:1", out, []string{"https"}, true},
		"proxy says http":       {proxies, "10.1.2.3:1", out, []string{"http"}, false},
		"proxy says nothing":    {proxies, "10.1.2.3:1", out, nil, false},
		"proxy says an empty":   {proxies, "10.1.2.3:1", out, []string{""}, false},
		"proxy says it twice":   {proxies, "10.1.2.3:1", out, []string{"https", "https"}, false},
		"proxy says a list":     {proxies, "10.1.2.3:1", out, []string{"https, https"}, false},
		"proxy says both":       {proxies, "10.1.2.3:1", out, []string{"https", "http"}, false},
		"a stranger says https": {proxies, "203.0.113.9:1", out, []string{"https"}, false},
		"no address":            {proxies, "@", out, []string{"https"}, false},
		"no address at all":     {proxies, "", out, []string{"https"}, false},
		"a name for an address": {proxies, "localhost:1", out, []string{"https"}, false},
	} {
		p := forwarded.Proxies{Trusted: c.trusted}
		r := request(c.from, c.to, c.said...)
		f := p.Check(r)
		require.Equal(t, c.ok, f == nil, "%s: %v", name, f)
		if f != nil {
			require.Equal(t, fault.PermissionDenied, f.Code, name)
			require.NotEmpty(t, f.Fixes, name)
			text, err := json.Marshal(f)
			require.NoError(t, err)
			require.NotContains(t, string(text), "10.", name) // nobody learns whom we trust
		}
		r.TLS = &tls.ConnectionState{}
		require.Nil(t, p.Check(r), "%s, over TLS", name)
	}
}

// TestOtherHeadersSayNothing holds that no other header of a proxy is looked at.
func TestOtherHeadersSayNothing(t *testing.T) {
	r := request("203.0.113.9:1", "203.0.113.5:7780")
	for k, v := range map[string]string{
		"X-Forwarded-For": "10.1.2.3", "Forwarded": "for=10.1.2.3;proto=https",
		"X-Real-Ip": "10.1.2.3", "X-Forwarded-Ssl": "on", "Front-End-Https": "on",
	} {
		r.Header.Set(k, v)
	}
	require.NotNil(t, forwarded.Proxies{Trusted: prefixes("10.0.0.0/8")}.Check(r))
}

// TestServer holds the same with real connections: the server knows its listener and its peer.
func TestServer(t *testing.T) {
	status := func(s *httptest.Server, said string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		require.NoError(t, err)
		req.Header.Set("X-Forwarded-Proto", said)
		resp, err := s.Client().Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	handler := func(p forwarded.Proxies) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f := p.Check(r); f != nil {
				w.WriteHeader(f.HTTP())
			}
		})
	}
	open := httptest.NewServer(handler(forwarded.Proxies{}))
	defer open.Close()
	require.Equal(t, 200, status(open, "http"))
	behind := handler(forwarded.Proxies{Trusted: prefixes("127.0.0.0/8")})
	proxied := httptest.NewServer(behind)
	defer proxied.Close()
	require.Equal(t, 200, status(proxied, "https"))
	require.Equal(t, 403, status(proxied, "http"))
	direct := httptest.NewTLSServer(behind)
	defer direct.Close()
	require.Equal(t, 200, status(direct, "http"))
}
