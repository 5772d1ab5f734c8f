package tree_test

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// restructured are the files of a vault whose structure changes.
func restructured() map[string]string {
	files := maps.Clone(website)
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
func restructure(t *testing.T, dir string, plan func(tabletest.Call) tabletest.Fault) *place {
	p := openWith(t, dir, plan, false)
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
			clean := restructure(t, t.TempDir(), nil)
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
	p := restructure(t, dir, func(c tabletest.Call) tabletest.Fault {
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
	})
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
