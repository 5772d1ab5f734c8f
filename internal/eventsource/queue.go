package eventsource

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// queueWait is how many seconds a receive waits for messages.
const queueWait = 1

// A Batches is the division of a queue's messages into events.
type Batches struct {
	Size int32 // the most messages of an event, 1 to 10
	Most int   // the most events that the function handles at once
}

// Queue invokes a function with the messages of a queue, and deletes those that the function does
// not report as failed. A failed message returns after the visibility timeout of the queue, and is
// moved according to its redrive policy.
func Queue(ctx context.Context, client *sqs.Client, url string, to Invoker, b Batches) *Mapping {
	q := queue{client, url, to, b.Size}
	return start(ctx, b.Most, q.poll)
}

// A queue is the source of the mapping that Queue starts.
type queue struct {
	client *sqs.Client
	url    string
	to     Invoker
	size   int32
}

// poll receives one batch and invokes the function with it.
func (q queue) poll(ctx context.Context) error {
	out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &q.url, MaxNumberOfMessages: q.size, WaitTimeSeconds: queueWait,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil || len(out.Messages) == 0 {
		return err
	}
	failed, err := q.invoke(context.WithoutCancel(ctx), out.Messages)
	if err != nil {
		return err
	}
	for _, m := range out.Messages {
		if slices.Contains(failed, aws.ToString(m.MessageId)) {
			err = errRefused
			continue
		}
		if _, err := q.client.DeleteMessage(context.WithoutCancel(ctx), &sqs.DeleteMessageInput{
			QueueUrl: &q.url, ReceiptHandle: m.ReceiptHandle,
		}); err != nil {
			return err
		}
	}
	return err
}

// invoke invokes the function, and returns the ids of the messages that it reports as failed.
func (q queue) invoke(ctx context.Context, messages []types.Message) (failed []string, err error) {
	var e events.SQSEvent
	for _, m := range messages {
		e.Records = append(e.Records, events.SQSMessage{
			MessageId: aws.ToString(m.MessageId), ReceiptHandle: aws.ToString(m.ReceiptHandle),
			Body: aws.ToString(m.Body), Md5OfBody: aws.ToString(m.MD5OfBody), Attributes: m.Attributes,
			EventSource: "aws:sqs",
		})
	}
	event, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("write an event: %w", err)
	}
	answer, err := q.to.Invoke(ctx, event)
	if err != nil {
		return nil, err
	}
	var response events.SQSEventResponse
	if err := json.Unmarshal(answer, &response); err != nil {
		return nil, fmt.Errorf("read the answer of a function: %w", err)
	}
	for _, f := range response.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}
	return failed, nil
}
