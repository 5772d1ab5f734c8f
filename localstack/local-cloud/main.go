// Local-cloud serves the functions on this machine; see package localcloud. The script localstack/cloud builds and
// starts everything that it needs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rookeryhq/rookery/internal/localcloud"
)

func main() { os.Exit(run()) }

// run serves until it is told to stop, and returns the status of the process.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	every, err := period(os.Getenv("JANITOR_EVERY"))
	if err == nil {
		err = serve(ctx, every)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "local-cloud:", err)
		return 1
	}
	return 0
}

// period reads how often the janitor is invoked; 0 of an empty text.
func period(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("JANITOR_EVERY must be a time such as 30s or 5m")
	}
	return d, nil
}

// serve serves until the context ends.
func serve(ctx context.Context, every time.Duration) error {
	return localcloud.Run(ctx, localcloud.Options{
		Listen: os.Getenv("ROOKERY_LISTEN"), Issuer: os.Getenv("ROOKERY_ISSUER_LISTEN"),
		Deployment: localcloud.Deployment{
			Programs: os.Getenv("ROOKERY_FUNCTIONS"),
			AWS:      os.Getenv("ROOKERY_TEST_AWS_ENDPOINT"), DynamoDB: os.Getenv("ROOKERY_TEST_DDB_ENDPOINT"),
			Table: "rookery", Bucket: "rookery", Queue: "rookery-jobs", Output: os.Stderr,
			JanitorEvery: every,
		},
	}, os.Stdout)
}
