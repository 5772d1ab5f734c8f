package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// eras are a version of the protocol with sessions and one without.
var eras = []string{"2025-06-18", "2026-07-28"}

// A bench is a home directory in which programs run.
type bench struct {
	*testing.T
	home, data string
}

func newBench(t *testing.T) bench {
	t.Helper()
	home := t.TempDir()
	return bench{t, home, filepath.Join(home, "data")}
}

// command returns the program with a command line and only these variables, in addition to those of
// the home directory.
func (d bench) command(line ...string) (*exec.Cmd, *lockedBuffer) {
	c := exec.Command("rookery", line...) // see TestMain
	c.Env = []string{
		"HOME=" + d.home, "XDG_CONFIG_HOME=" + filepath.Join(d.home, "config"),
		"XDG_STATE_HOME=" + filepath.Join(d.home, "state"), "XDG_DATA_HOME=" + filepath.Join(d.home, "share"),
	}
	log := &lockedBuffer{}
	c.Stderr = log
	return c, log
}

// A lockedBuffer is a buffer that a program writes while a test reads it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// An agent is an MCP client with the program that it started.
type agent struct {
	bench
	*sdk.ClientSession
	program *exec.Cmd
	log     *lockedBuffer
}

// agent connects a client of one version of the protocol to a program that it starts.
func (d bench) agent(era string, line ...string) *agent {
	d.Helper()
	c, log := d.command(line...)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil).Connect(d.Context(),
		&sdk.CommandTransport{Command: c, TerminateDuration: time.Minute},
		&sdk.ClientSessionOptions{ProtocolVersion: era})
	require.NoError(d, err, log.String())
	a := &agent{d, session, c, log}
	d.Cleanup(func() { _ = session.Close() }) // the test may have closed it
	return a
}

// mcp returns an agent over the data directory, or over the target of the flags.
func (d bench) mcp(era string, flags ...string) *agent {
	d.Helper()
	return d.agent(era, append([]string{"mcp", "--path", "/mcp/x/all", "--data", d.data}, flags...)...)
}

// call calls a tool, which may fail, and returns the envelope.
func (a *agent) call(name string, args map[string]any) (string, error) {
	if args == nil {
		args = map[string]any{}
	}
	r, err := a.CallTool(a.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return "", err
	}
	return r.Content[0].(*sdk.TextContent).Text, nil
}

// must calls a tool, which must succeed.
func (a *agent) must(name string, args map[string]any) string {
	a.Helper()
	text, err := a.call(name, args)
	require.NoError(a, err, a.log.String())
	require.Contains(a, text, `"ok":true`, a.log.String())
	return text
}

// write creates a vault with a note.
func (a *agent) write() {
	a.Helper()
	a.must("team_vault_create", map[string]any{"name": "v"})
	a.must("team_vault_import", map[string]any{
		"vault": "v", "notes": []map[string]string{{"path": "log.md", "text": "# Log\n\n- first line\n"}},
	})
}

// leave closes the client; its program must end with exit code 0.
func (a *agent) leave() {
	a.Helper()
	require.NoError(a, a.Close(), a.log.String())
	require.True(a, a.program.ProcessState.Success())
}

// read returns the text of the note.
func (a *agent) read() string {
	a.Helper()
	return a.must("raven_read", map[string]any{"vault": "v", "path": "log.md"})
}

// held returns the process that has the data directory open, and reports whether it is a server.
func (d bench) held() (pid int, server bool) {
	d.Helper()
	text, err := os.ReadFile(filepath.Join(d.data, "serve.json"))
	require.NoError(d, err)
	var at localapp.Address
	require.NoError(d, json.Unmarshal(text, &at))
	return at.PID, at.Key == ""
}

// TestMCPOnADataDirectory checks that a client of each version works on a directory which no
// process has open, and that the program ends with its input.
func TestMCPOnADataDirectory(t *testing.T) {
	for _, era := range eras {
		d := newBench(t)
		a := d.mcp(era)
		tools, err := a.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Greater(t, len(tools.Tools), 50)
		a.write()
		r, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "rookery://v/notes/log.md"})
		require.NoError(t, err)
		require.Contains(t, r.Contents[0].Text, "first line")
		p, err := a.ListPrompts(t.Context(), nil)
		require.NoError(t, err)
		require.NotEmpty(t, p.Prompts)
		a.leave()
		require.Empty(t, a.log.String())
		require.NoFileExists(t, filepath.Join(d.data, "serve.json"))

		few := d.agent(era, "mcp", "--data", d.data, "--vault", "v", "--readonly", "--agent", "robin")
		tools, err = few.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Less(t, len(tools.Tools), 20)
		require.Contains(t, few.must("notes_get", map[string]any{"path": "log.md"}), "first line")
		text, err := few.call("raven_add", map[string]any{"text": "x", "to": "log"})
		require.NoError(t, err)
		require.Contains(t, text, "READ_ONLY")
		few.leave()
	}
}

