package localcloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"rookery/internal/awsapp"
	"rookery/internal/eventsource"
	"rookery/internal/hosted"
	"rookery/internal/lambdahost"
	"rookery/internal/tool"
)

const (
	whole = "mcp" // the function that serves everything, also what no other route matches

	// rate is how many calls a minute an agent may make: for programs that test.
	rate = 100_000
)

// A Deployment says which functions run, and over which stores. All down to Bucket are required.
type Deployment struct {
	Programs string // a directory with the functions: NAME/bootstrap
	AWS      string // the URL of the emulator of S3 and SQS
	DynamoDB string // the URL of that of DynamoDB
	Table    string // the name of the table
	Bucket   string // the name of the bucket

	// Queue is the name of the queue of jobs; that of its dead letters is NAME-dead-letters. Empty: there is none, and no
	// function has events but requests.
	Queue string

	JanitorEvery time.Duration // how often the janitor is invoked; 0: once an hour

	// Own are more variables of one function, "KEY=value", by its name: they override those of all. Nil: it has none.
	Own func(function string) []string

	Env         []string  // more variables of the functions, "KEY=value"
	Most        int       // processes of a function at the same time; 0: as lambdahost has it
	Concurrency int       // events that a process serves at the same time; 0: 1
	Output      io.Writer // what the functions write; nil: it is discarded
}

// Functions are the hosts of all functions, and the gateway in front of them, which serves them as HTTP. Close ends
// their processes.
type Functions struct {
	http.Handler
	hosts    map[string]*lambdahost.Host
	mappings []*eventsource.Mapping
}

// Start composes the functions behind a gateway with this URL, and hands them what comes from the queue of jobs, from
// the stream of the table, from the bucket and from a clock, where the deployment has a queue. No process runs until an event comes.
func Start(ctx context.Context, d Deployment, url string) (*Functions, error) {
	cat, err := tool.NewCatalogue(hosted.Tools(nil, nil), tool.Options{})
	if err != nil {
		return nil, err
	}
	s, err := d.sources(ctx)
	if err != nil {
		return nil, err
	}
	f := &Functions{hosts: map[string]*lambdahost.Host{}}
	env := slices.Concat(d.environment(url), s.environment(), d.Env)
	host := func(name string) *lambdahost.Host {
		if f.hosts[name] == nil {
			env := env
			if d.Own != nil {
				env = slices.Concat(env, d.Own(name))
			}
			f.hosts[name] = lambdahost.Start(context.Background(), lambdahost.Function{
				Binary: filepath.Join(d.Programs, name, "bootstrap"), Name: name, Env: env, Timeout: timeouts[name],
				Most: d.Most, Concurrency: d.Concurrency, Freezes: true, Output: d.Output,
			})
		}
		return f.hosts[name]
	}
	routes := map[string]lambdahost.Invoker{"$default": host(whole)}
	for _, r := range awsapp.Routes(cat) {
		routes[r.Pattern] = host(r.Family)
	}
	f.Handler, err = lambdahost.NewGateway(routes)
	if err != nil {
		f.Close()
		return nil, err
	}
	f.mappings = s.follow(d.JanitorEvery, func(name string) eventsource.Invoker { return host(name) })
	return f, nil
}

// environment is that of each function.
func (d Deployment) environment(url string) []string {
	return []string{
		"AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=" + key, "AWS_SECRET_ACCESS_KEY=" + key,
		"AWS_ENDPOINT_URL=" + d.AWS, "AWS_ENDPOINT_URL_DYNAMODB=" + d.DynamoDB,
		"ROOKERY_TABLE=" + d.Table, "ROOKERY_BUCKET=" + d.Bucket, "ROOKERY_PUBLIC_URL=" + url,
		fmt.Sprintf("ROOKERY_LIMITS_MUTATIONS_PER_MINUTE=%d", rate),
		fmt.Sprintf("ROOKERY_LIMITS_READS_PER_MINUTE=%d", rate),
	}
}

// Host returns the host of a function by its name; nil if there is none.
func (f *Functions) Host(name string) *lambdahost.Host { return f.hosts[name] }

// Token makes an API token of an administrator of a tenant, and the tenant if there is none.
func (f *Functions) Token(ctx context.Context, tenant string) (string, error) {
	event, err := tool.Marshal(map[string]string{
		"rookery": "token-create", "tenant": tenant, "name": "first", "role": "admin",
	})
	if err != nil {
		return "", err
	}
	answer, err := f.hosts[whole].Invoke(ctx, event)
	if err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	var made struct{ Token string }
	if err := json.Unmarshal(answer, &made); err != nil || made.Token == "" {
		return "", errors.New("make a token: the answer has none")
	}
	return made.Token, nil
}

// Close ends all processes.
func (f *Functions) Close() {
	for _, h := range f.hosts {
		h.Close()
	}
	for _, m := range f.mappings {
		m.Close()
	}
}
