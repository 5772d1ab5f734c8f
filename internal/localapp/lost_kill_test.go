package localapp_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestLostWithTheProcess checks that every change takes effect once if the process is killed with
// SIGKILL while all of them are made concurrently: their answers are lost, or not sent yet.
func TestLostWithTheProcess(t *testing.T) {
	t.Parallel()
	c := newControl(t, time.Now())
	chance := rand.New(rand.NewPCG(lostSeed(t), 3))
	for range rounds(20, 2) {
		c.killDuringAll(t, 1+chance.IntN(len(c.calls)-1))
	}
}

// killDuringAll makes all changes concurrently, kills the server when so many are answered, and repeats
// them.
func (c control) killDuringAll(t *testing.T, enough int) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(c.dir)))
	env := []string{dataVariable + "=" + dir, publicVariable + "=https://" + lostHost}
	firsts := c.askAll(t, startChildWith(t, env...), enough)
	t.Logf("%d of %d were answered, and then it was killed", len(firsts), len(c.calls))
	second := startChildWith(t, env...)
	for _, name := range c.tools() {
		again, err := c.over(t, second, name)
		require.NoError(t, err, name)
		if first := firsts[name]; first != nil {
			require.True(t, replayed(again), "%s: %s", name, again)
			require.Equal(t, same(first), same(again))
		}
		last, err := c.over(t, second, name)
		require.NoError(t, err, name)
		require.True(t, replayed(last), "%s: %s", name, last)
		require.Equal(t, same(again), same(last))
	}
	second.stop(t)
	c.requireCounts(t, dir)
}

// askAll makes all changes concurrently, and kills the server when so many are answered. It returns
// the answers.
func (c control) askAll(t *testing.T, server *child, enough int) map[string]json.RawMessage {
	t.Helper()
	var mu sync.Mutex
	var clients sync.WaitGroup
	firsts := map[string]json.RawMessage{}
	for _, name := range c.tools() {
		clients.Go(func() {
			answer, err := c.over(t, server, name)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				firsts[name] = answer
			}
			if len(firsts) == enough {
				_ = server.cmd.Process.Kill() // it may be gone already
			}
		})
	}
	clients.Wait()
	server.kill()
	return firsts
}

// over makes a change over HTTP, with its key.
func (c control) over(t testing.TB, server *child, name string) (json.RawMessage, error) {
	t.Helper()
	call := c.lost(name)
	via := &httptool.Client{Base: server.url, Token: call.token}
	return via.Invoke(t.Context(), name, marshalled(t, call.with("idempotency_key", call.key).args))
}

// requireCounts requires that a directory has as many commits and things as if no answer had been
// lost.
func (c control) requireCounts(t *testing.T, dir string) {
	t.Helper()
	app, err := openApp(t.Context(), localapp.Config{Data: dir})
	require.NoError(t, err)
	state := stateOf(t, tooltest.As(app.Catalogue, auth.LocalCaller()), c.prepared)
	require.NoError(t, app.Close())
	require.Len(t, state, len(c.state))
	require.Equal(t, commits(c.state), commits(state))
}

// commits returns the versions of the tenant and of its vaults in a state.
func commits(state []string) []string {
	for _, text := range state {
		if strings.Contains(text, `"meta"`) && strings.HasPrefix(text, "{") {
			return versions.FindAllString(text, -1)
		}
	}
	return nil
}
