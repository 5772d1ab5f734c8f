package lambdahost

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// An environment is one process of a function with its own Runtime API, on a free port of loopback.
// It goes through these states: it is launched; it asks for its first event, within initTimeout; it
// handles calls, and is idle and perhaps frozen between them; it ends, by itself or because it is
// killed.
type environment struct {
	function Function
	pid      int
	api      *http.Server
	calls    chan *call    // to the process, sent when it asks for the next event
	ready    chan struct{} // closed when the process has asked for its first event
	ended    chan struct{} // closed when the process has ended
	exit     error         // of the process; valid after ended is closed
	calling  int           // calls that have taken the environment; guarded by Host.mu

	mu     sync.Mutex
	asked  bool             // ready is closed
	served bool             // the process has received an event
	now    map[string]*call // running calls, by id
	broken *Error
	frozen bool
}

// A call is one event that a process handles. outcome and posted are guarded by environment.mu
// until done is closed.
type call struct {
	id       string
	event    []byte
	deadline time.Time
	outcome  outcome       // posted by the process
	posted   bool          // outcome is set
	done     chan struct{} // closed when the call has ended; see finish
}

// An outcome is the result of a call.
type outcome struct {
	answer []byte
	err    error
}

// launch starts a process. The caller holds h.mu. It returns when the process runs; the process
// asks for its first event later. A program that cannot be started is an *Error with
// TypeEntrypoint.
func (h *Host) launch() (*environment, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the function: %w", err)
	}
	e := &environment{
		function: h.function,
		calls:    make(chan *call),
		ready:    make(chan struct{}),
		ended:    make(chan struct{}),
		now:      map[string]*call{},
	}
	e.api = &http.Server{Handler: e.routes(), ReadHeaderTimeout: initTimeout}
	cmd := exec.Command(h.function.Binary)
	cmd.Dir = filepath.Dir(h.function.Binary)
	cmd.Env = append(environ(h.function, listener.Addr().String()), h.function.Env...)
	cmd.Stdout, cmd.Stderr = h.output, h.output
	cmd.WaitDelay = time.Second // a child of the process may keep the output open
	started := make(chan error)
	h.busy.Go(func() { e.wait(cmd, started, h.forget) })
	if err := <-started; err != nil {
		_ = listener.Close()
		return nil, &Error{Type: TypeEntrypoint, Message: "the bootstrap does not start"}
	}
	e.pid = cmd.Process.Pid
	h.busy.Go(func() { _ = e.api.Serve(listener) })
	return e, nil
}

// wait starts the process and waits for its end. It calls forget before ended is closed, so that no
// call takes an environment that has ended. On Linux the process is killed when the thread that
// started it ends, so one goroutine does both on one thread.
func (e *environment) wait(cmd *exec.Cmd, started chan<- error, forget func(*environment)) {
	defer ownThread()()
	err := startGroup(cmd)
	started <- err
	if err != nil {
		return
	}
	e.exit = cmd.Wait()
	forget(e)
	close(e.ended)
	_ = e.api.Close()
}

// environ returns the variables that Lambda sets. api is HOST:PORT of the Runtime API. Variables of
// this process are not passed on.
func environ(f Function, api string) []string {
	return []string{
		"AWS_LAMBDA_RUNTIME_API=" + api,
		"AWS_LAMBDA_FUNCTION_NAME=" + f.Name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(f.Memory),
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + f.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME=" + rand.Text(),
		"LAMBDA_TASK_ROOT=" + filepath.Dir(f.Binary),
		"_HANDLER=bootstrap",
		"AWS_LAMBDA_MAX_CONCURRENCY=" + strconv.Itoa(f.Concurrency),
		"PATH=/usr/local/bin:/usr/bin:/bin",
		"LANG=en_US.UTF-8",
		"TZ=:UTC",
	}
}

// serve passes an event to the process and waits until the call ends. It returns false if an idle
// process ended before it received the event. A process that exceeds the timeout is killed, as
// Lambda does, and its outcome is the answer that it posted, if it had posted one.
func (e *environment) serve(event []byte) (outcome, bool) {
	e.thaw()
	if err := e.begin(); err != nil {
		return outcome{err: err}, true
	}
	c := &call{id: requestID(), event: event, done: make(chan struct{})}
	c.deadline = time.Now().Add(e.function.Timeout)
	select {
	case e.calls <- c:
	case <-e.ended:
		if e.used() {
			return outcome{}, false
		}
		return outcome{err: e.ending()}, true
	}
	timer := time.NewTimer(e.function.Timeout)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-e.ended:
	case <-timer.C:
		e.kill()
		<-e.ended
		return e.result(c, e.timedOut()), true
	}
	return e.result(c, nil), true
}

// begin waits until the process has asked for its first event. It kills the process after
// initTimeout, with an *Error of TypeTimeout. If the process ended by itself, the error is that of
// ending.
func (e *environment) begin() error {
	timer := time.NewTimer(initTimeout)
	defer timer.Stop()
	select {
	case <-e.ready:
		return nil
	case <-e.ended:
		return e.ending()
	case <-timer.C:
		e.kill()
		<-e.ended
		return &Error{TypeTimeout, fmt.Sprintf("init timed out after %v", initTimeout)}
	}
}

// result returns the posted outcome, or else err, or else the end of the process as an error. A
// process that has answered and then ended, or exceeded its time, has answered.
func (e *environment) result(c *call, err error) outcome {
	e.mu.Lock()
	posted := c.posted
	e.mu.Unlock()
	switch {
	case posted:
		return c.outcome
	case err != nil:
		return outcome{err: err}
	}
	return outcome{err: e.ending()}
}

// ending returns the end of the process as an error: the error with which it reported that it could
// not start, its exit status, or that it ended without an answer.
func (e *environment) ending() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broken != nil {
		return e.broken
	}
	if exit, ok := errors.AsType[*exec.ExitError](e.exit); ok {
		return &Error{TypeExit, exit.Error()}
	}
	return &Error{TypeExit, "the process ended without an answer"}
}

// timedOut returns the error of a call that exceeded the timeout, with the message that Lambda
// logs.
func (e *environment) timedOut() error {
	seconds := e.function.Timeout.Seconds()
	return &Error{TypeTimeout, fmt.Sprintf("Task timed out after %.2f seconds", seconds)}
}

// used reports whether the process has received an event. One that ended before that has failed to
// start, and its end is the error of the call.
func (e *environment) used() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.served
}

// hasEnded reports whether the process has ended. It may end at any moment after that.
func (e *environment) hasEnded() bool {
	select {
	case <-e.ended:
		return true
	default:
		return false
	}
}

// freeze stops the process of the environment, as Lambda does between two invocations. thaw
// continues it.
func (e *environment) freeze() { e.setFrozen(true) }
func (e *environment) thaw()   { e.setFrozen(false) }

// setFrozen stops or continues the process, unless it has ended or is in that state. A stopped
// process does not run, but its connections stay open, as in Lambda.
func (e *environment) setFrozen(frozen bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.frozen != frozen && !e.hasEnded() {
		e.frozen = frozen
		stopGroup(e.pid, frozen)
	}
}

// kill kills the process and those that it has started, unless it has ended. It does not wait for
// the end.
func (e *environment) kill() {
	if !e.hasEnded() {
		killGroup(e.pid)
	}
}

// requestID returns a random id in the form of a UUID.
func requestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
