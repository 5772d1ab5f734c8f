// Package lambdahost runs functions of AWS Lambda as processes of this machine, behind a gateway
// that behaves as an HTTP API of API Gateway does. It serves the documented Runtime API to the same
// bootstrap that Lambda runs. Tests and the local cloud use it; no function links it.
//
// It follows the developer guides of AWS where these are specific: the routes and headers of the
// Runtime API and the variables of a function (AWS Lambda, "Using the Lambda runtime API", "Defined
// runtime environment variables"); the format of events and answers, with values joined by commas
// and separate cookies (API Gateway, "Create AWS Lambda proxy integrations for HTTP APIs"); the
// precedence of routes ("Create routes for HTTP APIs"); the sizes and the timeout of 30 s ("Quotas
// for configuring and running an HTTP API"); the sizes of events and answers (AWS Lambda, "Lambda
// quotas").
//
// The following is not in the guides. It is from memory, must be checked in an AWS account, and is
// marked "not documented" in the code: a path arrives decoded and cut at a "?"; WWW-Authenticate is
// renamed; the status and the body with which the gateway answers if a function has not; the
// content types that are passed on as text; the headers that the gateway adds to a request.
//
// host.go manages processes, and environment.go one of them; api.go is the Runtime API that the
// process calls. gateway.go receives requests, route.go finds the function, event.go makes the
// event, and answer.go the response. The files process_*.go have the system calls.
//
// A test can cause events that are hard to provoke in the cloud: freeze a process within a
// call, kill it, let it time out, and start many at once.
package lambdahost

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
	"time"
)

// Quotas of Lambda, and defaults of a Function.
const (
	MaxEvent  = 6_291_456 // size of an event in bytes
	MaxAnswer = 6_291_556 // size of an answer in bytes

	defaultTimeout = 29 * time.Second
	defaultMost    = 64
	defaultMemory  = 1769
	defaultName    = "function"

	// initTimeout is the longest time between the start of a process and its first request for an
	// event.
	initTimeout = 10 * time.Second
)

// A Function is a program that handles events. Only Binary is required.
type Function struct {
	Binary string   // the absolute path of a bootstrap, which is a program that calls lambda.Start
	Env    []string // "KEY=value"; the process has only these and Lambda's own variables

	Name    string        // AWS_LAMBDA_FUNCTION_NAME; empty: "function"
	Memory  int           // AWS_LAMBDA_FUNCTION_MEMORY_SIZE in MB, which is not enforced; 0: 1769
	Timeout time.Duration // of a call, without the start of a process; 0: 29 seconds
	Most    int           // the most processes at once; 0: 64

	// Concurrency is how many events a process handles at once, AWS_LAMBDA_MAX_CONCURRENCY, as on
	// managed instances of Lambda. If it is more than 1, a call ends with its answer, and not with
	// the next request for an event. 0: 1.
	Concurrency int

	// Freezes stops a process between calls, as Lambda does. Without it, a process can continue to
	// work after its call has ended.
	Freezes bool

	Output io.Writer // stdout and stderr of all processes, one write at a time; nil: discard
}

// A Host manages the environments of a function: processes, each of which handles one event at a
// time, or as many as Function.Concurrency. It is safe for concurrent use. Close ends all
// processes. As Lambda does, it prefers the process that was used last, so that others become idle.
type Host struct {
	function Function
	output   io.Writer
	stop     func() bool // stops watching the context of Start

	mu     sync.Mutex
	closed bool
	all    []*environment
	idle   []*environment // one entry for each call that a process is free for; the last one was used last
	busy   sync.WaitGroup // counts calls and processes
}

// Start returns the host of a function without a process. The first call starts one. The host is
// closed when ctx is done, so a test need not close it. An invalid Binary is found by the first
// call.
func Start(ctx context.Context, f Function) *Host {
	h := &Host{function: f.withDefaults()}
	h.output = &serial{w: h.function.Output}
	h.stop = context.AfterFunc(ctx, h.end)
	return h
}

// withDefaults returns f with defaults for zero fields.
func (f Function) withDefaults() Function {
	f.Name = cmp.Or(f.Name, defaultName)
	f.Memory = cmp.Or(f.Memory, defaultMemory)
	f.Timeout = cmp.Or(f.Timeout, defaultTimeout)
	f.Most = cmp.Or(f.Most, defaultMost)
	f.Concurrency = cmp.Or(f.Concurrency, 1)
	if f.Output == nil {
		f.Output = io.Discard
	}
	return f
}

