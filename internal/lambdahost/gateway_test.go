package lambdahost_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/lambdahost"
)

// A recorder is a function in this process: it records the event, and returns an answer that the
// test sets.
type recorder struct {
	event  events.APIGatewayV2HTTPRequest
	raw    string
	answer string
	err    error
}

func (f *recorder) Invoke(_ context.Context, event []byte) ([]byte, error) {
	f.raw = string(event)
	f.event = events.APIGatewayV2HTTPRequest{}
	if err := json.Unmarshal(event, &f.event); err != nil {
		return nil, err
	}
	return []byte(f.answer), f.err
}

// serve starts a gateway with one function behind all routes.
func serve(t *testing.T, f lambdahost.Invoker, keys ...string) *httptest.Server {
	t.Helper()
	if len(keys) == 0 {
		keys = []string{"$default"}
	}
	routes := map[string]lambdahost.Invoker{}
	for _, key := range keys {
		routes[key] = f
	}
	g, err := lambdahost.NewGateway(routes)
	require.NoError(t, err)
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	return server
}

// send makes a request and returns the answer with its body.
func send(t *testing.T, r *http.Request) (*http.Response, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	answer, err := client.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(body)
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	return send(t, r)
}

func post(t *testing.T, url, kind string, body []byte) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	require.NoError(t, err)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return send(t, r)
}

const okay = `{"statusCode":200,"body":"ok"}`

func TestPathsArriveDecoded(t *testing.T) {
	f := &recorder{answer: okay}
	server := serve(t, f)
	for sent, want := range map[string]string{
		"/":                               "/",
		"/v1/vaults/a/objects/x":          "/v1/vaults/a/objects/x",
		"/a%2Fb/c%20d+e":                  "/a/b/c d+e",
		"/%25%32%35/%C3%86/%E6%97%A5":     "/%25/Æ/日",
		"/a%23b%2E%2E/..%2F":              "/a#b../../",
		"/what%3Fnow/behind":              "/what",
		"//double//":                      "//double//",
		"/note?q=a%2Fb&q=c+d&r=%zz&empty": "/note",
	} {
		_, body := get(t, server.URL+sent)
		require.Equal(t, "ok", body, sent)
		require.Equal(t, want, f.event.RawPath, sent)
		require.Equal(t, want, f.event.RequestContext.HTTP.Path, sent)
		_, query, _ := strings.Cut(sent, "?")
		require.Equal(t, query, f.event.RawQueryString, "the query is as it was sent")
	}
	get(t, server.URL+"/?q=a%2Fb&q=c+d")
	require.Equal(t, map[string]string{"q": "a/b,c d"}, f.event.QueryStringParameters)
}

func TestEvents(t *testing.T) {
	f := &recorder{answer: okay}
	server := serve(t, f, "ANY /v1/{rest+}")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+"/v1/a/b", nil)
	require.NoError(t, err)
	r.Header.Add("Idempotency-Key", "one")
	r.Header.Add("Idempotency-Key", "two, three")
	r.Header.Add("Cookie", "a=1; b=2")
	r.Header.Add("Cookie", "c=3")
	r.Header.Set("X-Forwarded-For", "192.0.2.1")
	r.Header.Set("User-Agent", "agent/1")
	r.Header.Set("Te", "trailers")
	answer, _ := send(t, r)
	e, c := f.event, f.event.RequestContext
	require.Equal(t, "2.0", e.Version)
	require.Equal(t, "ANY /v1/{rest+}", e.RouteKey)
	require.Equal(t, map[string]string{"rest": "a/b"}, e.PathParameters)
	require.Equal(t, "one,two, three", e.Headers["idempotency-key"])
	require.Equal(t, []string{"a=1", "b=2", "c=3"}, e.Cookies)
	require.NotContains(t, e.Headers, "cookie")
	require.NotContains(t, e.Headers, "te")
	require.Equal(t, "192.0.2.1, 127.0.0.1", e.Headers["x-forwarded-for"])
	require.Equal(t, "https", e.Headers["x-forwarded-proto"])
	require.Equal(t, strings.TrimPrefix(server.URL, "http://"), e.Headers["host"])
	require.Equal(t, e.Headers["host"], c.DomainName)
	require.Equal(t, "$default", c.Stage)
	require.Equal(t, e.RouteKey, c.RouteKey)
	require.Equal(t, "PUT", c.HTTP.Method)
	require.Equal(t, "127.0.0.1", c.HTTP.SourceIP)
	require.Equal(t, "agent/1", c.HTTP.UserAgent)
	require.Equal(t, answer.Header.Get("Apigw-Requestid"), c.RequestID)
	require.WithinDuration(t, time.Now(), time.UnixMilli(c.TimeEpoch), time.Minute)
	require.NotContains(t, f.raw, `"body"`)
	for name := range e.Headers {
		require.Equal(t, strings.ToLower(name), name)
	}
}

