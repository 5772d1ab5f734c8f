// Package localcloud serves the functions of AWS Lambda on this machine, over emulators of DynamoDB and S3: the real
// programs, as processes behind a gateway that behaves as an HTTP API does. It is for trying them out, and for tests
// of other programs against them; no function links it.
package localcloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"rookery/internal/awsapp"
	"rookery/internal/eventsource"
	"rookery/internal/hosted"
	"rookery/internal/lambdahost"
	"rookery/internal/tool"
)

// Options say what is served, and where. All are required but Output.
type Options struct {
	Programs string // a directory with the functions: NAME/bootstrap
	Listen   string // HOST:PORT of the gateway, on loopback
	AWS      string // the URL of the emulator of S3 and SQS
	DynamoDB string // the URL of that of DynamoDB
	Table    string // the name of the table
	Bucket   string // the name of the bucket

	Output io.Writer // what the functions write; nil: it is discarded
}

const (
	tenant = "local-cloud" // the tenant of the first token
	whole  = "mcp"         // the function that serves everything, also what no route matches
	jobs   = "jobs"        // the function that works on the messages of the queue of jobs
	stream = "stream"      // the function behind the stream of the table

	// rate is how many calls a minute an agent may make: for programs that test.
	rate = 100_000

	// grace is how long calls may go on after the end was asked for.
	grace = 2 * time.Second

	// The time that an invocation of a function may take which no gateway waits for.
	jobsTimeout   = 15 * time.Minute
	streamTimeout = 2 * time.Minute
)

// Run serves until the context ends, and then ends all processes. When calls can be made it writes two lines to out,
// as variables of a shell: ROOKERY_SERVER and ROOKERY_TOKEN, the token of an administrator.
func Run(ctx context.Context, o Options, out io.Writer) error {
	if err := makeStores(ctx, o); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	base := "http://" + l.Addr().String()
	events, err := newSources(ctx, o)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	hosts, gateway, err := functions(o, environment(o, base, events))
	if err != nil {
		return errors.Join(err, l.Close())
	}
	mappings := events.mappings(ctx, hosts)
	server := &http.Server{Handler: gateway, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	token, err := firstToken(ctx, hosts[whole])
	if err == nil {
		_, err = fmt.Fprintf(out, "ROOKERY_SERVER=%s\nROOKERY_TOKEN=%s\n", base, token)
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-served:
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if server.Shutdown(last) != nil {
		_ = server.Close() // what did not end in time is cut off
	}
	for _, h := range hosts {
		h.Close()
	}
	for _, m := range mappings {
		m.Close()
	}
	return err
}

// functions are the hosts of the functions by their names, and the gateway before those that answer requests.
func functions(o Options, env []string) (map[string]*lambdahost.Host, http.Handler, error) {
	cat, err := tool.NewCatalogue(hosted.Tools(nil, nil), tool.Options{})
	if err != nil {
		return nil, nil, err
	}
	hosts := map[string]*lambdahost.Host{}
	host := func(name string) *lambdahost.Host {
		if hosts[name] == nil {
			hosts[name] = o.host(name, env, 0)
		}
		return hosts[name]
	}
	hosts[jobs], hosts[stream] = o.host(jobs, env, jobsTimeout), o.host(stream, env, streamTimeout)
	routes := map[string]lambdahost.Invoker{"$default": host(whole)}
	for _, r := range awsapp.Routes(cat) {
		routes[r.Pattern] = host(r.Family)
	}
	gateway, err := lambdahost.NewGateway(routes)
	return hosts, gateway, err
}

// host is that of a function; timeout 0 is the usual one.
func (o Options) host(name string, env []string, timeout time.Duration) *lambdahost.Host {
	return lambdahost.Start(context.Background(), lambdahost.Function{
		Binary: filepath.Join(o.Programs, name, "bootstrap"), Name: name, Env: env, Timeout: timeout,
		Freezes: true, Output: o.Output,
	})
}

// sources are where the events of the functions come from that no gateway is in front of: the queue of jobs with its
// dead letters, and the stream of the table.
type sources struct {
	queues     *sqs.Client
	streams    *dynamodbstreams.Client
	jobs, dead string // URLs
	stream     string // ARN
}

func newSources(ctx context.Context, o Options) (s sources, err error) {
	s.queues = sqs.NewFromConfig(configuration(o.AWS))
	s.streams = dynamodbstreams.NewFromConfig(configuration(o.DynamoDB))
	if s.stream, err = streamOf(ctx, o); err == nil {
		s.jobs, s.dead, err = makeQueues(ctx, s.queues, o.Table)
	}
	return s, err
}

// mappings hand what comes to the functions.
func (s sources) mappings(ctx context.Context, hosts map[string]*lambdahost.Host) []*eventsource.Mapping {
	return []*eventsource.Mapping{
		eventsource.Queue(ctx, s.queues, s.jobs, hosts[jobs]),
		eventsource.Stream(ctx, s.streams, s.stream, hosts[stream]),
	}
}

// environment is that of each function.
func environment(o Options, base string, s sources) []string {
	return []string{
		"AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=" + key, "AWS_SECRET_ACCESS_KEY=" + key,
		"AWS_ENDPOINT_URL=" + o.AWS, "AWS_ENDPOINT_URL_DYNAMODB=" + o.DynamoDB,
		"ROOKERY_JOBS_QUEUE=" + s.jobs, "ROOKERY_DEAD_LETTERS=" + s.dead,
		"ROOKERY_TABLE=" + o.Table, "ROOKERY_BUCKET=" + o.Bucket, "ROOKERY_PUBLIC_URL=" + base,
		fmt.Sprintf("ROOKERY_LIMITS_MUTATIONS_PER_MINUTE=%d", rate),
		fmt.Sprintf("ROOKERY_LIMITS_READS_PER_MINUTE=%d", rate),
	}
}

// firstToken makes a token of an administrator, and its tenant if there is none.
func firstToken(ctx context.Context, function *lambdahost.Host) (string, error) {
	event, err := tool.Marshal(map[string]string{
		"rookery": "token-create", "tenant": tenant, "name": "local-cloud", "role": "admin",
	})
	if err != nil {
		return "", err
	}
	answer, err := function.Invoke(ctx, event)
	if err != nil {
		return "", fmt.Errorf("make the first token: %w", err)
	}
	var made struct{ Token string }
	if err := json.Unmarshal(answer, &made); err != nil || made.Token == "" {
		return "", errors.New("make the first token: the answer has none")
	}
	return made.Token, nil
}
