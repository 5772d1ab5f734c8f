package clitool_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// A shell runs command lines over a catalogue and records the calls.
type shell struct {
	app    clitool.App
	inner  tool.Invoker
	env    map[string]string
	target clitool.Target

	calls []call
	fails map[int]*fault.Fault // by the number of the call, from 0
	waits []time.Duration

	out, err strings.Builder
}

// A call is one call of the Invoker.
type call struct {
	tool string
	args string
}

// newShell returns a shell over tools. Its caller is an admin on loopback.
func newShell(t *testing.T, tools []*tool.Tool) *shell {
	t.Helper()
	catalogue, err := tool.NewCatalogue(tools, tool.Options{})
	require.NoError(t, err)
	s := &shell{inner: catalogue, env: map[string]string{}, fails: map[int]*fault.Fault{}}
	s.app = clitool.App{
		Tools: tools, In: strings.NewReader(""), Out: &s.out, Err: &s.err,
		Env: func(name string) string { return s.env[name] },
		Connect: func(_ context.Context, at clitool.Target) (tool.Invoker, io.Closer, error) {
			s.target = at
			return s, nil, nil
		},
		Wait: func(_ context.Context, d time.Duration) error {
			s.waits = append(s.waits, d)
			return nil
		},
	}
	return s
}

// sample returns a shell over the sample tools.
func sample(t *testing.T) *shell { return newShell(t, tooltest.SampleTools()) }

func (s *shell) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	s.calls = append(s.calls, call{name, string(args)})
	if f, ok := s.fails[len(s.calls)-1]; ok {
		return nil, f
	}
	return s.inner.Invoke(auth.WithCaller(ctx, auth.LocalCaller()), name, args)
}

// run runs one command line and returns its exit code and output.
func (s *shell) run(args ...string) (code int, out, err string) {
	s.out.Reset()
	s.err.Reset()
	code = s.app.Run(context.Background(), args)
	return code, s.out.String(), s.err.String()
}

func TestTargetIsReadFromFlagsAndEnvironment(t *testing.T) {
	everything := map[string]string{
		"ROOKERY_SERVER": "http://env", "ROOKERY_TOKEN": "rk_env", "ROOKERY_DATA": "/env",
		"RAVEN_VAULT": "old", "ROOKERY_AGENT": "robin", "ROOKERY_SESSION": "one",
		"ROOKERY_READONLY": "1",
	}
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want clitool.Target
	}{
		"nothing": {nil, nil, clitool.Target{}},
		"environment": {everything, nil, clitool.Target{
			Server: "http://env", Token: "rk_env", Data: "/env", Vault: "old",
			Agent: "robin", Session: "one", ReadOnly: true,
		}},
		"flags beat it": {
			everything,
			[]string{
				"--server", "http://flag", "--token=rk_flag", "--vault", "v",
				"--agent", "wren", "--session", "two", "--readonly=false",
			},
			clitool.Target{
				Server: "http://flag", Token: "rk_flag", Data: "/env", Vault: "v",
				Agent: "wren", Session: "two",
			},
		},
		"a directory beats a server of the environment": {
			map[string]string{"ROOKERY_SERVER": "http://env", "ROOKERY_DATA": "/env"},
			[]string{"--data", "d"}, clitool.Target{Data: "d"},
		},
		"our vault before Raven's": {
			map[string]string{"ROOKERY_VAULT": "ours", "RAVEN_VAULT": "old"}, nil,
			clitool.Target{Vault: "ours"},
		},
		"a vault that is a folder": {nil, []string{"--vault", "./notes"}, clitool.Target{Folder: "./notes"}},
		"this folder":              {nil, []string{"--vault", "."}, clitool.Target{Folder: "."}},
	} {
		t.Run(name, func(t *testing.T) {
			s := sample(t)
			s.env = c.env
			code, _, errs := s.run(append([]string{"whoami"}, c.args...)...)
			require.Zero(t, code, errs)
			require.True(t, s.target.Reading, "whoami changes nothing")
			s.target.From, s.target.Reading = nil, false
			require.Equal(t, c.want, s.target)
		})
	}
}

