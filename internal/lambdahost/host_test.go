package lambdahost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/lambdahost"
)

// role is the variable with the role of this program when a test starts it: a function, or the
// parent of a host.
const role = "LAMBDAHOST_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "function":
		lambda.Start(handle)
	case "broken":
		os.Exit(3)
	case "parent":
		beParent()
	default:
		os.Exit(m.Run())
	}
}

// An order is an event of the function of these tests.
type order struct {
	Do   string `json:"do"`
	Text string `json:"text,omitempty"`
	Size int    `json:"size,omitempty"`
}

// A view is the answer of the function: the facts that it knows about its call.
type view struct {
	PID      int      `json:"pid"`
	Calls    int      `json:"calls"`
	Text     string   `json:"text,omitempty"`
	ID       string   `json:"id,omitempty"`
	Deadline int64    `json:"deadline,omitempty"`
	Env      []string `json:"env,omitempty"`
}

var calls atomic.Int64 // that this process has served

func handle(ctx context.Context, o order) (any, error) {
	served := int(calls.Add(1))
	deadline, _ := ctx.Deadline()
	seen, _ := lambdacontext.FromContext(ctx)
	v := view{
		PID: os.Getpid(), Calls: served, Text: o.Text, ID: seen.AwsRequestID, Deadline: deadline.UnixMilli(),
	}
	switch o.Do {
	case "env":
		v.Env = os.Environ()
	case "wait": // until the file is there
		if err := os.WriteFile(o.Text+".begun", nil, 0o600); err != nil {
			return nil, err
		}
		for !exists(o.Text) {
			time.Sleep(time.Millisecond)
		}
	case "mark":
		return v, os.WriteFile(o.Text, []byte(strconv.Itoa(os.Getpid())), 0o600)
	case "mark and hang":
		if err := os.WriteFile(o.Text, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			return nil, err
		}
		select {}
	case "hang":
		select {}
	case "fail":
		return nil, fmt.Errorf("refused: %s", o.Text)
	case "panic":
		panic(o.Text)
	case "exit":
		os.Exit(7)
	case "large":
		return strings.Repeat("x", o.Size), nil
	case "print":
		log.Print(o.Text)
	}
	return v, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// start returns the host of the function of these tests, which ends with t.
func start(t *testing.T, f lambdahost.Function) *lambdahost.Host {
	t.Helper()
	f = function(f)
	h := lambdahost.Start(t.Context(), f)
	t.Cleanup(h.Close)
	return h
}

func function(f lambdahost.Function) lambdahost.Function {
	f.Binary, _ = os.Executable()
	f.Env = append([]string{role + "=function"}, f.Env...)
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		f.Env = append(f.Env, "GOCOVERDIR="+dir)
	}
	return f
}

// invoke calls the function and returns its answer.
func invoke(t *testing.T, h *lambdahost.Host, o order) view {
	t.Helper()
	v, err := try(t.Context(), h, o)
	require.NoError(t, err)
	return v
}

func try(ctx context.Context, h *lambdahost.Host, o order) (view, error) {
	event, err := json.Marshal(o)
	if err != nil {
		return view{}, err
	}
	answer, err := h.Invoke(ctx, event)
	if err != nil {
		return view{}, err
	}
	var v view
	return v, json.Unmarshal(answer, &v)
}

// requireType requires that an error is a *lambdahost.Error of a type.
func requireType(t *testing.T, want string, err error) *lambdahost.Error {
	t.Helper()
	var failed *lambdahost.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, want, failed.Type, failed.Message)
	return failed
}

// eventually waits until is returns true. what names the condition.
func eventually(t *testing.T, is func() bool, what string) {
	t.Helper()
	require.Eventually(t, is, 20*time.Second, 2*time.Millisecond, what)
}

