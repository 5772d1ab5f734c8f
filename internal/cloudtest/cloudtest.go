// Package cloudtest runs the functions of the product for tests as AWS does: the real programs, as processes of
// lambdahost behind its gateway, over emulated stores. A proxy between the two shows each request of a function to
// the test.
package cloudtest

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"rookery/internal/awsapp"
	"rookery/internal/awstest"
	"rookery/internal/httptool"
	"rookery/internal/lambdahost"
	"rookery/internal/tool"
)

// whole is the function that serves everything, also what no other route matches.
const whole = "mcp"

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

// Options say how functions are deployed. Programs and Stores are required.
type Options struct {
	Programs string // a directory with the programs of the functions, by their names
	Stores   Stores
	Tools    *tool.Catalogue // whose routes the gateway has; nil: all go to the function that serves everything
	Most     int             // processes of a function at the same time; 0: 8
	Env      []string        // more variables of the functions
}

// A Deployment is a gateway with functions behind it, which have their stores through a proxy of their own.
type Deployment struct {
	URL string // of the gateway

	stores *proxy
	hosts  map[string]*lambdahost.Host
	output *output
}

// Deploy starts a gateway with the functions behind it; no process runs until a call comes. It ends with the test.
func Deploy(tb testing.TB, o Options) *Deployment {
	tb.Helper()
	d := &Deployment{stores: newProxy(tb, o.Stores), hosts: map[string]*lambdahost.Host{}, output: &output{}}
	server := httptest.NewUnstartedServer(nil)
	d.URL = "http://" + server.Listener.Addr().String()
	routes := map[string]lambdahost.Invoker{"$default": d.host(tb, o, whole)}
	if o.Tools != nil {
		for _, r := range awsapp.Routes(o.Tools) {
			routes[r.Pattern] = d.host(tb, o, r.Family)
		}
	}
	gateway, err := lambdahost.NewGateway(routes)
	if err != nil {
		tb.Fatal("make the gateway: ", err)
	}
	server.Config.Handler = gateway
	server.Start()
	tb.Cleanup(server.Close)
	return d
}

// host returns the host of a function.
func (d *Deployment) host(tb testing.TB, o Options, name string) *lambdahost.Host {
	if h := d.hosts[name]; h != nil {
		return h
	}
	most := o.Most
	if most == 0 {
		most = 8
	}
	h := lambdahost.Start(tb.Context(), lambdahost.Function{
		Binary: filepath.Join(o.Programs, name), Name: name, Most: most, Output: d.output, Freezes: true,
		Env: append([]string{
			"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
			"AWS_ENDPOINT_URL_DYNAMODB=" + d.stores.dynamodb, "AWS_ENDPOINT_URL_S3=" + d.stores.s3,
			"ROOKERY_TABLE=" + o.Stores.table, "ROOKERY_BUCKET=" + o.Stores.bucket,
			"ROOKERY_PUBLIC_URL=" + d.URL,
			"ROOKERY_LIMITS_MUTATIONS_PER_MINUTE=100000", "ROOKERY_LIMITS_READS_PER_MINUTE=100000",
		}, o.Env...),
	})
	tb.Cleanup(h.Close)
	d.hosts[name] = h
	return h
}

// Host returns the host of a function by its name.
func (d *Deployment) Host(name string) *lambdahost.Host { return d.hosts[name] }

// Watch shows every request of the functions to their stores to see, which must call forward once: the request has
// its effect in it. The function has its answer when see returns. A nil see ends it.
func (d *Deployment) Watch(see func(operation string, forward func())) { d.stores.watch(see) }

// Output returns what the functions have written to stdout and stderr.
func (d *Deployment) Output() string { return d.output.String() }

// Token makes an API token of an administrator of a tenant, and the tenant if there is none.
func (d *Deployment) Token(tb testing.TB, tenant string) string {
	tb.Helper()
	event, err := json.Marshal(map[string]string{
		"rookery": "token-create", "tenant": tenant, "name": "first", "role": "admin",
	})
	if err != nil {
		tb.Fatal(err)
	}
	answer, err := d.hosts[whole].Invoke(tb.Context(), event)
	if err != nil {
		tb.Fatal("make a token: ", err)
	}
	var made struct{ Token string }
	if err := json.Unmarshal(answer, &made); err != nil || made.Token == "" {
		tb.Fatal("make a token: there is none in the answer")
	}
	return made.Token
}

// Client calls the tools through the gateway.
func (d *Deployment) Client(token string) *httptool.Client {
	return &httptool.Client{Base: d.URL, Token: token}
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
