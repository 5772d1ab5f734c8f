// Package localcloud serves the functions of AWS Lambda on this machine, over emulators of DynamoDB
// and S3: the real programs, as processes behind a gateway that behaves as an HTTP API does. It is
// for trying the functions, and for testing other programs against them. No function links it.
package localcloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/rookeryhq/rookery/internal/dynamotable"
)

// Options are the options of Run.
type Options struct {
	Deployment
	Listen string // HOST:PORT of the gateway, on loopback
	Issuer string // HOST:PORT of an issuer whose tokens are accepted; empty: none
}

const (
	tenant = "local-cloud" // the tenant of the first token

	// grace is how long calls may continue after the context has ended.
	grace = 2 * time.Second
)

// Run serves until the context ends, and then ends all processes. When it is ready, it writes shell
// variables to out: ROOKERY_SERVER, ROOKERY_TOKEN, the token of an administrator, and
// ROOKERY_ISSUER, the URL of the issuer, if there is one.
func Run(ctx context.Context, o Options, out io.Writer) error {
	if err := MakeStores(ctx, o.Deployment); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	base := "http://" + l.Addr().String()
	issued, end, err := o.issue(ctx, base)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer end()
	functions, err := Start(ctx, o.Deployment, base)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer functions.Close()
	server := &http.Server{Handler: functions, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	token, err := functions.Token(ctx, tenant)
	if err == nil {
		_, err = fmt.Fprintf(out, "ROOKERY_SERVER=%s\nROOKERY_TOKEN=%s\n%s", base, token, issued)
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-served:
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if server.Shutdown(last) != nil {
		_ = server.Close() // cut off the remaining calls
	}
	return err
}

// issue starts the issuer, if there is one, and returns the line of output with its URL. end stops
// it.
func (o *Options) issue(ctx context.Context, audience string) (line string, end func(), err error) {
	if o.Issuer == "" {
		return "", func() {}, nil
	}
	i, err := NewIssuer(ctx, o.Issuer, audience)
	if err != nil {
		return "", nil, err
	}
	accepted, err := i.environment(tenant)
	if err != nil {
		i.Close()
		return "", nil, err
	}
	o.Env = append(slices.Clone(o.Env), accepted)
	return "ROOKERY_ISSUER=" + i.URL + "\n", i.Close, nil
}

const (
	region = "us-east-1" // emulators accept every region
	key    = "test"      // and every key
)

// MakeStores creates the table, the bucket and the queues of a deployment, unless they exist.
func MakeStores(ctx context.Context, d Deployment) error {
	if err := makeTable(ctx, dynamodb.NewFromConfig(d.Config(d.DynamoDB, nil)), d.Table); err != nil {
		return fmt.Errorf("make the table: %w", err)
	}
	cfg := d.Config(d.AWS, nil)
	bucket := s3.NewFromConfig(cfg, func(s *s3.Options) { s.UsePathStyle = true })
	if err := makeBucket(ctx, bucket, d.Bucket); err != nil {
		return fmt.Errorf("make the bucket: %w", err)
	}
	if d.Queue == "" {
		return nil
	}
	queues := sqs.NewFromConfig(cfg)
	if err := makeQueues(ctx, queues, d.Queue); err != nil {
		return fmt.Errorf("make the queues: %w", err)
	}
	out, err := queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(d.Queue + bucketEvents)})
	if err != nil {
		return fmt.Errorf("look for a queue: %w", err)
	}
	arn, err := arnOf(ctx, queues, aws.ToString(out.QueueUrl))
	if err == nil {
		err = notify(ctx, bucket, d.Bucket, arn)
	}
	if err != nil {
		return fmt.Errorf("have the bucket tell of its objects: %w", err)
	}
	return nil
}

// Config returns the configuration of clients of an emulator. via is their HTTP client; nil: the
// default of the SDK.
func (Deployment) Config(endpoint string, via aws.HTTPClient) aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: &endpoint, HTTPClient: via,
		Credentials: credentials.NewStaticCredentialsProvider(key, key, ""),
	}
}

// makeTable creates the table with its stream of keys and its time to live. It does nothing if the
// table exists.
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

// makeBucket creates the bucket, and makes it keep versions.
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
