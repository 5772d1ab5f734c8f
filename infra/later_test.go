package infra_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/ingest"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/localcloud"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/sqsqueue"
	"github.com/rookeryhq/rookery/internal/table"
)

// A later is the deployment of a story that has ended, with a clock that can be set: what functions do an hour, a day and
// a month after a call, which their programs would wait for. They run in this process, behind the same recorder.
type later struct {
	t      *testing.T
	r      *recorder
	d      localcloud.Deployment // with the emulators themselves
	passed time.Duration

	mu   sync.Mutex
	sent []job.Message
}

// Send implements job.Queue.
func (l *later) Send(_ context.Context, m job.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, m)
	return nil
}

// take empties the queue.
func (l *later) take() []job.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.sent
	l.sent = nil
	return all
}

func (l *later) now() time.Time { return time.Now().Add(l.passed) }

// An account is the emulators behind the recorder, as one function has them.
type account struct {
	*later
	function, role  string // role is that for the data of a tenant
	store, dynamodb string // URLs
}

func (l *later) account(function, role string) *account {
	return &account{l, function, role, l.r.serve(function, l.d.AWS), l.r.serve(function, l.d.DynamoDB)}
}

// config is that of clients which sign as the function does, or as its role for a tenant does.
func (a *account) config(endpoint, tenant string) aws.Config {
	id := a.function
	if tenant != "" {
		id += "-" + tenant
		a.r.know(id, session{a.role, tenant})
	}
	cfg := a.d.Config(endpoint, nil)
	cfg.Credentials = credentials.NewStaticCredentialsProvider(id, "s", "")
	return cfg
}

func (a *account) bucket(tenant string) *s3blob.Bucket {
	return s3blob.New(a.config(a.store, tenant), a.d.Bucket, s3blob.Options{Now: a.now})
}

func (a *account) table(tenant string) table.Table {
	return dynamotable.New(a.config(a.dynamodb, tenant), a.d.Table, dynamotable.Options{Now: a.now})
}

