package awsapp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/eventsource"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/sqsqueue"
	"github.com/rookeryhq/rookery/internal/table"
)

// A sent is a queue that records its messages, or fails.
type sent struct {
	mu   sync.Mutex
	all  []job.Message
	fail error
}

// Send implements job.Queue.
func (s *sent) Send(_ context.Context, m job.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil {
		s.all = append(s.all, m)
	}
	return s.fail
}

// A flow is a deployment over emulators, with the function behind the stream of its table.
type flow struct {
	works
	backend *awstest.Backend
	name    string // of the table
	notes   blob.Bucket
	s3      *s3blob.Bucket
}

func newFlow(t *testing.T) *flow {
	t.Helper()
	b := awstest.Start(t)
	f := &flow{backend: b, name: b.Table(t)}
	f.deployment = &deployment{clock: newClock(), logs: &buffer{}}
	f.table = dynamotable.New(b.DynamoDB(nil), f.name, dynamotable.Options{Now: f.clock.time})
	f.s3 = s3blob.New(b.AWS(t, nil), b.Bucket(t), s3blob.Options{Now: f.clock.time})
	f.bucket = f.s3
	f.notes = blob.Sub(f.bucket, "tenants/acme/vaults/main/notes")
	f.app = f.function(t, func(o *awsapp.Options) { o.Queue = &sent{} })
	f.token = token(t, f.app, "acme")
	f.call(t, http.MethodPost, "/v1/vaults", `{"name":"main"}`)
	return f
}

// stream returns the function behind the stream, with a queue.
func (f *flow) stream(t *testing.T, q job.Queue) *awsapp.Stream {
	t.Helper()
	o := f.options(t)
	o.Queue = q
	s := awsapp.NewStream(o)
	t.Cleanup(s.Close)
	return s
}

// add creates a note by a call. Its file is named by its title.
func (f *flow) add(t *testing.T, vault, title string) {
	t.Helper()
	f.call(t, http.MethodPost, "/v1/tools/raven_new", `{"vault":"`+vault+`","type":"page","title":"`+title+`","path":"`+title+`"}`)
}

// await waits until a note has a file.
func (f *flow) await(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, _, err := f.notes.Get(t.Context(), path, 0, 0)
		return err == nil
	}, time.Minute, 50*time.Millisecond, path)
}

// paths returns the paths of all files.
func (f *flow) paths(t *testing.T) (all []string) {
	t.Helper()
	for o, err := range f.notes.List(t.Context(), "") {
		require.NoError(t, err)
		all = append(all, o.Key)
	}
	return all
}

// TestRecorded checks the handling of recorded events: duplicates, wrong order, other records and
// other partitions, and a large number.
func TestRecorded(t *testing.T) {
	f := newFlow(t)
	f.add(t, "main", "one")
	queue := &sent{}
	s := f.stream(t, queue)
	event, err := os.ReadFile("testdata/stream.json")
	require.NoError(t, err)
	invoke := func(event []byte) {
		answer, err := s.Invoke(t.Context(), event)
		require.NoError(t, err)
		require.JSONEq(t, `{"batchItemFailures":[]}`, string(answer))
	}
	invoke(event)
	want := f.paths(t)
	require.NotEmpty(t, want)
	invoke(event)
	var many events.DynamoDBEvent
	require.NoError(t, json.Unmarshal(event, &many))
	for len(many.Records) < 10_000 {
		many.Records = append(many.Records, many.Records...)
	}
	invoke(marshalled(t, many))
	require.Equal(t, want, f.paths(t))
	fold := job.Message{V: 1, Kind: "fold", Tenant: "acme", Vault: "main", Incarnation: 1, After: time.Minute}
	require.Equal(t, []job.Message{fold}, queue.all)
	for _, event := range []string{"", "{}", `{"Records":[]}`} {
		_, err := s.Invoke(t.Context(), []byte(event))
		require.ErrorContains(t, err, "no records")
	}
}

