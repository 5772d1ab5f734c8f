package localapp_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A shortLived is a context that ends at a chosen call of its Done or Err, counted from 1.
type shortLived struct {
	context.Context
	end context.CancelFunc

	mu    sync.Mutex
	looks int
	at    int // 0: it does not end
}

func (c *shortLived) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looks++; c.looks == c.at {
		c.end()
	}
}

// Done implements context.Context.
func (c *shortLived) Done() <-chan struct{} {
	c.look()
	return c.Context.Done()
}

// Err implements context.Context.
func (c *shortLived) Err() error {
	c.look()
	return c.Context.Err()
}

// count returns the number of calls of Done and Err.
func (c *shortLived) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks
}

// A trial is a call of a tool whose context ends at one of the tool's calls of Done or Err.
type trial struct {
	tool string
	args args
	at   int // 0: it does not end
}

// run makes the call, in place of the interceptors: only the tool sees the context that ends. It
// returns how often the tool called Done or Err.
func (c trial) run(t testing.TB, tools []*tool.Tool, now func() time.Time) (looks int, err error) {
	t.Helper()
	var ctx *shortLived
	caller, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	logs := &lockedBuffer{}
	cat, err := tool.NewCatalogue(tools, tool.Options{Now: now, Log: leaktest.Logger(t, logs), Interceptors: []tool.Interceptor{
		func(next tool.Handler) tool.Handler {
			return func(inner context.Context, call *tool.Call) (tool.Reply, error) {
				ctx = &shortLived{Context: inner, end: hangUp, at: c.at}
				return next(ctx, call)
			}
		},
	}})
	require.NoError(t, err)
	in := marshalled(t, c.args)
	pprof.Do(auth.WithCaller(caller, auth.LocalCaller()), pprof.Labels("trial", c.label()),
		func(labelled context.Context) { _, err = cat.Invoke(labelled, c.tool, in) })
	if logs.String() != "" {
		t.Log(logs.String())
	}
	return ctx.count(), err
}

// label returns a name for the goroutines of the call.
func (c trial) label() string { return fmt.Sprintf("%s/%d", c.tool, c.at) }

// left returns the first functions of the goroutines that the call started and that still run, each
// with its stack.
func (c trial) left(t testing.TB) map[string]string {
	t.Helper()
	var all bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&all, 1))
	left := map[string]string{}
	for block := range strings.SplitSeq(all.String(), "\n\n") {
		if !strings.Contains(block, fmt.Sprintf(`%q`, c.label())) {
			continue
		}
		lines := strings.Split(strings.TrimSpace(block), "\n")
		began := strings.Fields(lines[len(lines)-1])
		name, _, _ := strings.Cut(began[2], "+")
		left[name] = block
	}
	return left
}

// requireEnded requires that no goroutine of the call remains except those that remain after a
// successful call, such as those of a vault that it created.
func (c trial) requireEnded(t testing.TB, daemons map[string]string) {
	t.Helper()
	var left map[string]string
	gone := func() bool {
		left = c.left(t)
		maps.DeleteFunc(left, func(name, _ string) bool {
			_, is := daemons[name]
			return is || ofOpenVault(name)
		})
		return len(left) == 0
	}
	if !gone() {
		require.Eventually(t, gone, 20*time.Second, time.Millisecond, "%s: %v", c.label(), left)
	}
}

// ofOpenVault reports whether a goroutine that began with a function lives as long as a vault is
// open. A call that opens a vault starts it.
func ofOpenVault(name string) bool {
	return slices.ContainsFunc([]string{
		"github.com/rookeryhq/rookery/internal/checkout.(*Checkout).", "github.com/rookeryhq/rookery/internal/repo.(*Compactor).run",
		"github.com/rookeryhq/rookery/internal/watch.",
	}, func(daemon string) bool { return strings.HasPrefix(name, daemon) })
}

// requireFailed requires that the error of an interrupted call says so, and contains no internal
// details.
func (c trial) requireFailed(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return // it was ready, or had nothing more to wait for
	}
	code := fault.Of(err).Code
	require.Contains(t, []fault.Code{fault.Unavailable, fault.IndexBusy}, code, "%s: %v", c.label(), err)
}

