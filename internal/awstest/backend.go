// Package awstest gives tests of AWS adapters the emulators on this machine: tables and buckets of their own, and
// an HTTP client that fails as planned.
package awstest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/rookeryhq/rookery/internal/awsclient"
)

// The variables that name emulators. Without them the one that localstack/up started is used.
const (
	awsEndpoint = "ROOKERY_TEST_AWS_ENDPOINT" // S3, SQS and, without the other, DynamoDB
	ddbEndpoint = "ROOKERY_TEST_DDB_ENDPOINT" // DynamoDB

	// later, if it is not empty, skips the tests: make cloud-tests runs them.
	later = "ROOKERY_TEST_CLOUD_LATER"
)

// A Backend is where the emulators listen. Both are on loopback.
type Backend struct {
	aws, dynamodb string // URLs
}

// Start returns the emulators that the environment names, or those that localstack/up started in this tree. Where
// there are none, it skips the test with the reason, and in CI fails it. A package with a test that calls it has a
// line in tools/test/cloud.txt.
func Start(tb testing.TB) *Backend {
	tb.Helper()
	if os.Getenv(later) != "" {
		tb.Skip("make cloud-tests runs it")
	}
	// A proxy's bundle of certificates slows every client down.
	if err := os.Unsetenv("AWS_CA_BUNDLE"); err != nil {
		tb.Fatal(err)
	}
	b, err := find(os.Getenv)
	switch {
	case errors.Is(err, errNone) && os.Getenv("CI") == "":
		tb.Skip("the adapters of AWS are not tested: ", err)
	case err != nil:
		tb.Fatal(err)
	}
	return b
}

// errNone says that there is no emulator to test with.
var errNone = fmt.Errorf("no emulator is running: localstack/up starts one, and %s names another", awsEndpoint)

func find(getenv func(string) string) (*Backend, error) {
	first, second := getenv(awsEndpoint), getenv(ddbEndpoint)
	if first == "" && second == "" {
		var err error
		if first, second, err = started(); err != nil {
			return nil, err
		}
	}
	second = cmp.Or(second, first)
	for _, endpoint := range []string{first, second} {
		if endpoint != "" && !loopback(endpoint) {
			return nil, fmt.Errorf("%s and %s must be URLs of a loopback address", awsEndpoint, ddbEndpoint)
		}
	}
	return &Backend{aws: first, dynamodb: second}, nil
}

// started returns the addresses that localstack/up left, if something listens there.
func started() (first, second string, err error) {
	dir, err := home()
	if err != nil {
		return "", "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, "endpoints"))
	if err != nil {
		return "", "", errNone
	}
	named := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		named[name] = value
	}
	first, second = named[awsEndpoint], named[ddbEndpoint]
	if !listens(first) || !listens(second) {
		return "", "", errNone
	}
	return first, second, nil
}

// listens reports whether a connection to a URL can be made.
func listens(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// home returns the folder .localstack beside the go.mod of this module, or LS_HOME.
func home() (string, error) {
	if dir := os.Getenv("LS_HOME"); dir != "" {
		return dir, nil
	}
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".localstack"), nil
		}
		if dir == filepath.Dir(dir) {
			return "", errNone
		}
	}
	return "", err
}

func loopback(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// client is what requests go through where a test names no other.
var client = awsclient.NewHTTP(nil)

// AWS returns a configuration for clients of S3 and SQS, which send through the HTTP client; nil is a usual one. It
// skips the test where only DynamoDB is emulated, and fails it in CI.
func (b *Backend) AWS(tb testing.TB, via aws.HTTPClient) aws.Config {
	tb.Helper()
	if b.aws == "" && os.Getenv("CI") == "" {
		tb.Skip("not tested: ", errNone)
	} else if b.aws == "" {
		tb.Fatal(errNone)
	}
	return config(b.aws, via)
}

// DynamoDB returns a configuration for clients of DynamoDB, which send through the HTTP client; nil is a usual one.
func (b *Backend) DynamoDB(via aws.HTTPClient) aws.Config { return config(b.dynamodb, via) }

func config(endpoint string, via aws.HTTPClient) aws.Config {
	if via == nil {
		via = client
	}
	return aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(endpoint),
		HTTPClient:   via,
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
		// What is no AWS may not understand checksums that nobody asked for.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
}

// HTTP is the client that requests go through where a test names no other: what wraps it fails or counts.
func HTTP() aws.HTTPClient { return client }

// receives is how often a message is received before it goes to the dead letters.
const receives = 5

// Queue makes an empty queue, and one for its dead letters, as the product uses them. Both are deleted with the test.
// A message is hidden for so many seconds when it was received.
func (b *Backend) Queue(tb testing.TB, hidden int) (url, dead string) {
	tb.Helper()
	client := sqs.NewFromConfig(b.AWS(tb, nil))
	create := func(attributes map[string]string) string {
		out, err := client.CreateQueue(tb.Context(), &sqs.CreateQueueInput{
			QueueName: aws.String(name()), Attributes: attributes,
		})
		if err != nil {
			tb.Fatal("create a queue: ", err)
		}
		tb.Cleanup(func() {
			ctx, cancel := removing()
			defer cancel()
			if _, err := client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl}); err != nil {
				tb.Error("delete a queue: ", err)
			}
		})
		return aws.ToString(out.QueueUrl)
	}
	dead = create(nil)
	about, err := client.GetQueueAttributes(tb.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &dead, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		tb.Fatal("look at a queue: ", err)
	}
	policy, err := json.Marshal(map[string]string{
		"deadLetterTargetArn": about.Attributes["QueueArn"], "maxReceiveCount": strconv.Itoa(receives),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return create(map[string]string{
		"VisibilityTimeout": strconv.Itoa(hidden), "RedrivePolicy": string(policy),
	}), dead
}

// QueueName returns the name of a queue that no other test uses. Queues whose names begin with it are deleted with the
// test.
func (b *Backend) QueueName(tb testing.TB) string {
	tb.Helper()
	client, queue := sqs.NewFromConfig(b.AWS(tb, nil)), name()
	tb.Cleanup(func() {
		ctx, cancel := removing()
		defer cancel()
		out, err := client.ListQueues(ctx, &sqs.ListQueuesInput{QueueNamePrefix: &queue})
		if err != nil {
			tb.Error("list queues: ", err)
			return
		}
		for _, url := range out.QueueUrls {
			if _, err := client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
				tb.Error("delete a queue: ", err)
			}
		}
	})
	return queue
}
