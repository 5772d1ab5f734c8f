package awsapp

import (
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/logging"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/sqsqueue"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Serve is the main function of a program that answers events of AWS Lambda with its Part, until
// the process ends. It does not return. It writes its log to stderr as JSON lines, without any
// content of requests.
func Serve(p Part) {
	serve(func(d *deployment) (lambda.Handler, error) {
		d.Part = p
		if d.queue != nil {
			d.Queue = d.queue
		}
		return New(d.Options)
	})
}

// A deployment is the Options of a function and the stores and queues that its environment names.
type deployment struct {
	Options
	bucket *s3blob.Bucket
	own    *tenantStores   // nil: all tenants use the stores of the function
	queue  *sqsqueue.Queue // of jobs; nil if there is none
	events *sqsqueue.Queue // of bucket events; nil if it is unknown
}

// serve is the main function of a program whose handler begin returns. It exits with status 1 after
// an error, which it logs, and does not return. Lambda reports the exit as a failed start, and
// tries again with the next event.
func serve(begin func(*deployment) (lambda.Handler, error)) {
	log.SetOutput(io.Discard) // modules may print data that they cannot parse
	e, err := ReadEnvironment(os.Getenv)
	logger := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: e.Level}))
	if err == nil && os.Getenv("AWS_LAMBDA_RUNTIME_API") == "" {
		err = errors.New("this program runs in AWS Lambda")
	}
	var d *deployment
	if err == nil {
		d, err = open(e, logger)
	}
	var h lambda.Handler
	if err == nil {
		h, err = begin(d)
	}
	if err != nil {
		logger.Error("the function cannot begin", slog.Any("cause", err))
		os.Exit(1)
	}
	lambda.StartWithOptions(h)
}

// serveBackground is serve for functions that answer no requests, for which the queue of jobs is
// required.
func serveBackground(begin func(*deployment) lambda.Handler) {
	serve(func(d *deployment) (lambda.Handler, error) {
		if d.queue == nil {
			return nil, errors.New("ROOKERY_JOBS_QUEUE must be the URL of the queue of jobs")
		}
		d.Queue = d.queue
		return begin(d), nil
	})
}

// open returns the deployment of an environment. It reads nothing from the stores.
func open(e Environment, logger *slog.Logger) (*deployment, error) {
	boundHeap(e.Memory)
	d, err := stores(e, logger)
	if err != nil {
		return nil, err
	}
	d.Server, d.Memory, d.Log, d.Version = e.Server, e.Memory, logger, version()
	return d, nil
}

// boundHeap sets the soft memory limit of the process to nine tenths of its memory, unless
// GOMEMLIMIT is set. A function that exceeds its memory is killed in the middle of its calls.
// memory is in bytes; 0 leaves the limit as it is.
func boundHeap(memory int64) {
	if memory > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory / 10 * 9)
	}
}

// stores returns the stores and queues in the account and region of the environment. They share one
// HTTP client, and one clock, which the answers of AWS correct, because the signatures of requests
// and the times of erasures depend on it.
func stores(e Environment, logger *slog.Logger) (*deployment, error) {
	clock, transport := awsclient.NewClock(nil), awsclient.NewHTTP(nil)
	cfg, err := configuration(clock.Client(transport))
	if err != nil {
		return nil, err
	}
	ofTable := dynamotable.Options{Now: clock.Now, Log: logger}
	ofBucket := s3blob.Options{Now: clock.Now, Log: logger}
	d := &deployment{bucket: s3blob.New(cfg, e.Bucket, ofBucket)}
	d.Options = Options{
		Table: dynamotable.New(cfg, e.Table, ofTable), Bucket: d.bucket,
		Begin: transport.Begin, Now: clock.Now, Clocked: clock.Dated,
		Metrics: NewMetrics(e, transport.Sent),
	}
	if e.Role != "" {
		d.own = newTenantStores(cfg, e, ofTable, ofBucket)
		d.Stores = d.own.open
	}
	if e.Jobs != "" {
		d.queue = sqsqueue.New(cfg, e.Jobs, sqsqueue.Options{Dead: e.Dead, Now: clock.Now, Log: logger})
	}
	if e.Events != "" {
		d.events = sqsqueue.New(cfg, e.Events, sqsqueue.Options{Dead: e.Dead, Now: clock.Now, Log: logger})
	}
	return d, nil
}

