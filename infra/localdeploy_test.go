package infra_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/lambdahost"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Options are the settings of a deployment of the template to LocalStack, whose functions are processes
// of this machine: stores, queues, event source mappings, roles and functions, with a gateway in front
// of them. All are required except Parameters.
type Options struct {
	AWS        aws.Config        // of LocalStack
	Name       string            // of the stack
	Template   string            // the file template.yaml
	Programs   string            // a directory with the functions, built for this machine: NAME/bootstrap
	Parameters map[string]string // in place of defaults; PublicUrl is set to the URL of the gateway
}

// A Stack is a deployed stack with a gateway in front of it.
type Stack struct {
	URL       string            // of the gateway
	Resources map[string]string // physical ids by logical ids
	Types     map[string]string // by logical ids

	opt       Options
	stacks    *cloudformation.Client
	functions *lambda.Client
	server    *http.Server
	where     string // the URL of the template
}

// perStack is the maximum time of an operation on a stack.
const perStack = 10 * time.Minute

// Deploy deploys a stack and returns when it is complete.
func Deploy(ctx context.Context, o Options) (*Stack, error) {
	// LocalStack answers some requests only after their effect, and no request is sent twice.
	o.AWS.HTTPClient, o.AWS.RetryMaxAttempts = &http.Client{Timeout: perStack}, 1
	s := &Stack{opt: o, stacks: cloudformation.NewFromConfig(o.AWS), functions: lambda.NewFromConfig(o.AWS)}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s.URL = "http://" + l.Addr().String()
	if s.where, err = s.upload(ctx); err == nil {
		err = s.create(ctx)
	}
	var gateway http.Handler
	if err == nil {
		gateway, err = s.gateway()
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s.server = &http.Server{Handler: gateway, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(l) }() // it returns when the server is closed
	return s, nil
}

// bucket returns the name of the bucket for the programs and the template.
func (s *Stack) bucket() string { return s.opt.Name + "-code" }

// upload puts the programs and the template into a bucket, as sam deploy does, and returns the URL of the template.
func (s *Stack) upload(ctx context.Context) (string, error) {
	files := s3.NewFromConfig(s.opt.AWS, func(o *s3.Options) { o.UsePathStyle = true })
	bucket := s.bucket()
	if _, err := files.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		return "", fmt.Errorf("make a bucket for the programs: %w", err)
	}
	put := func(key string, data []byte) error {
		_, err := files.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(data)})
		return err
	}
	entries, err := os.ReadDir(s.opt.Programs)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		archive, err := zipped(filepath.Join(s.opt.Programs, e.Name(), "bootstrap"))
		if err == nil {
			err = put(e.Name()+".zip", archive)
		}
		if err != nil {
			return "", fmt.Errorf("upload %s: %w", e.Name(), err)
		}
	}
	text, err := os.ReadFile(s.opt.Template)
	if err == nil {
		err = put("template.yaml", packaged(text, bucket))
	}
	return aws.ToString(s.opt.AWS.BaseEndpoint) + "/" + bucket + "/template.yaml", err
}

// zipped returns the archive of a program.
func zipped(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	w, err := archive.CreateHeader(&zip.FileHeader{Name: "bootstrap", Method: zip.Store, ExternalAttrs: 0o755 << 16})
	if err == nil {
		_, err = w.Write(data)
	}
	err = errors.Join(err, archive.Close())
	return packed.Bytes(), err
}

// built matches a function of the template, which SAM builds.
var built = regexp.MustCompile(`(?m)^  (\w+)Function:[^\n]*\n    Type: AWS::Serverless::Function\n` +
	`    Metadata: \{BuildMethod: makefile\}\n    Properties:\n`)

// literal is a Sub with a variable of a policy, which LocalStack takes for one of the template.
var literal = regexp.MustCompile(`!Sub "\$\{(\w+)\.Arn\}([^"$]*)\$\{!([^}]*)\}([^"]*)"`)

// packaged returns the template as sam package writes it: each function is an archive in the bucket.
func packaged(text []byte, bucket string) []byte {
	text = bytes.Replace(text, []byte("    CodeUri: .\n"), nil, 1)
	text = literal.ReplaceAll(text, []byte(`!Join ["", [!GetAtt $1.Arn, "$2$${$3}$4"]]`))
	return built.ReplaceAllFunc(text, func(part []byte) []byte {
		name := strings.ToLower(string(built.FindSubmatch(part)[1]))
		return fmt.Appendf(slices.Clip(part), "      CodeUri: {Bucket: %s, Key: %s.zip}\n", bucket, name)
	})
}

