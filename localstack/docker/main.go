// Docker starts LocalStack in Docker, runs a command with its address in the environment, and stops it. It is a
// module of its own, because what it imports brings a hundred others. Without Docker, localstack/up starts
// LocalStack.
//
//	docker COMMAND [ARGUMENT]...
//
// The command has the URL of LocalStack in ROOKERY_TEST_AWS_ENDPOINT. Functions do not run there: see
// ROOKERY_TEST_AWS_FUNCTIONS in docs/testing.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/localstack"
)

// image is the last release of LocalStack that needs no token.
const image = "localstack/localstack:4.14.0"

// services are those that tests need.
const services = "s3,dynamodb,dynamodbstreams,sqs,sts,cloudformation,lambda,iam,logs,events,cloudwatch,sns"

// port is that of LocalStack in its container.
const port = "4566/tcp"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "docker:", err)
		code = 1
	}
	os.Exit(code)
}

// run runs a command beside LocalStack, and returns its exit code.
func run(ctx context.Context, command []string) (code int, err error) {
	if len(command) == 0 {
		return 0, errors.New("name a command to run")
	}
	url, end, err := start(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "ROOKERY_TEST_AWS_ENDPOINT="+url, "ROOKERY_TEST_AWS_FUNCTIONS=none")
	err = cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return failed.ExitCode(), nil
	}
	return 0, err
}

// start starts LocalStack, and returns its URL on loopback and what ends it.
func start(ctx context.Context) (url string, end func() error, err error) {
	c, err := localstack.Run(ctx, image, testcontainers.WithEnv(map[string]string{
		"SERVICES": services, "STRICT_SERVICE_LOADING": "1", "DISABLE_EVENTS": "1", "SQS_ENDPOINT_STRATEGY": "path",
		"PROVIDER_OVERRIDE_DYNAMODB": "v2", "DYNAMODB_IN_MEMORY": "1",
	}))
	if err != nil {
		return "", nil, fmt.Errorf("start LocalStack: %w", err)
	}
	end = func() error { return testcontainers.TerminateContainer(c) }
	mapped, err := c.MappedPort(ctx, port)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("find the port of LocalStack: %w", err), end())
	}
	return "http://127.0.0.1:" + mapped.Port(), end, nil
}
