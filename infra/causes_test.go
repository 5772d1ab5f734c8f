package infra_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/lambdahost"
	"github.com/rookeryhq/rookery/internal/table"
)

// TestEveryAlarmFires makes the cause of each alarm, and requires that it fires, and that no other one does but those
// that share the cause. What CloudWatch itself measures is measured here as its documentation describes: of the
// gateway and of invocations behind lambdahost, of DynamoDB at the client of the real adapter, of calls in the
// log lines of the real functions. TestDeployed has the alarms of queues, and TestEvaluator that of the stream. That AWS
// publishes these metrics is not tested.
func TestEveryAlarmFires(t *testing.T) {
	tpl := template(t)
	fires := func(c cloudwatch, want ...string) {
		t.Helper()
		require.Equal(t, want, c.firing(t, tpl))
	}
	for _, f := range requestFunctions {
		fires(invoked(t, f, errors.New("it crashed"), 0), "RequestErrorsAlarm", "ServerErrorsAlarm")
		fires(invoked(t, f, lambdahost.ErrThrottled, 0), "RequestThrottlesAlarm", "ServerErrorsAlarm")
		fires(invoked(t, f, nil, 6*time.Second), "LatencyAlarm")
		fires(invoked(t, f, nil, time.Second))
	}
	for _, f := range backgroundFunctions {
		fires(invocation(f, errors.New("it crashed")), "WorkErrorsAlarm")
		fires(invocation(f, lambdahost.ErrThrottled), "WorkThrottlesAlarm")
	}
	used := map[string]bool{}
	for _, c := range recorded(t) {
		if action, ok := strings.CutPrefix(c.Action, "dynamodb:"); ok && action != "ConditionCheckItem" {
			used[action] = true
		}
	}
	used["TransactWriteItems"] = true
	failing, throttled := asked(t, "InternalServerError"), asked(t, "ProvisionedThroughputExceededException")
	for operation := range used {
		of := func(d datum) bool { return !strings.Contains(d.dimensions, "Operation="+operation+",") }
		fires(slices.DeleteFunc(slices.Clone(failing), of), "TableErrorsAlarm")
		fires(slices.DeleteFunc(slices.Clone(throttled), of), "TableThrottlesAlarm")
	}
	ok, failed, large := called(t)
	fires(ok)
	fires(failed, "FailedCallsAlarm")
	fires(large, "FailedCallsAlarm", "MemoryAlarm")
	charges(t)
}

// charges covers the alarm on the charges of the account, which the template has where the metric is.
func charges(t *testing.T) {
	t.Helper()
	require.NotContains(t, template(t).Resources, "ChargesAlarm")
	tpl := templateWith(t, map[string]string{"AlarmEmail": "a@example.test", "MonthlyBudget": "50"})
	require.Equal(t, []string{"ChargesAlarm"},
		cloudwatch{{"AWS/Billing", "EstimatedCharges", "Currency=USD", 50.01}}.firing(t, tpl))
	require.Empty(t, cloudwatch{{"AWS/Billing", "EstimatedCharges", "Currency=USD", 50}}.firing(t, tpl))
}

// An outcome is a function that ends so, after a time by the clock of the test.
type outcome struct {
	err  error
	took time.Duration
	now  *time.Time
}

func (o outcome) Invoke(context.Context, []byte) ([]byte, error) {
	*o.now = o.now.Add(o.took)
	return []byte(`{"statusCode":200}`), o.err
}

// invoked is what is measured of a request behind the gateway whose function ends so.
func invoked(t *testing.T, f function, err error, took time.Duration) cloudwatch {
	t.Helper()
	now := time.Now()
	g, failed := lambdahost.NewGateway(map[string]lambdahost.Invoker{"$default": outcome{err, took, &now}})
	require.NoError(t, failed)
	began, w := now, httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/vaults", nil))
	all := append(invocation(f, err), datum{"AWS/ApiGateway", "Count", "ApiId=Api", 1},
		datum{"AWS/ApiGateway", "Latency", "ApiId=Api", float64(now.Sub(began).Milliseconds())})
	if w.Code >= http.StatusInternalServerError {
		all = append(all, datum{"AWS/ApiGateway", "5xx", "ApiId=Api", 1})
	}
	return all
}

// invocation is what is measured of an invocation that ends so. One that is throttled is no invocation, and no error.
func invocation(f function, err error) cloudwatch {
	of := "FunctionName=" + f.ID() + "Function"
	switch {
	case errors.Is(err, lambdahost.ErrThrottled):
		return cloudwatch{{"AWS/Lambda", "Throttles", of, 1}}
	case err != nil:
		return cloudwatch{{"AWS/Lambda", "Errors", of, 1}}
	}
	return cloudwatch{{"AWS/Lambda", "Errors", of, 0}}
}

// A faulty DynamoDB answers every request with an error.
type faulty struct {
	code string
	mu   sync.Mutex
	seen cloudwatch
}