// parameters returns the parameters of the stack.
func (s *Stack) parameters(more map[string]string) []types.Parameter {
	all := map[string]string{"PublicUrl": s.URL, "RetainData": "false", "Stage": "dev"}
	for _, of := range []map[string]string{s.opt.Parameters, more} {
		for name, value := range of {
			all[name] = value
		}
	}
	var made []types.Parameter
	for name, value := range all {
		made = append(made, types.Parameter{ParameterKey: &name, ParameterValue: &value})
	}
	return made
}

func capabilities() []types.Capability {
	return []types.Capability{types.CapabilityCapabilityIam, types.CapabilityCapabilityAutoExpand}
}

func (s *Stack) create(ctx context.Context) error {
	_, err := s.stacks.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: &s.opt.Name, TemplateURL: &s.where, Capabilities: capabilities(), Parameters: s.parameters(nil),
	})
	if err != nil {
		return fmt.Errorf("create the stack: %w", err)
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	s.Resources, s.Types = map[string]string{}, map[string]string{}
	pages := cloudformation.NewListStackResourcesPaginator(s.stacks,
		&cloudformation.ListStackResourcesInput{StackName: &s.opt.Name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list the resources: %w", err)
		}
		for _, r := range page.StackResourceSummaries {
			id := aws.ToString(r.LogicalResourceId)
			s.Resources[id], s.Types[id] = aws.ToString(r.PhysicalResourceId), aws.ToString(r.ResourceType)
		}
	}
	return nil
}

// Update updates the stack with other parameters, such as Paused.
func (s *Stack) Update(ctx context.Context, parameters map[string]string) error {
	_, err := s.stacks.UpdateStack(ctx, &cloudformation.UpdateStackInput{
		StackName: &s.opt.Name, TemplateURL: &s.where, Capabilities: capabilities(),
		Parameters: s.parameters(parameters),
	})
	if err != nil {
		return fmt.Errorf("update the stack: %w", err)
	}
	return s.settle(ctx)
}

// settle waits until CloudFormation has completed the operation.
func (s *Stack) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, perStack)
	defer cancel()
	for {
		out, err := s.stacks.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &s.opt.Name})
		if err != nil {
			return fmt.Errorf("look at the stack: %w", err)
		}
		status := string(out.Stacks[0].StackStatus)
		switch {
		case strings.HasSuffix(status, "_IN_PROGRESS"):
		case status == "CREATE_COMPLETE", status == "UPDATE_COMPLETE":
			return nil
		default:
			return fmt.Errorf("the stack is %s: %s", status, aws.ToString(out.Stacks[0].StackStatusReason))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// A stackFunction is a function of the stack, which the gateway invokes.
type stackFunction struct {
	of   *Stack
	name string
}

// Invoke implements lambdahost.Invoker.
func (f stackFunction) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	out, err := f.of.functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: &f.name, Payload: event})
	if err != nil {
		return nil, err
	}
	if out.FunctionError != nil {
		return nil, errors.New("the function failed")
	}
	return out.Payload, nil
}

// gateway starts a gateway in front of the functions, because LocalStack has no HTTP API.
func (s *Stack) gateway() (http.Handler, error) {
	cat, err := tool.NewCatalogue(hosted.Tools(nil, nil), tool.Options{})
	if err != nil {
		return nil, err
	}
	of := func(name string) (stackFunction, bool) {
		id := s.Resources[strings.ToUpper(name[:1])+name[1:]+"Function"]
		return stackFunction{s, id}, id != ""
	}
	whole, ok := of("mcp")
	if !ok {
		return nil, errors.New("the stack has no McpFunction")
	}
	routes := map[string]lambdahost.Invoker{"$default": whole}
	for _, r := range awsapp.Routes(cat) {
		if f, ok := of(r.Family); ok {
			routes[r.Pattern] = f
		}
	}
	return lambdahost.NewGateway(routes)
}

// Token creates the first API token of a tenant, by invoking the function mcp.
func (s *Stack) Token(ctx context.Context, tenant string) (string, error) {
	event, err := json.Marshal(map[string]string{
		"rookery": "token-create", "tenant": tenant, "name": "first", "role": "admin",
	})
	if err != nil {
		return "", err
	}
	answer, err := stackFunction{s, s.Resources["McpFunction"]}.Invoke(ctx, event)
	if err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	var made struct{ Token string }
	if err := json.Unmarshal(answer, &made); err != nil || made.Token == "" {
		return "", errors.New("make a token: the answer has none")
	}
	return made.Token, nil
}

// Close stops the gateway and deletes the stack. Its table and bucket remain, as the template says.
func (s *Stack) Close(ctx context.Context) error {
	err := s.server.Close()
	_, deleted := s.stacks.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &s.opt.Name})
	return errors.Join(err, deleted)
}
