package infra_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsops"
	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/cloudtest"
	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/s3blob"
)

// skipped are the types of resources that LocalStack says are there, and are not: the other tests of this
// package read from the template what they must be.
var skipped = []string{"AWS::ApiGatewayV2::", "AWS::CloudWatch::Dashboard", "AWS::Budgets::"}

// deployed deploys the template to LocalStack.
func deployed(t *testing.T, b *awstest.Backend) (*Stack, string) {
	t.Helper()
	began := time.Now()
	name := fmt.Sprintf("rookery-%d", began.UnixNano())
	s, err := Deploy(t.Context(), Options{
		AWS: b.AWS(t, nil), Name: name, Template: "../template.yaml", Programs: cloudtest.Programs(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	t.Logf("deployed %d resources in %v", len(s.Resources), time.Since(began).Round(time.Millisecond))
	return s, name
}

// A site is a deployed stack with a tenant that has a vault.
type site struct {
	t     *testing.T
	b     *awstest.Backend
	stack *Stack
	ops   *awsops.Stack
	c     *httptool.Client
	files *s3blob.Bucket
}

// notes is where the files of the vault are.
const notes = "tenants/acme/vaults/main/notes/"

// TestDeployed deploys the template to LocalStack, and tells one stack a story: each of its resources is made;
// a stack without an identity provider gets its first token; a note is written, found, put into the bucket, and
// taken in from there, by the mappings of the template; an operator examines it, redrives its dead letters, and
// restores it to an earlier time.
func TestDeployed(t *testing.T) {
	if os.Getenv("ROOKERY_TEST_AWS_FUNCTIONS") == "none" {
		t.Skip("the emulators run no functions: localstack/up starts one that does")
	}
	b := awstest.Start(t)
	stack, name := deployed(t, b)
	for id, r := range template(t).Resources {
		require.Contains(t, stack.Types, id)
		if r.Type != "AWS::Serverless::Function" {
			require.Equal(t, r.Type, stack.Types[id])
		}
		if !slices.ContainsFunc(skipped, func(p string) bool { return strings.HasPrefix(r.Type, p) }) {
			require.NotEmpty(t, stack.Resources[id], id)
		}
	}
	token, err := stack.Token(t.Context(), "acme")
	require.NoError(t, err)
	ops, err := awsops.Open(t.Context(), b.AWS(t, nil), name)
	require.NoError(t, err)
	s := &site{
		t: t, b: b, stack: stack, ops: ops, c: &httptool.Client{Base: stack.URL, Token: token},
		files: s3blob.New(b.AWS(t, nil), stack.Resources["Bucket"], s3blob.Options{}),
	}
	s.call("team_vault_create", `{"name":"main"}`)
	s.call("raven_new", `{"vault":"main","type":"page","title":"First","path":"first"}`)
	s.eventually("the stream of the table writes files", func() bool { return s.file("first.md") != "" })
	s.put("outside.md", "# Outside\n\nwritten elsewhere\n")
	s.eventually("events of the bucket are taken in", func() bool {
		return strings.Contains(s.call("raven_search", `{"vault":"main","query":"elsewhere"}`), "outside")
	})
	s.examine()
	s.redrive()
	s.restore()
	_, err = awsops.Open(t.Context(), b.AWS(t, nil), "nothing")
	require.ErrorContains(t, err, "there is no stack nothing")
}

// examine examines the stack as doctor --cloud does. LocalStack drops the backups of a table that a template
// asks for, which must be found.
func (s *site) examine() {
	found := map[string]doctor.Level{}
	for _, f := range s.ops.Examine(s.t.Context()) {
		found[f.Check] = f.Level
		s.t.Logf("%s %s: %s", f.Level, f.Check, f.Message)
		require.NotEmpty(s.t, f.Message)
		require.True(s.t, f.Level == doctor.LevelOK || f.Fix != "", "%+v", f)
	}
	require.Equal(s.t, map[string]doctor.Level{
		"challenge": doctor.LevelOK, "clock": doctor.LevelOK, "functions": doctor.LevelOK, "time to live": doctor.LevelOK,
		"backups": doctor.LevelError, "versions": doctor.LevelOK, "stream": doctor.LevelOK, "jobs": doctor.LevelOK,
		"dead letters": doctor.LevelOK,
	}, found)
}

// redrive sends messages that no function can work on, and requires that they come to the dead letters, that their
// alarms fire, that they are listed without their paths, and that they are moved back.
func (s *site) redrive() {
	client := sqs.NewFromConfig(s.b.AWS(s.t, nil))
	send := func(id, body string) {
		_, err := client.SendMessage(s.t.Context(), &sqs.SendMessageInput{
			QueueUrl: aws.String(s.stack.Resources[id]), MessageBody: &body,
		})
		require.NoError(s.t, err)
	}
	send("JobsQueue", `{"v":9,"kind":"fold","tenant":"acme","vault":"main"}`)
	send("EventsQueue", "no event of a bucket")
	send("EventsDeadLetters", `{"Records":[{"s3":{"object":{"key":"tenants/acme/vaults/main/notes/secret+name.md"}}}]}`)
	send("StreamDeadLetters", `{"DDBStreamBatchInfo":{"shardId":"s"}}`)
	tpl := template(s.t)
	s.eventually("messages come to the dead letters", func() bool {
		time.Sleep(2 * time.Second) // what was looked at is hidden for a second, and counts for nothing then
		counts, _, err := s.ops.DeadLetters(s.t.Context(), "")
		require.NoError(s.t, err)
		var seen cloudwatch
		for _, c := range counts {
			id := strings.ToUpper(c.Queue[:1]) + c.Queue[1:] + "DeadLetters"
			seen = append(seen, datum{
				"AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName=" + id + ".QueueName", float64(c.Count),
			})
		}
		return slices.Equal(seen.firing(s.t, tpl), []string{
			"EventsDeadLettersAlarm", "JobsDeadLettersAlarm", "StreamDeadLettersAlarm",
		})
	})
	time.Sleep(2 * time.Second) // what was looked at is hidden for a second
	_, all, err := s.ops.DeadLetters(s.t.Context(), "")
	require.NoError(s.t, err)
	kinds := map[string]string{}
	for _, l := range all {
		kinds[l.Queue+" "+l.Kind] = l.Tenant + "/" + l.Vault
	}
	require.Equal(s.t, "acme/main", kinds["jobs fold"])
	require.Equal(s.t, "acme/main", kinds["events s3 event"])
	require.Contains(s.t, kinds, "stream stream records")
	require.NotContains(s.t, fmt.Sprint(all), "secret")
	_, _, err = s.ops.DeadLetters(s.t.Context(), "other")
	require.ErrorContains(s.t, err, "jobs, events, stream")
	time.Sleep(2 * time.Second)
	moved, err := s.ops.Redrive(s.t.Context(), "stream")
	require.NoError(s.t, err)
	require.Equal(s.t, []awsops.Count{{Queue: "stream", Count: 1}}, moved)
	moved, err = s.ops.Redrive(s.t.Context(), "events")
	require.NoError(s.t, err)
	require.Positive(s.t, moved[0].Count)
}

// restore is the drill: a copy of the table stands for one that AWS has restored, which no emulator can do. What was
// written after it is lost, no text is, and nothing comes back as an edit.
func (s *site) restore() {
	s.call("raven_new", `{"vault":"main","type":"page","title":"Kept","path":"kept"}`)
	s.call("raven_new", `{"vault":"main","type":"page","title":"Deleted later","path":"deleted"}`)
	s.eventually("files are written", func() bool { return s.file("kept.md") != "" && s.file("deleted.md") != "" })
	kept, version := s.file("kept.md"), s.version()
	from := s.copied()

	s.call("raven_add", `{"vault":"main","to":"kept","text":"a mistake"}`)
	s.call("raven_delete", `{"vault":"main","id":"deleted"}`)
	s.call("raven_new", `{"vault":"main","type":"page","title":"Mistaken","path":"mistaken"}`)
	s.eventually("files are written", func() bool {
		return strings.Contains(s.file("kept.md"), "mistake") && s.file("deleted.md") == "" && s.file("mistaken.md") != ""
	})
	_, err := s.ops.Restore(s.t.Context(), from, nil)
	require.ErrorContains(s.t, err, "the stack is not paused")
	s.pause("true")
	taken := s.waits()
	_, err = s.ops.Restore(s.t.Context(), "nothing", nil)
	require.ErrorContains(s.t, err, "there is no table nothing")
	var told []string
	done, err := s.ops.Restore(s.t.Context(), from, func(what string) { told = append(told, what) })
	require.NoError(s.t, err)
	require.NotEmpty(s.t, told)
	require.Positive(s.t, done.Written+done.Removed)
	again, err := s.ops.Restore(s.t.Context(), from, nil)
	require.NoError(s.t, err, "it may be repeated")
	for _, v := range again.Vaults {
		require.Zero(s.t, v.Written+v.Kept+v.Segments)
	}
	s.pause("false")
	s.eventually("the job that waited is taken", taken)

	require.Equal(s.t, kept, s.file("kept.md"))
	require.NotEmpty(s.t, s.file("deleted.md"))
	require.Empty(s.t, s.file("mistaken.md"))
	var below []string
	for o, err := range s.files.List(s.t.Context(), notes+".trash/rollback-") {
		require.NoError(s.t, err)
		below = append(below, o.Key)
	}
	require.Len(s.t, below, 2, "the later texts of kept.md and mistaken.md")
	require.Equal(s.t, version, s.version())
	s.call("raven_new", `{"vault":"main","type":"page","title":"Goes on","path":"on"}`)
	s.eventually("files are written after it", func() bool { return s.file("on.md") != "" })
	time.Sleep(5 * time.Second) // events of the files that were restored
	require.NotContains(s.t, s.call("raven_search", `{"vault":"main","query":"mistake"}`), "kept")
	s.call("raven_add", `{"vault":"main","to":"kept","text":"it goes on"}`)
}

// pause updates the stack with another value of its parameter Paused.
func (s *site) pause(paused string) {
	began := time.Now()
	require.NoError(s.t, s.stack.Update(s.t.Context(), map[string]string{"Paused": paused}))
	s.t.Logf("updated with Paused=%s in %v", paused, time.Since(began).Round(time.Millisecond))
}

// waits sends a job while no function takes any, and requires that an alarm fires when it has waited for more than 15
// minutes: its age is read from the queue, by a clock that the test sets. The function reports whether the queue is
// empty again.
func (s *site) waits() (taken func() bool) {
	client, queue := sqs.NewFromConfig(s.b.AWS(s.t, nil)), aws.String(s.stack.Resources["JobsQueue"])
	_, err := client.SendMessage(s.t.Context(), &sqs.SendMessageInput{
		QueueUrl: queue, MessageBody: aws.String(`{"v":1,"kind":"jobs","tenant":"acme"}`),
	})
	require.NoError(s.t, err)
	out, err := client.ReceiveMessage(s.t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 1,
		MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{"SentTimestamp"},
	})
	require.NoError(s.t, err)
	require.NotEmpty(s.t, out.Messages, "no function takes it")
	oldest := time.Now()
	for _, m := range out.Messages {
		sent, err := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64)
		require.NoError(s.t, err)
		if at := time.UnixMilli(sent); at.Before(oldest) {
			oldest = at
		}
		_, err = client.ChangeMessageVisibility(s.t.Context(), &sqs.ChangeMessageVisibilityInput{
			QueueUrl: queue, ReceiptHandle: m.ReceiptHandle,
		})
		require.NoError(s.t, err)
	}
	tpl := template(s.t)
	now := time.Now()
	require.Empty(s.t, waited(now.Sub(oldest)).firing(s.t, tpl))
	now = now.Add(15*time.Minute + time.Second)
	require.Equal(s.t, []string{"JobsAgeAlarm"}, waited(now.Sub(oldest)).firing(s.t, tpl))
	return func() bool {
		of, err := client.GetQueueAttributes(s.t.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: queue, AttributeNames: []sqstypes.QueueAttributeName{"All"},
		})
		require.NoError(s.t, err)
		return of.Attributes["ApproximateNumberOfMessages"] == "0" &&
			of.Attributes["ApproximateNumberOfMessagesNotVisible"] == "0"
	}
}

