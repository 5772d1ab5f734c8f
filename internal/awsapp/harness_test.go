package awsapp_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/lambdahost"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tool"
)

// base is the public URL of the deployment.
const base = "https://notes.example.test"

// A clock returns the time that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Now().UTC().Truncate(time.Second)}
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A buffer is safe for concurrent writes.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// A deployment is the stores that several functions share.
type deployment struct {
	clock  *clock
	table  table.Table
	bucket blob.Bucket
	logs   *buffer
}

func newDeployment(t testing.TB) *deployment {
	t.Helper()
	d := &deployment{clock: newClock(), logs: &buffer{}}
	dir := t.TempDir()
	db, err := bolttable.Open(filepath.Join(dir, "t.db"), bolttable.Options{Now: d.clock.time})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	d.table, d.bucket = db, files
	return d
}

// options returns the Options of a function of the deployment.
func (d *deployment) options(t testing.TB) awsapp.Options {
	t.Helper()
	return awsapp.Options{
		Server: config.Config{PublicURL: base}, Table: d.table, Bucket: d.bucket, Memory: 512 << 20,
		Log: leaktest.Logger(t, d.logs), Now: d.clock.time, Version: "test",
	}
}

// function returns a new function of the deployment.
func (d *deployment) function(t testing.TB, change ...func(*awsapp.Options)) *awsapp.App {
	t.Helper()
	o := d.options(t)
	for _, f := range change {
		f(&o)
	}
	return newFunction(t, o)
}

func newFunction(t testing.TB, o awsapp.Options) *awsapp.App {
	t.Helper()
	a, err := awsapp.New(o)
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

// through returns a gateway that routes every request to one function.
func through(t testing.TB, a lambdahost.Invoker) http.Handler {
	t.Helper()
	g, err := lambdahost.NewGateway(map[string]lambdahost.Invoker{"$default": a})
	require.NoError(t, err)
	return g
}

// token creates an API token of a tenant, as an operator does.
func token(t testing.TB, a *awsapp.App, tenant string) string {
	t.Helper()
	event := marshalled(t, map[string]string{
		"rookery": "token-create", "tenant": tenant, "name": "first", "role": "admin",
	})
	data, err := a.Invoke(t.Context(), event)
	require.NoError(t, err)
	var made struct{ Token string }
	require.NoError(t, json.Unmarshal(data, &made))
	require.NotEmpty(t, made.Token)
	return made.Token
}

func marshalled(t testing.TB, v any) []byte {
	t.Helper()
	data, err := tool.Marshal(v)
	require.NoError(t, err)
	return data
}

// asked returns a request with a token.
func asked(method, path, token, body string) *http.Request {
	r := httptest.NewRequest(method, base+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// call calls a tool by its name, which must succeed, and returns its answer.
func call(t testing.TB, h http.Handler, token, name string, args map[string]any) string {
	t.Helper()
	w := awsapp.Recorded(h, asked(http.MethodPost, "/v1/tools/"+name, token, string(marshalled(t, args))))
	require.Equal(t, http.StatusOK, w.Code, "%s: %s", name, w.Body)
	return w.Body.String()
}

// args are the arguments of a call.
type args = map[string]any

// writeFixture creates the vault main with the note inbox.
func writeFixture(t testing.TB, h http.Handler, token string) {
	t.Helper()
	call(t, h, token, "team_vault_create", args{"name": "main"})
	call(t, h, token, "team_vault_import", args{
		"vault": "main", "notes": []args{{"path": "inbox.md", "text": "# Inbox\n"}},
	})
}
