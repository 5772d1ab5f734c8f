package localapp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/sqsqueue"
)

// backgroundHead is the text between the two tables of the page.
const backgroundHead = `
## In the background

Functions that answer no requests, counted in the same way; messages that they send are not counted. The vault has 3 notes,
and nothing is due: a sweep sends one LIST for each 1,000 files, and reads what was changed since the last one.

| what | warm | KiB | cold | KiB |
| --- | --- | ---: | --- | ---: |
`

// A mailbox records the messages that functions send.
type mailbox struct {
	mu  sync.Mutex
	all []job.Message
}

// Send implements job.Queue.
func (l *mailbox) Send(_ context.Context, m job.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, m)
	return nil
}

// A yard is a deployment with functions that answer no requests.
type yard struct {
	cloudStores
	clock *clock
	line  *mailbox
}

// options returns the options of a function whose requests are counted.
func (y yard) options(t *testing.T, m *awstest.Meter) awsapp.Options {
	t.Helper()
	o := awsapp.Options{
		Server: config.Config{PublicURL: hostedURL}, Queue: y.line, Memory: 512 << 20, Now: y.clock.time,
		Log: slog.New(slog.DiscardHandler), Version: "test",
	}
	o.Table, o.Bucket = y.open(t, m, y.clock)
	return o
}

// janitor returns a new process of the janitor, which checks all tenants.
func (y yard) janitor(t *testing.T, m *awstest.Meter) (run func()) {
	t.Helper()
	j := awsapp.NewJanitor(y.options(t, m))
	t.Cleanup(j.Close)
	return func() {
		_, err := j.Invoke(t.Context(), nil)
		require.NoError(t, err)
	}
}

// worker returns a new process that handles messages about the vault main.
func (y yard) worker(t *testing.T, m *awstest.Meter) (work func(kind string)) {
	t.Helper()
	url, _ := y.backend.Queue(t, 60)
	w := awsapp.NewWorker(y.options(t, m), sqsqueue.New(y.backend.AWS(t, nil), url, sqsqueue.Options{}))
	t.Cleanup(w.Close)
	return func(kind string) {
		body := marshalled(t, job.Message{V: 1, Kind: kind, Tenant: "acme", Vault: "main", Incarnation: 1})
		answer, err := w.Invoke(t.Context(), marshalled(t, events.SQSEvent{Records: []events.SQSMessage{{Body: string(body)}}}))
		require.NoError(t, err)
		require.JSONEq(t, `{"batchItemFailures":[]}`, string(answer))
	}
}

// newYard creates the tenant acme with the vault main, whose files are up to date.
func newYard(t *testing.T) (yard, sender) {
	t.Helper()
	b := awstest.Start(t)
	y := yard{cloudStores{b, b.Table(t), b.Bucket(t)}, &clock{now: time.Now().UTC()}, &mailbox{}}
	app, err := awsapp.New(y.options(t, &awstest.Meter{}))
	require.NoError(t, err)
	t.Cleanup(app.Close)
	m := &metered{app: app}
	m.handler = app.Handler()
	s := sender{&m.hosted, m.firstToken(t, "acme")}
	s.call(t, "team_vault_create", `{"name":"main"}`)
	for i := range 3 {
		s.call(t, "raven_new", fmt.Sprintf(`{"vault":"main","type":"page","title":"Note %d"}`, i))
	}
	work := y.worker(t, &awstest.Meter{})
	for _, kind := range []string{"files", "fold", "sweep"} {
		work(kind)
	}
	return y, s
}

// call makes a call that succeeds.
func (s sender) call(t *testing.T, name, in string) {
	t.Helper()
	answer, err := s.Invoke(t.Context(), name, json.RawMessage(in))
	require.NoError(t, err, string(answer))
}

// spent returns the cost of a call in a new process, and that of the next one.
func spent(m *awstest.Meter, do func()) string {
	count := func() string {
		m.Reset()
		do()
		n := m.Count()
		return fmt.Sprintf("%s | %.1f", n, float64(n.Sent+n.Got)/1024)
	}
	cold := count()
	return count() + " | " + cold
}

// background returns the rows of functions that answer no requests.
func background(t *testing.T) string {
	t.Helper()
	y, s := newYard(t)
	var page strings.Builder
	page.WriteString(backgroundHead)
	row := func(what string, m *awstest.Meter, do func()) {
		fmt.Fprintf(&page, "| %s | %s |\n", what, spent(m, do))
	}
	m := &awstest.Meter{}
	work := y.worker(t, m)
	row("a sweep of up to 1,000 files", m, func() {
		y.clock.minutes(1)
		work("sweep")
	})
	m = &awstest.Meter{}
	row("the janitor: a tenant with one vault", m, y.janitor(t, m))
	s.call(t, "team_vault_create", `{"name":"second"}`)
	m = &awstest.Meter{}
	row("the janitor: a tenant with two vaults", m, y.janitor(t, m))
	y.line.mu.Lock()
	defer y.line.mu.Unlock()
	for _, sent := range y.line.all {
		require.NotEqual(t, "sweep", sent.Kind, "nothing is due")
	}
	return page.String()
}
