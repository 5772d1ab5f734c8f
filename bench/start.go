package main

import (
	"archive/zip"
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// A starting is the cost of the start of a process that serves the whole catalogue, such as a
// function of a cloud, and the size of its program. The stores are not opened.
type starting struct {
	Tools  int     // of the product
	Allocs float64 // number of allocations to create all of them
	Made   link    // all tools, in a process that created them before
	Served link    // the composition and its handler, likewise
	Ready  link    // from the execution of a process until it can be called
	Size   size
}

// A size is the size of a program in bytes, as it is and in a ZIP archive.
type size struct{ Raw, Zip int64 }

const (
	// warmStarts is the number of measurements in this process.
	warmStarts = 200

	// functionSource is a program with the same composition as a function, and functionArch is the
	// processor of functions.
	functionSource = "github.com/rookeryhq/rookery/internal/hosted/testdata/function"
	functionArch   = "arm64"

	// maxFunction is the maximum size of the archive of a function with all families, in bytes (DESIGN §8).
	maxFunction = 10 << 20
)

// measureStart measures the start of a function, and writes the page.
func measureStart(ctx context.Context, cfg config) error {
	p, dir, end, err := begin(cfg)
	if err != nil {
		return err
	}
	defer end()
	p.Start = &starting{}
	p.Start.makeTools()
	if err := p.Start.compose(); err != nil {
		return err
	}
	if err := p.Start.execute(ctx, dir); err != nil {
		return err
	}
	if p.Start.Size, err = sizeOfFunction(ctx, dir, functionSource, functionArch); err != nil {
		return err
	}
	return p.write(cfg.out)
}

// makeTools measures the creation of all tools.
func (s *starting) makeTools() {
	s.Tools = len(hosted.Tools(nil, nil))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	hosted.Tools(nil, nil)
	runtime.ReadMemStats(&after)
	s.Allocs = float64(after.Mallocs - before.Mallocs)
	s.Made = measured("all tools", warmStarts, func() { hosted.Tools(nil, nil) })
}

// compose measures the composition of a host.
func (s *starting) compose() (err error) {
	none := func(context.Context, string) (table.Table, error) { return nil, table.ErrNotFound }
	s.Served = measured("the composition", warmStarts, func() {
		var h *hosted.Host
		h, err = hosted.New(hosted.Options{Teams: tenant.NewRegistry(tenant.Options{}), Tables: none})
		if err == nil {
			h.Handler(hosted.Serving{})
			h.Close()
		}
	})
	return err
}

// measured returns the durations of do, sorted.
func measured(what string, times int, do func()) link {
	l := link{What: what}
	for range times {
		begun := time.Now()
		do()
		l.Waits = append(l.Waits, time.Since(begun))
	}
	slices.Sort(l.Waits)
	return l
}

// execute measures the start of processes of the program.
func (s *starting) execute(ctx context.Context, dir string) error {
	bin := filepath.Join(dir, "function")
	if err := compileFunction(ctx, bin, functionSource); err != nil {
		return err
	}
	var err error
	s.Ready = measured("a process", 25, func() {
		if failed := untilReady(ctx, bin); failed != nil {
			err = failed
		}
	})
	return err
}

// untilReady runs the program until it prints its address, and then kills it.
func untilReady(ctx context.Context, bin string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, bin)
	cmd.Env = []string{}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("read from a function: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a function: %w", err)
	}
	_, err = bufio.NewReader(said).ReadString('\n')
	stop()
	_ = cmd.Wait() // it was killed
	if err != nil {
		return fmt.Errorf("wait for a function: %w", err)
	}
	return nil
}

// sizeOfFunction builds a program for a processor in a folder, as for an upload, and returns its
// size.
func sizeOfFunction(ctx context.Context, dir, source, arch string) (size, error) {
	bin := filepath.Join(dir, "bootstrap")
	if err := compileFunction(ctx, bin, source, "GOOS=linux", "GOARCH="+arch); err != nil {
		return size{}, err
	}
	data, err := os.ReadFile(bin)
	if err != nil {
		return size{}, fmt.Errorf("read a function: %w", err)
	}
	var packed counter
	archive := zip.NewWriter(&packed)
	w, err := archive.Create(filepath.Base(bin))
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = archive.Close()
	}
	return size{int64(len(data)), int64(packed)}, err
}

// compileFunction builds a program with the options of the functions. env contains additional
// environment variables.
func compileFunction(ctx context.Context, bin, source string, env ...string) error {
	progress("build %s", filepath.Base(source))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w",
		"-tags", "lambda.norpc,nethttpomithttp2",
		"-o", bin, source)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build a function: %w\n%s", err, out)
	}
	return nil
}

// A counter counts the bytes that are written to it.
type counter int64

var _ io.Writer = (*counter)(nil)

// Write counts the bytes of p. It never fails.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
