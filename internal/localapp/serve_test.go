package localapp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// busy requires that a directory is refused, and returns the server that the error names.
func busy(t *testing.T, dir string) string {
	t.Helper()
	_, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: dir})
	var in *localapp.InUse
	require.True(t, errors.As(err, &in), "%v", err)
	f := fault.Of(err)
	require.Equal(t, fault.Unavailable, f.Code)
	require.NotEmpty(t, f.Fixes)
	require.NotContains(t, f.Message, dir)
	return in.Server
}

// TestTwoProcesses checks that one process at a time has a directory open, and that the error of
// another one has the address of its server, while it serves and not before or after.
func TestTwoProcesses(t *testing.T) {
	app, dir := openVault(t)
	require.Empty(t, busy(t, dir), "it does not serve")
	require.NoError(t, app.Close())

	c := startChild(t, dir)
	// The child prints its address before it writes the address file: when it answers a call, the
	// file exists.
	must(t, client(c.url), "team_whoami", nil)
	require.Equal(t, c.url, busy(t, dir))
	must(t, client(busy(t, dir)), "raven_stats", nil)
	c.stop(t)
	require.NoFileExists(t, filepath.Join(dir, "serve.json"))

	c = startChild(t, dir)
	must(t, client(c.url), "team_whoami", nil)
	c.kill()
	require.FileExists(t, filepath.Join(dir, "serve.json"), "nobody took it away")
	app = open(t, dir)
	require.Empty(t, busy(t, dir), "the address of a server that was killed is nobody's")
	require.NoError(t, app.Close())
}

func TestServesOnLoopbackOnly(t *testing.T) {
	for _, addr := range []string{
		"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "localhost.example.com:0",
		"7780", "", "localhost",
	} {
		_, err := localapp.Listen(addr)
		require.True(t, fault.Is(err, fault.InvalidParameter), "%q: %v", addr, err)
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:0", "127.3.2.1:0"} {
		l, err := localapp.Listen(addr)
		require.NoError(t, err, addr)
		_, err = localapp.Listen(l.Addr().String())
		require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
		require.NoError(t, l.Close())
	}
}

// TestStopFinishesCalls checks that a call that the server has begun is answered and durable,
// although the server is told to stop.
func TestStopFinishesCalls(t *testing.T) {
	app, dir := openVault(t)
	put(t, local{app}, map[string]string{"a.md": "one\n"})
	l, err := localapp.Listen("127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- app.Serve(ctx, l, "test") }()

	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	body := `{"vault":"v","id":"a","old_str":"one","new_str":"two"}`
	_, err = fmt.Fprintf(conn, "POST /v1/tools/raven_edit HTTP/1.1\r\nHost: %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		l.Addr(), len(body))
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue", "the call has begun")
	_, err = in.ReadString('\n')
	require.NoError(t, err)

	stop()
	for { // until the listener is closed
		other, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			break
		}
		_ = other.Close()
	}
	_, err = conn.Write([]byte(body))
	require.NoError(t, err)
	answer, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.NoError(t, answer.Body.Close())
	require.NoError(t, <-done)
	require.NoError(t, app.Close())
	require.Equal(t, "two\n", folder(t, folderOf(dir))["a.md"])
	require.NoFileExists(t, filepath.Join(dir, "serve.json"))
}

func TestReadOnlyDeployment(t *testing.T) {
	app, dir := openVault(t)
	put(t, local{app}, map[string]string{"a.md": "one\n"})
	require.NoError(t, app.Close())
	app, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: dir, ReadOnly: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, app.Close()) }()
	refused(t, fault.ReadOnly, local{app}, "raven_add", args{"to": "a", "text": "x"})
	refused(t, fault.ReadOnly, local{app}, "team_vault_create", args{"name": "w"})
	require.Equal(t, "one\n", read(t, local{app}, "a"))
}

