// Bench measures Rookery from the point of view of its callers, and writes a page with the results.
//
// It builds the real binary, starts it as a separate process on generated vaults (package corpus),
// and calls it over HTTP. Every number on the page is measured by the run that wrote it; the page
// names the machine, the date and the command. See docs/benchmarks.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
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

// The parts that can be measured alone: a vault in a data directory with its indexes and log; a
// folder that is served in place; the middleware of a hosted server; the start of a function; the
// functions over emulators of AWS; the tools for notes and for orientation, on a vault of plain
// notes; queries, checks and moves; and the tools for memories. All but the first two have pages of
// their own.
const (
	onlyVault  = "vault"
	onlyServed = "served"
	onlyHosted = "hosted"
	onlyStart  = "start"
	onlyCloud  = "cloud"
	onlyNotes  = "notes"

	onlyQueries = "queries"

	onlyDollars  = "dollars" // nothing is measured: see writeDollars
	onlyMemories = "memories"
)

// A config contains the options of a run.
type config struct {
	sizes   []int  // of the vaults, in notes
	seed    uint64 // seed of the generated vaults
	clients []int  // numbers of concurrent writers
	ops     int    // maximum number of operations of a load
	limit   time.Duration
	out     string // file of the page; empty: standard output
	dir     string // folder for the data directories; empty: the system's folder for temporary files
	profile string // folder for profiles of the server; empty: none
	only    string // the part to measure; empty: the first two
	idle    time.Duration
	edits   int // number of edits of single files in a served folder
	times   int // number of measurements of starts and single commands
	tokens  int // number of API tokens of the tenant
	rounds  int // number of rounds of each load on a hosted server
	args    []string
}

// parse parses the command line.
func parse(args []string) (config, error) {
	cfg := config{args: args}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	sizes := flags.String("sizes", "1000,10000", "`numbers` of notes of the vaults")
	clients := flags.String("clients", "1,16,64", "`numbers` of clients that write at once")
	flags.Uint64Var(&cfg.seed, "seed", 1, "seed of the vaults")
	flags.IntVar(&cfg.ops, "ops", 3000, "operations of one load, at most")
	flags.DurationVar(&cfg.limit, "limit", 6*time.Second, "time of one load, at most")
	flags.StringVar(&cfg.out, "out", "", "`file` of the page; none: standard output")
	flags.StringVar(&cfg.dir, "dir", "", "`folder` to measure in; none: that for temporary files")
	flags.StringVar(&cfg.profile, "profile", "", "`folder` for CPU profiles of the server")
	flags.StringVar(&cfg.only, "only", "", "the one `part` to measure: "+onlyVault+", "+onlyServed+
		", "+onlyHosted+", "+onlyStart+", "+onlyCloud+", "+onlyNotes+", "+onlyQueries+", "+onlyMemories+
		" or "+onlyDollars+"; none: the first two")
	flags.DurationVar(&cfg.idle, "idle", 65*time.Second, "how long the server of a folder is left "+
		"alone; it sweeps once a minute")
	flags.IntVar(&cfg.edits, "edits", 20, "edits of single files in a served folder")
	flags.IntVar(&cfg.times, "times", 9, "times that starts and single commands are measured")
	flags.IntVar(&cfg.tokens, "tokens", 10_000, "API tokens of the tenant of a hosted server")
	flags.IntVar(&cfg.rounds, "rounds", 5, "times that each load of a hosted server is measured")
	if err := flags.Parse(args); err != nil {
		return cfg, err
	}
	if flags.NArg() > 0 {
		return cfg, fmt.Errorf("there are flags only, not %q", flags.Arg(0))
	}
	var err error
	if cfg.sizes, err = numbers(*sizes); err != nil {
		return cfg, fmt.Errorf("-sizes: %w", err)
	}
	if cfg.clients, err = numbers(*clients); err != nil {
		return cfg, fmt.Errorf("-clients: %w", err)
	}
	return cfg, cfg.check()
}

// check returns an error if an option has no valid value.
func (c config) check() error {
	if c.ops < 1 || c.limit <= 0 {
		return errors.New("-ops and -limit must be above 0")
	}
	if c.edits < 1 || c.idle <= 0 || c.times < 1 {
		return errors.New("-edits, -idle and -times must be above 0")
	}
	if c.tokens < 1 || c.rounds < 1 {
		return errors.New("-tokens and -rounds must be above 0")
	}
	parts := []string{onlyVault, onlyServed, onlyHosted, onlyStart, onlyCloud,
		onlyNotes, onlyQueries, onlyMemories, onlyDollars}
	if c.only != "" && !slices.Contains(parts, c.only) {
		return fmt.Errorf("-only: it must be one of %s, not %q", strings.Join(parts, ", "), c.only)
	}
	return nil
}

// numbers parses a list such as 1,16,64.
func numbers(list string) ([]int, error) {
	var all []int
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no list of numbers above 0, such as 1,16,64", list)
		}
		all = append(all, n)
	}
	return all, nil
}

// command returns the command line of this run, for the page.
func (c config) command() string {
	words := []string{"go run ./bench"}
	for _, arg := range c.args {
		if strings.Contains(arg, " ") {
			arg = strconv.Quote(arg)
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// progress reports the current step on standard error.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)},
		args...)...)
}