func TestBodies(t *testing.T) {
	f := &recorder{answer: okay}
	server := serve(t, f)
	binary := []byte{0, 0xff, 0xfe, 'x'}
	for _, c := range []struct {
		kind string
		text bool
	}{
		{"application/json", true},
		{"application/json; charset=utf-8", true},
		{"text/markdown", true},
		{"application/xml", true},
		{"application/javascript", true},
		{"application/problem+json", true},
		{"application/zip", false},
		{"application/x-www-form-urlencoded", false},
		{"multipart/form-data; boundary=x", false},
		{"", false},
		{"not a type", false},
	} {
		post(t, server.URL, c.kind, []byte(`{"a":"Æ<"}`))
		require.Equal(t, !c.text, f.event.IsBase64Encoded, c.kind)
		if c.text {
			require.Equal(t, `{"a":"Æ<"}`, f.event.Body)
		}
		post(t, server.URL, c.kind, binary)
		if !c.text {
			require.Equal(t, base64.StdEncoding.EncodeToString(binary), f.event.Body, c.kind)
			require.Equal(t, "4", f.event.Headers["content-length"])
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, bytes.NewReader(binary))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	send(t, r)
	require.True(t, f.event.IsBase64Encoded, "what is compressed is no text")
}

func TestAnswers(t *testing.T) {
	f := &recorder{}
	server := serve(t, f)
	for _, c := range []struct {
		answer     string
		code       int
		kind, body string
	}{
		{`{"statusCode":201,"headers":{"content-type":"text/markdown"},"body":"# A"}`, 201, "text/markdown", "# A"},
		{`{"statusCode":200,"body":"AP8=","isBase64Encoded":true}`, 200, "text/plain;charset=UTF-8", "\x00\xff"},
		{`{"statusCode":404}`, 404, "text/plain;charset=UTF-8", ""},
		{`{"statusCode":204}`, 204, "", ""},
		{`{"body":"x"}`, 200, "application/json", `{"body":"x"}`},
		{`"text"`, 200, "application/json", `"text"`},
		{`[1]`, 200, "application/json", `[1]`},
	} {
		f.answer = c.answer
		answer, body := get(t, server.URL)
		require.Equal(t, c.code, answer.StatusCode, c.answer)
		require.Equal(t, c.kind, answer.Header.Get("Content-Type"), c.answer)
		require.Equal(t, c.body, body, c.answer)
	}
	for _, malformed := range []string{
		``, `{`, `{"statusCode":"x"}`, `{"statusCode":7}`, `{"statusCode":200,"headers":[]}`,
		`{"statusCode":200,"body":"*","isBase64Encoded":true}`,
	} {
		f.answer = malformed
		answer, body := get(t, server.URL)
		require.Equal(t, 500, answer.StatusCode, malformed)
		require.Equal(t, `{"message":"Internal Server Error"}`, body)
	}
}

func TestHeadersOfAnswers(t *testing.T) {
	f := &recorder{answer: `{"statusCode":401,"body":"{}","cookies":["a=1; Path=/","b=2"],"headers":{
		"WWW-Authenticate":"Bearer","retry-after":3,"Content-Length":"99","Connection":"close","Server":"us"},
		"multiValueHeaders":{"X-Other":["1"]}}`}
	server := serve(t, f)
	answer, body := get(t, server.URL)
	require.Equal(t, "{}", body)
	require.Empty(t, answer.Header.Get("WWW-Authenticate"), "an HTTP API renames the challenge")
	require.Equal(t, "Bearer", answer.Header.Get("X-Amzn-Remapped-Www-Authenticate"))
	require.Equal(t, "3", answer.Header.Get("Retry-After"))
	require.Equal(t, []string{"a=1; Path=/", "b=2"}, answer.Header.Values("Set-Cookie"))
	require.Empty(t, answer.Header.Get("Server"))
	require.Empty(t, answer.Header.Get("X-Other"), "version 2.0 has no headers of several values")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL, nil)
	require.NoError(t, err)
	answer, body = send(t, r)
	require.Equal(t, 401, answer.StatusCode)
	require.Empty(t, body)
	require.EqualValues(t, 2, answer.ContentLength)
}

