package awsapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"rookery/internal/repo"
	"rookery/internal/stream"
	"rookery/internal/team"
)

// A Stream is the function behind the stream of the table. It is safe for concurrent use.
type Stream struct {
	opt      Options
	teams    *team.Teams
	follower *stream.Follower
}

var _ lambda.Handler = (*Stream)(nil)

// NewStream composes a Stream over the stores and the queue of the Options. Nothing is read yet.
func NewStream(o Options) *Stream {
	o = o.withDefaults()
	teams := team.NewTeams(followed(o))
	return &Stream{opt: o, teams: teams, follower: followerOf(o, teams)}
}

// followed are what tenants are made with whose logs are read, and nothing else of them.
func followed(o Options) team.Options {
	return team.Options{
		Table: o.Table, Bucket: o.Bucket, Stores: o.Stores, Registry: o.Table, Texts: repo.NewTexts(0),
		Named: namedFiles, Log: o.Log, Now: o.Now,
	}
}

// followerOf is what brings the files of vaults in step.
func followerOf(o Options, teams *team.Teams) *stream.Follower {
	return &stream.Follower{Teams: teams, Queue: o.Queue, Log: o.Log, Now: o.Now}
}

// ServeStream is the program of the function behind the stream of the table, as Serve is that of one which answers
// requests.
func ServeStream() {
	serveBehind(func(d *deployment) lambda.Handler { return NewStream(d.Options) })
}

// Close ends what the function has open. No event may come after it.
func (s *Stream) Close() { s.teams.Close() }

// Invoke brings in step what follows the logs of which the records of an event tell. It reports the first record as
// failed, so that all come again, only if the queue cannot be told what is left.
func (s *Stream) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	s.opt.Begin()
	var e events.DynamoDBEvent
	if json.Unmarshal(payload, &e) != nil || len(e.Records) == 0 {
		return nil, errors.New("the event has no records of a stream")
	}
	ctx, cancel := early(ctx, grace)
	defer cancel()
	again := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	if s.follower.Wake(ctx, stream.Doorbells(recordsOf(&e))) != nil {
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

// recordsOf are the records of an event. One whose key is not that of the table has none.
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
