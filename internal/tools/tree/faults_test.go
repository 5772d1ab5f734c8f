package tree_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// A failing is how a table fails from one of its calls on.
type failing struct {
	name        string
	first, rest tabletest.Fault // at that call, and at those after it
}

// failings are those of a table that fails once, and of a process that is killed: nothing reaches the table after that.
var failings = []failing{
	{"before it is done", tabletest.Before, tabletest.None},
	{"after it is done", tabletest.After, tabletest.None},
	{"done before the next call", tabletest.LateNext, tabletest.None},
	{"killed before it is done", tabletest.Before, tabletest.Before},
	{"killed after it is done", tabletest.After, tabletest.Before},
}

// large is a text that is too large for an item of the table, also packed.
var large = func() string {
	draw, text := rand.New(rand.NewPCG(27, 3)), ""
	for range 1000 {
		text += fmt.Sprintf("%016x %016x\n", draw.Uint64(), draw.Uint64())
	}
	return text
}()

// restructured are the files of a vault whose structure changes. Their texts are in the bucket, so nearly each commit
// puts an object before it is appended to the log.
func restructured() map[string]string {
	files := maps.Clone(website)
	files["projects/website.md"] = strings.Replace(files["projects/website.md"], "R text.", "R text.\n\n"+large, 1)
	files["refs.md"] = "[[projects/website#goals]] [[projects/website#q1]] [[projects/api]]\n"
	files["archive/old.md"] = "# Old\n\n## Part\n"
	return files
}

// structural are calls that change the structure, each of which writes several nodes or files.
var structural = map[string]struct {
	tool string
	in   args
}{
	"a section moves":     {"move_node", args{"nodeId": w("#goals"), "newParentId": "archive/old#part"}},
	"a folder moves":      {"move_node", args{"nodeId": "projects/", "newParentId": "archive/"}},
	"a folder is copied":  {"copy_subtree", args{"sourceId": "projects/", "targetParentId": "archive/"}},
	"a section is cloned": {"clone_node", args{"nodeId": w("#r"), "targetParentId": "archive/old"}},
	"a folder is removed": {"remove_node", args{"nodeId": "projects/", "recursive": true}},
	"notes are sorted":    {"sort_children", args{"parentId": "projects/", "byProp": "name", "direction": "desc"}},
	"an export is merged": {"import_merge", args{"strategy": "replace", "json": args{
		"nodeId": "projects/", "children": []any{args{"nodeId": w(""), "title": "Site", "children": []any{}}, args{"nodeId": "projects/new", "title": "New"}},
	}}},
	"a snapshot is restored":            {"snapshot_restore", args{"snapshotId": "all"}},
	"a snapshot of a section, restored": {"snapshot_restore", args{"snapshotId": "goals"}},
}

// restructure opens a place whose vault is as each call finds it: with snapshots, and changes since.
func restructure(t *testing.T, dir string, o opening) *place {
	p := o.open(t, dir)
	p.fill(t, restructured())
	p.write(t, "snapshot_create", args{"label": "all"})
	p.write(t, "snapshot_create", args{"label": "goals", "rootNodeId": w("#goals")})
	p.write(t, "move_node", args{"nodeId": w("#q1"), "newParentId": w("")})
	p.write(t, "update_payload_property", args{"nodeId": w("#goals"), "propertyName": "title", "newValue": "Aims"})
	p.write(t, "update_payload_property", args{"nodeId": w("#aims"), "propertyName": "title", "newValue": "Goals"})
	return p
}

// TestStructureUnderFaults makes each call that changes the structure while a call of the table fails, one after the
// other, or the process is killed at it. After a restart the vault is as before the call or as after it, and the call
// repeated with its key makes it that, as one version.
func TestStructureUnderFaults(t *testing.T) {
	for name, c := range structural {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clean := restructure(t, t.TempDir(), opening{})
			before, newest := clean.files(t), version(t, clean.token(t))
			in := clean.with(t, c.in)
			in["idempotencyKey"] = "k"
			clean.data(t, c.tool, in)
			after := clean.files(t)
			clean.close()
			require.NotEqual(t, before, after)
			for _, f := range failings {
				at := 1
				for ; f.happens(t, c.tool, in, before, after, newest, at); at++ {
				}
				require.Greater(t, at, 1, "the call asks the table")
			}
		})
	}
}

// try makes a call, and forgets the answer.
func (p *place) try(ctx context.Context, t *testing.T, name string, in args) error {
	all := args{"vault": "v"}
	maps.Copy(all, in)
	_, err := p.Invoke(ctx, "tree_"+name, marshalled(t, all))
	return err
}

