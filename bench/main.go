// Bench measures Rookery from the point of view of its callers, and writes a page with the results.
//
// It builds the real binary, starts it as a separate process on generated vaults (package corpus),
// and calls it over HTTP. Every number on the page is measured by the run that wrote it; the page
// names the machine, the date and the command. See docs/benchmarks.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rookeryhq/rookery/internal/vault"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run serves a data directory, under the profiler or as a host, if the arguments say so. Otherwise
// it measures.
func run(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == profiledCommand {
		return serveProfiled(ctx, args[1], args[2])
	}
	if len(args) == 3 && args[0] == hostCommand {
		return serveHost(ctx, args[1], args[2])
	}
	cfg, err := parse(args)
	if err != nil {
		return err
	}
	if cfg.only == onlyHosted {
		return measureHosted(ctx, cfg)
	}
	if cfg.only == onlyStart {
		return measureStart(ctx, cfg)
	}
	if cfg.only == onlyCloud {
		return measureCloud(ctx, cfg)
	}
	if cfg.only == onlyDollars {
		return writeDollars(".")
	}
	if cfg.only == onlyNotes {
		return measureNotes(ctx, cfg)
	}
	if cfg.only == onlyQueries {
		return measureQueries(ctx, cfg)
	}
	if cfg.only == onlyMemories {
		return measureMemories(ctx, cfg)
	}
	return bench(ctx, cfg)
}

// bench measures vaults and served folders, and writes the page. It returns an error if calls were
// refused that should not be; the page lists them.
func bench(ctx context.Context, cfg config) error {
	p, dir, end, err := begin(cfg)
	if err != nil {
		return err
	}
	defer end()
	launch, err := cfg.build(ctx, dir)
	if err != nil {
		return err
	}
	var refused []error
	for _, n := range cfg.sizes {
		s := &suite{
			cfg: cfg, dir: dir, launch: launch, day: vault.DateOf(time.Now()),
			result: result{Notes: n},
		}
		if err := s.run(ctx); err != nil {
			return fmt.Errorf("measure %d notes: %w", n, err)
		}
		p.Results = append(p.Results, s.result)
		refused = append(refused, s.refused...)
	}
	return errors.Join(p.write(cfg.out), errors.Join(refused...))
}
