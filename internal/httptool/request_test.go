package httptool_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func serveAndSend(t *testing.T, cat *tool.Catalogue, a ask) got {
	t.Helper()
	s := httptest.NewServer(httptool.New(cat, httptool.Options{}))
	defer s.Close()
	return send(t, s, a)
}

func TestBadInput(t *testing.T) {
	const create = "POST /v1/vaults/spare/books"
	deep := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	for name, c := range map[string]struct {
		ask    ask
		status int
		code   fault.Code
		part   string // of the message
	}{
		"no JSON":            {ask{line: create, body: `{"title":`}, 400, fault.InvalidValue, "JSON object"},
		"a list":             {ask{line: create, body: `[1]`}, 400, fault.InvalidValue, "JSON object"},
		"null":               {ask{line: create, body: `null`}, 400, fault.InvalidValue, "JSON object"},
		"deep":               {ask{line: create, body: `{"title":"x","fields":` + deep + `}`}, 400, fault.InvalidValue, "nested deeper than 32"},
		"deep, by name":      {ask{line: "POST /v1/tools/books_book_new", body: deep}, 400, fault.InvalidValue, "nested deeper than 32"},
		"not UTF-8":          {ask{line: create, body: "{\"title\":\"a\xffb\"}"}, 400, fault.InvalidValue, "UTF-8"},
		"half a pair":        {ask{line: create, body: `{"title":"\ud800"}`}, 400, fault.InvalidValue, "UTF-8"},
		"unknown argument":   {ask{line: create, body: `{"title":"x","titel":1}`}, 400, fault.InvalidValue, "titel"},
		"unknown parameter":  {ask{line: "GET /v1/vaults/main/books?gener=saga"}, 400, fault.InvalidValue, `did you mean "genre"`},
		"missing":            {ask{line: create, body: `{}`}, 400, fault.MissingRequired, "title"},
		"no body":            {ask{line: create}, 400, fault.MissingRequired, "title"},
		"wrong type":         {ask{line: create, body: `{"title":5}`}, 400, fault.InvalidValue, "title"},
		"no number":          {ask{line: "GET /v1/vaults/main/books?limit=ten"}, 400, fault.InvalidValue, "1 to 200"},
		"out of range":       {ask{line: "GET /v1/vaults/main/books?limit=201"}, 400, fault.InvalidValue, "1 to 200"},
		"empty enum":         {ask{line: "GET /v1/vaults/main/books?genre="}, 400, fault.InvalidValue, "one of saga, atlas"},
		"two for one":        {ask{line: "GET /v1/vaults/main/books?genre=saga&genre=atlas"}, 400, fault.InvalidValue, "genre"},
		"query not UTF-8":    {ask{line: "GET /v1/vaults/main/books?page_token=%ff"}, 400, fault.InvalidValue, "UTF-8"},
		"query name":         {ask{line: "GET /v1/vaults/main/books?%ff=1"}, 400, fault.InvalidValue, "UTF-8"},
		"query escape":       {ask{line: "GET /v1/vaults/main/books?genre=%zz"}, 400, fault.InvalidValue, "name=value"},
		"query semicolon":    {ask{line: "GET /v1/vaults/main/books?genre=saga;slim=true"}, 400, fault.InvalidValue, "name=value"},
		"twice, path":        {ask{line: "PATCH /v1/vaults/main/books/a", body: `{"id":"b","set":"a=b"}`}, 400, fault.InvalidValue, "twice"},
		"twice, alias":       {ask{line: "PATCH /v1/vaults/main/books/a", body: `{"reference":"b","set":"a=b"}`}, 400, fault.InvalidValue, "twice"},
		"twice, vault":       {ask{line: create + "?vault=main", body: `{"title":"x"}`}, 400, fault.InvalidValue, "twice"},
		"twice, query":       {ask{line: create + "?title=y", body: `{"title":"x"}`}, 400, fault.InvalidValue, "twice"},
		"body of a GET":      {ask{line: "GET /v1/vaults/main/books", body: `{}`}, 400, fault.InvalidValue, "query"},
		"body of a DELETE":   {ask{line: "DELETE /v1/vaults/main/books/x", body: `{}`}, 400, fault.InvalidValue, "query"},
		"envelope neither":   {ask{line: "GET /v1/vaults/main/books?envelope=maybe"}, 400, fault.InvalidValue, "true or false"},
		"no content type":    {ask{line: create, body: `{"title":"x"}`, header: map[string]string{"Content-Type": ""}}, 400, fault.InvalidValue, "JSON"},
		"form":               {ask{line: create, body: `title=x`, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, 400, fault.InvalidValue, "JSON"},
		"text":               {ask{line: create, body: `{"title":"x"}`, header: map[string]string{"Content-Type": "text/plain"}}, 400, fault.InvalidValue, "JSON"},
		"Latin-1":            {ask{line: create, body: `{"title":"x"}`, header: map[string]string{"Content-Type": "application/json; charset=latin1"}}, 400, fault.InvalidValue, "JSON"},
		"compressed":         {ask{line: create, body: `{"title":"x"}`, header: map[string]string{"Content-Encoding": "gzip"}}, 400, fault.InvalidValue, "compressed"},
		"bare If-Match":      {ask{line: create, body: `{"title":"x"}`, header: map[string]string{"If-Match": "v42"}}, 400, fault.InvalidValue, "If-Match"},
		"any If-Match":       {ask{line: create, body: `{"title":"x"}`, header: map[string]string{"If-Match": "*"}}, 400, fault.InvalidValue, "If-Match"},
		"If-Match on a read": {ask{line: "GET /v1/vaults/main/books", header: map[string]string{"If-Match": `"v1"`}}, 400, fault.InvalidValue, "takes no header If-Match"},
		"two versions":       {ask{line: create, body: `{"title":"x","if_version":"v1"}`, header: map[string]string{"If-Match": `"v2"`}}, 400, fault.InvalidValue, "twice"},
		"two keys":           {ask{line: create, body: `{"title":"x","idempotency_key":"a"}`, header: map[string]string{"Idempotency-Key": "b"}}, 400, fault.InvalidValue, "twice"},
		"two agents":         {ask{line: "GET /v1/whoami?agent_id=a", header: map[string]string{"X-Agent-Id": "b"}}, 400, fault.InvalidParameter, "twice"},
		"long agent":         {ask{line: "GET /v1/whoami", header: map[string]string{"X-Agent-Id": strings.Repeat("a", 129)}}, 400, fault.InvalidParameter, "128"},
		"agent not UTF-8":    {ask{line: "GET /v1/whoami", header: map[string]string{"X-Agent-Id": "\xff"}}, 400, fault.InvalidParameter, "UTF-8"},
		"half read-only":     {ask{line: "GET /v1/whoami", header: map[string]string{"X-Readonly": "perhaps"}}, 400, fault.InvalidParameter, "X-Readonly"},
		"too large":          {ask{line: create, body: `{"title":"` + strings.Repeat("x", 10<<20) + `"}`}, 413, fault.BatchTooLarge, "4194304"},
		"a byte too large":   {ask{line: create, body: strings.Repeat(" ", httptool.MaxBody-1) + "{}"}, 413, fault.BatchTooLarge, "4194304"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, httptool.Options{})
			g := send(t, s, c.ask)
			require.Equal(t, c.status, g.status, g.body)
			f := g.envelope(t).Error
			require.Equal(t, c.code, f.Code)
			require.Contains(t, f.Message, c.part)
			require.Contains(t, send(t, s, ask{line: "GET /v1/vaults/spare/books"}).body, `"total":0`)
		})
	}
}

