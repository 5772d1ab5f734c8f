// Package rookery is Rookery in process: team memory for agents and the people who work with them,
// over a data directory and without a network (CONTRACT §8). It is the only exported package of the
// module.
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

// Config says where the data is.
type Config struct {
	Data       string       // the data directory; it is made where there is none
	CacheBytes int64        // held of texts and of past states, half each; 0: 128 MiB
	Log        *slog.Logger // internal failures, and nothing that is private; nil: nothing
	ReadOnly   bool         // every mutation is refused

	Now func() time.Time // the clock that notes are dated by; nil: time.Now
}

// A Rookery is an open data directory. Its methods are safe for concurrent use.
type Rookery struct{ app *localapp.App }

// Open opens a data directory. One process at a time can hold it; another one's server is named in
// the error.
func Open(ctx context.Context, cfg Config) (*Rookery, error) {
	app, err := localapp.Open(ctx, localapp.Config{
		Data: cfg.Data, CacheBytes: cfg.CacheBytes, Log: cfg.Log, ReadOnly: cfg.ReadOnly, Now: cfg.Now,
	})
	if err != nil {
		return nil, err
	}
	return &Rookery{app}, nil
}

// Invoke calls a tool as the principal `local`, an admin. The answer is the envelope of CONTRACT §1;
// on failure it holds the error, and err is not nil.
func (r *Rookery) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	return r.app.Catalogue.Invoke(auth.WithCaller(ctx, auth.LocalCaller()), name, args)
}

// A Tool is what can be invoked: its name, what it is for, and the JSON Schema of its arguments.
type Tool struct {
	Name     string
	Title    string
	Doc      string // Markdown
	Input    json.RawMessage
	ReadOnly bool // it changes nothing
}

// Tools yields the tools by name.
func (r *Rookery) Tools() iter.Seq[Tool] {
	return func(yield func(Tool) bool) {
		for _, t := range r.app.Catalogue.Tools() {
			if !yield(describe(t)) {
				return
			}
		}
	}
}

func describe(t *tool.Tool) Tool {
	input, err := t.InputSchema().MarshalJSON()
	if err != nil {
		panic(err) // never: the schema was made from Go types
	}
	return Tool{t.Name, t.Title, t.Prose().Text, input, !t.Kind.Mutates()}
}

// Close makes everything durable and lets the data directory go.
func (r *Rookery) Close() error { return r.app.Close() }
