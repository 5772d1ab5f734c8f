package localapp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A visitor is one client. It makes one call after the other, and repeats refused calls.
type visitor struct {
	id           int
	token, agent string // agent: empty: the principal
	vault        string
	mcp          bool
	writes       int // of a hundred calls
	rng          *rand.Rand
	seen         *sightings
	overload     time.Duration // how long a 503 asks it to wait; 0: the last answer was none

	met     chan struct{} // closed when the server has answered it for the first time
	made    int           // words
	written []change      // that were acknowledged
	pending *change       // that was not yet
	value   string        // of its own note, as last acknowledged
}

// A change is a call that writes a word that no other call writes.
type change struct {
	tool, word string
	sent       bool // its effect is unknown
}

// What ended a call without an answer that counts: the server has gone, or goes and has refused it.
var (
	errGone  = errors.New("the server has gone")
	errGoing = errors.New("the server goes")
)

// own returns the id of the note that only this visitor writes.
func (v *visitor) own() string { return fmt.Sprintf("items/own-%03d", v.id) }

// visit calls until the server stops.
func (v *visitor) visit(ctx context.Context, via tool.Invoker, stopped <-chan struct{}) error {
	for {
		select {
		case <-stopped:
			return nil
		default:
		}
		err := v.one(ctx, via, stopped)
		if errors.Is(err, errGone) || errors.Is(err, errGoing) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("client %d: %w", v.id, err)
		}
	}
}

// one makes one call, first the one whose outcome is unknown.
func (v *visitor) one(ctx context.Context, via tool.Invoker, stopped <-chan struct{}) error {
	if v.pending == nil && v.rng.IntN(100) >= v.writes {
		return v.read(ctx, via, stopped)
	}
	if v.pending == nil {
		v.made++
		v.pending = &change{
			tool: []string{"raven_new", "raven_add", "raven_set"}[v.rng.IntN(3)],
			word: fmt.Sprintf("w%03d-%05d", v.id, v.made),
		}
	}
	_, err := v.ask(ctx, via, stopped, v.pending.tool, v.pending.args(v))
	if errors.Is(err, errGone) {
		v.pending.sent = true
	}
	if err != nil {
		return err
	}
	if v.pending.tool == "raven_set" {
		v.value = v.pending.word
	}
	v.written = append(v.written, *v.pending)
	v.pending = nil
	return nil
}

// args returns the arguments of the call.
func (c change) args(v *visitor) args {
	in := args{"vault": v.vault, "idempotency_key": c.word}
	switch c.tool {
	case "raven_new":
		in["type"], in["title"], in["path"] = "item", c.word, "made/"+c.word
	case "raven_add":
		in["to"], in["text"] = "log", c.word
	case "raven_set":
		in["id"], in["set"] = v.own(), args{"value": c.word}
	}
	return in
}

// read makes a reading call. Its own note must be in the state in which the visitor left it.
func (v *visitor) read(ctx context.Context, via tool.Invoker, stopped <-chan struct{}) error {
	list := []struct {
		tool string
		in   args
	}{
		{"raven_object_get", args{"id": v.own()}}, {"raven_read", args{"path": v.own()}},
		{"notes_search", args{"query": "own"}}, {"vault_overview", nil},
		{"raven_object_list", args{"type": "item", "limit": 5}}, {"raven_backlinks", args{"id": v.own()}},
	}
	r := list[v.rng.IntN(len(list))]
	in := args{"vault": v.vault}
	for name, value := range r.in {
		in[name] = value
	}
	a, err := v.ask(ctx, via, stopped, r.tool, in)
	if err != nil || r.tool != "raven_object_get" && r.tool != "raven_read" {
		return err
	}
	if !strings.Contains(string(a.Data), v.value) {
		return fmt.Errorf("its note does not have %q, which it wrote", v.value)
	}
	return nil
}

// ask makes a call until it succeeds. It waits as long as a refusal says.
func (v *visitor) ask(
	ctx context.Context, via tool.Invoker, stopped <-chan struct{}, name string, in args,
) (answer, error) {
	for {
		v.overload = 0
		a, err := call(ctx, via, name, in)
		if err == nil {
			v.seen.note("")
			v.meet()
			return a, nil
		}
		wait, err := v.wait(err, stopped)
		if err != nil {
			return a, fmt.Errorf("%s: %w", name, err)
		}
		v.meet()
		select {
		case <-stopped:
			return a, errGoing
		case <-time.After(wait):
		}
	}
}

// meet records that the server has answered, even if only to make the client wait.
func (v *visitor) meet() {
	select {
	case <-v.met:
	default:
		close(v.met)
	}
}

