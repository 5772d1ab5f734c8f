package tree_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestSnapshots covers labels of versions: they are everybody's to see, newest first, and their agent's to delete.
func TestSnapshots(t *testing.T) {
	p := open(t, website)
	made := p.write(t, "snapshot_create", args{"label": "first"})
	require.Equal(t, 12.0, made["nodeCount"])
	require.Equal(t, "/", made["nodeId"])
	require.Equal(t, "v2", made["version"])
	p.write(t, "tag_node", args{"nodeId": w(""), "tags": []string{"x"}})
	robot := p.as("robot", "default")
	second := robot.data(t, "snapshot_create", args{"label": "second", "rootNodeId": w("#goals"), "versionToken": "v1"})
	require.Equal(t, 2.0, second["nodeCount"])
	require.Equal(t, "robot", second["createdBy"])

	require.Equal(t, "second first", labels(p.data(t, "snapshot_list", nil)))
	page := p.data(t, "snapshot_list", args{"limit": 1})
	require.Equal(t, "second", labels(page))
	page = p.data(t, "snapshot_list", args{"limit": 1, "pageToken": page["nextPageToken"]})
	require.Equal(t, "first", labels(page))
	require.NotContains(t, page, "nextPageToken")
	for _, name := range []any{"second", second["snapshotId"]} {
		got := p.data(t, "snapshot_get", args{"snapshotId": name})["snapshot"].(args)
		require.Equal(t, w("#goals"), got["nodeId"])
		require.Equal(t, "v3", got["version"])
	}

	robot.write(t, "snapshot_create", args{"label": "first"})
	f := p.refused(t, "snapshot_get", args{"snapshotId": "first"})
	require.Equal(t, "ambiguous", f.Details["reason"])
	require.Len(t, f.Details["matches"], 2)
	for name, status := range map[string]string{"none": "not_found", "s_00000000000000000000000000": "not_found", "s_x": "not_found"} {
		require.Equal(t, status, string(p.refused(t, "snapshot_get", args{"snapshotId": name}).Status()))
	}
	for token, status := range map[string]string{"": "conflict", "v99": "conflict", "999": "conflict"} {
		in := args{"snapshotId": "second", "versionToken": token}
		require.Equal(t, status, string(p.refused(t, "snapshot_delete", in).Status()))
		require.Equal(t, status, string(p.refused(t, "snapshot_create", args{"label": "x", "versionToken": token}).Status()))
	}
	gone := p.data(t, "snapshot_delete", args{"snapshotId": "second", "versionToken": "v1"}) // by an admin
	require.Equal(t, second["snapshotId"], gone["snapshotId"])
	require.Equal(t, "not_found", string(p.refused(t, "snapshot_delete", p.with(t, args{"snapshotId": "second"})).Status()))
	require.Equal(t, "first first", labels(p.data(t, "snapshot_list", nil)))
	for _, label := range []string{"", " ", "a\nb"} {
		require.Equal(t, "invalid_argument", string(p.refused(t, "snapshot_create", p.with(t, args{"label": label})).Status()))
	}
}

// labels are the labels of a list of snapshots.
func labels(answer args) string {
	all := ""
	for _, s := range answer["snapshots"].([]any) {
		all += fmt.Sprint(" ", s.(args)["label"])
	}
	return all[min(1, len(all)):]
}

// TestSnapshotsAreDeletedByTheirAgent covers that an editor deletes its own snapshots alone.
func TestSnapshotsAreDeletedByTheirAgent(t *testing.T) {
	p := open(t, website)
	p.write(t, "snapshot_create", args{"label": "theirs"})
	editor := p.editor()
	editor.write(t, "snapshot_create", args{"label": "own"})
	f := editor.refused(t, "snapshot_delete", editor.with(t, args{"snapshotId": "theirs"}))
	require.Equal(t, "forbidden", string(f.Status()))
	editor.write(t, "snapshot_delete", args{"snapshotId": "own"})
}

// editor is the place as somebody with that role sees it.
func (p *place) editor() *place {
	c := auth.LocalCaller()
	c.Principal, c.Agent, c.Roles = "user:eve", "eve", map[string]auth.Role{auth.AllVaults: auth.Editor}
	return &place{p.catalogue, tooltest.As(p.catalogue, c), p.teams, p.table, p.close}
}

// TestSnapshotKeys covers that a repeated call makes one snapshot.
func TestSnapshotKeys(t *testing.T) {
	p := open(t, website)
	in := p.with(t, args{"label": "once", "idempotencyKey": "k"})
	first := p.data(t, "snapshot_create", in)
	require.Equal(t, first["snapshotId"], p.data(t, "snapshot_create", in)["snapshotId"])
	require.Equal(t, "once", labels(p.data(t, "snapshot_list", nil)))
}
