package awstest

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// receives is how often a message is received before it goes to the dead letters.
const receives = 5

// Queue makes an empty queue, and one for its dead letters, as the product uses them. Both are deleted with the test.
// A message is hidden for so many seconds when it was received.
func (b *Backend) Queue(tb testing.TB, hidden int) (url, dead string) {
	tb.Helper()
	client := sqs.NewFromConfig(b.AWS(tb, nil))
	create := func(attributes map[string]string) string {
		out, err := client.CreateQueue(tb.Context(), &sqs.CreateQueueInput{
			QueueName: aws.String(name()), Attributes: attributes,
		})
		if err != nil {
			tb.Fatal("create a queue: ", err)
		}
		tb.Cleanup(func() {
			ctx, cancel := removing()
			defer cancel()
			if _, err := client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl}); err != nil {
				tb.Error("delete a queue: ", err)
			}
		})
		return aws.ToString(out.QueueUrl)
	}
	dead = create(nil)
	about, err := client.GetQueueAttributes(tb.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &dead, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		tb.Fatal("look at a queue: ", err)
	}
	policy, err := json.Marshal(map[string]string{
		"deadLetterTargetArn": about.Attributes["QueueArn"], "maxReceiveCount": strconv.Itoa(receives),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return create(map[string]string{
		"VisibilityTimeout": strconv.Itoa(hidden), "RedrivePolicy": string(policy),
	}), dead
}

// QueueName returns the name of a queue that no other test uses. Queues whose names begin with it are deleted with the
// test.
func (b *Backend) QueueName(tb testing.TB) string {
	tb.Helper()
	client, queue := sqs.NewFromConfig(b.AWS(tb, nil)), name()
	tb.Cleanup(func() {
		ctx, cancel := removing()
		defer cancel()
		out, err := client.ListQueues(ctx, &sqs.ListQueuesInput{QueueNamePrefix: &queue})
		if err != nil {
			tb.Error("list queues: ", err)
			return
		}
		for _, url := range out.QueueUrls {
			if _, err := client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
				tb.Error("delete a queue: ", err)
			}
		}
	})
	return queue
}
