package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"

	"github.com/rookeryhq/rookery/internal/localapp"
)

// profiledCommand is the first argument that makes this program serve under the profiler. The data
// directory and the path of the profile follow.
const profiledCommand = "serve-profiled"

// profiled returns a launcher of this program in place of the binary, so that the product contains
// no profiler. Each start writes its profiles to the folder.
func profiled(folder string) (launcher, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for profiles: %w", err)
	}
	starts := map[string]int{}
	return func(data string) []string {
		starts[data]++
		name := fmt.Sprintf("%s-start%d.pprof", filepath.Base(data), starts[data])
		return []string{self, profiledCommand, data, filepath.Join(folder, name)}
	}, nil
}

// serveProfiled serves a data directory like the binary, and writes two profiles: of the CPU time,
// and, to the path with the suffix .heap, of the heap at the end.
func serveProfiled(ctx context.Context, data, profile string) (err error) {
	f, err := os.Create(profile)
	if err != nil {
		return fmt.Errorf("make the profile: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return fmt.Errorf("begin the profile: %w", err)
	}
	defer pprof.StopCPUProfile()
	return serve(ctx, data, func() error { return heapProfile(profile + ".heap") })
}

// heapProfile writes a profile of the live objects on the heap.
func heapProfile(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("make the profile of the heap: %w", err)
	}
	runtime.GC()
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}

// serve serves a data directory until the context ends. It calls last before it closes the
// directory.
func serve(ctx context.Context, data string, last func() error) (err error) {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	cfg := localapp.Config{Data: data, Log: log}
	defer localapp.BoundHeap(cfg, os.Getenv)()
	app, err := localapp.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	l, err := localapp.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("Rookery is profiled at http://%s\n", l.Addr())
	return errors.Join(app.Serve(ctx, l, "profiled"), last())
}
