package tool

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

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