func TestLargestBody(t *testing.T) {
	body := `{"title":"x"}`
	body += strings.Repeat(" ", httptool.MaxBody-len(body))
	g := send(t, serve(t, httptool.Options{}), ask{line: "POST /v1/vaults/spare/books", body: body})
	require.Equal(t, http.StatusOK, g.status, g.body)
}

// TestOddText checks that unusual texts in JSON are passed on unchanged.
func TestOddText(t *testing.T) {
	s := serve(t, httptool.Options{})
	g := send(t, s, ask{line: "POST /v1/vaults/spare/books", body: `{"title":"nul\u0000, <b> & 😀"}`})
	object := g.envelope(t).Data["object"].(map[string]any)
	require.Equal(t, "nul\x00, <b> & 😀", object["title"])
	g = send(t, s, ask{line: "GET /v1/vaults/spare/books/nul%00,%20%3Cb%3E%20&%20😀"})
	require.Equal(t, http.StatusOK, g.status, g.body)
}

// TestRaw checks requests that no client library sends.
func TestRaw(t *testing.T) {
	s := serve(t, httptool.Options{})
	host := s.Listener.Addr().String()
	const post = "POST /v1/vaults/spare/books HTTP/1.1\r\nContent-Type: application/json\r\n"
	big := strings.Repeat("x", httptool.MaxBody+1)
	for name, c := range map[string]struct {
		request, status string
		code            fault.Code
	}{
		"cut off":         {post + "Content-Length: 99\r\n\r\n{\"title\":\"x\"}", "400", fault.InvalidValue},
		"cut off, chunks": {post + "Transfer-Encoding: chunked\r\n\r\nd\r\n{\"title\":\"x\"}", "400", fault.InvalidValue},
		"declared large":  {post + "Content-Length: 10485760\r\n\r\n{", "413", fault.BatchTooLarge},
		"large in chunks": {post + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(big), big), "413", fault.BatchTooLarge},
		"chunked GET":     {"GET /v1/whoami HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "400", fault.InvalidParameter},
		"two origins":     {"GET /v1/whoami HTTP/1.1\r\nOrigin: http://" + host + "\r\nOrigin: http://evil.test\r\n\r\n", "403", fault.PermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", host)
			require.NoError(t, err)
			defer conn.Close()
			first, rest, _ := strings.Cut(c.request, "\r\n")
			go func() { // the answer may come before all of it is sent
				_, _ = io.WriteString(conn, first+"\r\nHost: "+host+"\r\nConnection: close\r\n"+rest)
				_ = conn.(*net.TCPConn).CloseWrite()
			}()
			answer, err := io.ReadAll(conn)
			if err != nil {
				require.NotEmpty(t, answer, err)
			}
			require.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 "+c.status), string(answer))
			require.Contains(t, string(answer), fmt.Sprintf(`"code":%q`, c.code))
		})
	}
	require.Contains(t, send(t, s, ask{line: "GET /v1/vaults/spare/books"}).body, `"total":0`)
}

