package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// An Invoker calls a tool by name. The Catalogue implements it in process, and clients implement it
// over HTTP and MCP (DESIGN §1.5).
type Invoker interface {
	// Invoke returns the envelope, or only the data if the arguments have envelope: false. The
	// answer has at most MaxBody bytes, also after quoting as a JSON string. If the call fails, the
	// error is a *fault.Fault, and the answer is returned too if there is one. args is a JSON
	// object or empty.
	Invoke(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)
}

// Options configure a Catalogue. The zero value works.
type Options struct {
	Interceptors []Interceptor // the first is outermost
	Now          func() time.Time
	Log          *slog.Logger  // receives internal faults, never private data; nil: discard
	Deadline     time.Duration // of one call; 0: 25 s
}

// A Catalogue is a fixed set of tools that can be called by name. It is safe for concurrent use if
// its tools are.
type Catalogue struct {
	tools  []*Tool
	byName map[string]*Tool // also by alias
	handle Handler
	opt    Options
}

var _ Invoker = (*Catalogue)(nil)

// NewCatalogue returns a catalogue of the tools. It returns an error if two tools share a name, a
// route, a command, a resource, a prompt or a kind of completion.
func NewCatalogue(tools []*Tool, o Options) (*Catalogue, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Deadline = cmp.Or(o.Deadline, 25*time.Second)
	c := &Catalogue{tools: slices.Clone(tools), byName: map[string]*Tool{}, opt: o}
	slices.SortFunc(c.tools, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	if err := c.register(); err != nil {
		return nil, err
	}
	c.handle = dispatch
	for _, i := range slices.Backward(o.Interceptors) {
		c.handle = i(c.handle)
	}
	return c, nil
}

// register fills byName and checks that names, routes, commands and aids are unique. Routes are
// compared without the names of their parameters, because two such routes match the same requests.
func (c *Catalogue) register() error {
	taken := map[string]string{}
	take := func(kind, what, name string) error {
		if other, ok := taken[kind+what]; ok && what != "" {
			return fmt.Errorf("tools %s and %s share the %s %s", other, name, kind, what)
		}
		taken[kind+what] = name
		return nil
	}
	for _, t := range c.tools {
		for _, name := range append([]string{t.Name}, t.Aliases...) {
			if err := take("name ", name, t.Name); err != nil {
				return err
			}
			c.byName[name] = t
		}
		if p := t.Path(); p != "" {
			if err := take("route ", t.Route.Method+" "+shapeOf(p), t.Name); err != nil {
				return err
			}
		}
		for _, cmd := range t.Commands {
			if err := take("command ", cmd.Words, t.Name); err != nil {
				return err
			}
		}
		if err := t.takeAids(take); err != nil {
			return err
		}
	}
	return nil
}

// takeAids registers the other keys that must be unique: the URIs of resources, the name of the
// prompt, and the kinds of completion. A request for one of them names no tool, so it must lead to
// exactly one.
func (t *Tool) takeAids(take func(kind, what, name string) error) error {
	for _, r := range t.Resources {
		if err := take("resource ", shapeOf(r.URI), t.Name); err != nil {
			return err
		}
	}
	for _, kind := range t.Completes {
		if err := take("completion of ", kind, t.Name); err != nil {
			return err
		}
	}
	if !t.Prompt {
		return nil
	}
	return take("prompt ", t.LocalName(), t.Name)
}

// shapeOf returns a path with the names of its parameters removed. Two paths of the same shape
// match the same requests.
func shapeOf(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, "{") {
			segments[i] = "{}"
		}
	}
	return strings.Join(segments, "/")
}

// Tools returns the tools, sorted by name. The caller must not change the slice.
func (c *Catalogue) Tools() []*Tool { return c.tools }

// Find returns the tool with this name or alias.
func (c *Catalogue) Find(name string) (*Tool, bool) {
	t, ok := c.byName[name]
	return t, ok
}