// cancelArgs are arguments of tools that read, in addition to those that their schemas require.
var cancelArgs = map[string]args{
	"raven_object_list": {"type": "person"}, "raven_object_get": {"id": "people/alice"},
	"raven_read": {"path": "people/alice"}, "raven_search": {"query": "line"},
	"raven_backlinks": {"target": "people/alice"}, "raven_outlinks": {"target": "projects/mill"},
	"notes_export":  {"target": "people/alice.md"},
	"raven_resolve": {"reference": "people/alice"}, "raven_type": {"name": "person"},
	"raven_tag": {"tag": "engineering"}, "raven_trait_list": {"trait_type": "due"},
	"raven_trait_get": {"id": zebrafinch}, "raven_history": {"id": "people/alice"},
	"raven_schema_type": {"name": "person"}, "raven_check": {"issues": []string{"duplicate_alias"}}, "raven_schema_trait": {"name": "due"},
	"raven_complete": {"kind": "id", "prefix": "people/"}, "team_complete": {"kind": "vault"},
	"team_complete_access": {"kind": "issuer"}, "team_audit_verify": {"vault": "main"},
	"team_job_get": {"id": queuedJob}, "notes_get": {"path": "people/alice"}, "notes_outline": {"path": "people/alice"},
	"notes_document_tree": {"path": "people/alice"}, "notes_metadata_facets": {"path": "people/alice"},
	"notes_search": {"query": "line", "keyword": true}, "raven_query": {"query": "type:* !contains(trait:due .line_number>1000)"},
	"raven_log":     {"all": true, "op": "delete", "type": "nothing"},
	"tree_get_node": {"nodeId": "people/alice"}, "tree_list_children": {"nodeId": "people/"}, "tree_get_path": {"nodeId": "people/alice"},
	"tree_export_view": {"rootNodeId": "people/"}, "tree_get_subtree": {"nodeId": "people/"}, "tree_get_common_ancestor": {"nodeIds": []string{"people/alice", "inbox"}},
	"tree_select_nodes": {"queryDsl": "level > 0"}, "tree_query_by_tag": {"tag": "engineering"}, "tree_get_tags": {"nodeId": "people/alice"},
	"tree_lint_payload": {"nodeId": "people/alice"}, "tree_diff_subtree": {"aId": "people/alice", "bId": "people/bob"},
	"tree_snapshot_get": {"snapshotId": "label"}, "tree_snapshot_diff": {"a": "label"}, "tree_export_subtree": {"nodeId": "people/alice"},
	"raven_validate": {"type": "object", "input": args{"type": "person", "fields": args{"name": "Thor"}}},
}

// readings returns a call of each tool that changes nothing, and one as of a version if the tool
// supports that.
func readings(t testing.TB) []trial {
	t.Helper()
	var all []trial
	for _, made := range allTools() {
		if made.Kind.Changes() {
			continue
		}
		in := args{}
		for name, value := range soundCall(t, made).Args {
			in[name] = value
		}
		maps.Copy(in, cancelArgs[made.Name])
		maps.Copy(in, memoryReadings[made.Name])
		all = append(all, trial{tool: made.Name, args: in})
		_, one := made.Arg("memory_id") // which was not there then
		if _, has := made.Arg("as_of"); has && (!one || in["memory_id"] == nil) {
			all = append(all, trial{tool: made.Name, args: with(in, "as_of", "v2")})
		}
	}
	return all
}

// ends returns some of the points at which a call with so many calls of Done and Err is
// interrupted: the first, the last and random others; all of them with ROOKERY_SOAK.
func ends(r *rand.Rand, looks, some int) []int {
	var all []int
	for at := 1; at <= looks; at++ {
		all = append(all, at)
	}
	if soaked() || len(all) <= some {
		return all
	}
	r.Shuffle(looks, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return append([]int{1, looks}, all[:some]...)
}

// TestCancelledReadings ends the context of every tool that reads while it works. The error says
// so, and nothing of the call continues.
func TestCancelledReadings(t *testing.T) {
	repotest.EachSeed(t, nil, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newPrepared(t, noon).stage(t)
		tools := s.app.Catalogue.Tools()
		for _, c := range readings(t) {
			looks, err := c.run(t, tools, atNoon)
			require.NoError(t, err, "%s %v", c.tool, c.args)
			daemons := c.left(t)
			for _, at := range ends(r, looks, 6) {
				c.at = at
				_, err := c.run(t, tools, atNoon)
				c.requireFailed(t, err)
				c.requireEnded(t, daemons)
			}
		}
	})
}