// happens makes a call during which the table fails at a call of its, and reports whether it came to that call.
func (f failing) happens(
	t *testing.T, name string, in args, before, after map[string]string, newest, at int,
) bool {
	var armed atomic.Int64
	var came atomic.Bool
	dir := t.TempDir()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	p := restructure(t, dir, opening{plan: func(c tabletest.Call) tabletest.Fault {
		switch {
		case armed.Load() == 0 || c.N < int(armed.Load()):
			return tabletest.None
		case c.N == int(armed.Load()):
			came.Store(true)
			if f.rest != tabletest.None {
				time.AfterFunc(time.Millisecond, kill) // or else the call is tried for as long as somebody waits
			}
			return f.first
		}
		return f.rest
	}})
	armed.Store(int64(p.table.Calls() + at))
	err := p.try(ctx, t, name, in)
	what := fmt.Sprintf("call %d fails %s", at, f.name)
	if err != nil {
		require.True(t, came.Load(), "%s: %v", what, err)
		require.Contains(t, []fault.Status{fault.StatusUnavailable, fault.StatusInternal}, fault.Of(err).Status(), "%s: %v", what, err)
	}
	p.close()
	p = openAt(t, dir)
	defer p.close()
	if got := p.files(t); err == nil || !maps.Equal(got, before) {
		require.Equal(t, after, got, what)
	}
	require.NoError(t, p.try(t.Context(), t, name, in), what)
	require.Equal(t, after, p.files(t), what)
	require.Equal(t, newest+1, version(t, p.token(t)), what)
	return came.Load()
}

// A flakyPuts is a bucket of which one Put fails.
type flakyPuts struct {
	blob.Bucket
	fault tabletest.Fault

	mu   sync.Mutex
	left int    // how many calls of Put until the one that fails, which is 1; 0: none fails
	late func() // what the Put that failed does later
	puts int
}

// Put implements blob.Bucket.
func (b *flakyPuts) Put(ctx context.Context, key string, data []byte, c blob.Cond) (blob.Tag, error) {
	b.mu.Lock()
	b.puts++
	fails := b.left == 1
	b.left = max(0, b.left-1)
	b.mu.Unlock()
	if !fails {
		return b.Bucket.Put(ctx, key, data, c)
	}
	data = bytes.Clone(data)
	do := func() { _, _ = b.Bucket.Put(context.WithoutCancel(ctx), key, data, c) }
	switch b.fault {
	case tabletest.After:
		do()
	case tabletest.Late:
		b.late = do
	}
	return "", tabletest.ErrInjected
}

// payloads is how many objects of commits a directory has.
func payloads(t *testing.T, dir string) (count int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(filepath.Dir(path)) == "payload" {
			count++
		}
		return err
	}))
	return count
}

// TestStructureUnderFaultsOfTheBucket makes each call that changes the structure while a Put of its text fails, one
// after the other. Then nothing is changed; the call that is repeated makes one version; and two days later no object is
// left of the one that failed.
func TestStructureUnderFaultsOfTheBucket(t *testing.T) {
	for name, c := range structural {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			counted := &flakyPuts{}
			clean := restructure(t, dir, opening{bucket: counted.before})
			before, newest := clean.files(t), version(t, clean.token(t))
			in, puts := clean.with(t, c.in), counted.puts
			in["idempotencyKey"] = "k"
			clean.data(t, c.tool, in)
			after := clean.files(t)
			puts = counted.puts - puts
			clean.close()
			stay := swept(t, dir)
			require.Equal(t, c.tool != "sort_children", puts > 0)
			for _, failing := range []tabletest.Fault{tabletest.Before, tabletest.After, tabletest.Late} {
				for at := 1; at <= puts; at++ {
					what := fmt.Sprintf("put %d fails %d", at, failing)
					dir := t.TempDir()
					bucket := &flakyPuts{fault: failing}
					p := restructure(t, dir, opening{bucket: bucket.before})
					bucket.left = at
					err := p.try(t.Context(), t, c.tool, in)
					require.Equal(t, fault.StatusUnavailable, fault.Of(err).Status(), "%s: %v", what, err)
					require.Equal(t, before, p.files(t), what)
					require.Equal(t, newest, version(t, p.token(t)), what)
					p.close()
					p = opening{bucket: bucket.before}.open(t, dir)
					require.Equal(t, before, p.files(t), what)
					require.NoError(t, p.try(t.Context(), t, c.tool, in), what)
					require.Equal(t, after, p.files(t), what)
					require.Equal(t, newest+1, version(t, p.token(t)), what)
					if bucket.late != nil {
						bucket.late()
					}
					require.Equal(t, after, p.files(t), what)
					p.close()
					require.Equal(t, stay, swept(t, dir), what)
				}
			}
		})
	}
}

// before puts the flakyPuts in front of a bucket.
func (b *flakyPuts) before(of blob.Bucket) blob.Bucket {
	b.Bucket = of
	return b
}

// swept is how many objects of commits a directory has after a pass two days later.
func swept(t *testing.T, dir string) int {
	t.Helper()
	p := opening{now: time.Now().Add(48 * time.Hour)}.open(t, dir)
	defer p.close()
	team, err := p.teams.Tenant(t.Context(), auth.LocalCaller().Tenant)
	require.NoError(t, err)
	require.NoError(t, team.CompactVault(t.Context(), "v"))
	return payloads(t, dir)
}