// TestPoison checks that a vault whose log is damaged does not delay others: it gets a message,
// which becomes a dead letter after several attempts.
func TestPoison(t *testing.T) {
	f := newFlow(t)
	f.call(t, http.MethodPost, "/v1/vaults", `{"name":"bad"}`)
	f.add(t, "main", "one")
	f.add(t, "bad", "two")
	bad := table.Key{Part: "acme/bad/1", Sort: "log/000000000002"}
	require.NoError(t, f.table.Commit(t.Context(), table.Set(table.Item{Key: bad, Data: []byte("damaged")})))
	queue := &sent{}
	record := func(part string) events.DynamoDBEventRecord {
		return events.DynamoDBEventRecord{EventName: "INSERT", Change: events.DynamoDBStreamRecord{
			SequenceNumber: "7", Keys: map[string]events.DynamoDBAttributeValue{
				"p": events.NewStringAttribute(part), "s": events.NewStringAttribute("log/000000000002"),
			},
		}}
	}
	event := marshalled(t, events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{
		record("acme/bad/1"), record("acme/main/1"),
	}})
	answer, err := f.stream(t, queue).Invoke(t.Context(), event)
	require.NoError(t, err)
	require.JSONEq(t, `{"batchItemFailures":[]}`, string(answer))
	require.NotEmpty(t, f.paths(t))
	m := job.Message{V: 1, Kind: "files", Tenant: "acme", Vault: "bad", Incarnation: 1}
	require.Contains(t, queue.all, m)
	require.Len(t, queue.all, 2, "the other is to be folded")

	answer, err = f.stream(t, &sent{fail: errors.New("full")}).Invoke(t.Context(), event)
	require.NoError(t, err)
	require.JSONEq(t, `{"batchItemFailures":[{"itemIdentifier":"7"}]}`, string(answer), "or it would be forgotten")

	url, dead := f.backend.Queue(t, 60)
	worker := awsapp.NewWorker(f.options(t), sqsqueue.New(f.backend.AWS(t, nil), url, sqsqueue.Options{Dead: dead}))
	t.Cleanup(worker.Close)
	body, err := json.Marshal(m)
	require.NoError(t, err)
	answer, err = worker.Invoke(t.Context(), marshalled(t, events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "1", Body: string(body)},
	}}))
	require.NoError(t, err)
	require.JSONEq(t, `{"batchItemFailures":[{"itemIdentifier":"1"}]}`, string(answer), "it comes again, and is dead then")
}

// TestErasedFiles checks that an erased vault has no file, and no version of one, when the job of
// its erasure is done.
func TestErasedFiles(t *testing.T) {
	f := newFlow(t)
	f.add(t, "main", "one")
	event, err := os.ReadFile("testdata/stream.json")
	require.NoError(t, err)
	s := f.stream(t, &sent{})
	_, err = s.Invoke(t.Context(), event)
	require.NoError(t, err)
	require.Contains(t, f.paths(t), "one.md")
	f.call(t, http.MethodPost, "/v1/tools/team_vault_delete", `{"name":"main"}`)
	erased := f.call(t, http.MethodPost, "/v1/tools/team_vault_erase", `{"name":"main","confirm":"main"}`)
	require.Empty(t, f.paths(t))
	_, err = s.Invoke(t.Context(), event)
	require.NoError(t, err)
	require.Empty(t, f.paths(t), "a late record brings nothing back")

	f.clock.pass(time.Hour)
	url, _ := f.backend.Queue(t, 60)
	o := f.options(t)
	o.Bucket = s3blob.NewEraser(f.s3)
	worker := awsapp.NewWorker(o, sqsqueue.New(f.backend.AWS(t, nil), url, sqsqueue.Options{}))
	t.Cleanup(worker.Close)
	body := marshalled(t, map[string]any{
		"v": 1, "kind": "vault_erase", "tenant": "acme", "job": erased["job"].(map[string]any)["id"],
	})
	answer, err := worker.Invoke(t.Context(), marshalled(t, events.SQSEvent{Records: []events.SQSMessage{{Body: string(body)}}}))
	require.NoError(t, err)
	require.JSONEq(t, `{"batchItemFailures":[]}`, string(answer))
	gone, err := s3blob.NewEraser(f.s3).Wipe(t.Context(), "tenants/acme/vaults/main/")
	require.NoError(t, err)
	require.Zero(t, gone, "there is nothing left to be destroyed")
}

// TestErasedHistory checks that nothing remains of a note whose history is erased when the job is
// done: no version of its file, and no version of the audit log that had its lines.
func TestErasedHistory(t *testing.T) {
	f := newFlow(t)
	f.call(t, http.MethodPost, "/v1/tools/raven_new", `{"vault":"main","type":"page","title":"Hush","path":"hush"}`)
	f.call(t, http.MethodPost, "/v1/tools/raven_add", `{"vault":"main","to":"hush","text":"whispered"}`)
	url, dead := f.backend.Queue(t, 60)
	o := f.options(t)
	o.Bucket = s3blob.NewEraser(f.s3)
	worker := awsapp.NewWorker(o, sqsqueue.New(f.backend.AWS(t, nil), url, sqsqueue.Options{Dead: dead}))
	t.Cleanup(worker.Close)
	work := func(m job.Message) {
		body, err := json.Marshal(m)
		require.NoError(t, err)
		answer, err := worker.Invoke(t.Context(), marshalled(t, events.SQSEvent{Records: []events.SQSMessage{{Body: string(body)}}}))
		require.NoError(t, err)
		require.JSONEq(t, `{"batchItemFailures":[]}`, string(answer))
	}
	for _, kind := range []string{"files", "fold"} {
		work(job.Message{V: 1, Kind: kind, Tenant: "acme", Vault: "main", Incarnation: 1})
	}
	f.add(t, "main", "other")
	require.Contains(t, f.paths(t), ".raven/audit.log")
	require.Contains(t, f.paths(t), "hush.md")

	erased := f.call(t, http.MethodPost, "/v1/tools/raven_delete", `{"vault":"main","id":"hush","erase":true}`)
	id := erased["job"].(map[string]any)["id"].(string)
	it, err := f.app.Jobs(t, "acme").Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, job.Waiting, it.State, "a function that answers calls destroys no version")
	f.clock.pass(time.Minute)
	work(job.Message{V: 1, Kind: "note_erase", Tenant: "acme", Vault: "main", Job: id})
	f.done(t, id)
	require.NotContains(t, f.paths(t), "hush.md")
	require.Contains(t, f.paths(t), "other.md")
	text, _, err := f.notes.Get(t.Context(), ".raven/audit.log", 0, -1)
	require.NoError(t, err)
	require.NotContains(t, string(text), "hush")
	gone, err := blob.EraseKept(t.Context(), s3blob.NewEraser(f.s3), "tenants/acme/vaults/main/notes/")
	require.NoError(t, err)
	require.Zero(t, gone, "no version is left that is not current")
}

