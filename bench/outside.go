package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fileblob"
)

// The names of the rows of edits, as on the page and in the goals.
const (
	oneFile   = "a file is saved"
	manyFiles = "many files are saved in a burst"
)

const (
	quiet      = 2 * time.Second // time without a change after which a batch closes (docs/design/0015)
	burstFiles = 500
	burstLess  = 5                      // factor by which there are fewer bursts than single edits
	saveEvery  = 300 * time.Millisecond // interval of the editor during the writes
	editorNote = "editor.md"            // no other client writes it
)

// besideEditor is the name of the load of sets during which an editor saves a note.
const besideEditor = setField + ", beside an editor"

// servedClients are the numbers of concurrent writers.
var servedClients = []int{1, 8, 64}

// An edited is the time from edits by another program until a search found them.
type edited struct {
	What  string
	Files int // in each edit
	Waits []time.Duration
}

// P returns a percentile of the times from the last save, and ClosedP of the times from the close
// of the batch.
func (e edited) P(percent int) time.Duration       { return percentile(e.Waits, percent) }
func (e edited) ClosedP(percent int) time.Duration { return e.P(percent) - quiet }

// edits measures edits of single files, and then bursts of many.
func (f *serving) edits(ctx context.Context) error {
	many := min(burstFiles, len(f.ids))
	for _, e := range []struct {
		edited
		times int
	}{
		{edited{What: oneFile, Files: 1}, f.cfg.edits},
		{edited{What: manyFiles, Files: many}, (f.cfg.edits + burstLess - 1) / burstLess},
	} {
		for i := range e.times {
			wait, err := f.edit(ctx, i, e.Files)
			if err != nil {
				return fmt.Errorf("%s: %w", e.What, err)
			}
			e.Waits = append(e.Waits, wait)
		}
		slices.Sort(e.Waits)
		f.out.Edits = append(f.out.Edits, e.edited)
	}
	return nil
}

// edit appends a new word to the given number of files. It returns the time from the last save
// until a search found the word in all of them.
func (f *serving) edit(ctx context.Context, i, files int) (time.Duration, error) {
	word := fmt.Sprintf("quillon%dx%d", files, i)
	for n := range files {
		path := filepath.Join(f.folder, filepath.FromSlash(f.ids[(i+n)*stride%len(f.ids)])+".md")
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, fmt.Errorf("read a note: %w", err)
		}
		if err := save(path, append(text, "\n"+word+"\n"...)); err != nil {
			return 0, err
		}
	}
	saved := time.Now()
	err := until(ctx, f.finds(word, files))
	return time.Since(saved), err
}

// save saves a file as editors do: it writes a temporary file next to it and renames that over it.
func save(path string, text []byte) error {
	beside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".swp")
	if err := os.WriteFile(beside, text, 0o644); err != nil {
		return fmt.Errorf("save a note: %w", err)
	}
	if err := os.Rename(beside, path); err != nil {
		return fmt.Errorf("save a note: %w", err)
	}
	return nil
}

// finds returns a function that reports whether a search finds a word in the given number of notes.
func (f *serving) finds(word string, notes int) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		t, err := f.told(ctx, "raven_search", in{"query": word})
		return err == nil && t.Meta.Total >= notes, err
	}
}

// writesBeside measures sets of fields, with or without an editor that saves another note at the
// same time.
func (f *serving) writesBeside(editor bool) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, clients := range servedClients {
			if err := f.setAll(ctx, clients, editor); err != nil {
				return err
			}
		}
		if editor {
			return f.down()
		}
		return nil
	}
}

// setAll measures sets by the given number of clients, and checks that each acknowledged one is one
// commit. The saves of the editor are commits as well.
func (f *serving) setAll(ctx context.Context, clients int, editor bool) error {
	before, err := f.client.version(ctx)
	if err != nil {
		return err
	}
	f.rounds++
	l := load{
		name: setField, clients: clients, ops: f.cfg.ops, limit: f.cfg.limit,
		op: func(ctx context.Context, i int) error {
			return f.client.tool(ctx, "raven_set", in{
				"id":  f.ids[i*stride%len(f.ids)],
				"set": in{"revision": f.rounds*f.cfg.ops + i},
			})
		},
	}
	measure := l.run
	if editor {
		l.name = besideEditor
		measure = f.beside(l)
	}
	got, err := measure(ctx)
	if err != nil {
		return err
	}
	after, err := f.client.version(ctx)
	if err != nil {
		return err
	}
	f.out.Loads = append(f.out.Loads, got)
	if made := after - before; made < got.Ops() || editor == (made == got.Ops()) {
		return fmt.Errorf("%s with %d clients: %d operations were acknowledged, and %d commits made",
			l.name, clients, got.Ops(), made)
	}
	return nil
}

// beside returns a function that runs a load while an editor saves a note repeatedly, and then
// waits until a search finds the last save.
func (f *serving) beside(l load) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		word := fmt.Sprintf("quillonbeside%d", l.clients)
		editing, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- f.keepSaving(editing, word) }()
		got, err := l.run(ctx)
		stop()
		if err := errors.Join(err, <-ended); err != nil {
			return got, err
		}
		return got, until(ctx, f.finds(word, 1))
	}
}

// keepSaving saves the note of the editor, with one more line each time, until the context ends.
// The last save contains the word.
func (f *serving) keepSaving(ctx context.Context, word string) error {
	path := filepath.Join(f.folder, editorNote)
	text := []byte("# Notes of an editor\n")
	for line := 0; ; line++ {
		text = fmt.Appendf(text, "line %d\n", line)
		if err := save(path, text); err != nil {
			return err
		}
		if pause(ctx, saveEvery) != nil { // it was stopped
			return save(path, fmt.Appendf(text, "%s\n", word))
		}
	}
}

// sweeps measures the comparison of an unchanged folder with its log. Both are in this process and
// used by nothing else: the folder is not watched and not swept by itself.
func (f *serving) sweeps(ctx context.Context) (err error) {
	dir := filepath.Join(f.dir, fmt.Sprintf("%d-swept", f.result.Notes))
	notes := filepath.Join(dir, "notes")
	if err := writeFolder(notes, f.files); err != nil {
		return err
	}
	a, err := newArchive(dir, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	v, err := a.open()
	if err != nil {
		return err
	}
	if err := v.Create(ctx, eventlog.Call{Tool: "team_vault_create"}, nil); err != nil {
		return err
	}
	files, err := fileblob.Open(notes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	c, err := checkout.Open(ctx, v, checkout.Options{
		Files: files, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Ready(ctx); err != nil {
		return err
	}
	f.out.Sweeps, err = f.sweep(ctx, c)
	return err
}

// sweep sweeps a folder that was ingested: once to establish that its files do not change, and then
// the measured number of times.
func (f *serving) sweep(ctx context.Context, c *checkout.Checkout) (sample, error) {
	c.Close() // it does not sweep by itself after this
	if err := pause(ctx, 2*quiet); err != nil {
		return sample{}, err
	}
	if _, err := c.Sweep(ctx); err != nil {
		return sample{}, err
	}
	return load{
		name: "sweep", clients: 1, ops: sweepTimes, limit: f.cfg.limit,
		op: func(ctx context.Context, _ int) error {
			_, err := c.Sweep(ctx)
			return err
		},
	}.run(ctx)
}
