package tool

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
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

// A Request is a call as it arrives from a projection: the name of a tool and its arguments.
type Request struct {
	Name string                     // or an alias
	Args map[string]json.RawMessage // by name or alias: valid JSON in UTF-8. Do changes the map

	// Malformed is the fault of arguments that could not be read as a whole; nil: they could. It is
	// the answer only if the caller may make the call.
	Malformed error
}

// Request returns the request of a call whose arguments are one JSON object, or empty.
func (c *Catalogue) Request(name string, args json.RawMessage) Request {
	r := Request{Name: name}
	if t, ok := c.Find(name); ok {
		r.Args, r.Malformed = t.ParseArgs(args)
	}
	return r
}

// Invoke implements Invoker: it is Do for arguments and an answer in JSON.
func (c *Catalogue) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	return c.Do(ctx, c.Request(name, args)).Result()
}

// Do calls a tool for the caller in ctx. A call that runs longer than the deadline is canceled. If
// the page of a list is too large for an answer, Do repeats the call with a lower limit.
func (c *Catalogue) Do(ctx context.Context, r Request) *Answer {
	start := c.opt.Now()
	ctx, cancel := context.WithTimeout(ctx, c.opt.Deadline)
	defer cancel()
	caller := auth.CallerOf(ctx)
	caller.Began = start
	if caller.RequestID == "" {
		caller.RequestID = rand.Text()
	}
	run := &running{name: r.Name, caller: caller, start: start}
	reply, err := run.recoverPanic(func() (Reply, error) { return c.call(ctx, run, r) })
	for {
		a := c.answer(ctx, run, reply, err)
		n := QuotedSize(a.JSON())
		if n <= MaxBody {
			return a
		}
		if a.Fault != nil || !run.lowerLimit(reply.Meta, n) {
			return c.oversized(ctx, run, a, n)
		}
		// It is the same call, so the interceptors need not run again.
		reply, err = run.recoverPanic(func() (Reply, error) { return dispatch(ctx, run.call) })
	}
}

// A running is the state of one Do that its answer depends on. It is created by Do and completed by
// Catalogue.call.
type running struct {
	name   string
	caller auth.Caller
	start  time.Time
	shared shared
	call   *Call // nil: no tool has the name

	// named contains the arguments `vault` and `as_of` if the caller gave them, not those that
	// interceptors fill in.
	named map[string]json.RawMessage
}

// recoverPanic calls do and returns its result. A panic becomes an internal fault.
func (run *running) recoverPanic(do func() (Reply, error)) (r Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Panicked("in "+run.name, p)
		}
	}()
	return do()
}

// call reads the arguments and runs the call through the interceptors. If an argument cannot be
// read, the fault is stored in Call.Malformed, so that authorization comes first. It sets run.call
// unless no tool has the name.
func (c *Catalogue) call(ctx context.Context, run *running, r Request) (Reply, error) {
	t, ok := c.Find(r.Name)
	if !ok {
		return Reply{}, c.noTool(r.Name)
	}
	args, err := r.Args, r.Malformed
	if args == nil {
		args = map[string]json.RawMessage{}
	}
	if err == nil {
		err = t.admit(args)
	}
	if err != nil {
		args = nil // none of them can be relied on
	} else {
		err = run.readArgs(t, args)
	}
	run.call = &Call{Tool: t, Caller: run.caller, Args: args, Malformed: err}
	run.named = map[string]json.RawMessage{}
	for _, name := range []string{"vault", "as_of"} {
		if value, given := args[name]; given {
			run.named[name] = value
		}
	}
	return c.handle(ctx, run.call)
}

// readArgs brings args into the form that interceptors and the tool see: those of an old name of
// the tool are translated, lifted arguments are replaced by their members, and the shared arguments
// are removed and applied to run. It returns the first problem found.
func (run *running) readArgs(t *Tool, args map[string]json.RawMessage) error {
	if old, is := t.Old[run.name]; is {
		old.translate(t, args)
	}
	if err := t.lift(args); err != nil {
		return err
	}
	own := map[string]json.RawMessage{}
	for _, a := range t.Args {
		if raw, ok := args[a.Name]; ok && a.Shared {
			if _, wrong := t.checkArg(a, raw); len(wrong) > 0 {
				return wrong[0]
			}
			own[a.Name] = raw
			delete(args, a.Name)
		}
	}
	if err := fill(own, &run.shared); err != nil {
		return fmt.Errorf("read shared arguments: %w", err)
	}
	run.caller.Agent = cmp.Or(run.shared.AgentID, run.caller.Agent)
	run.caller.Session = cmp.Or(run.shared.Session, run.caller.Session)
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

// lowerLimit lowers the limit of a list call whose page, of n bytes, is larger than an answer may
// be, so that the next page fits. It estimates the new limit from the average size of an item. It
// returns false if the call cannot be repeated with a lower limit: it has no limit, its page has a
// single item, or it mutates.
func (run *running) lowerLimit(page Meta, n int) bool {
	count, counted := page["count"].(int)
	t := run.call.Tool
	limit, limited := t.ArgFor(MeansLimit)
	if !limited || !counted || count < 2 || t.Kind.Mutates() {
		return false
	}
	for _, alias := range limit.Aliases {
		delete(run.call.Args, alias)
	}
	fit := max(1, min(count-1, int(int64(count)*MaxBody/int64(n))))
	run.call.Args[limit.Name] = json.RawMessage(strconv.Itoa(fit))
	return true
}

// bare reports whether the caller asked for the data without its envelope.
func (run *running) bare() bool { return run.shared.Envelope != nil && !*run.shared.Envelope }

// family returns the family of the called tool, or nil if no tool has the requested name.
func (run *running) family() *Family {
	if run.call == nil {
		return nil
	}
	return run.call.Tool.Family
}