func TestRoutes(t *testing.T) {
	f := &recorder{answer: okay}
	server := serve(t, f, "ANY /v1/vaults/{vault}/objects", "ANY /v1/vaults/{vault}/objects/{rest+}",
		"ANY /v1/{rest+}", "GET /healthz", "ANY /healthz", "ANY /v1/vaults/main/objects", "POST /")
	for _, c := range []struct{ method, path, key string }{
		{"GET", "/v1/vaults/a/objects", "ANY /v1/vaults/{vault}/objects"},
		{"GET", "/v1/vaults/main/objects", "ANY /v1/vaults/main/objects"},
		{"GET", "/v1/vaults/a/objects/x/y", "ANY /v1/vaults/{vault}/objects/{rest+}"},
		{"GET", "/v1/vaults/a/objects/x%2Fy", "ANY /v1/vaults/{vault}/objects/{rest+}"},
		{"GET", "/v1/vaults/main/objects/x", "ANY /v1/vaults/{vault}/objects/{rest+}"},
		{"GET", "/v1/vaults/a/objects/", "ANY /v1/{rest+}"},
		{"GET", "/v1/vaults/a%2Fb/objects", "ANY /v1/{rest+}"},
		{"GET", "/v1/vaults//objects", "ANY /v1/{rest+}"},
		{"GET", "/healthz", "GET /healthz"},
		{"PUT", "/healthz", "ANY /healthz"},
		{"POST", "/", "POST /"},
		{"GET", "/", ""},
		{"GET", "/v1", ""},
		{"GET", "/v1/", ""},
		{"GET", "/healthz/x", ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, nil)
		require.NoError(t, err)
		f.event.RouteKey = ""
		answer, body := send(t, r)
		require.Equal(t, c.key, f.event.RouteKey, c.method+" "+c.path)
		if c.key == "" {
			require.Equal(t, 404, answer.StatusCode)
			require.Equal(t, `{"message":"Not Found"}`, body)
		}
	}
	for _, key := range []string{
		"", "GET", "/v1", " /v1", "GET v1", "ANY /{rest+}/x", "ANY /{}", "ANY /{a", "ANY /a{b}", "ANY /{a}b",
		"ANY /{+}",
	} {
		_, err := lambdahost.NewGateway(map[string]lambdahost.Invoker{key: f})
		require.Error(t, err, "%q", key)
	}
}

func TestLimits(t *testing.T) {
	f := &recorder{answer: okay}
	server := serve(t, f)
	for size, code := range map[int]int{lambdahost.MaxHeader - 300: 200, lambdahost.MaxHeader: 431} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		require.NoError(t, err)
		r.Header.Set("X", strings.Repeat("x", size))
		answer, _ := send(t, r)
		require.Equal(t, code, answer.StatusCode)
		answer, _ = get(t, server.URL+"/?"+strings.Repeat("x", size))
		require.Equal(t, code, answer.StatusCode, "the request line counts as well")
	}
	for size, code := range map[int]int{lambdahost.MaxBody: 200, lambdahost.MaxBody + 1: 413} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL,
			bytes.NewReader(make([]byte, size)))
		require.NoError(t, err)
		w := httptest.NewRecorder()
		server.Config.Handler.ServeHTTP(w, r)
		require.Equal(t, code, w.Code)
	}
}

func TestErrorsOfTheGateway(t *testing.T) {
	f := &recorder{}
	server := serve(t, f)
	for _, c := range []struct {
		err  error
		code int
		body string
	}{
		{lambdahost.ErrEventTooLarge, 413, `{"message":"Request Entity Too Large"}`},
		{lambdahost.ErrThrottled, 503, `{"message":"Service Unavailable"}`},
		{context.DeadlineExceeded, 503, `{"message":"Service Unavailable"}`},
		{&lambdahost.Error{Type: lambdahost.TypeExit}, 500, `{"message":"Internal Server Error"}`},
	} {
		f.err = c.err
		answer, body := get(t, server.URL)
		require.Equal(t, c.code, answer.StatusCode)
		require.Equal(t, c.body, body)
		require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
	}
}

// TestGatewayOverProcesses runs the gateway over real processes that crash, are slow or get large
// events.
func TestGatewayOverProcesses(t *testing.T) {
	h := start(t, lambdahost.Function{})
	g, err := lambdahost.NewGateway(map[string]lambdahost.Invoker{"$default": orders{h}})
	require.NoError(t, err)
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	_, body := get(t, server.URL+"/print")
	require.Contains(t, body, `"calls":1`)
	for _, path := range []string{"/exit", "/panic", "/fail", "/hang"} {
		code := http.StatusInternalServerError
		if path == "/hang" {
			g.SetTimeout(200 * time.Millisecond)
			code = http.StatusServiceUnavailable
		}
		answer, _ := get(t, server.URL+path)
		require.Equal(t, code, answer.StatusCode, path)
	}
	large := bytes.Repeat([]byte("x"), lambdahost.MaxEvent)
	plain := serve(t, h)
	answer, body := post(t, plain.URL, "text/plain", large)
	require.Equal(t, 413, answer.StatusCode)
	require.Equal(t, `{"message":"Request Entity Too Large"}`, body)
}

// orders passes the first segment of the path to the function of these tests, as its order.
type orders struct{ h *lambdahost.Host }

func (o orders) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	var e events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, err
	}
	text, err := json.Marshal(order{Do: strings.TrimPrefix(e.RawPath, "/")})
	if err != nil {
		return nil, err
	}
	return o.h.Invoke(ctx, text)
}
