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

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/eventsource"
	"github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/lambdahost"
	"github.com/rookeryhq/rookery/internal/tool"
)

const (
	whole = "mcp" // the function that serves everything, and requests without another route

	// rate is how many calls an agent may make per minute. It is high because test programs make
	// many.
	rate = 100_000
)

// A Deployment describes the functions to run, and their stores. The fields up to Bucket are
// required.
type Deployment struct {
	Programs string // a directory with the functions as NAME/bootstrap
	AWS      string // the URL of the emulator of S3 and SQS
	DynamoDB string // the URL of the emulator of DynamoDB
	Table    string // the name of the table
	Bucket   string // the name of the bucket

	// Queue is the name of the queue of jobs; the queue of its dead letters is NAME-dead-letters.
	// If it is empty, functions get no events other than requests.
	Queue string

	JanitorEvery time.Duration // the time between two invocations of the janitor; 0: one hour

	// Own returns additional variables of one function, "KEY=value". They override those of all
	// functions. It may be nil.
	Own func(function string) []string

	Env         []string  // additional variables of all functions, "KEY=value"
	Most        int       // the most processes of a function at once; 0: the default of lambdahost
	Concurrency int       // the events that a process handles at once; 0: 1
	Output      io.Writer // for the output of the functions; nil: discard
}

// A Functions serves all functions over HTTP through a gateway. Close ends their processes.
type Functions struct {
	http.Handler
	hosts    map[string]*lambdahost.Host
	mappings []*eventsource.Mapping
}

// Start starts the functions behind a gateway with this URL. If the deployment has a queue, it also
// invokes them with the events of the queue of jobs, of the table's stream, of the bucket, and of a
// schedule. Processes start with the first event.
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

// environment returns the variables of every function.
func (d Deployment) environment(url string) []string {
	return []string{
		"AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=" + key, "AWS_SECRET_ACCESS_KEY=" + key,
		"AWS_ENDPOINT_URL=" + d.AWS, "AWS_ENDPOINT_URL_DYNAMODB=" + d.DynamoDB,
		"ROOKERY_TABLE=" + d.Table, "ROOKERY_BUCKET=" + d.Bucket, "ROOKERY_PUBLIC_URL=" + url,
		fmt.Sprintf("ROOKERY_LIMITS_MUTATIONS_PER_MINUTE=%d", rate),
		fmt.Sprintf("ROOKERY_LIMITS_READS_PER_MINUTE=%d", rate),
	}
}

// Host returns the host of the function with a name; nil if there is none.
func (f *Functions) Host(name string) *lambdahost.Host { return f.hosts[name] }

// Token creates an API token of an administrator of a tenant, and the tenant if it does not exist.
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