func TestCalls(t *testing.T) {
	h := start(t, lambdahost.Function{Timeout: time.Minute})
	require.Empty(t, h.Processes(), "the first call starts a process")
	before := time.Now()
	first := invoke(t, h, order{Text: "one"})
	require.Equal(t, "one", first.Text)
	require.Equal(t, 1, first.Calls)
	require.Equal(t, []int{first.PID}, h.Processes())
	second := invoke(t, h, order{Text: "two"})
	require.Equal(t, first.PID, second.PID, "an idle process is used again")
	require.Equal(t, 2, second.Calls)
	require.NotEqual(t, first.ID, second.ID)
	require.GreaterOrEqual(t, first.Deadline, before.Add(time.Minute).UnixMilli())
	require.LessOrEqual(t, second.Deadline, time.Now().Add(time.Minute).UnixMilli())
}

func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "canary")
	h := start(t, lambdahost.Function{Name: "notes", Memory: 512, Env: []string{"GIVEN=yes", "TZ=Asia/Tokyo"}})
	env := invoke(t, h, order{Do: "env"}).Env
	require.Contains(t, env, "GIVEN=yes")
	require.Contains(t, env, "TZ=Asia/Tokyo", "the function's own variables win")
	require.Contains(t, env, "AWS_LAMBDA_FUNCTION_NAME=notes")
	require.Contains(t, env, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512")
	for _, variable := range env {
		require.NotContains(t, variable, "canary", "nothing of the host's environment")
	}
}

// TestConcurrency checks processes that serve several events at the same time, and are stopped when
// they serve none.
func TestConcurrency(t *testing.T) {
	h := start(t, lambdahost.Function{Most: 2, Concurrency: 3, Freezes: true})
	dir := t.TempDir()
	views, errs := make([]view, 6), make([]error, 6)
	var all sync.WaitGroup
	for i := range views {
		open := filepath.Join(dir, strconv.Itoa(i))
		all.Go(func() { views[i], errs[i] = try(t.Context(), h, order{Do: "wait", Text: open}) })
		eventually(t, func() bool { return exists(open + ".begun") }, "all are served at the same time")
	}
	require.Len(t, h.Processes(), 2)
	_, err := try(t.Context(), h, order{})
	require.ErrorIs(t, err, lambdahost.ErrThrottled)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "0"), nil, 0o600))
	eventually(t, func() bool { _, err := try(t.Context(), h, order{}); return err == nil }, "one has ended")
	for i := range views {
		require.NoError(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600))
	}
	all.Wait()
	served := map[int]int{}
	for i, v := range views {
		require.NoError(t, errs[i])
		require.Equal(t, filepath.Join(dir, strconv.Itoa(i)), v.Text, "its own answer")
		served[v.PID]++
	}
	require.Equal(t, map[int]int{views[0].PID: 3, views[5].PID: 3}, served)
	require.Contains(t, h.Processes(), invoke(t, h, order{}).PID, "a stopped process goes on with the next event")
}

func TestManyAtOnce(t *testing.T) {
	h := start(t, lambdahost.Function{Most: 4})
	open := filepath.Join(t.TempDir(), "open")
	views, errs := make([]view, 4), make([]error, 4)
	var all sync.WaitGroup
	for i := range views {
		all.Go(func() { views[i], errs[i] = try(t.Context(), h, order{Do: "wait", Text: open}) })
	}
	eventually(t, func() bool { return len(h.Processes()) == 4 }, "a process for each call")
	_, err := try(t.Context(), h, order{})
	require.ErrorIs(t, err, lambdahost.ErrThrottled, "no more than Most")
	require.NoError(t, os.WriteFile(open, nil, 0o600))
	all.Wait()
	ids := map[int]bool{}
	for i, v := range views {
		require.NoError(t, errs[i])
		ids[v.PID] = true
	}
	require.Len(t, ids, 4)
	last := invoke(t, h, order{}).PID
	for range 3 {
		require.Equal(t, last, invoke(t, h, order{}).PID, "the one that was used last is the next")
	}
}

