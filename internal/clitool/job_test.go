package clitool_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A works is a tool whose work continues in a job, and the tool that reports on the job.
type works struct {
	looks  []job // the state of the job at each poll
	seen   int
	called []eraseIn
}

type job struct {
	ID       string          `json:"id"`
	State    string          `json:"state"`
	Progress *progress       `json:"progress,omitempty"`
	Result   map[string]any  `json:"result,omitempty"`
	Error    *map[string]any `json:"error,omitempty"`
}

type progress struct {
	Step  string `json:"step"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
}

type eraseIn struct {
	Name    string `json:"name" jsonschema:"what goes"`
	Confirm string `json:"confirm" unless:"dry" jsonschema:"the name again"`
	Hard    bool   `json:"hard,omitempty" jsonschema:"ask"`
	Force   bool   `json:"force,omitempty" jsonschema:"do not ask"`
	tool.Mutation
}

type jobIn struct {
	ID string `json:"id" jsonschema:"of the job"`
}

type jobAnswer struct {
	tool.Aside `json:"-"`
	Job        job `json:"job"`
}

func (w *works) tools(asks ...tool.Ask) []*tool.Tool {
	family := &tool.Family{
		Name: "works", Base: "/v1", Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter,
		Several: fault.InvalidParameter,
	}
	return []*tool.Tool{
		tool.New(tool.Spec{
			Name: "works_erase", Family: family, Title: "Erase", Doc: "Erase.", Role: auth.Admin,
			Kind: tool.Destroy, Route: tool.Route{Method: "POST", Path: "/erase"}, Job: "works_job", Asks: asks,
			Commands: []tool.Command{{Words: "erase", Args: []string{"name"}}},
		}, func(_ context.Context, _ auth.Caller, in eraseIn) (jobAnswer, error) {
			w.called = append(w.called, in)
			if in.Confirm != in.Name && (in.Confirm != "" || !in.DryRun) {
				return jobAnswer{}, fault.New(fault.InvalidParameter, "confirm must be the name")
			}
			return jobAnswer{Job: w.looks[0]}, nil
		}),
		tool.New(tool.Spec{
			Name: "works_job", Family: family, Title: "Job", Doc: "Job.", Role: auth.Reader,
			Route:    tool.Route{Method: "GET", Path: "/job/{id}"},
			Commands: []tool.Command{{Words: "job", Args: []string{"id"}}},
		}, func(context.Context, auth.Caller, jobIn) (jobAnswer, error) {
			w.seen++
			return jobAnswer{Job: w.looks[min(w.seen, len(w.looks)-1)]}, nil
		}),
	}
}

func running(done int) job {
	return job{ID: "job-1", State: "running", Progress: &progress{"log", done, 3}}
}

// TestAJobIsWaitedFor checks that a command whose work continues in a job waits for its end, and
// returns its result or its error.
func TestAJobIsWaitedFor(t *testing.T) {
	confirm := []string{"erase", "x", "--confirm", "x", "--json"}
	t.Run("done", func(t *testing.T) {
		w := &works{looks: []job{running(0), running(1), running(2),
			{ID: "job-1", State: "done", Result: map[string]any{"items": 3}}}}
		s := newShell(t, w.tools())
		code, out, _ := s.run(confirm...)
		require.Zero(t, code)
		require.Len(t, s.waits, 3)
		require.Contains(t, out, `"data":{"items":3,"job":{"id":"job-1","state":"done"}}`)
	})
	t.Run("failed", func(t *testing.T) {
		why := map[string]any{"code": "INDEX_ERROR", "message": "the log does not join"}
		w := &works{looks: []job{running(0), {ID: "job-1", State: "failed", Error: &why}}}
		code, out, _ := newShell(t, w.tools()).run(confirm...)
		require.Equal(t, fault.IndexError.Exit(), code)
		require.Contains(t, out, "the log does not join")
	})
	t.Run("cancelled", func(t *testing.T) {
		w := &works{looks: []job{running(0), {ID: "job-1", State: "cancelled"}}}
		code, out, _ := newShell(t, w.tools()).run(confirm...)
		require.Equal(t, fault.Conflict.Exit(), code)
		require.Contains(t, out, "cancelled")
	})
	t.Run("waiting with a result", func(t *testing.T) {
		waits := job{ID: "job-1", State: "waiting", Result: map[string]any{"items": 3}}
		w := &works{looks: []job{running(0), waits}}
		code, out, _ := newShell(t, w.tools()).run(confirm...)
		require.Zero(t, code)
		require.Contains(t, out, `"items":3`)
	})
	t.Run("done at once", func(t *testing.T) {
		w := &works{looks: []job{{ID: "job-1", State: "done"}}}
		s := newShell(t, w.tools())
		code, _, _ := s.run(confirm...)
		require.Zero(t, code)
		require.Empty(t, s.waits)
	})
	t.Run("not for the caller to see", func(t *testing.T) {
		w := &works{looks: []job{running(0)}}
		s := newShell(t, w.tools())
		s.fails[1] = fault.New(fault.PermissionDenied, "no")
		code, out, _ := s.run(confirm...)
		require.Zero(t, code)
		require.Contains(t, out, `"state":"running"`)
	})
	t.Run("interrupted", func(t *testing.T) {
		w := &works{looks: []job{running(0)}}
		s := newShell(t, w.tools())
		s.app.Wait = func(ctx context.Context, _ time.Duration) error {
			return fault.New(fault.Unavailable, "interrupted").Because(errors.New("signal"))
		}
		code, _, errs := s.run(confirm[:4]...)
		require.Equal(t, fault.Unavailable.Exit(), code)
		require.Contains(t, errs, "job job-1")
	})
	t.Run("on a terminal", func(t *testing.T) {
		w := &works{looks: []job{running(0), running(2), {ID: "job-1", State: "done"}}}
		s := newShell(t, w.tools())
		s.app.Progress = true
		_, _, errs := s.run(confirm...)
		require.Contains(t, errs, "Erase: log")
	})
}

// TestWhatAPersonIsAsked checks that a person at a terminal is asked before what cannot be undone,
// and that nothing is asked with --yes, with the argument itself, or without a terminal.
func TestWhatAPersonIsAsked(t *testing.T) {
	name := tool.Ask{Question: "Erase {name}?", Confirm: "confirm", Of: "name"}
	hard := tool.Ask{With: "hard", Skip: "force", Question: "Really {name}?"}
	for _, c := range []struct {
		what      string
		ask       tool.Ask
		line      string
		typed     string
		terminal  bool
		asked, ok bool
	}{
		{"the name", name, "erase x", "x\n", true, true, true},
		{"the name, without a line break", name, "erase x", "x", true, true, true},
		{"another name", name, "erase x", "y\n", true, true, false},
		{"yes is not the name", name, "erase x", "yes\n", true, true, false},
		{"nothing", name, "erase x", "", true, true, false},
		{"--yes", name, "erase x --yes", "", true, false, true},
		{"--yes of a program", name, "erase x --yes", "", false, false, true},
		{"--confirm", name, "erase x --confirm x", "", true, false, true},
		{"a wrong --confirm", name, "erase x --confirm y --yes", "", true, false, false},
		{"a program that says nothing", name, "erase x", "x\n", false, false, false},
		{"a plan", name, "erase x --dry-run", "", true, false, true},
		{"a plan of a program", name, "erase x --dry-run", "", false, false, true},
		{"a plan with a wrong --confirm", name, "erase x --dry-run --confirm y", "", true, false, false},
		{"a plan of what is asked for", hard, "erase x --hard --dry-run", "", true, false, true},
		{"yes", hard, "erase x --confirm x --hard", "y\n", true, true, true},
		{"Yes", hard, "erase x --confirm x --hard", "Yes\n", true, true, true},
		{"no", hard, "erase x --confirm x --hard", "n\n", true, true, false},
		{"not what is asked for", hard, "erase x --confirm x", "", true, false, true},
		{"skipped", hard, "erase x --confirm x --hard --force", "", true, false, true},
		{"yes ahead", hard, "erase x --confirm x --hard --yes", "", true, false, true},
		{"a program", hard, "erase x --confirm x --hard", "", false, false, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := &works{looks: []job{{ID: "job-1", State: "done"}}}
			s := newShell(t, w.tools(c.ask))
			s.app.In, s.app.Asks = strings.NewReader(c.typed), c.terminal
			code, _, errs := s.run(strings.Fields(c.line)...)
			require.Equal(t, c.asked, strings.Contains(errs, "x?"), errs)
			require.Equal(t, c.ok, code == 0, errs)
			if c.asked && !c.ok {
				require.Empty(t, w.called, "nothing is called")
				require.Contains(t, errs, "--yes")
			}
			require.Equal(t, c.ok, slices.ContainsFunc(w.called, func(in eraseIn) bool {
				return in.Confirm == "x" || in.DryRun && in.Confirm == ""
			}))
		})
	}
}

// TestAPersonTypesWhatIsNamed checks that a required name that is not on the line is requested in
// words. The typed text becomes the argument, and the tool checks it. --yes cannot fill it in.
func TestAPersonTypesWhatIsNamed(t *testing.T) {
	ask := tool.Ask{Question: "Erase everything?", Confirm: "confirm", What: "the name of the tenant"}
	for _, c := range []struct {
		what, line, typed string
		terminal          bool
		asked, called, ok bool
	}{
		{"the name", "erase x", "x\n", true, true, true, true},
		{"the name with spaces", "erase x", "  x  \n", true, true, true, true},
		{"another name", "erase x", "y\n", true, true, true, false},
		{"nothing", "erase x", "\n", true, true, false, false},
		{"the end of the input", "erase x", "", true, true, false, false},
		{"--confirm", "erase x --confirm x", "", true, false, true, true},
		{"--yes", "erase x --yes", "", true, false, false, false},
		{"--yes with the name", "erase x --yes --confirm x", "", true, false, true, true},
		{"a program", "erase x", "x\n", false, false, false, false},
		{"a plan", "erase x --dry-run", "", true, false, true, true},
		{"a plan of a program", "erase x --dry-run", "", false, false, true, true},
		{"a plan with the name", "erase x --dry-run --confirm x", "", true, false, true, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := &works{looks: []job{{ID: "job-1", State: "done"}}}
			s := newShell(t, w.tools(ask))
			s.app.In, s.app.Asks = strings.NewReader(c.typed), c.terminal
			code, _, errs := s.run(strings.Fields(c.line)...)
			require.Equal(t, c.asked, strings.Contains(errs, "Erase everything?\nType the name of the "+
				"tenant to confirm: "), errs)
			require.Equal(t, c.called, len(w.called) > 0)
			require.Equal(t, c.ok, code == 0, errs)
			switch {
			case c.asked && !c.called:
				require.Contains(t, errs, "nothing was changed")
			case !c.called:
				require.Contains(t, errs, "confirm")
			}
		})
	}
}
