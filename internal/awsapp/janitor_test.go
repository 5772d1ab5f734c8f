package awsapp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/sqsqueue"
)

// A yard is a flow with a janitor and the function that handles the messages of the janitor.
type yard struct {
	*flow
	queue   *sent
	janitor *awsapp.Janitor
	worker  *awsapp.Worker
}

func newYard(t *testing.T) *yard {
	t.Helper()
	y := &yard{flow: newFlow(t), queue: &sent{}}
	o := y.options(t)
	o.Queue = y.queue
	y.janitor = awsapp.NewJanitor(o)
	t.Cleanup(y.janitor.Close)
	url, dead := y.backend.Queue(t, 60)
	o.Bucket = s3blob.NewEraser(y.s3)
	y.worker = awsapp.NewWorker(o, sqsqueue.New(y.backend.AWS(t, nil), url, sqsqueue.Options{Dead: dead}))
	t.Cleanup(y.worker.Close)
	return y
}

// run runs the janitor once, and returns its messages.
func (y *yard) run(t *testing.T) []job.Message {
	t.Helper()
	answer, err := y.janitor.Invoke(t.Context(), []byte(`{"detail-type":"Scheduled Event"}`))
	require.NoError(t, err)
	require.Equal(t, "null", string(answer))
	y.queue.mu.Lock()
	defer y.queue.mu.Unlock()
	all := y.queue.all
	y.queue.all = nil
	return all
}

// work handles messages, and returns the ids of those that must be delivered again.
func (y *yard) work(t *testing.T, all ...job.Message) (failed []string) {
	t.Helper()
	for _, m := range all {
		answer, err := y.worker.Invoke(t.Context(), marshalled(t, events.SQSEvent{Records: []events.SQSMessage{
			{MessageId: m.Kind + " " + m.Vault, Body: string(marshalled(t, m))},
		}}))
		require.NoError(t, err)
		var again events.SQSEventResponse
		require.NoError(t, json.Unmarshal(answer, &again))
		for _, f := range again.BatchItemFailures {
			failed = append(failed, f.ItemIdentifier)
		}
	}
	return failed
}

// askedOf returns the kinds of the messages about a vault.
func askedOf(all []job.Message, vault string) (kinds []string) {
	for _, m := range all {
		if m.Vault == vault {
			kinds = append(kinds, m.Kind)
		}
	}
	return kinds
}

// TestJanitor checks that a deployment that got neither a stream record nor an event is up to date
// after one run of the janitor and its messages: files, the audit log, objects of others, and
// refused calls of a tenant without writes.
func TestJanitor(t *testing.T) {
	y := newYard(t)
	y.add(t, "main", "one")
	refused := asked(http.MethodPost, "/v1/tools/raven_delete", y.token, `{"vault":"main","id":"none"}`)
	require.Equal(t, http.StatusNotFound, awsapp.Recorded(through(t, y.app), refused).Code)
	_, err := y.notes.Put(t.Context(), "by hand.md", []byte("# By hand\n\nwritten outside\n"), blob.Always)
	require.NoError(t, err)
	y.clock.pass(25 * time.Hour)
	all := y.run(t)
	require.ElementsMatch(t, []string{"files", "fold", "sweep"}, askedOf(all, "main"))
	require.ElementsMatch(t, []string{"tenant"}, askedOf(all, ""))
	require.Empty(t, y.work(t, all...))
	y.clock.pass(10 * time.Second)
	require.Empty(t, y.work(t, job.Message{V: 1, Kind: "close", Tenant: "acme", Vault: "main", Incarnation: 1}))
	paths := y.paths(t)
	require.Contains(t, paths, "one.md")
	require.Contains(t, paths, ".raven/audit.log")
	found := y.call(t, http.MethodPost, "/v1/tools/raven_search", `{"vault":"main","query":"written outside"}`)
	require.Contains(t, string(marshalled(t, found)), "by hand")
	var archives int
	for o, err := range y.bucket.List(t.Context(), "") {
		require.NoError(t, err)
		if strings.Contains(o.Key, "refusals/") {
			archives++
		}
	}
	require.Equal(t, 1, archives)
	require.NotContains(t, y.logs.String(), "could not")
}

// TestJanitorClears checks that the files of a vault are removed, and its name is free, at most an
// hour after its time in the trash has ended.
func TestJanitorClears(t *testing.T) {
	y := newYard(t)
	y.add(t, "main", "one")
	m := job.Message{V: 1, Tenant: "acme", Vault: "main", Incarnation: 1}
	for _, m.Kind = range []string{"files", "fold"} {
		require.Empty(t, y.work(t, m))
	}
	y.call(t, http.MethodPost, "/v1/tools/team_vault_delete", `{"name":"main"}`)
	y.clock.pass(31 * 24 * time.Hour)
	taken := awsapp.Recorded(through(t, y.app), asked(http.MethodPost, "/v1/vaults", y.token, `{"name":"main"}`))
	require.Equal(t, http.StatusConflict, taken.Code, taken.Body)
	require.Contains(t, taken.Body.String(), "retry_after")
	all := y.run(t)
	require.Equal(t, []string{"clear"}, askedOf(all, "main"))
	require.Empty(t, y.work(t, all...))
	require.Empty(t, y.paths(t))
	y.call(t, http.MethodPost, "/v1/vaults", `{"name":"main"}`)
}
