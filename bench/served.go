package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/bench/corpus"
)

// A served is the cost of serving a folder in place that other programs edit.
type served struct {
	Starts   []servedStart
	Memory   memory // after the whole folder was read for the first time
	Commands alone
	Idle     idle
	Edits    []edited
	Loads    []sample
	Sweeps   sample // of the unchanged folder, in this process
}

// A servedStart is one start of the server on a folder. Times count from the execution of the
// process.
type servedStart struct {
	When  string
	Ready time.Duration // until /readyz returned 200
	First time.Duration // until the vault returned any answer
	Note  time.Duration // until it contained a note
	All   time.Duration // until the whole folder was compared and ingested
}

// An alone is the cost of single commands that open the folder themselves, because no server serves
// it.
type alone struct{ Took, CPU []time.Duration }

// TookP returns a percentile of the durations of the commands.
func (a alone) TookP(percent int) time.Duration { return percentile(a.Took, percent) }

// CPUP returns a percentile of the CPU times of the commands.
func (a alone) CPUP(percent int) time.Duration { return percentile(a.CPU, percent) }

// An idle is the CPU use of the server while it received no calls.
type idle struct {
	Known     bool // whether the system reports it
	Took, CPU time.Duration
}

// Share returns the CPU use in percent of one core.
func (i idle) Share() float64 { return 100 * i.CPU.Seconds() / i.Took.Seconds() }

// The parameters of the measurements.
const (
	sweepTimes = 50
	restShare  = 10               // divisor of the idle time, for the wait before a measurement at rest
	patience   = 15 * time.Minute // time limit of every wait
)

// A serving measures one folder.
type serving struct {
	*suite
	out    *served
	bin    string
	folder string
	rounds int // number of loads so far: each sets different values
}

// serves measures a folder of plain files that the binary serves in place.
func (s *suite) serves(ctx context.Context) error {
	bin, err := compile(ctx, s.dir)
	if err != nil {
		return err
	}
	folder := filepath.Join(s.dir, fmt.Sprintf("%d-served", s.result.Notes), vaultName)
	s.result.Served = &served{}
	f := &serving{suite: s, out: s.result.Served, bin: bin, folder: folder}
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"a first start", f.firstStart}, {"single commands", f.commands},
		{"a later start", f.laterStart}, {"idle", f.idles}, {"edits", f.edits},
		{"writes", f.writesBeside(false)}, {"writes beside an editor", f.writesBeside(true)},
		{"sweeps", f.sweeps},
	}
	for _, step := range steps {
		progress("%d notes: a served folder: %s", s.result.Notes, step.what)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("a served folder: %s: %w", step.what, err)
		}
	}
	return nil
}

// firstStart serves a folder that was never served before, and measures the memory of the server.
func (f *serving) firstStart(ctx context.Context) error {
	if err := writeFolder(f.folder, f.files); err != nil {
		return err
	}
	if err := f.startOn(ctx, "the first, which reads all notes"); err != nil {
		return err
	}
	// Meanwhile the log is compacted, and the texts that were read become garbage.
	if err := pause(ctx, f.cfg.idle/restShare); err != nil {
		return errors.Join(err, f.down())
	}
	var err error
	f.out.Memory, err = memoryOf(f.server.cmd.Process.Pid)
	return errors.Join(err, f.down())
}

// laterStart serves the unchanged folder again. The server keeps running.
func (f *serving) laterStart(ctx context.Context) error {
	return f.startOn(ctx, "a later one, of an unchanged folder")
}

