// Local-cloud serves the functions on this machine; see package localcloud. The script localstack/cloud builds and
// starts everything that it needs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"rookery/internal/localcloud"
)

func main() { os.Exit(run()) }

// run serves until it is told to stop, and returns the status of the process.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := localcloud.Run(ctx, localcloud.Options{Listen: os.Getenv("ROOKERY_LISTEN"), Deployment: localcloud.Deployment{
		Programs: os.Getenv("ROOKERY_FUNCTIONS"),
		AWS:      os.Getenv("ROOKERY_TEST_AWS_ENDPOINT"), DynamoDB: os.Getenv("ROOKERY_TEST_DDB_ENDPOINT"),
		Table: "rookery", Bucket: "rookery", Queue: "rookery-jobs", Output: os.Stderr,
	}}, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "local-cloud:", err)
		return 1
	}
	return 0
}
