package lambdahost_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/lambdahost"
)

// state returns the state of a process in /proc, T for a stopped one; "" if there is no such
// process.
func state(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := bytes.Cut(text, []byte(") "))
	return string(after[:1])
}

// requireGone requires that a process ends soon. A process that its parent has not waited for has
// ended too.
func requireGone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, func() bool { s := state(pid); return s == "" || s == "Z" }, "the process ends")
}

func TestFrozen(t *testing.T) {
	h := start(t, lambdahost.Function{Timeout: time.Minute})
	pid := invoke(t, h, order{}).PID
	h.Freeze()
	eventually(t, func() bool { return state(pid) == "T" }, "an idle process stops")
	second := invoke(t, h, order{})
	require.Equal(t, pid, second.PID, "an event thaws it")
	require.Equal(t, 2, second.Calls)

	open := filepath.Join(t.TempDir(), "open")
	done := make(chan error)
	go func() {
		_, err := try(t.Context(), h, order{Do: "wait", Text: open})
		done <- err
	}()
	eventually(t, func() bool { return exists(open + ".begun") }, "the call begins")
	h.Freeze()
	eventually(t, func() bool { return state(pid) == "T" }, "it stops within a call")
	require.NoError(t, os.WriteFile(open, nil, 0o600))
	select {
	case <-done:
		require.Fail(t, "a stopped process has answered")
	default:
	}
	h.Thaw()
	require.NoError(t, <-done)
	h.Freeze()
	h.Kill()
	requireGone(t, pid)
}

// TestFreezesBetweenCalls checks that a process is stopped when its call has ended, and not before.
func TestFreezesBetweenCalls(t *testing.T) {
	h := start(t, lambdahost.Function{Freezes: true})
	first := invoke(t, h, order{})
	for i := range 5 {
		eventually(t, func() bool { return state(first.PID) == "T" }, "it is stopped")
		next := invoke(t, h, order{})
		require.Equal(t, first.PID, next.PID)
		require.Equal(t, i+2, next.Calls)
	}
	h.Close()
	requireGone(t, first.PID)
}
