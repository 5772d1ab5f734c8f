package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A launcher returns the command line that serves a data directory on a free port of loopback.
type launcher func(data string) []string

// build builds the measured program, and returns its launcher: the binary, or this program with the
// profiler.
func (c config) build(ctx context.Context, dir string) (launcher, error) {
	if c.profile != "" {
		return profiled(c.profile)
	}
	bin, err := compile(ctx, dir)
	return func(data string) []string {
		return []string{bin, "serve", "--data", data, "--listen", "127.0.0.1:0"}
	}, err
}

// compile builds the binary in a folder, if it does not exist yet, and returns its path.
func compile(ctx context.Context, dir string) (string, error) {
	bin := filepath.Join(dir, "rookery")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	progress("build the binary")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, "github.com/rookeryhq/rookery/cmd/cli").
		CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return bin, nil
}

// A server is a process that serves a data directory.
type server struct {
	cmd     *exec.Cmd
	url     string
	begun   time.Time // time of its execution
	drained chan struct{}
}

// start runs a server and waits for the line with its address. The log is written to a file next to
// the data directory.
func start(ctx context.Context, launch launcher, data string) (*server, error) {
	log, err := os.OpenFile(data+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of the server: %w", err)
	}
	defer log.Close()
	line := launch(data)
	s := &server{cmd: command(ctx, data, line...), drained: make(chan struct{})}
	s.cmd.Stderr = log
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = time.Minute
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.begun = time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	if err := s.listen(out); err != nil {
		_ = s.cmd.Process.Kill() // it may have ended by itself
		return nil, errors.Join(err, s.cmd.Wait(), tail(log.Name()))
	}
	return s, nil
}

// command returns a command that runs on a data directory or a folder. The state that it would
// write to the home of the user goes to a directory next to that.
func command(ctx context.Context, data string, line ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, line[0], line[1:]...)
	c.Env = append(environment(), "XDG_STATE_HOME="+data+".state")
	return c
}

// environment returns the environment of this process without the variables that configure Rookery.
func environment() []string {
	var kept []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ROOKERY_") {
			kept = append(kept, e)
		}
	}
	return kept
}

// listen reads the address from the first line of the output, and discards the rest.
func (s *server) listen(out io.Reader) error {
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the server said nothing: %w", err)
	}
	words := strings.Fields(first)
	if len(words) == 0 || !strings.HasPrefix(words[len(words)-1], "http://") {
		return fmt.Errorf("the first line of the server ends in no address: %q", first)
	}
	s.url = words[len(words)-1]
	go func() {
		defer close(s.drained)
		_, _ = io.Copy(io.Discard, lines) // the rest is for people
	}()
	return nil
}

// tail returns the end of a log as an error, to be joined with another one.
func tail(path string) error {
	const most = 2000
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 {
		return err
	}
	return fmt.Errorf("the log of the server ends: %s", data[max(0, len(data)-most):])
}

// ready waits until the server reports that it is ready, and returns the time since its execution.
func (s *server) ready(ctx context.Context) (time.Duration, error) {
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/readyz", nil)
		if err != nil {
			return 0, err
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, fmt.Errorf("ask whether the server is ready: %w", err)
		}
		_ = resp.Body.Close() // the body is not used
		if resp.StatusCode == http.StatusOK {
			return time.Since(s.begun), nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// stop ends the server with SIGTERM, like a service manager, and waits for it.
func (s *server) stop() error {
	err := s.cmd.Process.Signal(syscall.SIGTERM)
	<-s.drained
	if err := errors.Join(err, s.cmd.Wait()); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	return nil
}
