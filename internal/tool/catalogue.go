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

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
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

// A Call is one call as interceptors see it. Its arguments are decoded but not yet checked against
// the tool's schema.
type Call struct {
	Tool   *Tool
	Caller auth.Caller
	Args   map[string]json.RawMessage

	// Malformed is the fault of arguments that could not be read as a whole; nil: they could. It is
	// returned only after the interceptors have authorized the call.
	Malformed error

	// Warnings are added to the answer by interceptors, also if the call fails.
	Warnings []Warning
}

// Text returns the string value of an argument, or "" if it is missing or not a string.
func (c *Call) Text(name string) string {
	var s string
	if json.Unmarshal(c.Args[name], &s) != nil {
		return ""
	}
	return s
}

// Needs returns the role that the call needs and the kind of change it makes. Tool.Reads can lower
// those of the tool, and Tool.Raises can raise them, depending on the arguments.
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

// isNothing reports whether a value means the same as a missing argument: false or null.
func isNothing(raw json.RawMessage) bool {
	text := strings.TrimSpace(string(raw))
	return text == "false" || text == "null"
}

// A Handler executes a call and returns its reply. The reply may be valid in part if the error is
// not nil; see Reply.Partial.
type Handler func(ctx context.Context, c *Call) (Reply, error)

// An Interceptor wraps a handler to do work that every call needs, such as authorization or audit.
type Interceptor func(next Handler) Handler

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

// Invoke calls a tool for the caller in ctx. It implements Invoker. A call that runs longer than
// the deadline is canceled. If the page of a list is too large for an answer, Invoke repeats the
// call with a lower limit.
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
	r, err := ask.recoverPanic(func() (Reply, error) { return c.call(ctx, &ask, args) })
	for {
		data, failed := c.answer(ctx, &ask, r, err)
		n := QuotedSize(data)
		if failed != nil || n <= MaxBody || !ask.fewer(listPage{r.Meta, n}) {
			return c.within(ctx, &ask, data, failed)
		}
		// It is the same call, so the interceptors need not run again.
		r, err = ask.recoverPanic(func() (Reply, error) { return dispatch(ctx, ask.made) })
	}
}

// A request is the state of one Invoke that its answer depends on. It is created by Invoke and
// completed by call.
type request struct {
	name   string
	caller auth.Caller
	start  time.Time
	how    shared
	made   *Call // nil: no tool has the name

	// named contains the arguments `vault` and `as_of` if the caller gave them, not those that
	// interceptors fill in.
	named map[string]json.RawMessage
}

// recoverPanic calls do and returns its result. A panic becomes an internal fault.
func (ask *request) recoverPanic(do func() (Reply, error)) (r Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Panicked("in "+ask.name, p)
		}
	}()
	return do()
}

// call decodes the arguments and runs the call through the interceptors. If decoding fails, the
// fault is stored in Call.Malformed, so that authorization comes first. It sets ask.made unless no
// tool has the name. An old name of a tool has its arguments translated here, so interceptors see
// only the present form.
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

// read removes the shared arguments from args and applies them to the request. It returns the first
// problem found in one of them. Shared arguments are the same for all tools, such as the agent and
// the form of the answer, so tools do not see them.
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

// noTool returns the NOT_FOUND fault of an unknown tool name, with the most similar known name as a
// fix.
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

// dispatch is the innermost handler. It checks the arguments, resolves the page token and calls the
// tool. It may run again for the same Call with a lower limit, so it does not change c.Args.
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
