package awsapp

import (
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"

	"rookery/internal/auth"
	"rookery/internal/config"
	"rookery/internal/fault"
)

// An Environment is what a function is told by its environment.
type Environment struct {
	Server config.Config
	Table  string // the name of the table
	Bucket string // the name of the bucket
	Jobs   string // the URL of the queue of jobs; empty: there is none
	Events string // the URL of the queue of events of the bucket; empty: it is not known
	Dead   string // the URL of the queue of messages that could not be worked on; empty: there is none
	Role   string // the ARN of the role for the stores of one tenant; empty: those of the function
	Level  slog.Level
	Memory int64 // bytes that the function has; 0: it is not known

	Stack       string // whose metrics are those of calls; empty: there are none
	Function    string // the name of the function
	ToolMetrics bool   // there are metrics of each function and of each tool too
}

// elsewhere are variables of a server that listens itself. In a function each would be a mistake.
var elsewhere = []string{
	"ROOKERY_LISTEN", "ROOKERY_DATA", "ROOKERY_TLS_CERT", "ROOKERY_TLS_KEY", "ROOKERY_TRUSTED_PROXIES",
	"ROOKERY_METRICS_LISTEN", "ROOKERY_MAX_CONNECTIONS",
}

// ReadEnvironment reads the environment of a function: the keys of a server's configuration as variables, and its
// own. All problems come together in one *fault.Fault, INVALID_PARAMETER.
func ReadEnvironment(env func(string) string) (Environment, error) {
	e := Environment{
		Table: env("ROOKERY_TABLE"), Bucket: env("ROOKERY_BUCKET"),
		Jobs: env("ROOKERY_JOBS_QUEUE"), Dead: env("ROOKERY_DEAD_LETTERS"),
		Events: env("ROOKERY_EVENTS_QUEUE"), Role: env("ROOKERY_TENANT_ROLE"),
		Stack: env("ROOKERY_STACK"), Function: env("AWS_LAMBDA_FUNCTION_NAME"),
	}
	var problems []*fault.Fault
	wrong := func(format string, args ...any) {
		problems = append(problems, fault.New(fault.InvalidParameter, format, args...))
	}
	for _, name := range elsewhere {
		if env(name) != "" {
			wrong("%s is for a server that listens itself: leave it out", name)
		}
	}
	server, err := config.Load("", env)
	if err != nil {
		return e, err
	}
	e.Server = server
	for name, value := range map[string]string{"ROOKERY_TABLE": e.Table, "ROOKERY_BUCKET": e.Bucket} {
		if value == "" {
			wrong("%s must be the name of one of the deployment", name)
		}
	}
	if !isPublic(server.PublicURL) {
		wrong("ROOKERY_PUBLIC_URL must be the URL of the gateway, and begin with https://")
	}
	if namesLocal(server) {
		wrong("no tenant of issuers or first_admin can be called %q", auth.Local)
	}
	if text := env("ROOKERY_LOG_LEVEL"); text != "" && e.Level.UnmarshalText([]byte(text)) != nil {
		wrong("ROOKERY_LOG_LEVEL must be debug, info, warn or error")
	}
	if text := env("ROOKERY_TOOL_METRICS"); text != "" {
		on, err := strconv.ParseBool(text)
		if err != nil {
			wrong("ROOKERY_TOOL_METRICS must be true or false")
		}
		e.ToolMetrics = on
	}
	if text := env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"); text != "" {
		mebibytes, err := strconv.ParseInt(text, 10, 32)
		if err != nil || mebibytes <= 0 {
			wrong("AWS_LAMBDA_FUNCTION_MEMORY_SIZE must be a number of MiB")
		}
		e.Memory = mebibytes << 20
	}
	if f := fault.Join(fault.InvalidParameter, problems); f != nil {
		return e, f
	}
	return e, nil
}

// isPublic reports whether a URL is one of a gateway: tokens go over TLS to all but one on this machine.
func isPublic(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// namesLocal reports whether a configuration names the tenant of a server that asks nobody for a token.
func namesLocal(c config.Config) bool {
	return slices.ContainsFunc(c.Issuers, func(i config.Issuer) bool { return i.Tenant == auth.Local }) ||
		slices.ContainsFunc(c.FirstAdmins, func(a config.Admin) bool { return a.Tenant == auth.Local })
}
