package awsapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/ingest"
	"github.com/rookeryhq/rookery/internal/sqsqueue"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// mostVaults is how many vaults an invocation examines at once.
const mostVaults = 8

// An Ingest is the function that consumes the queue of bucket events. It is safe for concurrent
// use. An event only says that an object has changed: the object itself is compared with the log of
// its vault, so events may be late, repeated, or in another order.
type Ingest struct {
	opt      Options
	teams    *tenant.Registry
	ingester *ingest.Ingester
	events   *sqsqueue.Queue // the queue of events; nil if it is unknown
}

var _ lambda.Handler = (*Ingest)(nil)

// NewIngest returns an Ingest over the stores and the queue of jobs of the Options. events is the
// queue of bucket events. If it is nil, failed messages return after the visibility timeout of the
// queue, and messages that cannot be read fail. NewIngest reads nothing from the stores.
func NewIngest(o Options, events *sqsqueue.Queue) *Ingest {
	o = o.withDefaults()
	teams := tenant.NewRegistry(tenants(o, nil))
	return &Ingest{opt: o, teams: teams, ingester: ingesterOf(o, teams), events: events}
}

// ingesterOf returns the ingester of outside edits.
func ingesterOf(o Options, teams *tenant.Registry) *ingest.Ingester {
	return &ingest.Ingester{Tenants: teams, Queue: o.Queue, Now: o.Now}
}

// ServeIngest is the main function of the program that consumes the queue of bucket events. It does
// not return.
func ServeIngest() {
	serveBackground(func(d *deployment) lambda.Handler { return NewIngest(d.Options, d.events) })
}

// Close closes the function. No event may follow it.
func (i *Ingest) Close() { i.teams.Close() }

// Invoke records the outside edits among the files of the messages of an event. It answers with the
// messages that must return: those about vaults that could not be examined. Vaults are examined
// concurrently, mostVaults at a time, and the failure of one does not affect the others.
func (i *Ingest) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	i.opt.Begin()
	var e events.SQSEvent
	if json.Unmarshal(payload, &e) != nil || len(e.Records) == 0 {
		return nil, errors.New("the event has no messages of a queue")
	}
	ctx, cancel := beforeDeadline(ctx, grace)
	defer cancel()
	told := i.read(ctx, e.Records)
	var mu sync.Mutex
	_ = stream.ForEach(mostVaults, told.names, func(n ingest.Name) error {
		err := i.ingestChanges(ctx, n, told.changes[n])
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			told.fail(n)
		}
		return err // it is logged, and the messages return
	})
	answer, err := json.Marshal(i.answer(ctx, e.Records, told.failed))
	if err != nil {
		return nil, fmt.Errorf("write which messages are to come again: %w", err)
	}
	return answer, nil
}

// ingestChanges examines the changed files of one vault. A panic becomes an error. Errors are logged here,
// because the queue learns only which messages must return.
func (i *Ingest) ingestChanges(ctx context.Context, n ingest.Name, changes []ingest.Change) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Panicked("while files are compared", p)
		}
		if err != nil {
			i.opt.Log.ErrorContext(ctx, "the files of a vault could not be compared with its log",
				slog.String("vault", n.Vault), slog.Any("cause", err))
		}
	}()
	return i.ingester.Notice(ctx, n, changes)
}

// A bucketMessages is the content of the messages of an event, by vault.
type bucketMessages struct {
	names   []ingest.Name
	changes map[ingest.Name][]ingest.Change
	of      map[ingest.Name][]int // indices of the messages about a vault
	failed  map[int]bool          // indices of the messages that must return
}

// fail records that the messages about a vault must return.
func (t *bucketMessages) fail(n ingest.Name) {
	for _, m := range t.of[n] {
		t.failed[m] = true
	}
}

// read decodes messages. A message that is not a bucket event becomes a dead letter, or fails if
// there is no queue for them. The test event that a bucket sends when it is connected to the queue
// is ignored. A message may have records about several vaults, and one vault records in several
// messages.
func (i *Ingest) read(ctx context.Context, messages []events.SQSMessage) *bucketMessages {
	t := &bucketMessages{
		changes: map[ingest.Name][]ingest.Change{}, of: map[ingest.Name][]int{}, failed: map[int]bool{},
	}
	for m := range messages {
		var e events.S3Event
		var test struct{ Event string }
		body := []byte(messages[m].Body)
		if json.Unmarshal(body, &e) != nil || json.Unmarshal(body, &test) != nil ||
			len(e.Records) == 0 && test.Event != testEvent {
			t.failed[m] = i.sendDeadLetter(ctx, body) != nil
			continue
		}
		for r := range e.Records {
			t.add(m, &e.Records[r])
		}
	}
	return t
}

// testEvent is the event that a bucket sends when its events are connected to a queue.
const testEvent = "s3:TestEvent"

// errUnread is the error for a message that cannot be read if there is no queue of dead letters.
var errUnread = errors.New("the message is not a bucket event")

// sendDeadLetter sends a message that cannot be read to the dead letters.
func (i *Ingest) sendDeadLetter(ctx context.Context, body []byte) error {
	i.opt.Log.ErrorContext(ctx, "a message is not a bucket event")
	if i.events == nil {
		return errUnread
	}
	return i.events.Bury(ctx, body)
}

// add adds one record of a message. It ignores objects that are not files of a vault.
func (t *bucketMessages) add(message int, r *events.S3EventRecord) {
	tenant, name, path, ok := tenant.FileOf(r.S3.Object.URLDecodedKey)
	if !ok {
		return
	}
	n := ingest.Name{Tenant: tenant, Vault: name}
	if t.changes[n] == nil {
		t.names = append(t.names, n)
	}
	t.changes[n] = append(t.changes[n], ingest.Change{Path: path, Gone: isRemoval(r.EventName), At: r.EventTime.UTC()})
	t.of[n] = append(t.of[n], message)
}

// isRemoval reports whether the event is the removal of an object.
func isRemoval(event string) bool { return strings.HasPrefix(event, "ObjectRemoved:") }

// answer returns the messages that must return, and makes the queue return them sooner than it
// would by itself. If that fails, they return after the visibility timeout.
func (i *Ingest) answer(
	ctx context.Context, messages []events.SQSMessage, failed map[int]bool,
) events.SQSEventResponse {
	again := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for m := range messages {
		if !failed[m] {
			continue
		}
		again.BatchItemFailures = append(again.BatchItemFailures,
			events.SQSBatchItemFailure{ItemIdentifier: messages[m].MessageId})
		if i.events == nil {
			continue
		}
		pause := pauseAfter(messages[m].Attributes["ApproximateReceiveCount"])
		if err := i.events.Again(soon, messages[m].ReceiptHandle, pause); err != nil {
			i.opt.Log.WarnContext(ctx, "a message could not be given back", slog.Any("cause", err))
		}
	}
	return again
}
