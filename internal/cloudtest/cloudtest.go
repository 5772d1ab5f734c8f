// Package cloudtest runs the functions of the product for tests as AWS does: the real programs, as processes of
// lambdahost behind its gateway, over emulated stores. A proxy between the two shows each request of a function to
// the test.
package cloudtest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/lambdahost"
	"github.com/rookeryhq/rookery/internal/localcloud"
)

// Stores are a table and a bucket of one test.
type Stores struct {
	table, bucket string
	dynamodb, s3  string // URLs
}

// NewStores makes a table and a bucket, which are deleted with the test. Without emulators it skips the test.
func NewStores(tb testing.TB) Stores {
	tb.Helper()
	b := awstest.Start(tb)
	return Stores{
		table: b.Table(tb), bucket: b.Bucket(tb),
		dynamodb: aws.ToString(b.DynamoDB(nil).BaseEndpoint), s3: aws.ToString(b.AWS(tb, nil).BaseEndpoint),
	}
}

// Options say how functions are deployed. Stores are required.
type Options struct {
	Stores      Stores
	Most        int      // processes of a function at the same time; 0: 8
	Concurrency int      // events that a process serves at the same time; 0: 1
	Env         []string // more variables of the functions

	// Now is the time that the answers of the stores tell. The clock of a function follows it within two seconds,
	// from its first answer of a store on. Nil: that of the stores.
	Now func() time.Time
}

// A Deployment is a gateway with functions behind it, which have their stores through a proxy of their own.
type Deployment struct {
	URL string // of the gateway

	stores    *proxy
	functions *localcloud.Functions
	output    *output
}

// Deploy starts a gateway with the functions behind it; no process runs until a call comes. It ends with the test.
// TestMain of its package calls Main.
func Deploy(tb testing.TB, o Options) *Deployment {
	tb.Helper()
	d := &Deployment{stores: newProxy(tb, o), output: &output{}}
	server := httptest.NewUnstartedServer(nil)
	d.URL = "http://" + server.Listener.Addr().String()
	most := o.Most
	if most == 0 {
		most = 8
	}
	var err error
	d.functions, err = localcloud.Start(tb.Context(), localcloud.Deployment{
		Programs: Programs(tb), AWS: d.stores.s3, DynamoDB: d.stores.dynamodb,
		Table: o.Stores.table, Bucket: o.Stores.bucket,
		Env: o.Env, Most: most, Concurrency: o.Concurrency, Output: d.output,
	}, d.URL)
	if err != nil {
		tb.Fatal("compose the functions: ", err)
	}
	tb.Cleanup(d.functions.Close)
	server.Config.Handler = d.functions
	server.Start()
	tb.Cleanup(server.Close)
	return d
}

// Host returns the host of a function by its name.
func (d *Deployment) Host(name string) *lambdahost.Host { return d.functions.Host(name) }

// Watch shows every request of the functions to their stores to see, which must call forward once: the request has
// its effect in it. The function has its answer when see returns. A nil see ends it.
func (d *Deployment) Watch(see func(operation string, forward func())) { d.stores.watch(see) }

// Output returns what the functions have written to stdout and stderr.
func (d *Deployment) Output() string { return d.output.String() }

// Token makes an API token of an administrator of a tenant, and the tenant if there is none.
func (d *Deployment) Token(tb testing.TB, tenant string) string {
	tb.Helper()
	token, err := d.functions.Token(tb.Context(), tenant)
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

// Client calls the tools through the gateway.
func (d *Deployment) Client(token string) *httptool.Client {
	return &httptool.Client{Base: d.URL, Token: token}
}

// A Bearer is an HTTP transport that sends a token with each request.
type Bearer string

// RoundTrip implements http.RoundTripper.
func (b Bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// An output takes what several processes write.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
