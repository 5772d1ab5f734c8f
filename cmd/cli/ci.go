package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rookery/internal/ci"
	"rookery/internal/clitool"
	"rookery/internal/control"
	"rookery/internal/fault"
	"rookery/internal/tool"
)

// oneCall is how long one call of `rookery ci` may take.
const oneCall = 3 * time.Second

// mostSummary is how many bytes are added to a summary of GitHub.
const mostSummary = 16 << 10

// A builds has what the commands of `rookery ci` have in common.
type builds struct {
	app      *clitool.App
	goal     string
	job      string
	tenant   string
	audience string
	summary  string
	patience time.Duration
}

// ciCommand is the group of commands for CI.
func ciCommand(app *clitool.App) *cobra.Command {
	group := &cobra.Command{Use: "ci", Short: "Remember how builds fail, and what fixed them"}
	l, r := &learner{builds: builds{app: app}}, &recaller{builds: builds{app: app}}
	group.AddCommand(l.command(), r.command())
	return group
}

// flags adds the flags that both commands have.
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

// env is a variable of the environment.
func (b *builds) env(name string) string {
	if b.app.Env == nil {
		return ""
	}
	return b.app.Env(name)
}

// describe returns the job that runs, as far as the environment and Git tell.
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

// A memoryCaller calls the tools of memory for a build.
type memoryCaller struct {
	tool.Invoker
	vault string
}

// An envelope is what a tool answers.
type envelope struct {
	Data json.RawMessage `json:"data"`
	Meta struct {
		Version string `json:"version"`
	} `json:"meta"`
}

// call calls a tool, and returns the version of its answer.
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

// membersOf are the members of a value as JSON.
func membersOf(value any) (map[string]any, error) {
	data, err := tool.Marshal(value)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	return all, json.Unmarshal(data, &all)
}

// A known is a memory as memory_recall tells of it at the depth complete.
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

// newest is when the memory was stored last, in Unix milliseconds.
func (k known) newest() int64 { return max(k.CreatedAt, k.UpdatedAt) }

// day is the day of a time.
func day(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateOnly) }

// recall returns what memory_recall finds, and the version at which it was found.
func (m memoryCaller) recall(ctx context.Context, in map[string]any) ([]known, string, error) {
	var out struct {
		Memories []known `json:"memories"`
	}
	version, err := m.call(ctx, "memory_recall", in, &out)
	return out.Memories, version, err
}

// connect reaches the vault of the build memories, with the token of the job.
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

// say writes a line for people.
func (b *builds) say(format string, args ...any) {
	_, _ = fmt.Fprintln(b.app.Err, "rookery ci: "+control.Escape(fmt.Sprintf(format, args...)))
}

// reason is why something was not done, in one line.
func reason(err error) string {
	f := fault.Of(err)
	if f.Code == fault.Internal {
		return "an internal error"
	}
	return f.Message
}

// summarise adds Markdown to the summary of the job.
func (b *builds) summarise(path, text string) {
	if path == "" || text == "" {
		return
	}
	f, err := os.OpenFile(filepath.Clean(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // the file of the job
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