// queue is one of the deployment, whose messages go to its dead letters if they cannot be read.
func (a *account) queue(name string) *sqsqueue.Queue {
	client := sqs.NewFromConfig(a.d.Config(a.d.AWS, nil))
	url := func(name string) string {
		out, err := client.GetQueueUrl(a.t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
		require.NoError(a.t, err)
		return aws.ToString(out.QueueUrl)
	}
	return sqsqueue.New(a.config(a.store, ""), url(name), sqsqueue.Options{Dead: url(a.d.Queue + "-dead-letters")})
}

// options are those of the function.
func (a *account) options() awsapp.Options {
	return awsapp.Options{
		Server: config.Config{PublicURL: "https://notes.example.test"}, Now: a.now,
		Table: a.table(""), Bucket: a.bucket(""), Queue: a.queue(a.d.Queue),
		Stores: func(_ context.Context, tenant string) (table.Table, blob.Bucket, error) {
			return a.table(tenant), s3blob.NewEraser(a.bucket(tenant)), nil
		},
	}
}

// tell lets time pass: sweeps of what was erased come after an hour, those of files after a day, and what was in the
// trash goes after a month.
func (l *later) tell() {
	jobs := l.account("jobs", "EraseRole")
	worker := awsapp.NewWorker(jobs.options(), jobs.queue(l.d.Queue))
	l.t.Cleanup(worker.Close)
	of := l.account("janitor", "JanitorTenantRole")
	janitor := awsapp.NewJanitor(of.options())
	l.t.Cleanup(janitor.Close)
	o := of.options()
	o.Queue = l
	asker := awsapp.NewJanitor(o)
	l.t.Cleanup(asker.Close)
	for _, passed := range []time.Duration{2 * time.Hour, 26 * time.Hour, 32 * 24 * time.Hour} {
		l.passed = passed
		for _, f := range []*awsapp.Janitor{janitor, asker} {
			_, err := f.Invoke(l.t.Context(), []byte(`{}`))
			require.NoError(l.t, err)
		}
		for _, m := range l.take() {
			body, err := json.Marshal(m)
			require.NoError(l.t, err)
			l.invoke(worker, string(body))
		}
	}
	l.invoke(worker, `{"v":9,"kind":"fold"}`)                       // it goes to the dead letters
	l.invoke(worker, `{"v":1,"kind":"clear","tenant":"ACME","n":{`) // and this one
	l.large(jobs)
	ingest := l.account("ingest", "TenantRole")
	reader := awsapp.NewIngest(ingest.options(), ingest.queue(l.d.Queue+"-events"))
	l.t.Cleanup(reader.Close)
	l.invoke(reader, "no event of a bucket")
	_, err := ingest.bucket("acme").Put(l.t.Context(), "tenants/acme/vaults/main/notes/late.md", []byte("# Late\n"), blob.Always)
	require.NoError(l.t, err)
	l.invoke(reader, `{"Records":[{"eventName":"ObjectCreated:Put","eventTime":"`+l.now().UTC().Format(time.RFC3339Nano)+
		`","s3":{"object":{"key":"tenants/acme/vaults/main/notes/late.md"}}}]}`)
	l.invoke(worker, `{"v":1,"kind":"close","tenant":"acme","vault":"main","incarnation":1}`) // it comes again: too early
	for _, a := range []*account{jobs, ingest} {
		name := l.d.Queue
		if a == ingest {
			name += "-events"
		}
		err := a.queue(name).Again(l.t.Context(), "unknown", time.Second)
		l.t.Logf("a message of %s comes again: %v", a.function, err)
	}
	l.rollBack(worker, janitor)
}

// rollBack has an operator look at the stack, and roll back all vaults and logs of tenants. Files that the log of a
// vault does not know and a segment that is behind its cursor are there, as after a table was restored.
func (l *later) rollBack(worker, janitor lambda.Handler) {
	var found struct{ Tenants []awsapp.Tenant }
	l.command(janitor, `{"rookery":"vaults"}`, &found)
	require.NotEmpty(l.t, found.Tenants)
	l.command(worker, `{"rookery":"health"}`, &awsapp.Health{})
	files := s3blob.New(l.d.Config(l.d.AWS, nil), l.d.Bucket, s3blob.Options{})
	put := func(key, text string) {
		_, err := files.Put(l.t.Context(), "tenants/acme/vaults/main/"+key, []byte(text), blob.Always)
		require.NoError(l.t, err)
	}
	put("notes/late.md", "# Of another history\n")
	put("notes/unknown.md", "# Of another history\n")
	put("1/segment/999999999999", "of another history")
	rolled := map[string]ingest.RollbackResult{}
	for _, at := range found.Tenants {
		for _, name := range append([]string{""}, at.Vaults...) {
			var done ingest.RollbackResult
			l.command(worker, `{"rookery":"rollback","tenant":"`+at.Tenant+`","vault":"`+name+`"}`, &done)
			rolled[at.Tenant+"/"+name] = done
		}
	}
	require.Contains(l.t, rolled, "acme/main")
	main := rolled["acme/main"]
	require.Equal(l.t, 2, main.Kept, "%+v", rolled)
	require.Positive(l.t, main.Written, "%+v", rolled)
	require.Equal(l.t, 1, main.Segments, "%+v", rolled)
}

// command has a function carry out a command of an operator.
func (l *later) command(f lambda.Handler, event string, out any) {
	answer, err := f.Invoke(l.t.Context(), []byte(event))
	require.NoError(l.t, err, event)
	require.NoError(l.t, json.Unmarshal(answer, out), event)
}

// invoke has a function work on one message.
func (l *later) invoke(f lambda.Handler, body string) {
	event, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m", Body: body}}})
	require.NoError(l.t, err)
	answer, err := f.Invoke(l.t.Context(), event)
	require.NoError(l.t, err)
	require.Equal(l.t, `{"batchItemFailures":[]}`, string(answer), body)
}

// large appends to an object as to an audit log of more than 32 MiB, which a story would take too long to fill, and gives
// such an append up.
func (l *later) large(jobs *account) {
	files, ctx := blob.Sub(jobs.bucket("acme"), "tenants/acme"), l.t.Context()
	data := make([]byte, blob.MinExtended)
	_, _ = rand.Read(data)
	const key = "vaults/main/notes/.raven/large.log"
	tag, err := files.Put(ctx, key, data, blob.IfAbsent)
	require.NoError(l.t, err)
	more := blob.Extension{From: key, Tag: tag, Size: blob.MinExtended, Data: []byte("a line\n")}
	_, err = blob.Extend(ctx, files, key, more, blob.IfTag(tag))
	require.NoError(l.t, err)
	_, err = blob.Extend(ctx, files, key, more, blob.IfTag(tag))
	require.ErrorIs(l.t, err, blob.ErrCondition)
}
