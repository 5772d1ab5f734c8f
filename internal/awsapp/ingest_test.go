package awsapp_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/sqsqueue"
	"github.com/rookeryhq/rookery/internal/table"
)

// told returns the body of a message by which a bucket reports an event of an object. key is
// written unchanged.
func told(event, key string) string {
	return fmt.Sprintf(`{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","eventTime":"2026-11-23T12:00:00.123Z",`+
		`"eventName":%q,"s3":{"bucket":{"name":"b"},"object":{"key":%q,"size":1,"sequencer":"0A"}}}]}`, event, key)
}

// invoked passes messages to a function, and returns the ids of those that must be delivered again:
// their numbers.
func invoked(t *testing.T, i *awsapp.Ingest, bodies ...string) (failed []string) {
	t.Helper()
	var e events.SQSEvent
	for n, body := range bodies {
		e.Records = append(e.Records, events.SQSMessage{MessageId: fmt.Sprint(n), Body: body})
	}
	data, err := i.Invoke(t.Context(), marshalled(t, e))
	require.NoError(t, err)
	var answer events.SQSEventResponse
	require.NoError(t, json.Unmarshal(data, &answer))
	for _, f := range answer.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}
	return failed
}

// TestIngested checks the handling of events of a bucket. The function records changes by others,
// once for each vault, by keys in both spellings of a space; it ignores objects that are not files
// of a vault. The function behind the queue of jobs ingests the recorded changes, or discards them
// if a person decides so.
func TestIngested(t *testing.T) {
	f := newFlow(t)
	queue := &sent{}
	o := f.options(t)
	o.Queue = queue
	i := awsapp.NewIngest(o, nil)
	t.Cleanup(i.Close)
	put := func(path, text string) {
		_, err := f.notes.Put(t.Context(), path, []byte(text), blob.Always)
		require.NoError(t, err)
	}
	put("by hand/a b+c.md", "one\n")
	put("by hand/\u00c6.md", "two\n")
	const notes = "tenants/acme/vaults/main/notes/"
	require.Empty(t, invoked(t, i,
		`{"Service":"Amazon S3","Event":"s3:TestEvent","Bucket":"b"}`,
		told("ObjectCreated:Put", notes+"by+hand/a+b%2Bc.md"),
		told("ObjectCreated:Put", notes+"by%20hand/a%20b%2Bc.md"),
		told("ObjectCreated:Copy", notes+url.QueryEscape("by hand/\u00c6.md")),
		told("ObjectRemoved:DeleteMarkerCreated", notes+"never.md"),
		told("ObjectCreated:Put", "tenants/acme/vaults/main/1/segment/x.md"),
		told("ObjectCreated:Put", "tenants/nobody/vaults/main/notes/x.md"),
		told("ObjectCreated:Put", "tenants/acme/vaults/nothing/notes/x.md"),
		told("ObjectCreated:Put", "other.md"),
	))
	closing := job.Message{V: 1, Kind: "close", Tenant: "acme", Vault: "main", Incarnation: 1, After: 3 * time.Second}
	require.Equal(t, []job.Message{closing}, queue.all)
	stats := f.call(t, "POST", "/v1/tools/raven_stats", `{"vault":"main"}`)
	require.Equal(t, "pending", stats["freshness"])

	f.clock.pass(3 * time.Second)
	jobs, _ := f.backend.Queue(t, 60)
	worker := awsapp.NewWorker(f.options(t), sqsqueue.New(f.backend.AWS(t, nil), jobs, sqsqueue.Options{}))
	t.Cleanup(worker.Close)
	body, err := json.Marshal(closing)
	require.NoError(t, err)
	answer, err := worker.Invoke(t.Context(), marshalled(t, events.SQSEvent{Records: []events.SQSMessage{{Body: string(body)}}}))
	require.NoError(t, err)
	require.JSONEq(t, `{"batchItemFailures":[]}`, string(answer))
	read := f.call(t, "POST", "/v1/tools/raven_read", `{"vault":"main","path":"by hand/a b+c.md"}`)
	require.Contains(t, fmt.Sprint(read), "one")

	put("later.md", "three\n")
	require.Empty(t, invoked(t, i, told("ObjectCreated:Put", notes+"later.md")))
	done := f.call(t, "POST", "/v1/tools/raven_reindex", `{"vault":"main"}`)
	require.InDelta(t, 1, done["files_created"], 0, "who asks does not wait")
}

// TestIngestFails checks that only the messages of a vault that cannot be read are delivered again,
// that a message which is not an event of a bucket is a dead letter at once, and that recorded
// changes are removed with their vault.
func TestIngestFails(t *testing.T) {
	f := newFlow(t)
	f.call(t, "POST", "/v1/vaults", `{"name":"bad"}`)
	f.add(t, "bad", "two")
	bad := table.Key{Part: "acme/bad/1", Sort: "log/000000000002"}
	require.NoError(t, f.table.Commit(t.Context(), table.Set(table.Item{Key: bad, Data: []byte("damaged")})))
	url, dead := f.backend.Queue(t, 60)
	o := f.options(t)
	o.Queue = &sent{}
	i := awsapp.NewIngest(o, sqsqueue.New(f.backend.AWS(t, nil), url, sqsqueue.Options{Dead: dead}))
	t.Cleanup(i.Close)
	_, err := f.notes.Put(t.Context(), "x.md", []byte("x\n"), blob.Always)
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, invoked(t, i,
		told("ObjectCreated:Put", "tenants/acme/vaults/main/notes/x.md"),
		told("ObjectCreated:Put", "tenants/acme/vaults/bad/notes/x.md"),
		`{"Records":[]}`, `nothing`,
	))
	var letters []string
	client := sqs.NewFromConfig(f.backend.AWS(t, nil))
	require.Eventually(t, func() bool {
		out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &dead})
		require.NoError(t, err)
		for _, m := range out.Messages {
			letters = append(letters, aws.ToString(m.Body))
		}
		return len(letters) >= 2
	}, time.Minute, 50*time.Millisecond)
	require.ElementsMatch(t, []string{`{"Records":[]}`, `nothing`}, letters)
	require.NotContains(t, f.logs.String(), "x.md")

	noticed := func() (n int) {
		for it, err := range f.table.Query(t.Context(), "acme/main/1", "", "~") {
			require.NoError(t, err)
			if strings.HasPrefix(it.Sort, "noticed/") {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, noticed())
	f.call(t, "POST", "/v1/tools/team_vault_delete", `{"name":"main"}`)
	f.call(t, "POST", "/v1/tools/team_vault_erase", `{"name":"main","confirm":"main"}`)
	require.Zero(t, noticed())
	require.Empty(t, invoked(t, i, told("ObjectRemoved:Delete", "tenants/acme/vaults/main/notes/x.md")))
	require.Zero(t, noticed())
	for _, event := range []string{"", "{}", `{"Records":[]}`} {
		_, err := i.Invoke(t.Context(), []byte(event))
		require.ErrorContains(t, err, "no messages")
	}
}
