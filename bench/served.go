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

// served is what it costs to serve a person's folder where it is, which other programs edit.
type served struct {
	Starts   []servedStart
	Memory   memory // when all of the folder was read for the first time
	Commands alone
	Idle     idle
	Edits    []edited
	Loads    []sample
	Sweeps   sample // of the unchanged folder, in this process
}

// servedStart is one start of the server on a folder, told from its execution.
type servedStart struct {
	When  string
	Ready time.Duration // until /readyz answered 200
	First time.Duration // until the vault answered anything
	Note  time.Duration // until it had any note
	All   time.Duration // until the folder was compared, and everything in it had been taken in
}

// alone is what single commands came to that open the folder themselves, since nobody serves it.
type alone struct{ Took, CPU []time.Duration }

// TookP is the time that this many percent of the commands took at most.
func (a alone) TookP(percent int) time.Duration { return percentile(a.Took, percent) }

// CPUP is the same of the time that they kept a core busy.
func (a alone) CPUP(percent int) time.Duration { return percentile(a.CPU, percent) }

// idle is how busy the server was while nobody wanted anything of it.
type idle struct {
	Known     bool // whether the system tells it
	Took, CPU time.Duration
}

// Share is how many percent of a core it needed.
func (i idle) Share() float64 { return 100 * i.CPU.Seconds() / i.Took.Seconds() }

// Sizes of what is measured.
const (
	sweepTimes = 50
	restShare  = 10               // of the idle time, what the server has before it to come to rest
	patience   = 15 * time.Minute // after which something that does not come is an error
)

// A serving measures one folder.
type serving struct {
	*suite
	out    *served
	bin    string
	folder string
	rounds int // of loads so far: each sets values of its own
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

// firstStart serves a folder that was never served.
func (f *serving) firstStart(ctx context.Context) error {
	if err := writeFolder(f.folder, f.files); err != nil {
		return err
	}
	if err := f.startOn(ctx, "the first, which reads all notes"); err != nil {
		return err
	}
	if err := pause(ctx, f.cfg.idle/restShare); err != nil { // the log is folded, and what was read is garbage
		return errors.Join(err, f.down())
	}
	var err error
	f.out.Memory, err = memoryOf(f.server.cmd.Process.Pid)
	return errors.Join(err, f.down())
}

// laterStart serves it again, when nobody has changed anything. The server stays up.
func (f *serving) laterStart(ctx context.Context) error {
	return f.startOn(ctx, "a later one, of an unchanged folder")
}

// writeFolder writes files as a person has them.
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

// startOn starts the server on the folder and waits until everything is read in.
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

// answers, hasNote and caughtUp say whether the vault answers at all, whether it has any note, and
// whether it has all that is in the folder.

func (f *serving) answers(ctx context.Context) (bool, error) {
	_, err := f.told(ctx, "raven_stats", in{})
	return unlessRefused(err)
}

func (f *serving) hasNote(ctx context.Context) (bool, error) {
	t, err := f.told(ctx, "raven_object_list", in{"limit": 1})
	ok, err := unlessRefused(err)
	return ok && t.Meta.Total > 0, err
}

func (f *serving) caughtUp(ctx context.Context) (bool, error) {
	t, err := f.told(ctx, "raven_stats", in{})
	if ok, err := unlessRefused(err); !ok {
		return false, err
	}
	return t.Data.Freshness == "fresh" && t.Data.Files >= f.result.Notes, nil
}

// unlessRefused is true for a success and false for a refusal; any other error stays one.
func unlessRefused(err error) (bool, error) {
	var r *refusal
	if errors.As(err, &r) {
		return false, nil
	}
	return err == nil, err
}

// told is what is read of the answers to the calls that ask how far the server is.
type told struct {
	Data struct {
		Freshness string
		Files     int `json:"file_count"`
	}
	Meta struct{ Total int }
}

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

// until asks again and again until something has come.
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

// pause waits so long.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// commands measures a command that nobody serves: it opens the folder, compares it, and answers.
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

// idles measures how busy the server is when nobody wants anything of it.
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