func TestHeaders(t *testing.T) {
	s := serve(t, httptool.Options{})
	whoami := func(line string, header map[string]string) map[string]any {
		g := send(t, s, ask{line: line, header: header})
		require.Equal(t, http.StatusOK, g.status, g.body)
		return g.envelope(t).Data
	}
	require.Equal(t, "a", whoami("GET /v1/whoami", map[string]string{"X-Agent-Id": "a"})["agent"])
	require.Equal(t, "b", whoami("GET /v1/whoami?agent_id=b", map[string]string{"X-Agent-Id": "b"})["agent"])
	require.Equal(t, "s", whoami("GET /v1/whoami", map[string]string{"X-Session-Id": "s"})["session"])
	require.Equal(t, true, whoami("GET /v1/whoami", map[string]string{"X-Readonly": "1"})["read_only"])
	require.Equal(t, false, whoami("GET /v1/whoami", map[string]string{"X-Readonly": "0"})["read_only"])
	require.Equal(t, "local", whoami("GET /v1/whoami", map[string]string{"Idempotency-Key": "k"})["agent"])
	require.Equal(t, "r-1", whoami("GET /v1/whoami", map[string]string{"X-Request-Id": "r-1"})["request_id"])
}

func TestRequestID(t *testing.T) {
	s := serve(t, httptool.Options{})
	for id, kept := range map[string]bool{
		"abc-123": true, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false,
		"a b": false, "ü": false,
	} {
		g := send(t, s, ask{line: "GET /v1/whoami", header: map[string]string{"X-Request-Id": id}})
		require.Equal(t, kept, g.header.Get("X-Request-Id") == id, id)
		require.NotEmpty(t, g.header.Get("X-Request-Id"))
		require.Equal(t, g.header.Get("X-Request-Id"), g.envelope(t).Data["request_id"])
	}
}

