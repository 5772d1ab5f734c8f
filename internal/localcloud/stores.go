package localcloud

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"rookery/internal/dynamotable"
)

const (
	region = "us-east-1" // emulators have every region
	key    = "test"      // and every key
)

// makeStores makes the table and the bucket, where there are none.
func makeStores(ctx context.Context, o Options) error {
	if err := makeTable(ctx, dynamodb.NewFromConfig(configuration(o.DynamoDB)), o.Table); err != nil {
		return fmt.Errorf("make the table: %w", err)
	}
	bucket := s3.NewFromConfig(configuration(o.AWS), func(s *s3.Options) { s.UsePathStyle = true })
	if err := makeBucket(ctx, bucket, o.Bucket); err != nil {
		return fmt.Errorf("make the bucket: %w", err)
	}
	return nil
}

// makeQueues makes the queue of jobs and that of its dead letters, where there are none, and returns their URLs.
func makeQueues(ctx context.Context, client *sqs.Client, name string) (jobs, dead string, err error) {
	if dead, err = makeQueue(ctx, client, name+"-dead-letters", nil); err != nil {
		return "", "", err
	}
	about, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &dead, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return "", "", fmt.Errorf("look at a queue: %w", err)
	}
	policy := fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"5"}`, about.Attributes["QueueArn"])
	jobs, err = makeQueue(ctx, client, name+"-jobs", map[string]string{
		"VisibilityTimeout": strconv.Itoa(int(6 * jobsTimeout / time.Second)), "RedrivePolicy": policy,
	})
	return jobs, dead, err
}

// makeQueue makes a queue, and returns its URL.
func makeQueue(
	ctx context.Context, client *sqs.Client, name string, attributes map[string]string,
) (string, error) {
	out, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		return "", fmt.Errorf("make a queue: %w", err)
	}
	return aws.ToString(out.QueueUrl), nil
}

// configuration is that of a client of an emulator.
func configuration(endpoint string) aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(key, key, ""),
	}
}

// makeTable makes the table with its stream of keys and its time to live.
func makeTable(ctx context.Context, client *dynamodb.Client, name string) error {
	in := dynamotable.Definition(name)
	in.StreamSpecification = &ddb.StreamSpecification{
		StreamEnabled: aws.Bool(true), StreamViewType: ddb.StreamViewTypeKeysOnly,
	}
	_, err := client.CreateTable(ctx, in)
	if exists := (*ddb.ResourceInUseException)(nil); errors.As(err, &exists) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &name,
		TimeToLiveSpecification: &ddb.TimeToLiveSpecification{
			AttributeName: aws.String(dynamotable.ExpiresAttribute), Enabled: aws.Bool(true),
		},
	})
	return err
}

// streamOf returns the ARN of the stream of the table.
func streamOf(ctx context.Context, o Options) (string, error) {
	client := dynamodb.NewFromConfig(configuration(o.DynamoDB))
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &o.Table})
	if err != nil {
		return "", fmt.Errorf("look at the table: %w", err)
	}
	return aws.ToString(out.Table.LatestStreamArn), nil
}

// makeBucket makes the bucket, which keeps versions.
func makeBucket(ctx context.Context, client *s3.Client, name string) error {
	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name})
	if owned := (*s3types.BucketAlreadyOwnedByYou)(nil); err != nil && !errors.As(err, &owned) {
		return err
	}
	_, err = client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket: &name,
		VersioningConfiguration: &s3types.VersioningConfiguration{
			Status: s3types.BucketVersioningStatusEnabled,
		},
	})
	return err
}
