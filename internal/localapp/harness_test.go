package localapp_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
)

// args are the arguments of a call.
type args = map[string]any

// An answer is an envelope, with the members that the tests use.
type answer struct {
	Data     json.RawMessage
	Warnings []struct{ Code string }
	Meta     struct {
		Version  string
		Replayed bool
		Next     string `json:"next_page_token"`
	}
}

// version returns the number of the version that the answer is about.
func (a answer) version(t testing.TB) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(a.Meta.Version, "v"), 10, 64)
	require.NoError(t, err)
	return n
}

// into decodes the data of an answer.
func into[T any](t testing.TB, a answer) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal(a.Data, &v))
	return v
}

// call calls a tool on the vault "v" unless the arguments say otherwise.
func call(ctx context.Context, i tool.Invoker, name string, in args) (answer, error) {
	all := args{}
	if strings.HasPrefix(name, "raven_") || strings.HasPrefix(name, "notes_") || strings.HasPrefix(name, "memory_") || strings.HasPrefix(name, "tree_") || name == "team_vault_import" || name == "team_vault_export" {
		all["vault"] = "v"
	}
	for k, v := range in {
		all[k] = v
	}
	data, err := json.Marshal(all)
	if err != nil {
		return answer{}, err
	}
	out, err := i.Invoke(ctx, name, data)
	if err != nil {
		return answer{}, err
	}
	var a answer
	return a, json.Unmarshal(out, &a)
}

// must is call for a call that must succeed.
func must(t testing.TB, i tool.Invoker, name string, in args) answer {
	t.Helper()
	a, err := call(t.Context(), i, name, in)
	require.NoError(t, err, name)
	return a
}

// refused requires that a call fails with a code.
func refused(t testing.TB, code fault.Code, i tool.Invoker, name string, in args) *fault.Fault {
	t.Helper()
	_, err := call(t.Context(), i, name, in)
	require.Error(t, err, name)
	f := fault.Of(err)
	require.Equal(t, code, f.Code, f.Message)
	leaktest.StoreRefusal(t, tool.Refusal(f, nil))
	return f
}

// local calls the tools of an App in this process, as the local principal.
type local struct{ app *localapp.App }

func (l local) Invoke(
	ctx context.Context, name string, in json.RawMessage,
) (json.RawMessage, error) {
	return l.app.Catalogue.Invoke(auth.WithCaller(ctx, auth.LocalCaller()), name, in)
}

// open opens a data directory until the test ends, or until it is closed.
func open(t testing.TB, dir string) *localapp.App {
	t.Helper()
	app, err := openApp(t.Context(), localapp.Config{
		Data: dir, Log: leaktest.Logger(t, nil),
	})
	require.NoError(t, err)
	return app
}

// openVault opens a new data directory with an empty vault "v".
func openVault(t testing.TB) (*localapp.App, string) {
	t.Helper()
	dir := t.TempDir()
	app := open(t, dir)
	must(t, local{app}, "team_vault_create", args{"name": "v"})
	return app, dir
}

// serve serves an App on loopback. The function that it returns stops the server and waits for its
// end.
func serve(t testing.TB, app *localapp.App) (*httptool.Client, func()) {
	t.Helper()
	l, err := localapp.Listen("127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- app.Serve(ctx, l, "test") }()
	stop := func() {
		cancel()
		require.NoError(t, <-done)
	}
	return client("http://" + l.Addr().String()), stop
}

// client returns a client that keeps its connections, however many calls run at once.
func client(base string) *httptool.Client {
	return &httptool.Client{Base: base, HTTP: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
}

// put imports files into the vault "v".
func put(t testing.TB, i tool.Invoker, files map[string]string) answer {
	t.Helper()
	return must(t, i, "team_vault_import", args{"mode": "replace", "notes": listOf(files)})
}

// listOf returns files in the form for an import.
func listOf(files map[string]string) []args {
	var notes []args
	for _, path := range slices.Sorted(maps.Keys(files)) {
		notes = append(notes, args{"path": path, "text": files[path]})
	}
	return notes
}

// read returns the text of a note.
func read(t testing.TB, i tool.Invoker, path string) string {
	t.Helper()
	return into[struct{ Content string }](t, must(t, i, "raven_read", args{"path": path})).Content
}

// export returns the files of a vault in an export, with the audit log.
func export(t testing.TB, i tool.Invoker) map[string]string {
	t.Helper()
	files, token := map[string]string{}, ""
	for {
		a := must(t, i, "team_vault_export", args{"page_token": token})
		page := into[struct{ Notes []struct{ Path, Text string } }](t, a)
		for _, n := range page.Notes {
			files[n.Path] += n.Text
		}
		if token = a.Meta.Next; token == "" {
			return files
		}
	}
}

// folderOf returns the folder of the files of the vault "v".
func folderOf(dir string) string {
	return filepath.Join(dir, "tenants", "local", "vaults", "v", "notes")
}

// folder returns all files below a directory, by path.
func folder(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	require.NoError(t, err)
	return files
}

// stored returns the files of the vault "v", which no process serves: those in its folder or, for
// processes that sleep, those of an export.
func stored(t testing.TB, dir string) map[string]string {
	t.Helper()
	if !asleepNow() {
		return folder(t, folderOf(dir))
	}
	app := open(t, dir)
	defer func() { require.NoError(t, app.Close()) }()
	return export(t, local{app})
}

// requireInStep requires that the folder of the vault "v", which no process serves, has the state
// of the log, and nothing else except the trash. Processes that sleep have no folder.
func requireInStep(t testing.TB, dir string) {
	t.Helper()
	app := open(t, dir)
	told := export(t, local{app})
	require.NoError(t, app.Close())
	if asleepNow() {
		return
	}
	found := folder(t, folderOf(dir))
	maps.DeleteFunc(found, func(path, _ string) bool { return strings.HasPrefix(path, ".trash/") })
	require.Equal(t, slices.Sorted(maps.Keys(told)), slices.Sorted(maps.Keys(found)))
	for path, text := range told {
		require.True(t, text == found[path], "%s is not what the log says", path)
	}
}

// A clock stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// pass moves the clock by a number of hours.
func (c *clock) pass(hours int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Duration(hours) * time.Hour)
}
