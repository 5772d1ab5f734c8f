package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/ci"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// oneCall is the timeout of one call of `rookery ci`. A server that does not answer must cost a
// build seconds, not minutes; --patience limits all calls together.
const oneCall = 3 * time.Second

// mostSummary is how many bytes are added to GitHub's job summary at most. GitHub refuses a summary
// that is too large, and other steps add to the same one.
const mostSummary = 16 << 10

// A builds contains the flags that the commands of `rookery ci` share, and the methods that both
// use: it describes the job, connects to the server and writes the summary.
//
// The rule of both commands is that they never break a build. `learn` has the exit code of the
// command that it runs, whatever happens to the memory; `recall` succeeds without a server, unless
// --strict is set. Every problem is one line on standard error that begins with "rookery ci:".
//
// The fields are the values of the flags of the same names. patience limits the time of all calls
// to the server together.
type builds struct {
	app      *clitool.App
	goal     string
	job      string
	tenant   string
	audience string
	summary  string
	patience time.Duration
}

// ciCommand returns the group of commands for CI: learn and recall. Each has its own flags, so they
// share no state.
func ciCommand(app *clitool.App) *cobra.Command {
	group := &cobra.Command{Use: "ci", Short: "Remember how builds fail, and what fixed them"}
	l, r := &learner{builds: builds{app: app}}, &recaller{builds: builds{app: app}}
	group.AddCommand(l.command(), r.command())
	return group
}

// flags adds the flags that both commands have. Defaults that come from the environment are in the
// descriptions only, because the environment is read when the command runs.
func (b *builds) flags(c *cobra.Command) {
	clitool.Uses(c, "server", "token", "data", "vault", "agent", "json", "bare", "envelope")
	f := c.Flags()
	f.StringVar(&b.goal, "goal", "", "what the command is for")
	f.StringVar(&b.job, "job", "", "name under which runs are compared (default GITHUB_JOB or CI_JOB_NAME)")
	f.StringVar(&b.tenant, "tenant", "", "tenant for which GitHub issues a token (default "+
		"ROOKERY_TENANT)")
	f.StringVar(&b.audience, "audience", "", "audience of that token (default: the server's, for the tenant)")
	f.StringVar(&b.summary, "summary", "", "file to which a summary in Markdown is added (default GITHUB_STEP_SUMMARY)")
	f.DurationVar(&b.patience, "patience", 10*time.Second, "time limit for all calls to the "+
		"server together")
}

// env returns a variable of the environment; "" if it is not set.
func (b *builds) env(name string) string {
	if b.app.Env == nil {
		return ""
	}
	return b.app.Env(name)
}

// describe returns the job that runs, from the environment of the CI system and, for the fields
// that it does not set, from Git. So a command in a shell on a developer's machine has a commit and
// a branch too. A job without a name is named by the first two words of the command, such as "go
// test": under this name, later runs are compared with this one.
func (b *builds) describe(ctx context.Context, command []string) ci.Job {
	j := ci.FromEnv(b.env, os.ReadFile)
	g := git{}
	j.Root = cmp.Or(j.Root, g.root(ctx))
	g.dir = j.Root
	j.Commit = cmp.Or(j.Commit, g.one(ctx, "rev-parse", "HEAD"))
	j.Branch = cmp.Or(j.Branch, g.one(ctx, "rev-parse", "--abbrev-ref", "HEAD"))
	j.Repository = cmp.Or(j.Repository, g.repository(ctx))
	j.Name = cmp.Or(b.job, j.Name, strings.Join(command[:min(2, len(command))], " "))
	j.Summary = cmp.Or(b.summary, j.Summary)
	return j
}

// A memoryCaller calls memory tools for a build. vault is the vault of --vault or its variable; if
// it is empty, the server chooses.
type memoryCaller struct {
	tool.Invoker
	vault string
}

