package awsapp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/table"
)

// An Environment is the configuration of a function, from its environment variables.
type Environment struct {
	Server config.Config
	Table  string // the name of the table
	Bucket string // the name of the bucket
	Jobs   string // the URL of the queue of jobs; empty if there is none
	Events string // the URL of the queue of bucket events; empty if it is unknown
	Dead   string // the URL of the queue of dead letters; empty if there is none
	Role   string // the ARN of the role for the stores of one tenant; empty: the role of the function
	Level  slog.Level
	Memory int64 // memory of the function in bytes; 0 if it is unknown

	Stack       string // the stack dimension of the metrics; empty: no metrics
	Function    string // the name of the function
	ToolMetrics bool   // adds metrics of each function and of each tool
}

// elsewhere contains the variables of a server with its own listener. In a function they are
// errors.
var elsewhere = []string{
	"ROOKERY_LISTEN", "ROOKERY_DATA", "ROOKERY_TLS_CERT", "ROOKERY_TLS_KEY", "ROOKERY_TRUSTED_PROXIES",
	"ROOKERY_METRICS_LISTEN", "ROOKERY_MAX_CONNECTIONS",
}

// ReadEnvironment reads the configuration of a function: the keys of a server's configuration as
// variables, and those of a function. It reports all problems of the latter in one *fault.Fault,
// INVALID_PARAMETER, so that a deployment is corrected in one step. It contacts nothing.
func ReadEnvironment(env func(string) string) (Environment, error) {
	r := environmentReader{env: env, Environment: Environment{
		Table: env("ROOKERY_TABLE"), Bucket: env("ROOKERY_BUCKET"),
		Jobs: env("ROOKERY_JOBS_QUEUE"), Dead: env("ROOKERY_DEAD_LETTERS"),
		Events: env("ROOKERY_EVENTS_QUEUE"), Role: env("ROOKERY_TENANT_ROLE"),
		Stack: env("ROOKERY_STACK"), Function: env("AWS_LAMBDA_FUNCTION_NAME"),
	}}
	server, err := config.Load("", env)
	if err != nil {
		return r.Environment, err
	}
	r.Server = server
	r.check()
	r.read()
	return r.Environment, fault.Join(fault.InvalidParameter, r.problems).Err()
}

// An environmentReader reads an Environment and collects the problems with it.
type environmentReader struct {
	Environment
	env      func(string) string
	problems []*fault.Fault
}

// wrong adds a problem.
func (r *environmentReader) wrong(format string, args ...any) {
	r.problems = append(r.problems, fault.New(fault.InvalidParameter, format, args...))
}

// check reports variables that a function cannot have, or lacks.
func (r *environmentReader) check() {
	for _, name := range elsewhere {
		if r.env(name) != "" {
			r.wrong("%s is for a server that listens itself: leave it out", name)
		}
	}
	for name, value := range map[string]string{"ROOKERY_TABLE": r.Table, "ROOKERY_BUCKET": r.Bucket} {
		if value == "" {
			r.wrong("%s must be the name of one of the deployment", name)
		}
	}
	if !isPublic(r.Server.PublicURL) {
		r.wrong("ROOKERY_PUBLIC_URL must be the URL of the gateway, and begin with https://")
	}
	if namesLocal(r.Server) {
		r.wrong("no tenant of issuers or first_admin can be called %q", auth.Local)
	}
}

// read reads the variables that are not plain texts.
func (r *environmentReader) read() {
	if text := r.env("ROOKERY_LOG_LEVEL"); text != "" && r.Level.UnmarshalText([]byte(text)) != nil {
		r.wrong("ROOKERY_LOG_LEVEL must be debug, info, warn or error")
	}
	if text := r.env("ROOKERY_TOOL_METRICS"); text != "" {
		on, err := strconv.ParseBool(text)
		if err != nil {
			r.wrong("ROOKERY_TOOL_METRICS must be true or false")
		}
		r.ToolMetrics = on
	}
	if text := r.env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"); text != "" {
		mebibytes, err := strconv.ParseInt(text, 10, 32)
		if err != nil || mebibytes <= 0 {
			r.wrong("AWS_LAMBDA_FUNCTION_MEMORY_SIZE must be a number of MiB")
		}
		r.Memory = mebibytes << 20
	}
}