func TestVersions(t *testing.T) {
	s := serve(t, httptool.Options{})
	g := send(t, s, ask{line: "GET /v1/vaults/main/books"})
	require.Equal(t, `"v4"`, g.header.Get("ETag"))
	set := ask{line: "PATCH /v1/vaults/main/books/people%2Ffreya", body: `{"set":"a=1"}`,
		header: map[string]string{"If-Match": g.header.Get("ETag")}}
	g = send(t, s, set)
	require.Equal(t, http.StatusOK, g.status, g.body)
	require.Equal(t, `"v5"`, g.header.Get("ETag"))
	g = send(t, s, set)
	require.Equal(t, http.StatusConflict, g.status)
	require.Equal(t, "v5", g.envelope(t).Error.Details["latest_version"])
	set.header["If-Match"] = `W/"v5"`
	require.Equal(t, http.StatusOK, send(t, s, set).status)
}

func TestIdempotencyKey(t *testing.T) {
	s := serve(t, httptool.Options{})
	add := ask{line: "POST /v1/vaults/spare/books", body: `{"title":"Edda"}`,
		header: map[string]string{"Idempotency-Key": "once"}}
	require.Equal(t, http.StatusOK, send(t, s, add).status)
	require.Equal(t, true, send(t, s, add).envelope(t).Meta["replayed"])
	add.body = `{"title":"Other"}`
	require.Equal(t, fault.KeyReused, send(t, s, add).envelope(t).Error.Code)
}

func TestAuthenticate(t *testing.T) {
	s := serve(t, httptool.Options{Authenticate: func(r *http.Request) (auth.Caller, error) {
		switch r.Header.Get("Authorization") {
		case "Bearer right":
			return auth.Caller{Principal: "freya"}, nil
		case "Bearer broken":
			return auth.Caller{}, errors.New(tooltest.Secret)
		}
		return auth.Caller{}, fault.New(fault.Unauthenticated, "say who you are")
	}})
	for token, c := range map[string]struct {
		status    int
		challenge string
	}{
		"":              {401, `Bearer realm="rookery"`},
		"Bearer wrong":  {401, `Bearer realm="rookery", error="invalid_token", error_description="the token was not accepted"`},
		"Bearer broken": {500, ""},
		"Bearer right":  {200, ""},
	} {
		g := send(t, s, ask{line: "GET /v1/whoami", header: map[string]string{"Authorization": token}})
		require.Equal(t, c.status, g.status, token)
		require.Equal(t, c.challenge, g.header.Get("WWW-Authenticate"))
		require.NotContains(t, g.body, tooltest.Secret)
	}
	require.Equal(t, http.StatusOK, send(t, s, ask{line: "GET /healthz"}).status)
}

func TestConcurrentCalls(t *testing.T) {
	s := serve(t, httptool.Options{})
	var wait sync.WaitGroup
	for i := range 32 {
		wait.Go(func() {
			g := send(t, s, ask{line: "POST /v1/vaults/spare/books", body: fmt.Sprintf(`{"title":"b%d"}`, i)})
			if g.status != http.StatusOK {
				t.Errorf("call %d: %s", i, g.body)
			}
		})
	}
	wait.Wait()
	require.Contains(t, send(t, s, ask{line: "GET /v1/vaults/spare/books"}).body, `"total":32`)
}

func TestGzip(t *testing.T) {
	s := serve(t, httptool.Options{})
	title := strings.Repeat("long ", 30)
	for i := range 20 {
		send(t, s, ask{line: "POST /v1/vaults/spare/books", body: fmt.Sprintf(`{"title":"%s%d"}`, title, i)})
	}
	zipped := send(t, s, ask{line: "GET /v1/vaults/spare/books", header: map[string]string{"Accept-Encoding": "gzip"}})
	require.Equal(t, "gzip", zipped.header.Get("Content-Encoding"))
	r, err := gzip.NewReader(strings.NewReader(zipped.body))
	require.NoError(t, err)
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Contains(t, string(data), `"total":20`)
	plain := send(t, s, ask{line: "GET /v1/vaults/spare/books", header: map[string]string{"Accept-Encoding": "identity"}})
	require.Empty(t, plain.header.Get("Content-Encoding"))
	require.Contains(t, plain.body, `"total":20`)
}
