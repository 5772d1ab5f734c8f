// Package rookery runs Rookery in process: team memory for agents and the people who work with
// them, in a data directory and without a network (CONTRACT §8). It is the only exported package of
// the module.
//
//	import "github.com/rookeryhq/rookery"
//
//	r, err := rookery.Open(ctx, rookery.Config{Data: "data"})
//	…
//	answer, err := r.Invoke(ctx, "raven_read", json.RawMessage(`{"vault":"demo","path":"index.md"}`))
package rookery

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Config contains the settings of a Rookery. Only Data is required.
type Config struct {
	Data       string       // the data directory; it is created if it does not exist
	CacheBytes int64        // size of the caches of texts and of past states, half each; 0: 128 MiB
	Log        *slog.Logger // receives internal failures, without private data; nil: no log
	ReadOnly   bool         // every mutation is refused

	Now func() time.Time // the clock for the dates of notes; nil: time.Now
}

// A Rookery is an open data directory. Its methods are safe for concurrent use.
type Rookery struct{ app *localapp.App }

// Open opens a data directory. Only one process can have it open at a time: if a server has it
// open, the error names that server. The caller must close the Rookery.
func Open(ctx context.Context, cfg Config) (*Rookery, error) {
	app, err := localapp.Open(ctx, localapp.Config{
		Data: cfg.Data, CacheBytes: cfg.CacheBytes, Log: cfg.Log, ReadOnly: cfg.ReadOnly, Now: cfg.Now,
	})
	if err != nil {
		return nil, err
	}
	return &Rookery{app}, nil
}

// Invoke calls a tool, by its name or an alias, as the principal `local`, which is an admin. args
// is the JSON object of its arguments. The result is the envelope of CONTRACT §1. If the call
// fails, the envelope contains the error, and the returned error is not nil. A call that runs
// longer than its deadline is canceled.
func (r *Rookery) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	return r.app.Catalogue.Invoke(auth.WithCaller(ctx, auth.LocalCaller()), name, args)
}

// A Tool describes a tool that Invoke can call.
type Tool struct {
	Name     string
	Title    string
	Doc      string          // what the tool is for, as Markdown
	Input    json.RawMessage // the JSON Schema of its arguments
	ReadOnly bool            // it changes nothing
}

// Tools yields all tools, sorted by name.
func (r *Rookery) Tools() iter.Seq[Tool] {
	return func(yield func(Tool) bool) {
		for _, t := range r.app.Catalogue.Tools() {
			if !yield(describe(t)) {
				return
			}
		}
	}
}

// describe returns the public description of a tool.
func describe(t *tool.Tool) Tool {
	input, err := t.InputSchema().MarshalJSON()
	if err != nil {
		panic(err) // cannot happen: the schema was generated from Go types
	}
	return Tool{t.Name, t.Title, t.Prose().Text, input, !t.Kind.Mutates()}
}

// Close stops the background work, makes all writes durable, and releases the data directory.
func (r *Rookery) Close() error { return r.app.Close() }
