package sqsqueue_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/sqsqueue"
)

// receive returns the message that is in a queue now; nil if none is to be seen.
func receive(t *testing.T, client *sqs.Client, url string) *types.Message {
	t.Helper()
	out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 0})
	require.NoError(t, err)
	if len(out.Messages) == 0 {
		return nil
	}
	return &out.Messages[0]
}

// await waits until a message is to be seen.
func await(t *testing.T, client *sqs.Client, url string) (m *types.Message) {
	t.Helper()
	require.Eventually(t, func() bool {
		m = receive(t, client, url)
		return m != nil
	}, time.Minute, 50*time.Millisecond)
	return m
}

func TestSend(t *testing.T) {
	b := awstest.Start(t)
	url, dead := b.Queue(t, 300)
	client := sqs.NewFromConfig(b.AWS(t, nil))
	q := sqsqueue.New(b.AWS(t, nil), url, sqsqueue.Options{Dead: dead})

	sent := job.Message{V: 1, Kind: "reindex", Tenant: "a", Vault: "v", Incarnation: 2, Job: "job-1", N: 3}
	require.NoError(t, q.Send(t.Context(), sent))
	m := await(t, client, url)
	got, err := job.ParseMessage([]byte(*m.Body))
	require.NoError(t, err)
	require.Equal(t, sent, got)
	require.Nil(t, receive(t, client, url), "it is hidden")
	require.NoError(t, q.Again(t.Context(), *m.ReceiptHandle, 0))
	again := await(t, client, url)
	require.Equal(t, m.MessageId, again.MessageId)

	sent.After = time.Second / 2
	require.NoError(t, q.Send(t.Context(), sent))
	require.Nil(t, receive(t, client, url), "it is kept back")
	require.NotEqual(t, m.MessageId, await(t, client, url).MessageId)

	require.NoError(t, q.Bury(t.Context(), []byte("anything")))
	require.Equal(t, "anything", *await(t, client, dead).Body)
}

// TestDelays holds that a message is kept back for whole seconds, and for no longer than SQS does.
func TestDelays(t *testing.T) {
	var delays []int32
	asked := func(r awstest.Request) awstest.Fault {
		var in struct{ DelaySeconds int32 }
		require.NoError(t, json.Unmarshal(r.Body, &in))
		delays = append(delays, in.DelaySeconds)
		return awstest.None
	}
	b := awstest.Start(t)
	url, _ := b.Queue(t, 300)
	cfg := b.AWS(t, awstest.NewFaults(awsclient.NewHTTP(nil), asked))
	q := sqsqueue.New(cfg, url, sqsqueue.Options{})
	for _, after := range []time.Duration{-time.Second, 0, time.Millisecond, time.Second, time.Hour} {
		require.NoError(t, q.Send(t.Context(), job.Message{V: 1, Kind: "k", Tenant: "a", After: after}))
	}
	require.Equal(t, []int32{0, 0, 1, 1, 900}, delays)
}

// TestUnanswered holds that a message is sent again until an answer comes, and that an error says nothing of it.
func TestUnanswered(t *testing.T) {
	b := awstest.Start(t)
	url, _ := b.Queue(t, 300)
	for _, f := range []awstest.Fault{awstest.ErrorAfter, awstest.ResetBefore, awstest.ResetAfter} {
		faults := awstest.NewFaults(awsclient.NewHTTP(nil), awstest.At(1, f))
		q := sqsqueue.New(b.AWS(t, faults), url, sqsqueue.Options{})
		require.NoError(t, q.Send(t.Context(), job.Message{V: 1, Kind: "k", Tenant: "a"}))
		require.Equal(t, 2, faults.Requests())
	}
	gone := sqsqueue.New(b.AWS(t, nil), url+"-gone", sqsqueue.Options{Attempt: time.Second})
	err := gone.Send(t.Context(), job.Message{V: 1, Kind: "k", Tenant: "secret"})
	var store *awsclient.StoreError
	require.True(t, errors.As(err, &store), err)
	require.Equal(t, "the queue of jobs is not there", store.What)
	require.NotContains(t, err.Error(), "secret")
	require.Error(t, gone.Bury(t.Context(), nil), "there are no dead letters")
}