// An envelope is the part of an answer that is used here: the data, and the version of the vault
// that was read, which an update passes back as if_version.
type envelope struct {
	Data json.RawMessage `json:"data"`
	Meta struct {
		Version string `json:"version"`
	} `json:"meta"`
}

// call calls a tool with a timeout of oneCall, decodes the data of its answer into out, and returns
// the version of the answer. It adds the vault to in. The error of a refused call is a fault with
// the code of the server.
func (m memoryCaller) call(ctx context.Context, name string, in map[string]any, out any) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, oneCall)
	defer cancel()
	if m.vault != "" {
		in["vault"] = m.vault
	}
	args, err := tool.Marshal(in)
	if err != nil {
		return "", err
	}
	answer, err := m.Invoke(ctx, name, args)
	if err != nil {
		return "", err
	}
	var e envelope
	if err := json.Unmarshal(answer, &e); err != nil {
		return "", fmt.Errorf("read the answer of %s: %w", name, err)
	}
	return e.Meta.Version, json.Unmarshal(e.Data, out)
}

// membersOf returns the JSON members of a value, which must be encoded as an object. It turns the
// structs of package ci into the arguments of call, which adds the vault.
func membersOf(value any) (map[string]any, error) {
	data, err := tool.Marshal(value)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	return all, json.Unmarshal(data, &all)
}

// A known is a memory in an answer of memory_recall with the depth complete: only the members that
// are printed or compared here. Times counts the runs that failed in this way; 0 counts as 1.
type known struct {
	ID        string `json:"id"`
	CreatedAt int64  `json:"created_at"`
	UpdatedAt int64  `json:"updated_at"`
	Intent    struct {
		Goal    string `json:"goal"`
		Context string `json:"context"`
	} `json:"intent"`
	Outcome struct {
		Success   bool     `json:"success"`
		Summary   string   `json:"summary"`
		Learnings []string `json:"learnings"`
	} `json:"outcome"`
	Tags  []string `json:"tags"`
	Times int      `json:"times"`
}

// newest returns when the memory was last stored, in Unix milliseconds. A failure that occurs again
// is stored in the same memory, whose creation time remains that of the first run.
func (k known) newest() int64 { return max(k.CreatedAt, k.UpdatedAt) }

// day returns the UTC day of a time in Unix milliseconds.
func day(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateOnly) }

// recall returns the memories that memory_recall finds, in the order of the server, and the version
// of its answer.
func (m memoryCaller) recall(ctx context.Context, in map[string]any) ([]known, string, error) {
	var out struct {
		Memories []known `json:"memories"`
	}
	version, err := m.call(ctx, "memory_recall", in, &out)
	return out.Memories, version, err
}

// connect connects to the vault of the build memories. A server without a given token gets the
// token that the CI system issues for this job, so no secret has to be stored in the settings of
// the repository. The session groups the memories of one run. The Closer is nil for a server;
// otherwise the caller must close it.
func (b *builds) connect(ctx context.Context, t clitool.Target, session string) (memoryCaller, io.Closer, error) {
	n := connector{b.app}
	server, err := n.server(t)
	if err != nil {
		return memoryCaller{}, nil, err
	}
	if t.Token == "" && server != "" {
		if t.Token, err = b.idToken(ctx, server); err != nil {
			return memoryCaller{}, nil, err
		}
	}
	t.Session = cmp.Or(t.Session, session)
	inv, closer, err := n.connect(ctx, t)
	return memoryCaller{inv, t.Vault}, closer, err
}

// say writes a line to standard error, after "rookery ci: ". Control characters in it are escaped,
// because messages contain text of memories and of servers. Errors of the stream are ignored.
func (b *builds) say(format string, args ...any) {
	_, _ = fmt.Fprintln(b.app.Err, "rookery ci: "+control.Escape(fmt.Sprintf(format, args...)))
}

// reason returns the cause of an error on one line. The details of an internal error are hidden:
// they may contain paths or text of the server, and the log of a build may be public.
func reason(err error) string {
	f := fault.Of(err)
	if f.Code == fault.Internal {
		return "an internal error"
	}
	return f.Message
}

