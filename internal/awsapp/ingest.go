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

	"rookery/internal/fault"
	"rookery/internal/ingest"
	"rookery/internal/sqsqueue"
	"rookery/internal/stream"
	"rookery/internal/team"
)

// mostVaults is how many vaults an invocation looks at at once.
const mostVaults = 8

// An Ingest is the function behind the queue of events of the bucket. It is safe for concurrent use.
type Ingest struct {
	opt      Options
	teams    *team.Teams
	ingester *ingest.Ingester
	events   *sqsqueue.Queue // of the events; nil: it is not known
}

var _ lambda.Handler = (*Ingest)(nil)

// NewIngest composes an Ingest over the stores and the queue of jobs of the Options. events is the queue that its events
// come from; nil: what fails comes again when that queue shows it again, and what cannot be read fails. Nothing is read
// yet.
func NewIngest(o Options, events *sqsqueue.Queue) *Ingest {
	o = o.withDefaults()
	teams := team.NewTeams(tenants(o, nil))
	return &Ingest{opt: o, teams: teams, ingester: ingesterOf(o, teams), events: events}
}

// ingesterOf is what notices and takes in what others change.
func ingesterOf(o Options, teams *team.Teams) *ingest.Ingester {
	return &ingest.Ingester{Teams: teams, Queue: o.Queue, Now: o.Now}
}

// ServeIngest is the program of the function behind the queue of events of the bucket, as Serve is that of one which
// answers requests.
func ServeIngest() {
	serveBehind(func(d *deployment) lambda.Handler { return NewIngest(d.Options, d.events) })
}

// Close ends what the function has open. No event may come after it.
func (i *Ingest) Close() { i.teams.Close() }

// Invoke notices which of the files that the messages of an event tell of were changed by others. It answers which
// messages are to come again: those that tell of files of a vault that could not be looked at.
func (i *Ingest) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	i.opt.Begin()
	var e events.SQSEvent
	if json.Unmarshal(payload, &e) != nil || len(e.Records) == 0 {
		return nil, errors.New("the event has no messages of a queue")
	}
	ctx, cancel := early(ctx, grace)
	defer cancel()
	told := i.read(ctx, e.Records)
	var mu sync.Mutex
	_ = stream.Together(mostVaults, told.names, func(n ingest.Name) error {
		err := i.notice(ctx, n, told.changes[n])
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			told.fail(n)
		}
		return err // it is logged, and its messages come again
	})
	answer, err := json.Marshal(i.answer(ctx, e.Records, told.failed))
	if err != nil {
		return nil, fmt.Errorf("write which messages are to come again: %w", err)
	}
	return answer, nil
}

// notice looks at the files of one vault. A panic is an error.
func (i *Ingest) notice(ctx context.Context, n ingest.Name, changes []ingest.Change) (err error) {
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

// A telling is what the messages of an event tell of.
type telling struct {
	names   []ingest.Name
	changes map[ingest.Name][]ingest.Change
	of      map[ingest.Name][]int // the messages that tell of a vault
	failed  map[int]bool          // the messages that are to come again
}

// fail notes that the messages about a vault are to come again.
func (t *telling) fail(n ingest.Name) {
	for _, m := range t.of[n] {
		t.failed[m] = true
	}
}

// read reads messages. One that is not an event of a bucket goes to the dead letters, if there are any.
func (i *Ingest) read(ctx context.Context, messages []events.SQSMessage) *telling {
	t := &telling{changes: map[ingest.Name][]ingest.Change{}, of: map[ingest.Name][]int{}, failed: map[int]bool{}}
	for m := range messages {
		var e events.S3Event
		var test struct{ Event string }
		body := []byte(messages[m].Body)
		if json.Unmarshal(body, &e) != nil || json.Unmarshal(body, &test) != nil ||
			len(e.Records) == 0 && test.Event != testEvent {
			t.failed[m] = i.bury(ctx, body) != nil
			continue
		}
		for r := range e.Records {
			t.add(m, &e.Records[r])
		}
	}
	return t
}

// testEvent is what a bucket sends when its events are first sent to a queue.
const testEvent = "s3:TestEvent"

// errUnread says that there is no queue of dead letters for a message that cannot be read.
var errUnread = errors.New("the message is not a bucket event")

// bury puts a message that cannot be read among the dead letters.
func (i *Ingest) bury(ctx context.Context, body []byte) error {
	i.opt.Log.ErrorContext(ctx, "a message is not a bucket event")
	if i.events == nil {
		return errUnread
	}
	return i.events.Bury(ctx, body)
}

// add adds what one record of a message tells. What is not a file of a vault is passed over.
func (t *telling) add(message int, r *events.S3EventRecord) {
	tenant, name, path, ok := team.FileOf(r.S3.Object.URLDecodedKey)
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

// isRemoval reports whether an event says that an object is gone.
func isRemoval(event string) bool { return strings.HasPrefix(event, "ObjectRemoved:") }

// answer says which messages are to come again, sooner than the queue would bring them back.
func (i *Ingest) answer(ctx context.Context, messages []events.SQSMessage, failed map[int]bool) events.SQSEventResponse {
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