// TestDemo checks that the demo vault is complete, has the right types, and is created once.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	app := open(t, dir)
	require.NoError(t, app.Demo(t.Context()))
	via := demo{local{app}}
	stats := into[struct {
		Files       int `json:"file_count"`
		Quarantined int `json:"quarantined_count"`
	}](t, must(t, via, "raven_stats", nil))
	require.InDelta(t, 12, stats.Files, 3)
	require.Zero(t, stats.Quarantined)
	listed := into[struct{ Items []struct{ ID, Type string } }](t,
		must(t, via, "raven_object_list", nil))
	types := map[string]int{}
	for _, o := range listed.Items {
		types[o.Type]++
	}
	require.Equal(t, map[string]int{
		"person": 3, "project": 2, "book": 2, "decision": 1, "daily": 1, "page": 2,
	}, types)
	a := must(t, via, "raven_object_list", args{"type": "project", "field": args{"status": "active"}})
	require.Empty(t, a.Warnings, "an example of the first five minutes")

	made := must(t, via, "raven_object_list", nil).Meta.Version
	require.NoError(t, app.Demo(t.Context()))
	require.NoError(t, app.Close())
	app = open(t, dir)
	via = demo{local{app}}
	require.NoError(t, app.Demo(t.Context()))
	require.Equal(t, made, must(t, via, "raven_object_list", nil).Meta.Version)

	must(t, local{app}, "team_vault_delete", args{"name": "demo"})
	require.NoError(t, app.Demo(t.Context()))
	refused(t, fault.NotFound, via, "raven_stats", nil)
	require.NoError(t, app.Close())
}

// demo calls tools on the vault "demo".
type demo struct{ local }

func (d demo) Invoke(
	ctx context.Context, name string, in json.RawMessage,
) (json.RawMessage, error) {
	var all args
	if err := json.Unmarshal(in, &all); err != nil {
		return nil, err
	}
	all["vault"] = "demo"
	data, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return d.local.Invoke(ctx, name, data)
}

// TestDemoAfterACrash checks that a demo vault that was created and not filled is filled.
func TestDemoAfterACrash(t *testing.T) {
	app := open(t, t.TempDir())
	defer func() { require.NoError(t, app.Close()) }()
	must(t, local{app}, "team_vault_create", args{"name": "demo"})
	require.NoError(t, app.Demo(t.Context()))
	require.NotEmpty(t, read(t, demo{local{app}}, "index"))
}

// TestNoDemoBesideOthers checks that no demo vault is created if there is another vault.
func TestNoDemoBesideOthers(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	require.NoError(t, app.Demo(t.Context()))
	refused(t, fault.NotFound, demo{local{app}}, "raven_stats", nil)
}

// TestEditedByHand checks that an edit in the data directory is ingested, and merged with changes
// that were written meanwhile (reference/log.md §5).
func TestEditedByHand(t *testing.T) {
	app, dir := openVault(t)
	via := local{app}
	put(t, via, map[string]string{"a.md": "one\ntwo\nthree\n", "b.md": "one\n", "c.md": "one\n"})
	file := filepath.Join(folderOf(dir), "a.md")
	require.NoError(t, os.WriteFile(file, []byte("mine\ntwo\nthree\n"), 0o600))
	require.NoError(t, os.Remove(filepath.Join(folderOf(dir), "c.md")))

	must(t, via, "raven_add", args{"to": "a", "text": "x"})
	must(t, via, "raven_add", args{"to": "b", "text": "x"})
	require.Empty(t, into[reindexed](t, must(t, via, "raven_reindex", args{"dry_run": true})).Errors)
	require.Empty(t, into[reindexed](t, must(t, via, "raven_reindex", nil)).Errors)
	require.Equal(t, "mine\ntwo\nthree\n\n- x\n", read(t, via, "a"))
	refused(t, fault.NotFound, via, "raven_read", args{"path": "c"})
	require.Equal(t, "fresh", statsOf(t, via, nil).Freshness)
	require.NoError(t, app.Close())
	requireInStep(t, dir)
}

// TestFilesOfAnEarlierVault checks that the tool reports files that were changed outside.
func TestFilesOfAnEarlierVault(t *testing.T) {
	dir := t.TempDir()
	clock := newClock()
	app, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: dir, Now: clock.time})
	require.NoError(t, err)
	via := local{app}
	must(t, via, "team_vault_create", args{"name": "v"})
	put(t, via, map[string]string{"a.md": "one\n", "b.md": "one\n"})
	file := filepath.Join(folderOf(dir), "b.md")
	require.NoError(t, os.WriteFile(file, []byte("mine\n"), 0o600))
	must(t, via, "team_vault_delete", args{"name": "v"})
	clock.pass(30 * 24)
	made := into[struct {
		Left []string `json:"left_files"`
	}](t, must(t, via, "team_vault_create", args{"name": "v"}))
	require.Equal(t, []string{"b.md"}, made.Left)
	put(t, via, map[string]string{"a.md": "two\n"})
	require.NoError(t, app.Close())
	found := folder(t, folderOf(dir))
	require.Equal(t, "two\n", found["a.md"])
	require.Equal(t, "mine\n", found["b.md"])
}