// isPublic reports whether a URL can be that of a gateway: it has the scheme https, or is on this
// machine, as in the local cloud.
func isPublic(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// namesLocal reports whether a configuration names the local tenant, which is that of a server
// without authentication.
func namesLocal(c config.Config) bool {
	return slices.ContainsFunc(c.Issuers, func(i config.Issuer) bool { return i.Tenant == auth.Local }) ||
		slices.ContainsFunc(c.FirstAdmins, func(a config.Admin) bool { return a.Tenant == auth.Local })
}

const (
	// releasePause is how long the images of a new format are not put in use after a release with
	// it first ran. It is the longest time for which an invocation of an earlier release may still
	// run.
	releasePause = 15 * time.Minute

	// releaseAgain is the time after which the item is read again if it could not be read.
	releaseAgain = 10 * time.Second
)

// releaseKey returns the key of the item with the release of the deployment. No tenant can have
// such a name, and a list of the tenants ends before it.
func releaseKey() table.Key { return table.Key{Part: "~tenants", Sort: "~release"} }

// A releaseItem is the content of the item.
type releaseItem struct {
	Format int       `json:"format"` // of images
	Since  time.Time `json:"since"`  // when a process with it first started
}

// A release decides whether images of the format of this release may be put in use, or whether
// those of an earlier format are kept, because processes of an earlier release may still run
// (docs/design/0066). It is safe for concurrent use.
//
// The deployment has one item with the newest format, and the time since when a process with that
// format has run. A process of an earlier release could not read images of a newer format, and
// would have to replay whole logs; releasePause is longer than any of its invocations.
type release struct {
	table table.Table
	now   func() time.Time
	log   *slog.Logger

	mu    sync.Mutex
	known releaseItem
	asked time.Time // when the item was last read
}

// keepsOldFormat reports whether images of an earlier format are kept. It returns true if that is
// unknown. After the item was read once, it costs no request.
func (r *release) keepsOldFormat(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if r.known.Format == 0 && now.Sub(r.asked) >= releaseAgain {
		r.asked = now
		known, err := r.load(ctx)
		if err != nil {
			r.log.ErrorContext(ctx, "it is not known which release runs", slog.Any("cause", err))
		}
		r.known = known
	}
	if r.known.Format > index.ImageFormat { // a later release runs; only a new process reads the item again
		return true
	}
	return r.known.Format == 0 || now.Sub(r.known.Since) < releasePause
}

// load reads the item, and replaces it if it is that of an earlier release, or cannot be decoded.
// It costs one request, and another one for the first process of a release. The item of a later
// release is returned as it is.
func (r *release) load(ctx context.Context) (releaseItem, error) {
	own := releaseItem{Format: index.ImageFormat, Since: r.now().UTC().Round(0)}
	data, err := json.Marshal(own)
	if err != nil {
		return releaseItem{}, err
	}
	mine := table.Item{Key: releaseKey(), Data: data}
	is, err := r.table.Get(ctx, releaseKey())
	if errors.Is(err, table.ErrNotFound) {
		return r.write(ctx, table.Create(mine), own)
	}
	if err != nil {
		return releaseItem{}, err
	}
	var known releaseItem
	if err := json.Unmarshal(is.Data, &known); err != nil || known.Format < own.Format {
		return r.write(ctx, table.Replace(is, mine), own)
	}
	return known, nil
}

// write writes the item and returns it. After a conflict it returns a zero item, so that the item
// is read again.
func (r *release) write(ctx context.Context, op table.Op, own releaseItem) (releaseItem, error) {
	err := r.table.Commit(ctx, op)
	if _, ok := errors.AsType[*table.Conflict](err); ok {
		return releaseItem{}, nil // the item is read again later
	}
	if err != nil {
		return releaseItem{}, err
	}
	return own, nil
}