// configuration returns the region, credentials and endpoints of AWS's environment variables. A
// function has its credentials only there, so the other sources of the SDK are not linked, which
// makes the program smaller and its start faster (docs/design/0036).
func configuration(client aws.HTTPClient) (aws.Config, error) {
	env, err := awsconfig.NewEnvConfig()
	if err != nil {
		return aws.Config{}, fmt.Errorf("read the variables of AWS: %w", err)
	}
	if env.Region == "" || !env.Credentials.HasKeys() {
		return aws.Config{}, errors.New("AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be there, " +
			"as AWS Lambda sets them")
	}
	cfg := aws.Config{
		Region: env.Region, HTTPClient: client, Logger: logging.Nop{}, ConfigSources: []any{env},
		Credentials: credentials.StaticCredentialsProvider{Value: env.Credentials},
	}
	if env.BaseEndpoint != "" {
		cfg.BaseEndpoint = aws.String(env.BaseEndpoint)
	}
	return cfg, nil
}

// version returns the version of the module, or else the commit that the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && info.Main.Version == "(devel)" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return info.Main.Version
}

// A Part is the set of routes that one function serves. Every function has the whole catalogue,
// because tools refer to each other. Small functions exist so that their concurrency and memory can
// be set apart; they are the same program with another Part.
type Part struct{ family string }

// Everything is the Part with all routes, MCP, the pages beside them, and the tools by name.
var Everything = Part{}

// Family returns the Part with only the routes of one family of tools.
func Family(name string) Part { return Part{name} }

// families returns the families whose routes are served; nil means everything. It returns an error
// for a family without a tool.
func (p Part) families(cat *tool.Catalogue) ([]*tool.Family, error) {
	if p == Everything {
		return nil, nil
	}
	for _, t := range cat.Tools() {
		if t.Family.Name == p.family {
			return []*tool.Family{t.Family}, nil
		}
	}
	return nil, fmt.Errorf("there is no family %q of tools", p.family)
}

// A Route is a route of the gateway to one of the functions. Requests without a matching route go
// to the function that serves everything.
type Route struct {
	Pattern string // such as "ANY /v1/vaults/{vault}/objects/{rest+}"
	Family  string // of tools, which the function serves
}

// Routes returns the routes of a gateway that lead the paths of tools to the functions of their
// families, sorted by pattern. There is a wildcard route only for paths below which a tool has one;
// all others reach the function that serves everything, which answers that they do not exist. The
// template of the deployment must contain exactly these; a test compares the two.
func Routes(cat *tool.Catalogue) []Route {
	families := map[string]string{}
	for _, t := range cat.Tools() {
		if t.Path() == "" {
			continue
		}
		families[patternOf(t.Path())] = t.Family.Name
	}
	var all []Route
	for pattern, family := range families {
		all = append(all, Route{pattern, family})
	}
	slices.SortFunc(all, func(a, b Route) int { return strings.Compare(a.Pattern, b.Pattern) })
	return all
}

// vaultPath is the prefix of the paths of one vault.
const vaultPath = "/v1/vaults/{vault}"

// patternOf returns the gateway's route for the path of a tool: the first word after the version or
// the vault, and a wildcard if more follows. So a family needs few routes, and an HTTP API allows a
// limited number.
func patternOf(path string) string {
	if name, ok := strings.CutPrefix(path, "/v1/vaults/{"); ok && strings.HasSuffix(name, "}") &&
		!strings.Contains(name, "/") {
		return "ANY " + vaultPath // a parameter must have the same name in all routes
	}
	base := "/v1"
	if strings.HasPrefix(path, vaultPath+"/") {
		base = vaultPath
	}
	word, _, more := strings.Cut(strings.TrimPrefix(path, base+"/"), "/")
	if more {
		word += "/{rest+}"
	}
	return "ANY " + base + "/" + word
}