// writeFolder writes files as plain files of a person.
func writeFolder(dir string, files []corpus.File) error {
	for _, file := range files {
		path := filepath.Join(dir, filepath.FromSlash(file.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make a folder of notes: %w", err)
		}
		if err := os.WriteFile(path, []byte(file.Text), 0o644); err != nil {
			return fmt.Errorf("write a note: %w", err)
		}
	}
	return nil
}

// startOn starts the server on the folder and waits until everything is ingested.
func (f *serving) startOn(ctx context.Context, when string) error {
	launch := func(dir string) []string {
		return []string{f.bin, "serve", "--vault", dir, "--listen", "127.0.0.1:0"}
	}
	var err error
	if f.server, err = start(ctx, launch, f.folder); err != nil {
		return err
	}
	f.client = newClient(f.server.url, vaultName, slices.Max(servedClients))
	got := servedStart{When: when}
	if got.Ready, err = f.server.ready(ctx); err != nil {
		return err
	}
	for _, w := range []struct {
		took *time.Duration
		come func(context.Context) (bool, error)
	}{
		{&got.First, f.answers}, {&got.Note, f.hasNote}, {&got.All, f.caughtUp},
	} {
		if err := until(ctx, w.come); err != nil {
			return err
		}
		*w.took = time.Since(f.server.begun)
	}
	f.out.Starts = append(f.out.Starts, got)
	return nil
}

// answers reports whether the vault returns answers.
func (f *serving) answers(ctx context.Context) (bool, error) {
	_, err := f.told(ctx, "raven_stats", in{})
	return unlessRefused(err)
}

// hasNote reports whether the vault contains a note.
func (f *serving) hasNote(ctx context.Context) (bool, error) {
	t, err := f.told(ctx, "raven_object_list", in{"limit": 1})
	ok, err := unlessRefused(err)
	return ok && t.Meta.Total > 0, err
}

// caughtUp reports whether the vault is fresh and contains as many files as were generated.
func (f *serving) caughtUp(ctx context.Context) (bool, error) {
	t, err := f.told(ctx, "raven_stats", in{})
	if ok, err := unlessRefused(err); !ok {
		return false, err
	}
	return t.Data.Freshness == "fresh" && t.Data.Files >= f.result.Notes, nil
}

// unlessRefused returns true for a success and false for a refusal. Any other error is returned.
func unlessRefused(err error) (bool, error) {
	if _, ok := errors.AsType[*refusal](err); ok {
		return false, nil
	}
	return err == nil, err
}

// A told contains the members of an answer that show the progress of the server.
type told struct {
	Data struct {
		Freshness string
		Files     int `json:"file_count"`
	}
	Meta struct{ Total int }
}

// told calls a tool and returns these members of its answer.
func (f *serving) told(ctx context.Context, tool string, args in) (told, error) {
	var t told
	args["vault"] = vaultName
	body, err := encode(args)
	if err != nil {
		return t, err
	}
	data, err := f.client.post(ctx, tool, body)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(data, &t); err != nil {
		return t, fmt.Errorf("read the answer of %s: %w", tool, err)
	}
	return t, nil
}

// until polls come every 10 ms until it returns true. It returns an error after patience.
func until(ctx context.Context, come func(context.Context) (bool, error)) error {
	const every = 10 * time.Millisecond
	ctx, cancel := context.WithTimeoutCause(ctx, patience,
		fmt.Errorf("it did not come within %v", patience))
	defer cancel()
	for {
		if ok, err := come(ctx); ok || err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if err := pause(ctx, every); err != nil {
			return err
		}
	}
}

// pause waits for a duration, or until the context ends, and then returns its cause.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// commands measures a command on a folder that no server serves: it opens the folder, compares it,
// and answers.
func (f *serving) commands(ctx context.Context) error {
	a := &f.out.Commands
	for range f.cfg.times {
		c := command(ctx, f.folder, f.bin, "--vault", f.folder, "stats")
		begun := time.Now()
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		a.Took = append(a.Took, time.Since(begun))
		a.CPU = append(a.CPU, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
	}
	slices.Sort(a.Took)
	slices.Sort(a.CPU)
	return nil
}

// idles measures the CPU use of the server while it receives no calls.
func (f *serving) idles(ctx context.Context) error {
	if err := f.client.tool(ctx, "raven_search", in{"query": "harbour"}); err != nil {
		return err
	}
	if err := pause(ctx, f.cfg.idle/restShare); err != nil {
		return err
	}
	pid := f.server.cmd.Process.Pid
	before, known, err := cpuOf(pid)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := pause(ctx, f.cfg.idle); err != nil {
		return err
	}
	took := time.Since(begun)
	after, _, err := cpuOf(pid)
	f.out.Idle = idle{known, took, after - before}
	return err
}