// TestMCPTwoClients checks that two clients, and commands, use one directory at once, that the
// second continues when the first has ended, and that flags of the first have no effect on the
// second. API tokens have no effect: a process that can read the directory needs none.
func TestMCPTwoClients(t *testing.T) {
	d := newBench(t)
	one := d.mcp(eras[0], "--readonly")
	two := d.mcp(eras[1], "--agent", "wren")
	two.write()
	require.Contains(t, one.read(), "first line")
	two.must("team_token_create", map[string]any{"name": "x", "role": "reader"})
	require.Contains(t, two.must("team_whoami", nil), `"agent":"wren"`)
	three := d.mcp(eras[0])
	require.Contains(t, three.read(), "first line")
	code, out, errs := rookeryIn(t, nil, "read", "log", "--data", d.data, "--vault", "v")
	require.Zero(t, code, errs)
	require.Contains(t, out, "first line")
	code, out, errs = rookeryIn(t, nil, "doctor", "--data", d.data)
	require.Zero(t, code, "%s%s", out, errs)
	require.Contains(t, out, "`rookery mcp` of an MCP client, process")
	require.Contains(t, out, "1 notes")
	first, server := d.held()
	require.Equal(t, one.program.Process.Pid, first)
	require.False(t, server)

	one.leave()
	two.must("raven_add", map[string]any{"vault": "v", "text": "second line", "to": "log"})
	require.Contains(t, three.read(), "second line")
	second, _ := d.held()
	require.Equal(t, two.program.Process.Pid, second)
	three.leave()
	two.leave()
}

// TestMCPHolderEnds ends the process that has the directory open during the calls of another
// client, by closing it and by killing it. Acknowledged changes remain, a change with an unknown
// outcome is reported as such, and later calls work.
func TestMCPHolderEnds(t *testing.T) {
	t.Run("in order", func(t *testing.T) { holderEnds(t, func(a *agent) { _ = a.Close() }) })
	t.Run("killed", func(t *testing.T) {
		holderEnds(t, func(a *agent) { _ = a.program.Process.Kill() })
	})
}

func holderEnds(t *testing.T, end func(*agent)) {
	d := newBench(t)
	one, two := d.mcp(eras[0]), d.mcp(eras[1])
	one.write()
	const calls = 40
	var acknowledged, unknown []string
	for i := range calls {
		line := "line-" + string(rune('A'+i%26)) + strings.Repeat("x", i)
		if i == calls/2 {
			go end(one)
		}
		text, err := two.call("raven_add", map[string]any{"vault": "v", "text": line, "to": "log"})
		if err != nil {
			require.Contains(t, err.Error(), "outcome unknown")
			unknown = append(unknown, line)
			continue
		}
		require.Contains(t, text, `"ok":true`)
		acknowledged = append(acknowledged, line)
	}
	require.LessOrEqual(t, len(unknown), 1)
	_, err := one.call("team_whoami", nil)
	require.Error(t, err)
	text := two.read()
	for _, line := range acknowledged {
		require.Equal(t, 1, strings.Count(text, "- "+line+`\n`), line)
	}
	two.leave()
	code, out, errs := rookeryIn(t, nil, "doctor", "--data", d.data, "--full")
	require.Zero(t, code, "%s%s", out, errs)
}

// TestMCPBesideAServer checks that a client uses the server that has the directory open, works
// while there is none, and yields the directory to a server that starts.
func TestMCPBesideAServer(t *testing.T) {
	d := newBench(t)
	line := []string{"serve", "--listen", "127.0.0.1:0", "--data", d.data}
	stop := serving(t, nil, line...)
	a, b := d.mcp(eras[0]), d.mcp(eras[1])
	a.write()
	_, server := d.held()
	require.True(t, server)
	stop()
	for range 2 {
		require.Contains(t, a.read(), "first line")
		require.Contains(t, b.read(), "first line")
		pid, server := d.held()
		require.False(t, server)
		require.Contains(t, []int{a.program.Process.Pid, b.program.Process.Pid}, pid)

		stop = serving(t, nil, line...)
		require.Contains(t, a.read(), "first line")
		require.Contains(t, b.read(), "first line")
		pid, server = d.held()
		require.True(t, server)
		require.Equal(t, os.Getpid(), pid)
		stop()
	}
	a.leave()
	b.leave()
}