// flush waits until the outcome of everything that a call sent to the table before it was
// interrupted is known. The table writes in the order of the requests.
func (s *stage) flush(t testing.TB) {
	t.Helper()
	probe := table.Item{Key: table.Key{Part: "probe", Sort: "settle"}, Data: []byte("settled")}
	require.NoError(t, s.stores.flaky.Commit(t.Context(), table.Set(probe)))
}

// TestCancelledChanges ends the context of every tool that changes something while it works. The
// error says so, nothing of the call continues, and the state is that before or that after the
// call.
func TestCancelledChanges(t *testing.T) {
	repotest.EachSeed(t, nil, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := newPrepared(t, noon)
		before := p.stage(t).state(t)
		for _, name := range slices.Sorted(maps.Keys(p.calls)) {
			c := trial{tool: name, args: p.calls[name]}
			s := p.stage(t)
			s.state(t) // opens every vault
			looks, err := c.run(t, s.app.Catalogue.Tools(), s.clock.time)
			require.NoError(t, err, "%s %v", c.tool, c.args)
			daemons, after := c.left(t), s.state(t)
			s.close(t)
			for _, at := range ends(r, looks, 2) {
				s := p.stage(t)
				s.state(t)
				c.at = at
				_, err := c.run(t, s.app.Catalogue.Tools(), s.clock.time)
				c.requireFailed(t, err)
				c.requireEnded(t, daemons)
				s.flush(t)
				now := s.state(t)
				if err == nil || !slices.Equal(now, before) {
					require.Equal(t, after, now, "%s is half done", c.label())
				}
				s.close(t)
			}
		}
	})
}

// TestLongReadingsLook checks that tools which go through all notes of a vault check meanwhile
// whether their call has ended, even if they find nothing: the number of checks grows with the
// vault.
func TestLongReadingsLook(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	put(t, local{app}, map[string]string{"schema.yaml": "traits:\n  due: string\n"})
	calls := map[string][]args{
		"raven_object_list": {
			{"field": args{"name": "nothing"}}, {"created_before": "2001-01-01"},
		},
		"raven_trait_list": {{"trait_type": "due", "created_before": "2001-01-01"}},
		"raven_search":     {{"query": "line"}, {"query": `"line a"`}},
		"raven_validate":   {{"type": "note", "input": args{"path": "x", "text": "x\n"}}},
		"memory_recall":    {{"task_type": "other", "depth": "summary"}},
	}
	looks := func() map[string]int {
		all := map[string]int{}
		for name, list := range calls {
			for i, in := range list {
				n, err := trial{tool: name, args: with(in, "vault", "v")}.run(t, app.Catalogue.Tools(), time.Now)
				require.NoError(t, err, name)
				all[fmt.Sprint(name, i)] = n
			}
		}
		return all
	}
	looks() // the first search makes its index
	few := looks()
	const notes = 3000
	for from := 0; from < notes; from += 1000 {
		files := map[string]string{}
		for i := range 1000 {
			files[fmt.Sprintf("n%d.md", from+i)] = "---\nname: one\n---\n\n- @due(x) a line\n"
		}
		put(t, local{app}, files)
	}
	line := `{"intent":{"goal":"mend wheel %d","task_type":"other"},"outcome":{"success":true,"summary":"a line"}}` + "\n"
	for from := 0; from < notes; from += 1000 {
		var lines strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&lines, line, from+i)
		}
		must(t, local{app}, "memory_import", args{
			"vault": "v", "files": []args{{"path": "many.jsonl", "content": lines.String()}},
		})
	}
	calls["raven_validate"] = []args{{"type": "note", "input": args{
		"path": "x", "text": strings.Repeat("- @due(x) a [[n1]]\n", notes),
	}}}
	looks()
	for call, n := range looks() {
		require.GreaterOrEqual(t, n-few[call], notes/1024, call)
	}
}
