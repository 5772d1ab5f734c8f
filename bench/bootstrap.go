package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// A bootstrap is the program of a function as it is uploaded.
type bootstrap struct {
	Name, Arch string
	Size       size
	Init       link // from the start of a process until its first request; empty for another processor
}

// functionNames are the functions, and functionArchs are the processors for which they are built.
var (
	functionNames = []string{"notes", "orient", "raven", "team", "mcp"}
	functionArchs = []string{"arm64", "amd64"}
)

// inits is the number of measured starts of a function.
const inits = 25

// build measures the sizes of all functions, and the starts of those that can run on this
// processor.
func (c *clouded) build(ctx context.Context, dir string) error {
	for _, name := range functionNames {
		for _, arch := range functionArchs {
			b, err := newBootstrap(ctx, dir, name, arch)
			if err != nil {
				return err
			}
			c.Functions = append(c.Functions, b)
		}
	}
	return nil
}

// newBootstrap builds a function in a folder. It measures its size and, if it can run on this
// processor, its start.
func newBootstrap(ctx context.Context, dir, name, arch string) (b bootstrap, err error) {
	b = bootstrap{Name: "functions/" + name, Arch: arch}
	if b.Size, err = sizeOfFunction(ctx, dir, "github.com/rookeryhq/rookery/functions/"+name, arch); err != nil {
		return b, err
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == arch {
		b.Init = measured("a function", inits, func() {
			err = cmp.Or(untilFirstEvent(ctx, filepath.Join(dir, "bootstrap")), err)
		})
	}
	return b, err
}

// untilFirstEvent runs a function until it requests its first event, and then kills it. No store is
// called.
func untilFirstEvent(ctx context.Context, bin string) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	asked := make(chan struct{}, 1)
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/invocation/next") {
			asked <- struct{}{}
			<-r.Context().Done()
		}
	}))
	defer api.Close()
	cmd := exec.CommandContext(ctx, bin)
	cmd.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(api.URL, "http://"), "AWS_REGION=eu-north-1",
		"AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1769",
		"ROOKERY_TABLE=t", "ROOKERY_BUCKET=b", "ROOKERY_PUBLIC_URL=" + instanceURL,
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a function: %w", err)
	}
	var err error
	select {
	case <-asked:
	case <-ctx.Done():
		err = fmt.Errorf("a function asked for no event: %w", ctx.Err())
	}
	stop()
	_ = cmd.Wait() // it was killed
	return err
}
