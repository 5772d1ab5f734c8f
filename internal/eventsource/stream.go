package eventsource

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const (
	streamBatch = 1000
	retries     = 3 // repetitions of a batch that the function reports as failed or does not answer
)

// Stream invokes a function with the records of a stream, from the oldest one that the stream still
// has. The records of a shard are in order, in batches of at most 1,000, one after the other. A
// batch that fails is repeated three times, and then skipped.
func Stream(ctx context.Context, client *dynamodbstreams.Client, arn string, to Invoker) *Mapping {
	s := &stream{client: client, arn: arn, to: to, shards: map[string]*string{}}
	return start(ctx, 1, s.poll)
}

// A stream is the source of the mapping that Stream starts. Only one goroutine uses it.
type stream struct {
	client *dynamodbstreams.Client
	arn    string
	to     Invoker
	shards map[string]*string // the iterator of each shard; nil: the shard has ended
}

// poll handles the new records of each shard, and then pauses.
func (s *stream) poll(ctx context.Context) error {
	out, err := s.client.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn})
	if err != nil {
		return err
	}
	for _, shard := range out.StreamDescription.Shards {
		if err := s.shard(ctx, aws.ToString(shard.ShardId)); err != nil {
			return err
		}
	}
	pause(ctx)
	return nil
}

// shard handles the new records of one shard.
func (s *stream) shard(ctx context.Context, id string) error {
	at, known := s.shards[id]
	if !known {
		out, err := s.client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &s.arn, ShardId: &id, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			return err
		}
		at = out.ShardIterator
	}
	if at == nil {
		return nil
	}
	out, err := s.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{
		ShardIterator: at, Limit: aws.Int32(streamBatch),
	})
	if err != nil {
		delete(s.shards, id) // the iterator may be too old
		return err
	}
	s.shards[id] = out.NextShardIterator
	return s.hand(context.WithoutCancel(ctx), out.Records)
}

// hand invokes the function with a batch.
func (s *stream) hand(ctx context.Context, records []types.Record) error {
	if len(records) == 0 {
		return nil
	}
	event, err := json.Marshal(eventOf(records))
	if err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	for range 1 + retries {
		var answer []byte
		var response events.DynamoDBEventResponse
		if answer, err = s.to.Invoke(ctx, event); err == nil {
			err = json.Unmarshal(answer, &response)
		}
		if err == nil && len(response.BatchItemFailures) > 0 {
			err = errRefused
		}
		if err == nil {
			return nil
		}
	}
	return err
}

// eventOf returns the event of records, in the format of AWS Lambda.
func eventOf(records []types.Record) events.DynamoDBEvent {
	var e events.DynamoDBEvent
	for _, r := range records {
		keys := map[string]events.DynamoDBAttributeValue{}
		for name, value := range r.Dynamodb.Keys {
			if text, ok := value.(*types.AttributeValueMemberS); ok {
				keys[name] = events.NewStringAttribute(text.Value)
			}
		}
		e.Records = append(e.Records, events.DynamoDBEventRecord{
			EventID: aws.ToString(r.EventID), EventName: string(r.EventName), EventSource: "aws:dynamodb",
			EventVersion: aws.ToString(r.EventVersion), AWSRegion: aws.ToString(r.AwsRegion),
			Change: events.DynamoDBStreamRecord{
				Keys: keys, SequenceNumber: aws.ToString(r.Dynamodb.SequenceNumber),
				StreamViewType: string(r.Dynamodb.StreamViewType),
			},
		})
	}
	return e
}