func TestErrorsOfAFunction(t *testing.T) {
	h := start(t, lambdahost.Function{})
	_, err := try(t.Context(), h, order{Do: "fail", Text: "no"})
	require.Equal(t, "refused: no", requireType(t, "errorString", err).Message)
	pid := invoke(t, h, order{}).PID
	_, err = try(t.Context(), h, order{Do: "panic", Text: "oh"})
	require.Equal(t, "oh", requireType(t, "string", err).Message)
	require.NotEqual(t, pid, invoke(t, h, order{}).PID, "a panic ends the process")
	_, err = try(t.Context(), h, order{Do: "exit"})
	require.Contains(t, requireType(t, lambdahost.TypeExit, err).Message, "7")
	require.Equal(t, 1, invoke(t, h, order{}).Calls)
}

func TestLargeEventsAndAnswers(t *testing.T) {
	h := start(t, lambdahost.Function{})
	_, err := h.Invoke(t.Context(), make([]byte, lambdahost.MaxEvent+1))
	require.ErrorIs(t, err, lambdahost.ErrEventTooLarge)
	require.Empty(t, h.Processes())

	event := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", lambdahost.MaxEvent-len(`{"text":""}`)))
	require.Len(t, event, lambdahost.MaxEvent)
	answer, err := h.Invoke(t.Context(), []byte(event))
	require.NoError(t, err)
	require.Greater(t, len(answer), lambdahost.MaxEvent)

	text, err := json.Marshal(order{Do: "large", Size: lambdahost.MaxAnswer - 2})
	require.NoError(t, err)
	answer, err = h.Invoke(t.Context(), text)
	require.NoError(t, err)
	require.Len(t, answer, lambdahost.MaxAnswer)
	_, err = try(t.Context(), h, order{Do: "large", Size: lambdahost.MaxAnswer - 1})
	requireType(t, lambdahost.TypeTooLarge, err)
	invoke(t, h, order{})
}

func TestProcessesThatDoNotStart(t *testing.T) {
	h := lambdahost.Start(t.Context(), lambdahost.Function{Binary: filepath.Join(t.TempDir(), "none")})
	t.Cleanup(h.Close)
	_, err := try(t.Context(), h, order{})
	requireType(t, lambdahost.TypeEntrypoint, err)
	require.Empty(t, h.Processes())

	h = start(t, lambdahost.Function{Env: []string{role + "=broken"}})
	for range 3 {
		_, err = try(t.Context(), h, order{})
		require.Contains(t, requireType(t, lambdahost.TypeExit, err).Message, "3")
	}
	eventually(t, func() bool { return len(h.Processes()) == 0 }, "it ended")
}

func TestTimeout(t *testing.T) {
	h := start(t, lambdahost.Function{Timeout: 50 * time.Millisecond})
	pid := invoke(t, h, order{}).PID
	_, err := try(t.Context(), h, order{Do: "hang"})
	require.Equal(t, "Task timed out after 0.05 seconds",
		requireType(t, lambdahost.TypeTimeout, err).Message)
	requireGone(t, pid)
	require.Empty(t, h.Processes())
}