// TestRefusalsAreArchived checks that a pass moves the entries of refused calls that are several
// minutes old from the table into an archive.
func TestRefusalsAreArchived(t *testing.T) {
	f := newFlow(t)
	refused := asked(http.MethodPost, "/v1/tools/raven_delete", f.token, `{"vault":"main","id":"none"}`)
	require.Equal(t, http.StatusNotFound, awsapp.Recorded(through(t, f.app), refused).Code)
	f.clock.pass(10 * time.Minute)
	url, dead := f.backend.Queue(t, 60)
	worker := awsapp.NewWorker(f.options(t), sqsqueue.New(f.backend.AWS(t, nil), url, sqsqueue.Options{Dead: dead}))
	t.Cleanup(worker.Close)
	body := `{"v":1,"kind":"fold","tenant":"acme","vault":"main","incarnation":1}`
	for range 2 {
		answer, err := worker.Invoke(t.Context(), marshalled(t, events.SQSEvent{Records: []events.SQSMessage{{Body: body}}}))
		require.NoError(t, err)
		require.JSONEq(t, `{"batchItemFailures":[]}`, string(answer))
		var archives []string
		for o, err := range f.bucket.List(t.Context(), "") {
			require.NoError(t, err)
			if strings.Contains(o.Key, "refusals/") {
				archives = append(archives, o.Key)
			}
		}
		require.Len(t, archives, 1)
		for it, err := range f.table.Query(t.Context(), "acme/refusals", "", "~") {
			require.NoError(t, err)
			require.Fail(t, "an entry is left", it.Sort)
		}
	}
}

// TestStreamToFile checks that a write is in its file soon, through the stream of the emulated
// table, that a message brings a vault up to date that is behind, and that no file of others is
// overwritten.
func TestStreamToFile(t *testing.T) {
	f := newFlow(t)
	url, dead := f.backend.Queue(t, 60)
	queue := sqsqueue.New(f.backend.AWS(t, nil), url, sqsqueue.Options{Dead: dead})
	arn := f.backend.Stream(t, f.name)
	client := dynamodbstreams.NewFromConfig(f.backend.DynamoDB(nil))
	t.Cleanup(eventsource.Stream(t.Context(), client, arn, f.stream(t, queue)).Close)
	worker := awsapp.NewWorker(f.options(t), queue)
	t.Cleanup(worker.Close)
	t.Cleanup(eventsource.Queue(t.Context(), sqs.NewFromConfig(f.backend.AWS(t, nil)), url, worker, eventsource.Batches{Size: 1, Most: 2}).Close)

	f.add(t, "main", "one")
	f.await(t, "one.md")
	_, err := f.notes.Put(t.Context(), "two.md", []byte("somebody's\n"), blob.Always)
	require.NoError(t, err)
	f.add(t, "main", "two")
	f.add(t, "main", "three")
	f.await(t, "three.md")
	text, _, err := f.notes.Get(t.Context(), "two.md", 0, -1)
	require.NoError(t, err)
	require.Equal(t, "somebody's\n", string(text))

	require.NoError(t, f.notes.Delete(t.Context(), "one.md"))
	require.NoError(t, queue.Send(t.Context(), job.Message{V: 1, Kind: "files", Tenant: "acme", Vault: "main", Incarnation: 1}))
	require.NoError(t, queue.Send(t.Context(), job.Message{V: 1, Kind: "files", Tenant: "gone", Vault: "main", Incarnation: 1}))
	fold := job.Message{V: 1, Kind: "fold", Tenant: "acme", Vault: "main", Incarnation: 1}
	require.NoError(t, queue.Send(t.Context(), fold))
	require.Eventually(t, func() bool {
		it, err := f.table.Get(t.Context(), table.Key{Part: "acme/main/1", Sort: "log/~"})
		require.NoError(t, err)
		return !strings.Contains(string(it.Data), "fold_due")
	}, time.Minute, 50*time.Millisecond, "the pass is made")
	f.add(t, "main", "four")
	f.await(t, "four.md")
	require.NotContains(t, f.paths(t), "one.md", "what somebody removed is theirs")
}