// wait returns how long a refused call must wait, or an error if the refusal is wrong.
func (v *visitor) wait(err error, stopped <-chan struct{}) (time.Duration, error) {
	f := fault.Of(err)
	gone := false
	select {
	case <-stopped:
		gone = true
	default:
	}
	switch {
	case f.Code == fault.RateLimited && f.RetryAfter > 0:
		v.seen.note(f.Code)
		return f.RetryAfter, nil
	case f.Code == fault.Unavailable && v.overload > 0:
		v.seen.note(f.Code)
		return v.overload, nil
	case f.Code == fault.Unavailable && gone:
		return 0, errGone
	}
	return 0, err
}

// A spy sends a visitor's token and agent, and checks the answers.
type spy struct {
	v    *visitor
	next http.RoundTripper
}

// RoundTrip makes a request.
func (s *spy) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+s.v.token)
	if s.v.agent != "" {
		r.Header.Set("X-Agent-Id", s.v.agent)
	}
	resp, err := s.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // without one, 0
	if resp.StatusCode == http.StatusServiceUnavailable {
		s.v.overload = time.Duration(seconds) * time.Second
	}
	s.v.seen.look(resp, seconds)
	return resp, nil
}

// sightings are the observations of all clients.
type sightings struct {
	mu       sync.Mutex
	codes    map[fault.Code]int // of calls; "" is a success
	statuses map[int]int        // of requests
	bad      []string           // violations
}

func (s *sightings) note(code fault.Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.codes == nil {
		s.codes = map[fault.Code]int{}
	}
	s.codes[code]++
}

func (s *sightings) of(code fault.Code) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.codes[code]
}

// look records the status of an answer. A temporary refusal must say when to try again, and no
// other error of the server is allowed.
func (s *sightings) look(r *http.Response, seconds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.statuses == nil {
		s.statuses = map[int]int{}
	}
	s.statuses[r.StatusCode]++
	later := r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusServiceUnavailable
	if later && seconds < 1 || !later && r.StatusCode >= 400 {
		s.bad = append(s.bad, fmt.Sprintf("%s %s: %s", r.Request.Method, r.Request.URL.Path, r.Status))
	}
}

var loadWord = regexp.MustCompile(`\bw\d{3}-\d{5}\b`)

// requireKept requires, after the data directory is opened again, that each acknowledged change
// exists once, and no refused one.
func (c *crowd) requireKept(t *testing.T) {
	t.Helper()
	app, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: c.dir, Server: c.config(loadRoom)})
	require.NoError(t, err)
	lines, files := map[string]int{}, map[string]string{}
	for n := range loadVaults {
		for path, text := range export(t, admin{app, fmt.Sprintf("v%d", n)}) {
			files[fmt.Sprintf("v%d/%s", n, path)] = text
			for line := range strings.Lines(text) {
				lines[fmt.Sprintf("v%d/%s: %s", n, path, strings.TrimSpace(line))]++
			}
		}
	}
	require.NoError(t, app.Close())
	known := map[string]bool{}
	for _, word := range c.flown {
		known[word] = true
		require.Equal(t, 1, lines["v0/log.md: - "+word], word)
	}
	for _, v := range c.visitors {
		v.requireKept(t, lines, known)
	}
	require.Greater(t, len(known), inFlights, "the clients wrote nothing")
	for path, text := range files {
		for _, word := range loadWord.FindAllString(text, -1) {
			require.True(t, strings.HasSuffix(path, ".raven/audit.log") || known[word],
				"%s has %s, which was refused", path, word)
		}
	}
}

// requireKept checks one client. It records the words that may exist.
func (v *visitor) requireKept(t *testing.T, lines map[string]int, known map[string]bool) {
	t.Helper()
	value := v.value
	for _, w := range v.written {
		known[w.word] = true
		switch w.tool {
		case "raven_new":
			require.Equal(t, 1, lines[v.vault+"/made/"+w.word+".md: title: "+w.word], w.word)
		case "raven_add":
			require.Equal(t, 1, lines[v.vault+"/log.md: - "+w.word], w.word)
		}
	}
	if p := v.pending; p != nil && p.sent {
		known[p.word] = true
		if p.tool == "raven_set" && lines[v.vault+"/"+v.own()+".md: value: "+p.word] == 1 {
			value = p.word
		}
	}
	require.Equal(t, 1, lines[v.vault+"/"+v.own()+".md: value: "+value], "%s: %s", v.own(), value)
}

// admin calls the tools of an App on one vault of the load in this process.
type admin struct {
	app   *localapp.App
	vault string
}

// Invoke implements tool.Invoker.
func (a admin) Invoke(ctx context.Context, name string, in json.RawMessage) (json.RawMessage, error) {
	c := auth.LocalCaller()
	c.Tenant = loadTenant
	in = bytes.Replace(in, []byte(`"vault":"v"`), []byte(`"vault":"`+a.vault+`"`), 1)
	return a.app.Catalogue.Invoke(auth.WithCaller(ctx, c), name, in)
}
