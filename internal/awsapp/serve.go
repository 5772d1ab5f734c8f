package awsapp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/lambda"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"rookery/internal/awsclient"
	"rookery/internal/dynamotable"
	"rookery/internal/s3blob"
)

// Serve is the program of a function: it answers the events of AWS Lambda with its part of the product, until the
// process ends. It does not return. It writes JSON lines to stderr, and nothing of what a request says.
func Serve(p Part) {
	log.SetOutput(io.Discard) // modules may print what they cannot read
	e, err := ReadEnvironment(os.Getenv)
	logger := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: e.Level}))
	if err == nil && os.Getenv("AWS_LAMBDA_RUNTIME_API") == "" {
		err = errors.New("this program runs in AWS Lambda")
	}
	var a *App
	if err == nil {
		a, err = open(context.Background(), p, e, logger)
	}
	if err != nil {
		logger.Error("the function cannot begin", slog.Any("cause", err))
		os.Exit(1)
	}
	lambda.StartWithOptions(a, lambda.WithEnableSIGTERM(a.Close))
}

// open composes the function over the stores that its environment names. Nothing is read yet.
func open(ctx context.Context, p Part, e Environment, logger *slog.Logger) (*App, error) {
	boundHeap(e.Memory)
	o, err := stores(ctx, e, logger)
	if err != nil {
		return nil, err
	}
	o.Part, o.Server, o.Memory, o.Log, o.Version = p, e.Server, e.Memory, logger, version()
	return New(o)
}

// boundHeap makes the collector keep the process within nine tenths of its memory, unless the environment says
// otherwise (GOMEMLIMIT).
func boundHeap(memory int64) {
	if memory > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory / 10 * 9)
	}
}

// stores are the Options of the stores in the account and region of the environment. All have one HTTP client,
// and one clock, which the answers of the stores correct.
func stores(ctx context.Context, e Environment, logger *slog.Logger) (Options, error) {
	clock, transport := awsclient.NewClock(nil), awsclient.NewHTTP(nil)
	cfg, err := awsconfig.LoadDefaultConfig(ctx,
		awsconfig.WithHTTPClient(clock.Client(transport)), awsconfig.WithLogger(logging.Nop{}))
	if err != nil {
		return Options{}, fmt.Errorf("read the configuration of AWS: %w", err)
	}
	return Options{
		Table:  dynamotable.New(cfg, e.Table, dynamotable.Options{Now: clock.Now, Log: logger}),
		Bucket: s3blob.New(cfg, e.Bucket, s3blob.Options{Now: clock.Now, Log: logger}),
		Begin:  transport.Begin, Now: clock.Now,
	}, nil
}

// version is that of the module, or of the commit that the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && info.Main.Version == "(devel)" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return info.Main.Version
}
