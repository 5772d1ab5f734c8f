package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zalando/go-keyring"
	"golang.org/x/sys/unix"
)

// A screen is a terminal of a test: text that is written to keys reaches a process that reads
// program. seen is the text that the terminal shows.
type screen struct {
	*testing.T
	keys, program *os.File

	mu   sync.Mutex
	seen strings.Builder // the text that the terminal shows
}

// newScreen opens a terminal, and records its output.
func newScreen(t *testing.T) *screen {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this machine has no terminals")
	}
	require.NoError(t, unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	s := &screen{T: t, keys: keys, program: program}
	go func() { _, _ = io.Copy(s, keys) }()
	t.Cleanup(func() {
		_ = keys.Close()
		_ = program.Close()
	})
	return s
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.Write(p)
}

func (s *screen) shows() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

// echoes reports whether the terminal shows typed text.
func (s *screen) echoes() bool {
	state, err := unix.IoctlGetTermios(int(s.program.Fd()), unix.TCGETS)
	require.NoError(s, err)
	return state.Lflag&unix.ECHO != 0
}

// login runs the command on the terminal until it asks for a token. The channel gets its exit code.
func (s *screen) login(ctx context.Context, d *desk, server string) <-chan int {
	ended := make(chan int, 1)
	app := newApp(s.program, s.program, s.program, func(name string) string { return d.env[name] })
	go func() { ended <- app.Run(ctx, []string{"login", "--server", server}) }()
	require.Eventually(s, func() bool { return !s.echoes() }, time.Minute, time.Millisecond)
	return ended
}

// TestLoginOnATerminal checks that the command asks for a token, and that the terminal does not
// show it.
func TestLoginOnATerminal(t *testing.T) {
	d, h, s := newDesk(t, true), newHouse(t), newScreen(t)
	ended := s.login(t.Context(), d, h.URL)
	_, err := s.keys.WriteString(secret + "\n")
	require.NoError(t, err)
	require.Zero(t, <-ended)
	require.Eventually(t, func() bool { return strings.Contains(s.shows(), "Logged in to "+h.URL) },
		time.Minute, time.Millisecond)
	require.Contains(t, s.shows(), "Token for "+h.URL)
	require.NotContains(t, s.shows(), secret)
	require.True(t, s.echoes())
	kept, err := keyring.Get("rookery", h.URL)
	require.NoError(t, err)
	require.Equal(t, secret, kept)
}

// TestLoginInterrupted checks that the terminal shows typed text again after Ctrl-C.
func TestLoginInterrupted(t *testing.T) {
	d, h, s := newDesk(t, true), newHouse(t), newScreen(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := s.login(ctx, d, h.URL)
	stop()
	require.Equal(t, 6, <-ended)
	require.True(t, s.echoes())
	require.Empty(t, d.files())
	require.Empty(t, h.heard())
}