// TestWhatReads checks that Connect is told whether the only call changes something.
func TestWhatReads(t *testing.T) {
	for line, reads := range map[string]bool{"book list": true, "book new Title": false} {
		s := sample(t)
		s.run(append(strings.Fields(line), "--vault", "v")...)
		require.Equal(t, "v", s.target.Vault)
		require.Equal(t, reads, s.target.Reading, line)
	}
}

// TestServerAndDirectory checks that a line with both a server and a directory is refused.
func TestServerAndDirectory(t *testing.T) {
	s := sample(t)
	code, _, errs := s.run("whoami", "--server", "http://flag", "--data", "d")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "--server and --data cannot be used together")
	require.Empty(t, s.calls)
}

func TestReadonlyThatIsNoTruthValueIsRefused(t *testing.T) {
	s := sample(t)
	s.env["ROOKERY_READONLY"] = "perhaps"
	code, _, errs := s.run("whoami")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "ROOKERY_READONLY must be true or false")
	require.Empty(t, s.calls)
}

func TestConnectFaultIsShown(t *testing.T) {
	s := sample(t)
	s.app.Connect = func(context.Context, clitool.Target) (tool.Invoker, io.Closer, error) {
		return nil, nil, fault.New(fault.Unavailable, "no server answers").Fix("rookery serve")
	}
	code, out, errs := s.run("whoami")
	require.Equal(t, 6, code)
	require.Empty(t, out)
	require.Equal(t, "error: no server answers (UNAVAILABLE)\ntry: rookery serve\n", errs)

	code, out, errs = s.run("whoami", "--json")
	require.Equal(t, 6, code)
	require.Empty(t, errs)
	require.JSONEq(t, `{"ok":false,"error":{"code":"UNAVAILABLE","status":"unavailable",
		"message":"no server answers","fixes":["rookery serve"]},"warnings":[]}`, out)
}

func TestConnectionIsClosed(t *testing.T) {
	s := sample(t)
	closed := 0
	connect := s.app.Connect
	s.app.Connect = func(ctx context.Context, at clitool.Target) (tool.Invoker, io.Closer, error) {
		inv, _, err := connect(ctx, at)
		return inv, closer(func() { closed++ }), err
	}
	s.run("whoami")
	s.run("fail", "error")
	require.Equal(t, 2, closed)
}

type closer func()

func (c closer) Close() error { c(); return nil }

func TestExtraCommands(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		err  string
	}{
		"fault":       {[]string{"serve"}, 5, "error: another server has it (CONFLICT)\n"},
		"usage":       {[]string{"serve", "--data", "here"}, 1, "error: not here\n"},
		"plain error": {[]string{"serve", "--data", "x"}, 2, "error: something went wrong on our side"},
		"a word":      {[]string{"serve", "now"}, 1, `unknown command "now"`},
		"misspelt":    {[]string{"sreve"}, 1, `did you mean "serve"?`},
	} {
		t.Run(name, func(t *testing.T) {
			s := sample(t)
			s.app.Extra = []*cobra.Command{serve(&s.app)}
			code, _, errs := s.run(c.args...)
			require.Equal(t, c.code, code)
			require.Contains(t, errs, c.err)
			require.NotContains(t, errs, "EOF")
		})
	}
}

// serve returns a command that fails in each way in which a command of the program can.
func serve(app *clitool.App) *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "serve a folder", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch target, err := app.Target(c); {
			case err != nil:
				return err
			case target.Data == "":
				return fault.New(fault.Conflict, "another server has it")
			case target.Data == "here":
				return clitool.Usage("not %s", target.Data)
			}
			return io.ErrUnexpectedEOF
		},
	}
}

func TestTokenIsNeverPrinted(t *testing.T) {
	const token = "rk_id.swordfish"
	s := sample(t)
	s.env["ROOKERY_TOKEN"] = token
	for _, line := range [][]string{
		{"--token", token, "fail", "error"},
		{"--token", token, "fail", "error", "--json"},
		{"--token", token, "fial"},
		{"--token", token, "--help"},
		{"--token", token, "whoami", "--nonsense"},
		{"help"},
	} {
		_, out, errs := s.run(line...)
		require.NotContains(t, out+errs, "swordfish", line)
	}
}