// Do implements aws.HTTPClient.
func (f *faulty) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	status, name := http.StatusBadRequest, "ThrottledRequests"
	if f.code == "InternalServerError" {
		status, name = http.StatusInternalServerError, "SystemErrors"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, datum{"AWS/DynamoDB", name, "Operation=" + operation + ",TableName=Table", 1})
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"__type":"com.amazonaws.dynamodb.v20120810#` + f.code + `"}`)),
	}, nil
}

// asked is what DynamoDB measures while it answers each operation of the adapter with an error.
func asked(t *testing.T, code string) cloudwatch {
	t.Helper()
	f := &faulty{code: code}
	to := dynamotable.New(aws.Config{
		Region: "us-east-1", HTTPClient: f, Credentials: credentials.NewStaticCredentialsProvider("x", "x", ""),
	}, "t", dynamotable.Options{Log: slog.New(slog.DiscardHandler)})
	key := table.Key{Part: "p", Sort: "s"}
	item := table.Item{Key: key, Data: []byte("d")}
	for _, do := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := to.Get(ctx, key); return err },
		func(ctx context.Context) error {
			for _, err := range to.Query(ctx, "p", "", "~") {
				return err
			}
			return nil
		},
		func(ctx context.Context) error { return to.Commit(ctx, table.Set(item)) },
		func(ctx context.Context) error { return to.Commit(ctx, table.Replace(item, item)) },
		func(ctx context.Context) error { return to.Commit(ctx, table.Remove(key)) },
		func(ctx context.Context) error {
			return to.Commit(ctx, table.Set(item), table.Remove(table.Key{Part: "p", Sort: "o"}))
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		require.Error(t, do(ctx))
		cancel()
	}
	return f.seen
}

// A breaking table fails once it is broken.
type breaking struct {
	table.Table
	broken bool
}

func (b *breaking) Get(ctx context.Context, k table.Key) (table.Item, error) {
	if b.broken {
		return table.Item{}, errors.New("it is broken")
	}
	return b.Table.Get(ctx, k)
}

// called is what the log lines of calls measure: of calls that succeed and that are refused, of calls that fail
// because the table does, and of calls on a vault that does not fit into memory.
func called(t *testing.T) (ok, failed, large cloudwatch) {
	t.Helper()
	dir := t.TempDir()
	db, err := bolttable.Open(filepath.Join(dir, "t.db"), bolttable.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	at := &breaking{Table: db}

	app, lines := metered(t, at, files, 0)
	token := made(t, app)
	requireStatus(t, app, token, "team_vault_create", `{"name":"main"}`, http.StatusOK)
	requireStatus(t, app, token, "raven_new", `{"vault":"main","type":"page","title":"One"}`, http.StatusOK)
	requireStatus(t, app, token, "raven_read", `{"vault":"main","path":"none"}`, http.StatusNotFound)
	ok = embedded(t, lines)
	at.broken = true
	requireStatus(t, app, token, "team_token_list", `{}`, 0)
	requireStatus(t, app, token, "team_vault_create", `{"name":"other"}`, 0)
	failed = embedded(t, lines)
	at.broken = false
	app, lines = metered(t, at, files, 1)
	requireStatus(t, app, token, "raven_stats", `{"vault":"main"}`, http.StatusServiceUnavailable)
	return ok, failed, embedded(t, lines)
}

// metered is a function whose log lines are metrics. Open vaults may take so many bytes; 0: as many as they need.
func metered(t *testing.T, to table.Table, files blob.Bucket, memory int) (*awsapp.App, *bytes.Buffer) {
	t.Helper()
	lines := &bytes.Buffer{}
	server := config.Config{PublicURL: "https://notes.example.test"}
	server.Memory = config.Size(memory)
	sent := int64(0)
	app, err := awsapp.New(awsapp.Options{
		Server: server, Table: to, Bucket: files,
		Metrics: awsapp.NewMetrics(awsapp.Environment{Stack: "rookery", Function: "mcp"}, func() int64 {
			sent += 2
			return sent
		}),
		Log: slog.New(slog.NewJSONHandler(lines, nil)),
	})
	require.NoError(t, err)
	t.Cleanup(app.Close)
	return app, lines
}

// made makes the first token.
func made(t *testing.T, app *awsapp.App) string {
	t.Helper()
	const event = `{"rookery":"token-create","tenant":"acme","name":"first","role":"admin"}`
	answer, err := app.Invoke(t.Context(), []byte(event))
	require.NoError(t, err)
	var token struct{ Token string }
	require.NoError(t, json.Unmarshal(answer, &token))
	return token.Token
}

// requireStatus calls a tool through the gateway; 0: whatever it is answered.
func requireStatus(t *testing.T, app *awsapp.App, token, name, args string, status int) {
	t.Helper()
	g, err := lambdahost.NewGateway(map[string]lambdahost.Invoker{"$default": app})
	require.NoError(t, err)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://notes.example.test/v1/tools/"+name,
		strings.NewReader(args))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if status != 0 {
		require.Equal(t, status, w.Code, "%s: %s", name, w.Body)
	}
}

// embedded are the values in the lines of calls so far, read as CloudWatch reads its embedded metric format. No
// dimension has the name of a tenant or a vault.
func embedded(t *testing.T, lines *bytes.Buffer) (all cloudwatch) {
	t.Helper()
	for line := range strings.Lines(lines.String()) {
		var members map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &members))
		var format struct {
			AWS *struct {
				Timestamp         int64
				CloudWatchMetrics []struct {
					Namespace  string
					Dimensions [][]string
					Metrics    []struct{ Name, Unit string }
				}
			} `json:"_aws"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &format))
		if format.AWS == nil {
			require.NotEqual(t, "call", members["msg"], line)
			continue
		}
		require.InDelta(t, time.Now().UnixMilli(), format.AWS.Timestamp, 1e6)
		for _, directive := range format.AWS.CloudWatchMetrics {
			for _, dimensions := range directive.Dimensions {
				var of []string
				for _, d := range dimensions {
					require.Contains(t, []string{"stack", "function", "tool"}, d)
					of = append(of, fmt.Sprintf("%s=%v", d, members[d]))
				}
				for _, m := range directive.Metrics {
					v, ok := members[m.Name].(float64)
					require.True(t, ok, "%s of %s", m.Name, line)
					all = append(all, datum{directive.Namespace, m.Name, strings.Join(of, ","), v})
				}
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}
