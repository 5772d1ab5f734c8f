// Package awsops operates a deployment in AWS from outside, with the credentials of an operator: it
// examines its resources, lists and redrives dead letters, and restores the table to an earlier
// time. No function links it.
package awsops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Logical ids of the template.
const (
	tableID   = "Table"
	bucketID  = "Bucket"
	jobsID    = "JobsFunction"
	streamID  = "StreamFunction"
	ingestID  = "IngestFunction"
	janitorID = "JanitorFunction"
)

// A Stack is a deployment of the template.
type Stack struct {
	Name string
	URL  string // of the API

	resources map[string]string // physical ids by logical ids
	table     *dynamodb.Client
	files     *s3.Client
	queues    *sqs.Client
	functions *lambda.Client
	http      *http.Client
}

// longest is the timeout of an invocation: the longest timeout of a function, and a little more.
const longest = 16 * time.Minute

// Open reads the resources of a stack by its name, in the region of the configuration. It returns
// NOT_FOUND if there is none, and INVALID_PARAMETER if it is not a stack of Rookery.
func Open(ctx context.Context, cfg aws.Config, name string) (*Stack, error) {
	s := &Stack{
		Name: name, resources: map[string]string{}, table: dynamodb.NewFromConfig(cfg), queues: sqs.NewFromConfig(cfg),
		files: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = cfg.BaseEndpoint != nil }),
		functions: lambda.NewFromConfig(cfg, func(o *lambda.Options) {
			o.HTTPClient = &http.Client{Timeout: longest}
			o.RetryMaxAttempts = 1 // a rollback that is still running must not be started again
		}),
		http: &http.Client{Timeout: 30 * time.Second},
	}
	stacks := cloudformation.NewFromConfig(cfg)
	found, err := stacks.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil || len(found.Stacks) == 0 {
		return nil, s.unread(err)
	}
	for _, o := range found.Stacks[0].Outputs {
		if aws.ToString(o.OutputKey) == "Url" {
			s.URL = aws.ToString(o.OutputValue)
		}
	}
	pages := cloudformation.NewListStackResourcesPaginator(stacks,
		&cloudformation.ListStackResourcesInput{StackName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.unread(err)
		}
		for _, r := range page.StackResourceSummaries {
			s.resources[aws.ToString(r.LogicalResourceId)] = aws.ToString(r.PhysicalResourceId)
		}
	}
	for _, id := range []string{tableID, bucketID, jobsID} {
		if s.resources[id] == "" {
			return nil, fault.New(fault.InvalidParameter, "the stack %s is not one of Rookery: it has no %s", name, id)
		}
	}
	return s, nil
}

// unread returns the fault for a stack whose resources cannot be listed.
func (s *Stack) unread(err error) error {
	var answer smithy.APIError
	if err == nil || errors.As(err, &answer) && answer.ErrorCode() == "ValidationError" {
		return fault.New(fault.NotFound, "there is no stack %s in this region", s.Name).
			Fix("list the stacks: aws cloudformation list-stacks")
	}
	return failed("list the resources of the stack", err)
}

// failed returns the fault for a failed call of AWS. It contains the error code, but not the text,
// which may contain keys.
func failed(doing string, err error) error {
	if answer, ok := errors.AsType[smithy.APIError](err); ok {
		return fault.New(fault.Unavailable, "AWS answers %s to: %s", answer.ErrorCode(), doing).
			Fix("check the credentials, their permissions and the region").Because(err)
	}
	return fault.New(fault.Unavailable, "AWS cannot be reached to: %s", doing).
		Fix("check the credentials, the region and the network").Because(err)
}

// invoke invokes a function directly, and decodes its answer.
func (s *Stack) invoke(ctx context.Context, id string, event, answer any) error {
	payload, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	name := s.resources[id]
	out, err := s.functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: &name, Payload: payload})
	if err != nil {
		return failed("invoke "+id, err)
	}
	if out.FunctionError != nil {
		var said struct {
			Message string `json:"errorMessage"`
		}
		if json.Unmarshal(out.Payload, &said) != nil || said.Message == "" {
			said.Message = "it ended without an answer"
		}
		return fault.New(fault.Unavailable, "%s failed: %s", id, said.Message).Fix("read its log")
	}
	if err := json.Unmarshal(out.Payload, answer); err != nil {
		return fault.New(fault.Unavailable, "the answer of %s cannot be read", id).
			Fix("deploy the same release as this program: rookery version").Because(err)
	}
	return nil
}