// TestMCPOverAServer checks that each call of a client of a named server fails while the server is
// stopped and works when it runs again, and that nothing is created on this machine.
func TestMCPOverAServer(t *testing.T) {
	d := newBench(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	serve := []string{"serve", "--listen", address, "--data", d.data}
	stop := serving(t, nil, serve...)
	var all []*agent
	for _, era := range eras {
		all = append(all, d.agent(era, "mcp", "--server", "http://"+address, "--toolset", "raven,team"))
	}
	all[0].write()
	for range 2 {
		stop()
		for _, a := range all {
			_, err := a.call("raven_read", map[string]any{"vault": "v", "path": "log.md"})
			require.ErrorContains(t, err, "no answer from http://"+address)
		}
		stop = serving(t, nil, serve...)
		for _, a := range all {
			require.Contains(t, a.read(), "first line")
		}
	}
	for _, a := range all {
		a.leave()
	}
	stop()
	require.NoDirExists(t, filepath.Join(d.home, "share"))
}

// TestMCPOnAFolder checks the same for a folder of notes: two clients at once, and one after the
// other.
func TestMCPOnAFolder(t *testing.T) {
	d := newBench(t)
	notes := filepath.Join(d.home, "notes")
	require.NoError(t, os.Mkdir(notes, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(notes, "log.md"), []byte("# Log\n"), 0o600))
	one := d.agent(eras[0], "mcp", "--vault", notes)
	two := d.agent(eras[1], "serve", "--mcp", "--vault", notes)
	add := func(a *agent, text string) {
		require.Eventually(t, func() bool { // a folder is read before its notes are found
			answer, err := a.call("raven_add", map[string]any{"text": text, "to": "log"})
			return err == nil && strings.Contains(answer, `"ok":true`)
		}, time.Minute, 10*time.Millisecond)
	}
	add(one, "by one")
	add(two, "by two")
	one.leave()
	add(two, "by two again")
	two.leave()
	text, err := os.ReadFile(filepath.Join(notes, "log.md"))
	require.NoError(t, err)
	require.Equal(t, "# Log\n\n- by one\n- by two\n- by two again\n", string(text))
}

// TestServeMCP checks that `serve --mcp` uses the directory of a running server, and does not open
// another one instead.
func TestServeMCP(t *testing.T) {
	d := newBench(t)
	demo := d.agent(eras[0], "serve", "--mcp", "--demo", "--data", d.data)
	require.Contains(t, demo.must("vault_overview", map[string]any{}), `"noteCount"`)
	demo.leave()
	stop := serving(t, nil, "serve", "--listen", "127.0.0.1:0", "--data", d.data)
	for _, flag := range []string{"--demo", "--config=" + filepath.Join(d.home, "empty.yaml")} {
		require.NoError(t, os.WriteFile(filepath.Join(d.home, "empty.yaml"), nil, 0o600))
		code, _, errs := rookery(t, "serve", "--mcp", "--data", d.data, flag)
		require.Equal(t, 2, code)
		require.Contains(t, errs, "has no effect on it")
	}
	a := d.agent(eras[0], "serve", "--mcp", "--data", d.data)
	require.Contains(t, a.must("vault_overview", map[string]any{"vault": "demo"}), `"noteCount"`)
	a.leave()
	stop()
	for name, c := range map[string]struct {
		env  map[string]string
		line []string
		want string
	}{
		"a server":       {nil, []string{"serve", "--mcp", "--server", "http://127.0.0.1:1"}, "rookery mcp --server"},
		"in environment": {map[string]string{"ROOKERY_SERVER": "http://x"}, []string{"serve", "--mcp"}, "rookery mcp --server"},
		"without --mcp": {nil, []string{"serve", "--server", "http://127.0.0.1:1"}, "--server or " +
			"ROOKERY_SERVER names a server"},
	} {
		env := map[string]string{"XDG_DATA_HOME": filepath.Join(d.home, "share")}
		for k, v := range c.env {
			env[k] = v
		}
		code, _, errs := rookeryIn(t, env, c.line...)
		require.Equal(t, 2, code, name)
		require.Contains(t, errs, c.want, name)
	}
	require.NoDirExists(t, filepath.Join(d.home, "share"))
}

// TestMCPHelp checks that the help names the flags that have an effect, and that names of sets of
// tools are completed.
func TestMCPHelp(t *testing.T) {
	code, out, errs := rookery(t, "mcp", "--help")
	require.Zero(t, code, errs)
	require.Contains(t, out, "--server --token --data --vault --agent --session --readonly\n")
	for _, flag := range []string{"--toolset", "--tools", "--path"} {
		require.Contains(t, out, flag)
	}
	code, out, errs = rookery(t, "__complete", "mcp", "--toolset", "")
	require.Zero(t, code, errs)
	require.Contains(t, out, "raven\nteam\ntree\nall\n")
}

// TestMCPRefusals checks that options which can never work are errors before the first message.
func TestMCPRefusals(t *testing.T) {
	d := newBench(t)
	data := []string{"--data", d.data}
	for name, c := range map[string]struct {
		code int
		line []string
		want string
	}{
		"server and directory": {2, append(data, "--server", "http://127.0.0.1:1"), "--server and --data"},
		"server and folder":    {2, []string{"--server", "http://127.0.0.1:1", "--vault", "./x"}, "--vault with a folder and --server"},
		"path and toolset":     {2, append(data, "--path", "/mcp/x/all", "--toolset", "raven"), "--path and --toolset"},
		"unknown toolset":      {4, append(data, "--toolset", "ravn"), "the sets are memory, notes, orient, raven, team, tree, and all"},
		"unknown tool":         {2, append(data, "--tools", "raven_raed"), "raven_read"},
		"unknown path":         {4, append(data, "--path", "/mcp/x"), "sets"},
		"another path":         {2, append(data, "--path", "/v1"), "--path is /mcp"},
		"no folder":            {4, []string{"--vault", filepath.Join(d.home, "none")}, ""},
		"no URL":               {2, []string{"--server", "x"}, ""},
		"a token in the clear": {2, []string{"--server", "http://192.0.2.1", "--token", "rk_x"}, "TLS"},
		"a word":               {1, []string{"now"}, "now"},
	} {
		env := map[string]string{"XDG_CONFIG_HOME": d.home, "XDG_STATE_HOME": d.home}
		code, out, errs := rookeryIn(t, env, append([]string{"mcp"}, c.line...)...)
		require.Equal(t, c.code, code, "%s: %s", name, errs)
		require.Contains(t, errs, c.want, name)
		require.Empty(t, out, name)
	}
	for _, line := range [][]string{
		{"mcp", "--server", "http://127.0.0.1:1", "--toolset", "later"}, // it may have that set
		append([]string{"mcp"}, data...),
	} {
		code, _, errs := rookeryIn(t, map[string]string{"XDG_CONFIG_HOME": d.home}, line...)
		require.Zero(t, code, errs)
	}
}

// TestMCPEnds checks that a signal, and a client that has exited, end the program cleanly: it
// answers the messages that it has read, and releases the directory.
func TestMCPEnds(t *testing.T) {
	for name, end := range map[string]func(c *exec.Cmd, out io.Closer, in io.Writer){
		"SIGTERM": func(c *exec.Cmd, _ io.Closer, _ io.Writer) { _ = c.Process.Signal(syscall.SIGTERM) },
		"SIGINT":  func(c *exec.Cmd, _ io.Closer, _ io.Writer) { _ = c.Process.Signal(os.Interrupt) },
		"its output is closed": func(_ *exec.Cmd, out io.Closer, in io.Writer) {
			_ = out.Close()
			_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
		},
	} {
		d := newBench(t)
		c, log := d.command("mcp", "--data", d.data)
		in, err := c.StdinPipe()
		require.NoError(t, err)
		out, err := c.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		require.NoError(t, err)
		answer := make([]byte, len(`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n"))
		_, err = io.ReadFull(out, answer)
		require.NoError(t, err, log.String())
		end(c, out, in)
		require.NoError(t, c.Wait(), "%s: %s", name, log.String())
		require.Empty(t, log.String(), name)
		app, err := localapp.Open(context.Background(), localapp.Config{Data: d.data})
		require.NoError(t, err, name)
		require.NoError(t, app.Close())
	}
}

// TestHolderNeedsItsKey checks that a program of another user, which cannot read the directory, can
// neither call the process that has it open nor make it yield.
func TestHolderNeedsItsKey(t *testing.T) {
	d := newBench(t)
	a := d.mcp(eras[0])
	a.write()
	info, err := os.Stat(filepath.Join(d.data, "serve.json"))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	text, err := os.ReadFile(filepath.Join(d.data, "serve.json"))
	require.NoError(t, err)
	var at localapp.Address
	require.NoError(t, json.Unmarshal(text, &at))
	for _, token := range []string{"", "wrong", at.Key + "x"} {
		line := []string{"vault", "list", "--server", at.URL}
		if token != "" {
			line = append(line, "--token", token)
		}
		code, out, errs := rookeryIn(t, map[string]string{"XDG_CONFIG_HOME": d.home}, line...)
		require.Equal(t, fault.Unauthenticated.Exit(), code, errs)
		require.Empty(t, out)
		require.Equal(t, 401, posted(t, at.URL+"/yield", token))
	}
	require.Contains(t, a.read(), "first line")
	pid, _ := d.held()
	require.Equal(t, a.program.Process.Pid, pid)
	a.leave()
}

// posted returns the status of an empty request with a bearer token.
func posted(t *testing.T, url, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}