// Invoke passes an event to an environment and returns its answer. It uses the idle environment
// that was used last, or a new one if there is none. It returns ErrEventTooLarge, ErrThrottled or
// ErrClosed if the function did not receive the event, a *Error if the function ended without an
// answer, or the error of ctx. The function continues its call after ctx is done, until its
// timeout.
func (h *Host) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(event) > MaxEvent {
		return nil, ErrEventTooLarge
	}
	e, err := h.acquire()
	if err != nil {
		return nil, err
	}
	done := make(chan outcome, 1)
	go func() {
		defer h.busy.Done()
		done <- h.run(e, event)
	}()
	select {
	case o := <-done:
		return o.answer, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// run handles an event in an environment that take has returned, and makes it idle again. If the
// process of an idle environment had ended meanwhile, it takes another one, until a process
// receives the event: the caller must not notice the end of an idle process.
func (h *Host) run(e *environment, event []byte) outcome {
	for {
		o, taken := e.serve(event)
		if taken {
			h.release(e)
			return o
		}
		// An idle process ended before it received the event, so another one gets it.
		next, err := h.acquire()
		if err != nil {
			return outcome{err: err}
		}
		defer h.busy.Done()
		e = next
	}
}

// acquire returns the idle environment that was used last, or a new one. It adds the call to busy.
// If there are Function.Most processes already, it returns ErrThrottled at once; it does not wait.
func (h *Host) acquire() (*environment, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	for len(h.idle) > 0 {
		last := len(h.idle) - 1
		e := h.idle[last]
		h.idle = h.idle[:last]
		if !e.hasEnded() {
			e.calling++
			h.busy.Add(1)
			return e, nil
		}
	}
	if len(h.all) >= h.function.Most {
		return nil, ErrThrottled
	}
	e, err := h.launch()
	if err != nil {
		return nil, err
	}
	h.all = append(h.all, e)
	for range h.function.Concurrency - 1 {
		h.idle = append(h.idle, e)
	}
	e.calling++
	h.busy.Add(1)
	return e, nil
}

// release makes an environment free for one more call, if its process is running. With Freezes, it
// stops the process when its last call has ended.
func (h *Host) release(e *environment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.calling--
	if !e.hasEnded() && !h.closed {
		if h.function.Freezes && e.calling == 0 {
			e.freeze()
		}
		h.idle = append(h.idle, e)
	}
}

// forget removes an environment whose process has ended, so that another may start in its place.
func (h *Host) forget(e *environment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	is := func(other *environment) bool { return other == e }
	h.all = slices.DeleteFunc(h.all, is)
	h.idle = slices.DeleteFunc(h.idle, is)
}

// Freeze stops all processes, even within a call. Timeouts continue, so a call that is frozen too
// long is killed. A process is stopped until Thaw, or until it gets an event. Processes that start
// later are not stopped.
func (h *Host) Freeze() {
	for _, e := range h.environments() {
		e.freeze()
	}
}

// Thaw continues all processes.
func (h *Host) Thaw() {
	for _, e := range h.environments() {
		e.thaw()
	}
}

// Kill ends all processes with SIGKILL and returns when they have ended. Their calls end with
// Runtime.ExitError. The next call starts a process. A test uses it to simulate a crash of the
// machine.
func (h *Host) Kill() {
	all := h.environments()
	for _, e := range all {
		e.kill()
	}
	for _, e := range all {
		<-e.ended
	}
}

// Close ends all processes and returns when they have ended. Calls end with Runtime.ExitError or
// ErrClosed. Close may be repeated. It need not be called if the context of Start ends.
func (h *Host) Close() {
	h.stop()
	h.end()
}

// end refuses further calls, and ends all processes. It returns when no call and no process is
// left.
func (h *Host) end() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.Kill()
	h.busy.Wait()
}

// Processes returns the process ids of the environments, the oldest first. A process may have ended
// when it returns.
func (h *Host) Processes() []int {
	var ids []int
	for _, e := range h.environments() {
		ids = append(ids, e.pid)
	}
	return ids
}

// environments returns a copy of all environments, the oldest first.
func (h *Host) environments() []*environment {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

// A serial is a writer that serializes concurrent writes, because all processes write their output
// to it.
type serial struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (s *serial) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