// summarise appends Markdown to the job summary at path. It does nothing without a path or a text.
// An error is a line on standard error, because a missing summary must not fail the job.
func (b *builds) summarise(path, text string) {
	if path == "" || text == "" {
		return
	}
	const flags = os.O_APPEND | os.O_CREATE | os.O_WRONLY
	f, err := os.OpenFile(filepath.Clean(path), flags, 0o644) //nolint:gosec // the job's file
	if err == nil {
		_, err = f.WriteString(text)
		if closed := f.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		b.say("the summary could not be written")
	}
}

// A git runs Git in a checkout; dir is its directory, or empty for the working directory. If there
// is no Git, or no checkout, results are empty: a memory then has no commit, and nothing fails.
// Only commands that read are run.
type git struct{ dir string }

// patientGit is the timeout of one command of Git. A command may be slow in a large repository with
// cold caches. A build waits for a few commands at most, after its own has ended.
const patientGit = 5 * time.Second

// ask runs a command of Git and returns its output without blanks around it. The error is an
// *exec.ExitError if Git ran and failed. Standard error is not shown.
func (g git) ask(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patientGit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // the arguments are ours
	cmd.Dir = g.dir
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// one returns the output of a command with one line; "" if it fails, or if it is "HEAD", which
// Git prints for the branch of a detached checkout. CI systems check out in that way.
func (g git) one(ctx context.Context, args ...string) string {
	out, err := g.ask(ctx, args...)
	if err != nil || out == "HEAD" {
		return ""
	}
	return out
}

// lines returns the lines of a command's output; nil if it fails or prints nothing.
func (g git) lines(ctx context.Context, args ...string) []string {
	out, err := g.ask(ctx, args...)
	if err != nil || out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

// root returns the absolute path of the checkout, or "".
func (g git) root(ctx context.Context) string { return g.one(ctx, "rev-parse", "--show-toplevel") }

// repository returns owner/name of the remote origin, or "". It is made from the last two parts of
// the URL, and so is the same for the forms https://HOST/owner/name.git and
// git@HOST:owner/name.git. It contains neither the host nor a password in the URL.
func (g git) repository(ctx context.Context) string {
	url := strings.TrimSuffix(g.one(ctx, "remote", "get-url", "origin"), ".git")
	url = strings.ReplaceAll(url, ":", "/")
	parts := strings.Split(strings.Trim(url, "/"), "/")
	if len(parts) < 2 {
		return ""
	}
	return strings.Join(parts[len(parts)-2:], "/")
}

// changed returns the files that differ between base and HEAD or, if base is empty, those that HEAD
// changes. Paths are relative to the root of the checkout. The three dots compare with the merge
// base, so changes of the base branch are not in the list. In a shallow clone the other commit is
// missing, and the result is nil.
func (g git) changed(ctx context.Context, base string) []string {
	if base != "" {
		return g.lines(ctx, "diff", "--name-only", base+"...HEAD", "--")
	}
	return g.lines(ctx, "diff", "--name-only", "HEAD^", "HEAD", "--")
}

// hasAncestor reports whether a commit is an ancestor of HEAD, and whether that is known. Git exits
// with 1 if it is not; any other failure, such as a missing commit, leaves it unknown. A shallow
// clone has too little history for a "no". A commit that begins with a hyphen is refused, because
// it comes from a memory and Git would read it as an option.
func (g git) hasAncestor(ctx context.Context, commit string) (is, known bool) {
	if commit == "" || strings.HasPrefix(commit, "-") {
		return false, false
	}
	_, err := g.ask(ctx, "merge-base", "--is-ancestor", commit, "HEAD")
	if err == nil {
		return true, true
	}
	var exit *exec.ExitError
	no := errors.As(err, &exit) && exit.ExitCode() == 1
	return false, no && g.one(ctx, "rev-parse", "--is-shallow-repository") == "false"
}

// patientToken is the timeout of a request for a token, and mostToken the largest size of its
// answer in bytes. A token is about two KiB, so a larger answer is not that of a token service.
const (
	patientToken = 5 * time.Second
	mostToken    = 64 << 10
)

// idToken returns the token that the CI system issues for the job: ROOKERY_ID_TOKEN, a variable
// that GitLab can set to such a token, or else one that it requests from GitHub. The token is a JWT
// with the claims of the job, which the server verifies with the keys of the CI system. So a
// repository needs no stored secret.
//
// It returns "" if neither a tenant nor an audience is set: the job does not use such tokens, and
// the caller uses the stored token of `rookery login`, if there is one. It returns UNAUTHENTICATED
// if the workflow has no permission to get a token, with the line that is missing as a fix, and
// UNAVAILABLE if the request fails.
//
// A requested token is masked in the log of the job with GitHub's command ::add-mask::, before
// anything else can print it.
func (b *builds) idToken(ctx context.Context, server string) (string, error) {
	if token := b.env("ROOKERY_ID_TOKEN"); token != "" {
		return token, nil
	}
	at, secret := b.env("ACTIONS_ID_TOKEN_REQUEST_URL"), b.env("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
	tenant := cmp.Or(b.tenant, b.env("ROOKERY_TENANT"))
	switch {
	case tenant == "" && b.audience == "":
		return "", nil
	case at == "" || secret == "":
		return "", fault.New(fault.Unauthenticated, "GitHub does not issue tokens to this job").
			Fix("add to the workflow: permissions: id-token: write")
	}
	audience, err := b.audienceOf(ctx, server, tenant)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(at)
	if err != nil || !isPrivate(u) {
		return "", fault.New(fault.InvalidParameter, "ACTIONS_ID_TOKEN_REQUEST_URL must be an https URL")
	}
	query := u.Query()
	query.Set("audience", audience)
	u.RawQuery = query.Encode()
	var answer struct{ Value string }
	if err := fetch(ctx, u.String(), secret, &answer); err != nil || answer.Value == "" {
		return "", fault.New(fault.Unavailable, "GitHub issued no token to this job").Because(err)
	}
	_, err = fmt.Fprintln(b.app.Err, "::add-mask::"+answer.Value)
	return answer.Value, err
}

// audienceOf returns the audience of the token: --audience, or else the resource that the server
// reports in its OAuth metadata (RFC 9728), followed by /t/ and the tenant. A server accepts only
// tokens that were issued for it, so a token of another service cannot be used there.
func (b *builds) audienceOf(ctx context.Context, server, tenant string) (string, error) {
	if b.audience != "" {
		return b.audience, nil
	}
	var about struct{ Resource string }
	err := fetch(ctx, strings.TrimSuffix(server, "/")+access.WellKnown, "", &about)
	if err != nil || about.Resource == "" {
		return "", fault.New(fault.Unavailable, "the server does not report the audience for "+
			"tokens").
			Fix("--audience URL").Because(err)
	}
	return strings.TrimSuffix(about.Resource, "/") + "/t/" + tenant, nil
}

// isPrivate reports whether requests to a URL cannot be read on their way: it has the scheme https,
// or is http to a loopback address. The secret for the request must not be sent anywhere else. A
// name such as localhost is not accepted with http, because it could resolve to another machine.
func isPrivate(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && ip != nil && ip.IsLoopback()
}

// fetch gets JSON, with a bearer token if it is not empty, and decodes at most mostToken bytes of
// it. It follows no redirects, so the token is sent to this address only. Any status but 200 is an
// error. Errors are not faults; they are the cause of one.
func fetch(ctx context.Context, address, bearer string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, patientToken)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("ask for a token: %w", err)
	}
	r.Header.Set("Accept", "application/json")
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("ask for a token: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("ask for a token: status %d", answer.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, mostToken)).Decode(into)
}
