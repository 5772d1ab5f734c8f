package localcloud

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/rookeryhq/rookery/internal/eventsource"
)

// The functions without a gateway before them.
const (
	jobs   = "jobs"   // consumes the queue of jobs
	stream = "stream" // consumes the stream of the table
	ingest = "ingest" // consumes the events of the bucket

	janitor = "janitor" // is invoked by a schedule
)

// timeouts contains the timeout of the functions without a gateway.
var timeouts = map[string]time.Duration{
	jobs: 15 * time.Minute, stream: 2 * time.Minute, ingest: 2 * time.Minute, janitor: 6 * time.Minute,
}

// janitorEvery is the default of Deployment.JanitorEvery.
const janitorEvery = time.Hour

// An event contains one message of the queue of jobs, and several are handled at once, so that a
// long job does not delay others.
var (
	ofJobs   = eventsource.Batches{Size: 1, Most: 4}
	ofEvents = eventsource.Batches{Size: 10, Most: 1}
)

// deadLetters is the suffix of the name of the queue of dead letters.
const deadLetters = "-dead-letters"

// bucketEvents is the suffix of the name of the queue of bucket events.
const bucketEvents = "-events"

// A sources contains the event sources of the functions without a gateway: the queue of jobs with
// its dead letters, the queue of bucket events, and the stream of the table.
type sources struct {
	queues     *sqs.Client
	streams    *dynamodbstreams.Client
	jobs, dead string // URLs
	events     string // URL
	stream     string // ARN
}

// sources returns the event sources of the deployment; nil if it has no queue.
func (d Deployment) sources(ctx context.Context) (*sources, error) {
	if d.Queue == "" {
		return nil, nil
	}
	s := &sources{
		queues:  sqs.NewFromConfig(d.Config(d.AWS, nil)),
		streams: dynamodbstreams.NewFromConfig(d.Config(d.DynamoDB, nil)),
	}
	for name, url := range map[string]*string{
		d.Queue: &s.jobs, d.Queue + deadLetters: &s.dead, d.Queue + bucketEvents: &s.events,
	} {
		out, err := s.queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
		if err != nil {
			return nil, fmt.Errorf("look for a queue: %w", err)
		}
		*url = aws.ToString(out.QueueUrl)
	}
	table, err := dynamodb.NewFromConfig(d.Config(d.DynamoDB, nil)).DescribeTable(ctx,
		&dynamodb.DescribeTableInput{TableName: &d.Table})
	if err != nil {
		return nil, fmt.Errorf("describe the table: %w", err)
	}
	s.stream = aws.ToString(table.Table.LatestStreamArn)
	return s, nil
}

// environment returns the variables about the sources; none if s is nil.
func (s *sources) environment() []string {
	if s == nil {
		return nil
	}
	return []string{"ROOKERY_JOBS_QUEUE=" + s.jobs, "ROOKERY_DEAD_LETTERS=" + s.dead,
		"ROOKERY_EVENTS_QUEUE=" + s.events}
}

// follow starts mappings that invoke the functions with the events of the sources until they are
// closed. The janitor is invoked once per tidy, or per janitorEvery if that is 0.
func (s *sources) follow(tidy time.Duration, host func(name string) eventsource.Invoker) []*eventsource.Mapping {
	if s == nil {
		return nil
	}
	return []*eventsource.Mapping{
		eventsource.Queue(context.Background(), s.queues, s.jobs, host(jobs), ofJobs),
		eventsource.Queue(context.Background(), s.queues, s.events, host(ingest), ofEvents),
		eventsource.Stream(context.Background(), s.streams, s.stream, host(stream)),
		eventsource.Schedule(context.Background(), cmp.Or(tidy, janitorEvery), host(janitor)),
	}
}

// makeQueues creates the queue of jobs, that of its dead letters, and that of bucket events, unless
// they exist.
func makeQueues(ctx context.Context, client *sqs.Client, name string) error {
	dead, err := makeQueue(ctx, client, name+deadLetters, nil)
	if err != nil {
		return err
	}
	arn, err := arnOf(ctx, client, dead)
	if err != nil {
		return err
	}
	policy := fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"5"}`, arn)
	for queue, function := range map[string]string{name: jobs, name + bucketEvents: ingest} {
		_, err = makeQueue(ctx, client, queue, map[string]string{
			"VisibilityTimeout": strconv.Itoa(int(6 * timeouts[function] / time.Second)), "RedrivePolicy": policy,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// arnOf returns the ARN of the queue at a URL.
func arnOf(ctx context.Context, client *sqs.Client, url string) (string, error) {
	about, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return "", err
	}
	return about.Attributes[string(sqstypes.QueueAttributeNameQueueArn)], nil
}

// notify makes a bucket send events about files of vaults, which it selects by the suffix of their
// names, to a queue.
func notify(ctx context.Context, client *s3.Client, bucket, arn string) error {
	var all []s3types.QueueConfiguration
	for _, suffix := range []string{".md", ".yaml"} {
		all = append(all, s3types.QueueConfiguration{
			QueueArn: &arn, Events: []s3types.Event{s3types.EventS3ObjectCreated, s3types.EventS3ObjectRemoved},
			Filter: &s3types.NotificationConfigurationFilter{Key: &s3types.S3KeyFilter{
				FilterRules: []s3types.FilterRule{
					{Name: s3types.FilterRuleNamePrefix, Value: aws.String("tenants/")},
					{Name: s3types.FilterRuleNameSuffix, Value: aws.String(suffix)},
				},
			}},
		})
	}
	_, err := client.PutBucketNotificationConfiguration(ctx, &s3.PutBucketNotificationConfigurationInput{
		Bucket: &bucket, NotificationConfiguration: &s3types.NotificationConfiguration{QueueConfigurations: all},
	})
	return err
}

// makeQueue creates a queue, and returns its URL.
func makeQueue(
	ctx context.Context, client *sqs.Client, name string, attributes map[string]string,
) (string, error) {
	out, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.QueueUrl), nil
}