// copied is a copy of the table of the stack.
func (s *site) copied() string {
	client := dynamodb.NewFromConfig(s.b.AWS(s.t, nil))
	to := s.stack.Resources["Table"] + "-restored"
	_, err := client.CreateTable(s.t.Context(), dynamotable.Definition(to))
	require.NoError(s.t, err)
	s.t.Cleanup(func() {
		_, err := client.DeleteTable(context.WithoutCancel(s.t.Context()), &dynamodb.DeleteTableInput{TableName: &to})
		require.NoError(s.t, err)
	})
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: aws.String(s.stack.Resources["Table"])})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		require.NoError(s.t, err)
		for _, item := range page.Items {
			_, err := client.PutItem(s.t.Context(), &dynamodb.PutItemInput{TableName: &to, Item: item})
			require.NoError(s.t, err)
		}
	}
	return to
}

// version is that of the vault.
func (s *site) version() string {
	var answer struct{ Meta struct{ Version string } }
	require.NoError(s.t, json.Unmarshal([]byte(s.call("raven_stats", `{"vault":"main"}`)), &answer))
	return answer.Meta.Version
}

// file is the text of a file; empty if there is none.
func (s *site) file(path string) string {
	text, _, err := s.files.Get(s.t.Context(), notes+path, 0, -1)
	if err != nil {
		require.ErrorIs(s.t, err, blob.ErrNotExist)
	}
	return string(text)
}

// put writes a file as another program does.
func (s *site) put(path, text string) {
	_, err := s.files.Put(s.t.Context(), notes+path, []byte(text), blob.Always)
	require.NoError(s.t, err)
}

func (s *site) eventually(what string, holds func() bool) {
	s.t.Helper()
	began := time.Now()
	require.Eventually(s.t, holds, 3*time.Minute, 300*time.Millisecond, what)
	s.t.Logf("%s: after %v", what, time.Since(began).Round(time.Millisecond))
}

// call makes a call that must succeed.
func (s *site) call(name, args string) string {
	answer, err := s.c.Invoke(s.t.Context(), name, []byte(args))
	require.NoError(s.t, err, "%s: %s", name, answer)
	return string(answer)
}
