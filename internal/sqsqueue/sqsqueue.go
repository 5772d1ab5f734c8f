// Package sqsqueue is the queue of jobs on a standard queue of SQS.
//
// A message is the JSON of a job.Message. It may come twice and in any order; what it asks for follows from the state
// of what it names, so a request that was not answered is sent again, and its message may be there twice.
package sqsqueue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/logging"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/job"
)

// MaxDelay is how long SQS keeps a message back at most. One that is to come later comes by then, finds nothing to do
// yet, and is sent again.
const MaxDelay = 15 * time.Minute

// attemptTime is how long an attempt of a request may take.
const attemptTime = 3 * time.Second

// Options are what a Queue may be given. The zero value works.
type Options struct {
	// Dead is the URL of the queue of messages that no release could work on. Empty: Bury fails.
	Dead string

	// Now is the time by which errors about the deployment are logged once a minute. Nil is time.Now.
	Now func() time.Time

	// Log gets an error about the deployment, such as a queue that is not there, once a minute. Nil is slog.Default.
	Log *slog.Logger

	// Attempt is how long an attempt of a request may take; 0 is 3 s.
	Attempt time.Duration
}

// A Queue is a queue of SQS with its dead letters. It is safe for concurrent use.
type Queue struct {
	url, dead string
	client    *sqs.Client
	failures  awsclient.Failures
}

var _ job.Queue = (*Queue)(nil)

// deployment is what is wrong with the deployment, by the code of an answer.
var deployment = map[string]string{
	"AWS.SimpleQueueService.NonExistentQueue": "the queue of jobs is not there",
	"QueueDoesNotExist":                       "the queue of jobs is not there",
	"AccessDenied":                            "the function may not use the queue of jobs",
	"AccessDeniedException":                   "the function may not use the queue of jobs",
}

// New returns the queue at a URL, which has to be there.
func New(cfg aws.Config, url string, o Options) *Queue {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Queue{
		url: url, dead: o.Dead,
		failures: awsclient.Failures{Service: "SQS", Deployment: deployment, Now: o.Now, Log: o.Log},
		client: sqs.NewFromConfig(cfg, func(s *sqs.Options) {
			s.Retryer = awsclient.Reads() // a message may come twice
			s.Logger = logging.Nop{}
			s.APIOptions = append(s.APIOptions, awsclient.Within(cmp.Or(o.Attempt, attemptTime)))
		}),
	}
}

// URL returns the address of the queue.
func (q *Queue) URL() string { return q.url }

// Send implements job.Queue. A message is kept back for m.After, rounded up to seconds, and at most for MaxDelay.
func (q *Queue) Send(ctx context.Context, m job.Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	after := min(max(0, m.After), MaxDelay)
	return q.send(ctx, q.url, body, int32((after+time.Second-1)/time.Second))
}

// Bury puts the body of a message that cannot be worked on among the dead letters.
func (q *Queue) Bury(ctx context.Context, body []byte) error {
	if q.dead == "" {
		return fmt.Errorf("bury a message: there is no queue of dead letters")
	}
	return q.send(ctx, q.dead, body, 0)
}

func (q *Queue) send(ctx context.Context, url string, body []byte, delay int32) error {
	_, err := q.client.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &url, MessageBody: aws.String(string(body)), DelaySeconds: delay,
	})
	if err != nil {
		return q.failures.Of(ctx, "send a message", err)
	}
	return nil
}

// Again makes a message that was received come again after a time of at most twelve hours, and not when the time is
// over for which the queue hides a message that was received.
func (q *Queue) Again(ctx context.Context, receipt string, after time.Duration) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &q.url, ReceiptHandle: &receipt,
		VisibilityTimeout: int32((max(0, after) + time.Second - 1) / time.Second),
	})
	if err != nil {
		return q.failures.Of(ctx, "give a message back", err)
	}
	return nil
}
