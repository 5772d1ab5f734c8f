package awsapp

import (
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
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
