package awsapp_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/lambdahost"
	"github.com/rookeryhq/rookery/internal/tool"
)

// ids are values of the parameter at the end of a path. Most contain characters that are escaped
// there.
var ids = []string{
	"people/freya", "people/freya#tasks", "a/b/c", "100%", "100%/x", "a+b", "a b", "Æ", "日本/語", "x%2Fy", "x%25y",
	"a/../b", "../b", "b/..", "./b", "/b", "b/", "a//b", "a&b=c", "a;b", "a:b@c", `"x"`, "..", ".", "plain", "q/raw",
}

// A caught is the call that a request resulted in.
type caught struct {
	Tool string
	Args map[string]json.RawMessage
}

// catching returns Options with which the last call is recorded and not made.
func catching(o awsapp.Options) (awsapp.Options, *caught) {
	last := &caught{}
	return awsapp.Outer(o, func(tool.Handler) tool.Handler {
		return func(_ context.Context, c *tool.Call) (tool.Reply, error) {
			*last = caught{c.Tool.Name, c.Args}
			return tool.Reply{Data: struct{}{}}, nil
		}
	}), last
}

// TestPathsThroughTheGateway checks that a request through the gateway, with its routes, results in
// the same call as over net/http, for every route and many ids.
func TestPathsThroughTheGateway(t *testing.T) {
	d := newDeployment(t)
	o, last := catching(d.options(t))
	whole := newFunction(t, o)
	secret := token(t, d.function(t), "acme")
	functions := map[string]lambdahost.Invoker{"$default": whole}
	for _, r := range awsapp.Routes(whole.Catalogue()) {
		of := o
		of.Part = awsapp.Family(r.Family)
		functions[r.Pattern] = newFunction(t, of)
	}
	gateway, err := lambdahost.NewGateway(functions)
	require.NoError(t, err)
	plain := httptest.NewServer(atHome(whole.Handler()))
	t.Cleanup(plain.Close)
	behind := httptest.NewServer(atHome(gateway))
	t.Cleanup(behind.Close)
	ask := func(s *httptest.Server, method, path string) (int, caught) {
		*last = caught{}
		body := "{}"
		if method == http.MethodGet || method == http.MethodDelete {
			body = ""
		}
		status, _ := send(t, s.Listener.Addr().String(), fmt.Sprintf(
			"%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
				"Content-Length: %d\r\nConnection: close\r\n\r\n%s", method, path, secret, len(body), body))
		return status, *last
	}
	compared := 0
	for _, made := range whole.Catalogue().Tools() {
		if made.Path() == "" {
			continue
		}
		before := strings.ReplaceAll(strings.TrimSuffix(made.Path(), "{"+made.PathArg()+"}"), "{vault}", "main")
		for _, id := range ids {
			path := before
			if made.PathArg() != "" {
				path += url.PathEscape(id)
			} else if id != ids[0] {
				break
			}
			status, want := ask(plain, made.Route.Method, path)
			got, call := ask(behind, made.Route.Method, path)
			if before == "/v1/vaults/" && strings.Contains(id, "/") {
				require.Empty(t, call.Tool, "%s %q", made.Name, id) // no name of a vault has one
				continue
			}
			require.Equal(t, want, call, "%s %s", made.Route.Method, path)
			require.Equal(t, status, got, "%s %s", made.Route.Method, path)
			compared++
		}
	}
	require.Greater(t, compared, 200)
}

// atHome gives requests the host name of the deployment.
func atHome(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = strings.TrimPrefix(base, "https://")
		h.ServeHTTP(w, r)
	})
}

// send sends the bytes of a request unchanged, and returns the status and the body of the response.
func send(t testing.TB, addr, text string) (int, string) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, string(body)
}

