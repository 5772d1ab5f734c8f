package awsapp_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/eventsource"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/sqsqueue"
)

// A works is a deployment with a queue of jobs and the function that handles it.
type works struct {
	*deployment
	queue  *sqsqueue.Queue
	client *sqs.Client
	dead   string
	app    *awsapp.App
	token  string
}

func newWorks(t *testing.T) *works {
	t.Helper()
	b := awstest.Start(t)
	url, dead := b.Queue(t, 60)
	w := &works{
		deployment: newDeployment(t), dead: dead, client: sqs.NewFromConfig(b.AWS(t, nil)),
		queue: sqsqueue.New(b.AWS(t, nil), url, sqsqueue.Options{Dead: dead}),
	}
	w.bucket = s3blob.New(b.AWS(t, nil), b.Bucket(t), s3blob.Options{Now: w.clock.time}) // files need one with versions
	w.app = w.function(t, func(o *awsapp.Options) { o.Queue = w.queue })
	w.token = token(t, w.app, "acme")
	worker := awsapp.NewWorker(w.options(t), w.queue)
	t.Cleanup(worker.Close)
	t.Cleanup(eventsource.Queue(t.Context(), w.client, url, worker, eventsource.Batches{Size: 1, Most: 2}).Close)
	return w
}

// call makes a call over HTTP, and returns the data of its answer.
func (w *works) call(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	r := awsapp.Recorded(through(t, w.app), asked(method, path, w.token, body))
	require.Equal(t, http.StatusOK, r.Code, r.Body)
	var answer struct{ Data map[string]any }
	require.NoError(t, json.Unmarshal(r.Body.Bytes(), &answer))
	return answer.Data
}

// done waits until a job is done.
func (w *works) done(t *testing.T, id string) {
	t.Helper()
	jobs := w.app.Jobs(t, "acme")
	var it job.Item
	require.Eventually(t, func() bool {
		var err error
		it, err = jobs.Get(t.Context(), id)
		require.NoError(t, err)
		return it.State.Ended()
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, job.Done, it.State, it.Error)
}

// TestWorkerOnAQueue checks that the function behind the queue works on the jobs that calls leave.
func TestWorkerOnAQueue(t *testing.T) {
	w := newWorks(t)
	w.call(t, http.MethodPost, "/v1/vaults", `{"name":"main"}`)
	jobs := w.app.Jobs(t, "acme")
	for kind, input := range map[string]any{
		"audit_verify": struct{}{}, "reindex_full": map[string]any{"who": map[string]string{"principal": "p"}},
	} {
		it, err := jobs.Add(t.Context(), job.Request{
			Kind: kind, Target: job.Target{Vault: "main"}, By: job.By{Principal: "p"}, Input: input,
		})
		require.NoError(t, err)
		require.NoError(t, w.queue.Send(t.Context(), job.Message{V: 1, Kind: kind, Tenant: "acme", Job: it.ID}))
		w.done(t, it.ID)
	}

	w.call(t, http.MethodPost, "/v1/tools/team_vault_delete", `{"name":"main"}`)
	erased := w.call(t, http.MethodPost, "/v1/tools/team_vault_erase", `{"name":"main","confirm":"main"}`)
	id := erased["job"].(map[string]any)["id"].(string)
	it, err := jobs.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, job.Waiting, it.State)
	require.Equal(t, "sweep", it.Progress.Step)
	w.clock.pass(time.Hour)
	require.NoError(t, w.queue.Send(t.Context(), job.Message{V: 1, Kind: "vault_erase", Tenant: "acme", Job: id}))
	w.done(t, id)
	require.NotContains(t, w.logs.String(), "could not")
}

// TestDeadLetters checks that a message without a handler becomes a dead letter at once, and that a
// message whose job no longer exists does not.
func TestDeadLetters(t *testing.T) {
	w := newWorks(t)
	for _, m := range []job.Message{
		{V: 1, Kind: "jobs", Tenant: "nobody"},
		{V: 1, Kind: "audit_verify", Tenant: "acme", Job: job.NewID(time.Now())},
		{V: 2, Kind: "audit_verify", Tenant: "acme"},
		{V: 1, Kind: "from-a-later-release", Tenant: "acme"},
	} {
		require.NoError(t, w.queue.Send(t.Context(), m))
	}
	var dead []string
	require.Eventually(t, func() bool {
		out, err := w.client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &w.dead})
		require.NoError(t, err)
		for _, m := range out.Messages {
			dead = append(dead, aws.ToString(m.Body))
		}
		return len(dead) >= 2 && w.quiet(t)
	}, time.Minute, 50*time.Millisecond)
	require.ElementsMatch(t, []string{
		`{"v":2,"kind":"audit_verify","tenant":"acme"}`, `{"v":1,"kind":"from-a-later-release","tenant":"acme"}`,
	}, dead)
}

// quiet reports whether the queue has no message.
func (w *works) quiet(t *testing.T) bool {
	t.Helper()
	out, err := w.client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(w.queue.URL()), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	require.NoError(t, err)
	return out.Attributes["ApproximateNumberOfMessages"] == "0" &&
		out.Attributes["ApproximateNumberOfMessagesNotVisible"] == "0"
}

// TestUntold checks that a message is reported as failed if it cannot be stored as a dead letter.
func TestUntold(t *testing.T) {
	b := awstest.Start(t)
	url, _ := b.Queue(t, 60)
	d := newDeployment(t)
	worker := awsapp.NewWorker(d.options(t), sqsqueue.New(b.AWS(t, nil), url, sqsqueue.Options{}))
	t.Cleanup(worker.Close)
	data, err := worker.Invoke(t.Context(), marshalled(t, events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "1", Body: "{}"}, {MessageId: "2", Body: `{"v":1,"kind":"jobs","tenant":"nobody"}`},
	}}))
	require.NoError(t, err)
	require.JSONEq(t, `{"batchItemFailures":[{"itemIdentifier":"1"}]}`, string(data))
	for _, event := range []string{"", "{}", `{"Records":[]}`} {
		_, err := worker.Invoke(t.Context(), []byte(event))
		require.ErrorContains(t, err, "no messages")
	}
}
