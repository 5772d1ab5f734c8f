package cloudtest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A proxy is between functions and their stores. Its answers are complete before a function has any of them.
type proxy struct {
	dynamodb, s3 string           // URLs
	now          func() time.Time // that answers tell; nil: as they come
	see          atomic.Pointer[func(operation string, forward func())]
}

func newProxy(tb testing.TB, o Options) *proxy {
	tb.Helper()
	p := &proxy{now: o.Now}
	p.dynamodb, p.s3 = p.serve(tb, o.Stores.dynamodb), p.serve(tb, o.Stores.s3)
	return p
}

func (p *proxy) watch(see func(operation string, forward func())) {
	if see == nil {
		p.see.Store(nil)
		return
	}
	p.see.Store(&see)
}

// serve starts a server that forwards to a store, and returns its URL.
func (p *proxy) serve(tb testing.TB, store string) string {
	tb.Helper()
	to, err := url.Parse(store)
	if err != nil {
		tb.Fatal("the URL of a store: ", err)
	}
	forward := httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // it is signed
		},
		// A function that is killed leaves its requests; that is no news.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		do := func() { forward.ServeHTTP(answer, r) }
		if see := p.see.Load(); see != nil {
			(*see)(operation(r), do)
		} else {
			do()
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		if p.now != nil {
			w.Header().Set("Date", p.now().UTC().Format(http.TimeFormat))
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// operation is the name of a request: that of DynamoDB, or the method of S3.
func operation(r *http.Request) string {
	if _, name, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		return name
	}
	return r.Method
}
