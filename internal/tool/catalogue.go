package tool

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"rookery/internal/auth"
	"rookery/internal/fault"
)

// An Invoker calls a tool by name. The catalogue in process implements it, and the clients that
// reach one over HTTP or MCP (DESIGN §1.5).
type Invoker interface {
	// Invoke answers the envelope, or the bare data where the call asked for that. It has at most MaxBody
	// bytes, also as a text in JSON. On failure the answer is there too, if there was one, and the error is
	// its *fault.Fault.
	Invoke(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)
}

// A Call is one call on its way through the interceptors. Its arguments are read, but not checked.
type Call struct {
	Tool   *Tool
	Caller auth.Caller
	Args   map[string]json.RawMessage

	// Malformed is what was wrong with the arguments as a whole; nil: they could be read. It is the answer
	// only of who may make the call.
	Malformed error

	// Warnings are those that interceptors add to the answer, also to that of a call which fails.
	Warnings []Warning
}

// Text is an argument that is a text, by its name; empty if it is not given or not a text.
func (c *Call) Text(name string) string {
	var s string
	if json.Unmarshal(c.Args[name], &s) != nil {
		return ""
	}
	return s
}

// Needs is the role that the call needs and the kind of what it does: those of its tool, and of the arguments
// that raise them.
func (c *Call) Needs() Raise {
	needs := Raise{c.Tool.Role, c.Tool.Kind}
	if w := c.Tool.Reads; w != nil && slices.Contains(w.Values, c.Text(w.Arg)) {
		return Raise{auth.Reader, Read}
	}
	if len(c.Tool.Raises) == 0 {
		return needs
	}
	for name, raw := range c.Args {
		a, ok := c.Tool.Arg(name)
		if r, raises := c.Tool.Raises[a.Name]; ok && raises && !isNothing(raw) {
			needs = needs.above(r)
		}
	}
	return needs
}

// isNothing reports whether a value says the same as none.
func isNothing(raw json.RawMessage) bool {
	text := strings.TrimSpace(string(raw))
	return text == "false" || text == "null"
}

// A Handler answers a call.
type Handler func(ctx context.Context, c *Call) (Reply, error)

// An Interceptor does what every call needs, around the next handler.
type Interceptor func(next Handler) Handler

// Options are what a catalogue is made with, beside its tools.
type Options struct {
	Interceptors []Interceptor // the first is outermost
	Now          func() time.Time
	Log          *slog.Logger  // internal faults, and nothing that is private
	Deadline     time.Duration // of one call; 0: 25 s
}

// A Catalogue holds tools and calls them.
type Catalogue struct {
	tools  []*Tool
	byName map[string]*Tool // also by alias
	handle Handler
	opt    Options
}

var _ Invoker = (*Catalogue)(nil)

// NewCatalogue makes a catalogue. Two tools that share a name, a route, a command, a resource, a
// prompt or what they complete are an error.
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

// takeAids takes what must be unique beside names, routes and commands: the URIs of resources, the
// names of prompts, and the kinds that are completed.
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

// shapeOf is a path without the names of its parameters: two paths of one shape cannot be told
// apart.
func shapeOf(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, "{") {
			segments[i] = "{}"
		}
	}
	return strings.Join(segments, "/")
}

// Tools are the tools, by name.
func (c *Catalogue) Tools() []*Tool { return c.tools }

// Find is the tool of a name or alias.
func (c *Catalogue) Find(name string) (*Tool, bool) {
	t, ok := c.byName[name]
	return t, ok
}

// Invoke calls a tool for the caller of the context.
func (c *Catalogue) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	start := c.opt.Now()
	ctx, cancel := context.WithTimeout(ctx, c.opt.Deadline)
	defer cancel()
	caller := auth.CallerOf(ctx)
	caller.Began = start
	if caller.RequestID == "" {
		caller.RequestID = rand.Text()
	}
	ask := request{name: name, caller: caller, start: start}
	r, err := ask.rescued(func() (Reply, error) { return c.call(ctx, &ask, args) })
	for {
		data, failed := c.answer(ctx, &ask, r, err)
		n := QuotedSize(data)
		if failed != nil || n <= MaxBody || !ask.fewer(listed{r.Meta, n}) {
			return c.within(ctx, &ask, data, failed)
		}
		// It is the same call, which the interceptors have let through.
		r, err = ask.rescued(func() (Reply, error) { return dispatch(ctx, ask.made) })
	}
}

// A request is one Invoke: what the answer needs to know of it.
type request struct {
	name   string
	caller auth.Caller
	start  time.Time
	how    shared
	made   *Call // nil: no tool has the name

	// named are the arguments `vault` and `as_of` as they came, without those that interceptors fill in.
	named map[string]json.RawMessage
}

// rescued is what a part of the request comes to. A panic in a tool is an internal fault.
func (ask *request) rescued(do func() (Reply, error)) (r Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Panicked("in "+ask.name, p)
		}
	}()
	return do()
}

// call runs one request through the interceptors.
func (c *Catalogue) call(ctx context.Context, ask *request, raw json.RawMessage) (Reply, error) {
	t, ok := c.byName[ask.name]
	if !ok {
		return Reply{}, c.noTool(ask.name)
	}
	args, err := parse(t, raw)
	if old, is := t.Old[ask.name]; is && err == nil {
		old.translate(t, args)
	}
	if err == nil {
		err = t.lift(args)
	}
	if err == nil {
		err = ask.read(t, args)
	}
	ask.made = &Call{Tool: t, Caller: ask.caller, Args: args, Malformed: err}
	ask.named = map[string]json.RawMessage{}
	for _, name := range []string{"vault", "as_of"} {
		if value, given := args[name]; given {
			ask.named[name] = value
		}
	}
	return c.handle(ctx, ask.made)
}

// read takes the shared arguments out of the call and applies them to the request.
func (ask *request) read(t *Tool, args map[string]json.RawMessage) error {
	own := map[string]json.RawMessage{}
	for _, a := range t.Args {
		if raw, ok := args[a.Name]; ok && a.Shared {
			if wrong := t.checkArg(a, raw); len(wrong) > 0 {
				return wrong[0]
			}
			own[a.Name] = raw
			delete(args, a.Name)
		}
	}
	if err := json.Unmarshal(mustMarshal(own), &ask.how); err != nil {
		return fmt.Errorf("read shared arguments: %w", err)
	}
	ask.caller.Agent = cmp.Or(ask.how.AgentID, ask.caller.Agent)
	ask.caller.Session = cmp.Or(ask.how.Session, ask.caller.Session)
	return nil
}

// noTool is the fault of a name that no tool has.
func (c *Catalogue) noTool(name string) error {
	var known []string
	for _, t := range c.tools {
		known = append(known, t.Name)
	}
	f := fault.New(fault.NotFound, "there is no such tool")
	if near := fault.Nearest(name, known); near != "" {
		f = f.Fix("use %s", near)
	}
	return f
}

// dispatch is the innermost handler: the check of the arguments, and the tool.
func dispatch(ctx context.Context, c *Call) (Reply, error) {
	if c.Malformed != nil {
		return Reply{}, c.Malformed
	}
	ctx = auth.WithCaller(ctx, c.Caller)
	args, err := c.Tool.canonical(c.Args)
	if err != nil {
		return Reply{}, err
	}
	var bound binding
	if c.Tool.pages() {
		bound = bindingOf(c, args)
		if err := unbind(c, args, bound); err != nil {
			return Reply{}, err
		}
	}
	r, err := c.Tool.call(ctx, c.Caller, args)
	if c.Tool.pages() {
		bound.bind(r)
	}
	return r, err
}
