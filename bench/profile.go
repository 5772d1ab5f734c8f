package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strings"
	"time"

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

// serveProfiled serves a data directory like the binary, and writes three profiles: of the CPU time,
// and, to the path with the suffixes .heap and .most.heap, of the heap at the end and when most of
// it was in use. With the suffix .memory it writes the memory use of every second.
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
	uses, err := os.Create(profile + ".memory")
	if err != nil {
		return fmt.Errorf("make the record of memory: %w", err)
	}
	defer func() { err = errors.Join(err, uses.Close()) }()
	go recordMemory(ctx, uses, profile+".most.heap")
	return serve(ctx, data, func() error {
		runtime.GC()
		return heapProfile(profile + ".heap")
	})
}

// memoryMetrics are the columns of recordMemory from package runtime/metrics, in bytes.
var memoryMetrics = []string{
	"/gc/heap/live:bytes",
	"/memory/classes/heap/objects:bytes",
	"/memory/classes/heap/unused:bytes",
	"/memory/classes/heap/free:bytes",
	"/memory/classes/heap/released:bytes",
	"/memory/classes/heap/stacks:bytes",
	"/memory/classes/total:bytes",
	"/gc/heap/allocs:bytes",
}

// recordMemory writes a line of tab-separated numbers every second until the context ends: seconds
// since the start, the resident memory of the process and the part of it that is no mapped file,
// and memoryMetrics, all in MiB. It writes a line of names first, and ends at an error. When more of
// the heap is in use than ever before, by a sixteenth, it writes a profile of the heap to most.
func recordMemory(ctx context.Context, to io.Writer, most string) {
	begun, tick := time.Now(), time.NewTicker(time.Second)
	defer tick.Stop()
	line := strings.Join(append([]string{"s", "resident", "own"}, memoryMetrics...), "\t")
	samples := make([]metrics.Sample, len(memoryMetrics))
	for i, name := range memoryMetrics {
		samples[i].Name = name
	}
	live := uint64(0)
	for {
		if _, err := io.WriteString(to, line+"\n"); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		m, err := memoryOf(os.Getpid())
		if err != nil {
			return
		}
		metrics.Read(samples)
		if now := samples[0].Value.Uint64(); now > live+live/16 {
			live = now
			if heapProfile(most) != nil {
				return
			}
		}
		line = fmt.Sprintf("%.0f\t%d\t%d", time.Since(begun).Seconds(), m.Resident>>20, m.Own>>20)
		for _, s := range samples {
			line += fmt.Sprintf("\t%d", s.Value.Uint64()>>20)
		}
	}
}

// heapProfile writes a profile of the objects that the last garbage collection found live.
func heapProfile(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("make the profile of the heap: %w", err)
	}
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

// heap runs a garbage collection and returns the bytes of live objects on the heap.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// heapWatch is the interval at which a watch samples the heap.
const heapWatch = time.Millisecond

// A watch records the maximum size of the heap during some work.
type watch struct {
	stop chan struct{}
	most chan int64
}

// watchHeap starts a watch.
func watchHeap() *watch {
	w := &watch{make(chan struct{}), make(chan int64)}
	go w.run()
	return w
}

// run samples the heap periodically. A sample includes garbage that is not swept yet.
func (w *watch) run() {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	tick := time.NewTicker(heapWatch)
	defer tick.Stop()
	for most, ended := int64(0), false; ; {
		metrics.Read(sample)
		most = max(most, int64(sample[0].Value.Uint64()))
		if ended {
			w.most <- most
			return
		}
		select {
		case <-tick.C:
		case <-w.stop:
			ended = true // take a last sample
		}
	}
}

// end stops the watch and returns the maximum, in bytes.
func (w *watch) end() int64 {
	close(w.stop)
	return <-w.most
}