func TestCancelled(t *testing.T) {
	h := start(t, lambdahost.Function{Most: 1})
	open := filepath.Join(t.TempDir(), "open")
	pid := invoke(t, h, order{}).PID
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := try(ctx, h, order{Do: "wait", Text: open})
		done <- err
	}()
	eventually(t, func() bool { return exists(open + ".begun") }, "the call begins")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	_, err := try(ctx, h, order{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = try(t.Context(), h, order{})
	require.ErrorIs(t, err, lambdahost.ErrThrottled, "the function goes on")
	require.NoError(t, os.WriteFile(open, nil, 0o600))
	idle := func() bool { _, err := try(t.Context(), h, order{}); return err == nil }
	eventually(t, idle, "the call ends")
	require.Equal(t, []int{pid}, h.Processes())
}

func TestKilled(t *testing.T) {
	h := start(t, lambdahost.Function{})
	pid := invoke(t, h, order{}).PID
	h.Kill()
	requireGone(t, pid)
	next := invoke(t, h, order{})
	require.NotEqual(t, pid, next.PID)
	require.Equal(t, 1, next.Calls)

	begun := filepath.Join(t.TempDir(), "begun")
	done := make(chan error)
	go func() {
		_, err := try(t.Context(), h, order{Do: "mark and hang", Text: begun})
		done <- err
	}()
	eventually(t, func() bool { return exists(begun) }, "the call begins")
	h.Kill()
	require.Contains(t, requireType(t, lambdahost.TypeExit, <-done).Message, "killed")
	require.Equal(t, 1, invoke(t, h, order{}).Calls)
}

// TestIdleProcessIsKilledFromOutside kills an idle process without the host: the next event goes to
// another process.
func TestIdleProcessIsKilledFromOutside(t *testing.T) {
	h := start(t, lambdahost.Function{})
	for range 20 {
		pid := invoke(t, h, order{}).PID
		process, err := os.FindProcess(pid)
		require.NoError(t, err)
		require.NoError(t, process.Kill())
		eventually(t, func() bool { return !slices.Contains(h.Processes(), pid) }, "it ended")
		require.Equal(t, 1, invoke(t, h, order{}).Calls)
	}
}

func TestClosed(t *testing.T) {
	f := function(lambdahost.Function{})
	ctx, cancel := context.WithCancel(t.Context())
	h := lambdahost.Start(ctx, f)
	pid := invoke(t, h, order{}).PID
	cancel()
	h.Close()
	requireGone(t, pid)
	_, err := try(t.Context(), h, order{})
	require.ErrorIs(t, err, lambdahost.ErrClosed)
	h.Close()

	h = lambdahost.Start(t.Context(), f)
	begun := filepath.Join(t.TempDir(), "begun")
	done := make(chan error)
	go func() {
		_, err := try(t.Context(), h, order{Do: "mark and hang", Text: begun})
		done <- err
	}()
	eventually(t, func() bool { return exists(begun) }, "the call begins")
	h.Close()
	requireType(t, lambdahost.TypeExit, <-done)
}

func TestOutput(t *testing.T) {
	var out bytes.Buffer
	h := lambdahost.Start(t.Context(), function(lambdahost.Function{Output: &out}))
	invoke(t, h, order{Do: "print", Text: "a line of the function"})
	h.Close()
	require.Contains(t, out.String(), "a line of the function\n")
}

// TestNoProcessIsLeft kills the parent of a host while one process is idle and one is in a call,
// once with running and once with stopped processes, and requires that all of them end.
func TestNoProcessIsLeft(t *testing.T) {
	for _, frozen := range []string{"", "frozen"} {
		dir := t.TempDir()
		self, err := os.Executable()
		require.NoError(t, err)
		parent := exec.Command(self)
		parent.Env = append(os.Environ(), role+"=parent", "DIR="+dir, "FROZEN="+frozen)
		require.NoError(t, parent.Start())
		eventually(t, func() bool { return exists(filepath.Join(dir, "ready")) }, "the parent is ready")
		var pids []int
		for _, name := range []string{"busy", "idle"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			pid, err := strconv.Atoi(string(text))
			require.NoError(t, err)
			pids = append(pids, pid)
		}
		require.NoError(t, parent.Process.Kill())
		_ = parent.Wait()
		for _, pid := range pids {
			requireGone(t, pid)
		}
	}
}

// beParent runs a host with two processes, one of them in a call, until it is killed.
func beParent() {
	in := func(name string) string { return filepath.Join(os.Getenv("DIR"), name) }
	h := lambdahost.Start(context.Background(), function(lambdahost.Function{Timeout: time.Hour}))
	go func() { _, _ = try(context.Background(), h, order{Do: "mark and hang", Text: in("busy")}) }()
	for !exists(in("busy")) {
		time.Sleep(time.Millisecond)
	}
	_, err := try(context.Background(), h, order{Do: "mark", Text: in("idle")})
	if err != nil {
		log.Fatal(err)
	}
	if os.Getenv("FROZEN") != "" {
		h.Freeze()
	}
	_ = os.WriteFile(in("ready"), nil, 0o600)
	select {}
}