// TestEscapedPaths checks the URL of a function, which does not decode paths: an id with an escaped
// slash differs from a path with one more segment.
func TestEscapedPaths(t *testing.T) {
	d := newDeployment(t)
	o, last := catching(d.options(t))
	o.Server.PublicURL = "https://abc.lambda-url.eu-north-1.on.aws"
	a := newFunction(t, o)
	secret := token(t, d.function(t), "acme")
	for path, want := range map[string]struct {
		status int
		id     string
	}{
		"/v1/vaults/main/objects/people%2Ffreya":    {200, `"people/freya"`},
		"/v1/vaults/main/objects/a%252Fb%23c":       {200, `"a%2Fb#c"`},
		"/v1/vaults/main/objects/people/freya":      {404, ""},
		"/v1/vaults/main/objects/100%":              {400, ""},
		"/v1/vaults/main/objects/%zz?query=secret%": {400, ""},
		"/v1/vaults/main/objects/a%FF":              {400, ""},
		"/v1/vaults/main/objects/a%3Fb":             {200, `"a?b"`},
	} {
		*last = caught{}
		path, query, _ := strings.Cut(path, "?")
		var e events.APIGatewayV2HTTPRequest
		e.Version, e.RawPath, e.RawQueryString = "2.0", path, query
		e.Headers = map[string]string{"authorization": "Bearer " + secret}
		e.RequestContext.DomainName = "abc.lambda-url.eu-north-1.on.aws"
		e.RequestContext.HTTP.Method, e.RequestContext.HTTP.SourceIP = "GET", "2001:db8::1"
		r := respond(t, a, e)
		require.Equal(t, want.status, r.StatusCode, "%s: %s", path, r.Body)
		require.Equal(t, want.id, string(last.Args["id"]), path)
		require.NotEmpty(t, r.Headers["X-Request-Id"], path)
		require.NotContains(t, r.Body, "secret")
	}
}

// respond invokes a function with an event, and returns its response.
func respond(
	t testing.TB, a lambdahost.Invoker, e events.APIGatewayV2HTTPRequest,
) events.APIGatewayV2HTTPResponse {
	t.Helper()
	payload, err := json.Marshal(e)
	require.NoError(t, err)
	data, err := a.Invoke(t.Context(), payload)
	require.NoError(t, err)
	require.Less(t, len(data), 6_291_556)
	var r events.APIGatewayV2HTTPResponse
	require.NoError(t, json.Unmarshal(data, &r))
	if r.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(r.Body)
		require.NoError(t, err)
		r.Body = string(body)
	}
	return r
}

// TestRequests checks that a handler gets the same request through the gateway as over net/http:
// method, host, URL, query, headers and body.
func TestRequests(t *testing.T) {
	a := newDeployment(t).function(t)
	var seen *http.Request
	var body string
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		seen, body = r, string(data)
	})
	a.Serving(echo)
	for name, text := range map[string]string{
		"commas":  "GET /a HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a,b\r\nAccept: text/html, application/json\r\n\r\n",
		"a query": "GET /a?q=a+b%20c&q=%zz#d&;e HTTP/1.1\r\nHost: x\r\n\r\n",
		"cookies": "GET /a HTTP/1.1\r\nHost: x\r\nCookie: a=b; c=d\r\n\r\n",
		"a body":  "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n\"\xff<\x00\"",
		"a text": "POST /a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n" +
			`"Æ"`,
		"another method": "PURGE /a HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var got [2]string
			for i, h := range []http.Handler{echo, through(t, a)} {
				s := httptest.NewServer(h)
				send(t, s.Listener.Addr().String(), strings.Replace(text, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
				s.Close()
				for _, of := range []string{"Connection", "X-Amzn-Trace-Id", "X-Forwarded-For", "X-Forwarded-Proto",
					"X-Forwarded-Port", "Content-Length"} {
					seen.Header.Del(of)
				}
				if text := seen.Header.Get("X-Request-Id"); i == 1 && text != "mine" {
					require.NotEmpty(t, text, "the gateway's")
					seen.Header.Del("X-Request-Id")
				}
				got[i] = fmt.Sprint(seen.Method, seen.Host, seen.URL, seen.RequestURI, seen.Header, seen.ContentLength,
					seen.TLS, body)
			}
			require.Equal(t, got[0], got[1])
			require.NotEmpty(t, seen.RemoteAddr)
		})
	}
}

// TestJoinedHeaders checks that a header which the gateway has joined from two values is not read
// as a single one.
func TestJoinedHeaders(t *testing.T) {
	d := newDeployment(t)
	a := d.function(t)
	secret := token(t, a, "acme")
	for name, values := range map[string][]string{
		"Authorization": {"Bearer " + secret, "Bearer " + secret}, "X-Readonly": {"0", "1"},
	} {
		for i, h := range []http.Handler{through(t, a), a.Handler()} {
			r := asked(http.MethodGet, "/v1/whoami", secret, "")
			r.Header[name] = values
			w := awsapp.Recorded(h, r)
			require.Contains(t, []int{400, 401}, w.Code, "%s %d: %s", name, i, w.Body)
		}
	}
}
