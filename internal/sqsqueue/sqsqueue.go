// Package sqsqueue implements the queue of jobs with a standard queue of SQS.
//
// A message is the JSON of a job.Message. It may arrive more than once and in any order; its effect
// follows from the state of the job. So a request without an answer is sent again, and its message
// may then be in the queue twice.
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

// MaxDelay is the maximum delay of a message in SQS. A message with a longer delay arrives after
// MaxDelay, finds nothing to do yet, and is sent again.
const MaxDelay = 15 * time.Minute

// attemptTime is the default timeout of an attempt of a request.
const attemptTime = 3 * time.Second

// Options are the optional settings of a Queue. The zero value works.
type Options struct {
	// Dead is the URL of the queue of messages that no release could process. Empty: Bury fails.
	Dead string

	// Now is the clock by which errors of the deployment are logged once a minute. Nil is time.Now.
	Now func() time.Time

	// Log receives an error of the deployment, such as a missing queue, once a minute. Nil is
	// slog.Default.
	Log *slog.Logger

	// Attempt is the timeout of an attempt of a request; 0 means 3 s.
	Attempt time.Duration
}

// A Queue is a queue of SQS with its dead letters. It is safe for concurrent use.
type Queue struct {
	url, dead string
	client    *sqs.Client
	failures  awsclient.Failures
}

var _ job.Queue = (*Queue)(nil)

// deployment maps error codes of SQS to problems of the deployment.
var deployment = map[string]string{
	"AWS.SimpleQueueService.NonExistentQueue": "the queue of jobs is not there",
	"QueueDoesNotExist":                       "the queue of jobs is not there",
	"AccessDenied":                            "the function may not use the queue of jobs",
	"AccessDeniedException":                   "the function may not use the queue of jobs",
}

// New returns the queue at a URL. The queue must exist.
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
			s.Retryer = awsclient.Reads() // a message may be sent twice
			s.Logger = logging.Nop{}
			s.APIOptions = append(s.APIOptions, awsclient.Within(cmp.Or(o.Attempt, attemptTime)))
		}),
	}
}

// URL returns the address of the queue.
func (q *Queue) URL() string { return q.url }

// Send implements job.Queue. A message is delayed by m.After, rounded up to seconds, and at most by
// MaxDelay.
func (q *Queue) Send(ctx context.Context, m job.Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	after := min(max(0, m.After), MaxDelay)
	return q.send(ctx, q.url, body, int32((after+time.Second-1)/time.Second))
}

// Bury moves the body of a message that cannot be processed to the dead letters.
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

// Again makes a received message visible again after a time of at most twelve hours, in place of
// the visibility timeout of the queue.
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
