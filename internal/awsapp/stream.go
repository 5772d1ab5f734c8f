package awsapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/rookeryhq/rookery/internal/janitor"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// A Stream is the function that consumes the stream of the table. It is safe for concurrent use.
type Stream struct {
	opt      Options
	teams    *tenant.Registry
	follower *stream.Follower
}

var _ lambda.Handler = (*Stream)(nil)

// NewStream returns a Stream over the stores and the queue of the Options. It reads nothing from
// the stores.
func NewStream(o Options) *Stream {
	o = o.withDefaults()
	teams := tenant.NewRegistry(followerOptions(o))
	return &Stream{opt: o, teams: teams, follower: followerOf(o, teams)}
}

// followerOptions returns the options of tenants of which only the logs are read. No vault is
// opened, so caches are empty and no job can be started.
func followerOptions(o Options) tenant.Options {
	return tenant.Options{
		Table: o.Table, Bucket: o.Bucket, Stores: o.Stores, Registry: o.Table, Texts: repo.NewTexts(0),
		MaxNamed: namedFiles, Log: o.Log, Now: o.Now,
	}
}

// followerOf returns the follower that syncs the files of vaults with their logs.
func followerOf(o Options, teams *tenant.Registry) *stream.Follower {
	return &stream.Follower{Teams: teams, Queue: o.Queue, Log: o.Log, Now: o.Now}
}

// ServeStream is the main function of the program that consumes the stream of the table. It does
// not return.
func ServeStream() {
	serveBackground(func(d *deployment) lambda.Handler { return NewStream(d.Options) })
}

// Close closes the function. No event may follow it.
func (s *Stream) Close() { s.teams.Close() }

// Invoke syncs the followers of the logs in the records of an event. It reports the first record as
// failed, so that all return, only if the rest of the work cannot be queued. It looks only at the
// keys of records, and several records for one vault become one message.
func (s *Stream) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	s.opt.Begin()
	var e events.DynamoDBEvent
	if json.Unmarshal(payload, &e) != nil || len(e.Records) == 0 {
		return nil, errors.New("the event has no records of a stream")
	}
	ctx, cancel := beforeDeadline(ctx, grace)
	defer cancel()
	again := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	if s.follower.Wake(ctx, stream.Notifications(recordsOf(&e))) != nil {
		s.opt.Log.ErrorContext(ctx, "the queue cannot be told which vaults are behind")
		again.BatchItemFailures = append(again.BatchItemFailures,
			events.DynamoDBBatchItemFailure{ItemIdentifier: e.Records[0].Change.SequenceNumber})
	}
	answer, err := json.Marshal(again)
	if err != nil {
		return nil, fmt.Errorf("write which records are to come again: %w", err)
	}
	return answer, nil
}

// recordsOf returns the records of an event. Part and Sort are empty if the key is not a string.
func recordsOf(e *events.DynamoDBEvent) []stream.Record {
	text := func(v events.DynamoDBAttributeValue) string {
		if v.DataType() != events.DataTypeString {
			return ""
		}
		return v.String()
	}
	all := make([]stream.Record, 0, len(e.Records))
	for i := range e.Records {
		r := &e.Records[i]
		all = append(all, stream.Record{
			Event: r.EventName, Part: text(r.Change.Keys["p"]), Sort: text(r.Change.Keys["s"]),
		})
	}
	return all
}

// A Janitor is the function that a schedule invokes. It is safe for concurrent use.
type Janitor struct {
	opt     Options
	teams   *tenant.Registry
	janitor *janitor.Janitor
}

var _ lambda.Handler = (*Janitor)(nil)

// NewJanitor returns a Janitor over the stores and the queue of the Options. It reads nothing from
// the stores.
func NewJanitor(o Options) *Janitor {
	o = o.withDefaults()
	teams := tenant.NewRegistry(followerOptions(o))
	return &Janitor{opt: o, teams: teams, janitor: &janitor.Janitor{
		Teams: teams, Table: o.Table, Queue: o.Queue, Log: o.Log, Now: o.Now,
	}}
}

// ServeJanitor is the main function of the program that a schedule invokes. It does not return.
func ServeJanitor() {
	serveBackground(func(d *deployment) lambda.Handler { return NewJanitor(d.Options) })
}

// Close closes the function. No event may follow it.
func (j *Janitor) Close() { j.teams.Close() }

// Invoke examines all tenants once, or executes a command. If its time is over, the next event
// continues. It returns the JSON null, because nothing reads its answer; after an error, the
// schedule invokes the function again.
func (j *Janitor) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	j.opt.Begin()
	ctx, cancel := beforeDeadline(ctx, grace)
	defer cancel()
	if name, ok := commandOf(payload); ok {
		return j.command(ctx, name)
	}
	if err := j.janitor.Run(ctx); err != nil {
		return nil, err
	}
	return []byte("null"), nil
}
