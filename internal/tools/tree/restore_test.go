package tree_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// draft makes a change of the vault as tools of other families do.
func (p *place) draft(t testing.TB, fn func(ctx context.Context, tx *repo.Tx) error) {
	t.Helper()
	v, err := state.Source{Teams: p.teams}.Vault(t.Context(), auth.LocalCaller(), "v")
	require.NoError(t, err)
	call := eventlog.Call{Who: eventlog.Who{Principal: "ann"}, Tool: "x"}
	_, err = v.Update(t.Context(), call, func(ctx context.Context, tx *repo.Tx) (any, error) { return nil, fn(ctx, tx) })
	require.NoError(t, err)
}

// move moves a file; to an empty path, it goes.
func (p *place) move(t testing.TB, from, to string) {
	t.Helper()
	p.draft(t, func(ctx context.Context, tx *repo.Tx) error {
		if to == "" {
			return tx.Remove(ctx, vault.Path(from))
		}
		text, _, err := tx.Text(ctx, vault.Path(from))
		if err != nil {
			return err
		}
		return tx.Move(ctx, vault.Path(from), vault.Path(to), text)
	})
}

// allUIDs are the identities of all nodes, by their addresses.
func (p *place) allUIDs(t testing.TB) map[string]any {
	t.Helper()
	all := map[string]any{}
	var take func(args)
	take = func(n args) {
		all[n["nodeId"].(string)] = n["uid"]
		children, _ := n["children"].([]any)
		for _, child := range children {
			take(child.(args))
		}
	}
	take(p.data(t, "get_subtree", args{"nodeId": "/", "limit": 200})["node"].(args))
	return all
}

// trash are the paths of the files in the trash.
func (p *place) trash(t testing.TB) map[string]bool {
	all := map[string]bool{}
	p.draft(t, func(_ context.Context, tx *repo.Tx) error {
		for f := range tx.Before().FilesAfter(vault.Trash) {
			if vault.InTrash(f.Path) {
				all[f.Path] = true
			}
		}
		return nil
	})
	return all
}

// TestRestore covers C10 44 of reference/tree.md, and that nodes keep their identities: bytes are as they were, what came
// later is in the trash, and the version goes forward.
func TestRestore(t *testing.T) {
	files := maps.Clone(website)
	files["projects/_folder.md"] = "---\norder: [website, api]\n---\n"
	files["people/bob.md"] = "---\ntype: person\nname: Bob\n---\n\n## Notes\n\nSees [[projects/api]].\n"
	p := open(t, files)
	before, uids := p.files(t), p.allUIDs(t)
	made := p.write(t, "snapshot_create", args{"label": "s"})
	p.put(t, map[string]string{
		"projects/website.md": "# Website\n\nOther.\n\n## Goals\n", "projects/new.md": "new\n", "projects/_folder.md": "---\norder: [api]\n---\n",
		"people/alice.md": "---\ntype: person\nname: Alice\n---\n\n## More\n",
	})
	p.move(t, "projects/api.md", "people/api.md")
	p.move(t, "people/bob.md", "")
	p.put(t, map[string]string{"people/bob.md": "another\n", "projects/api.md": "another api\n"})
	p.move(t, "daily/2025-02-01.md", "")
	changed := p.files(t)

	tried := p.write(t, "snapshot_restore", args{"snapshotId": "s", "dryRun": true})
	require.NotContains(t, tried, "safetySnapshotId")
	require.Len(t, tried["would_modify_files"], 8)
	require.Equal(t, changed, p.files(t))
	in := p.with(t, args{"snapshotId": made["snapshotId"], "idempotencyKey": "k"})
	answer := p.data(t, "snapshot_restore", in)
	require.Equal(t, uids, p.allUIDs(t))
	require.Equal(t, args{"created": 1.0, "updated": 5.0, "removed": 2.0}, answer["counts"])
	require.Equal(t, []any{"daily/2025-02-01"}, answer["created"])
	require.Equal(t, []any{"people/api", "projects/new"}, answer["removed"])
	require.Equal(t, args{"people/api": "projects/api"}, answer["idMap"])
	require.Greater(t, answer["versionToken"], in["versionToken"])
	require.Equal(t, map[string]bool{".trash/people/bob.md": true, ".trash/projects/api.md": true, ".trash/projects/new.md": true}, p.trash(t))
	require.Equal(t, before, p.tracked(t))

	again := p.data(t, "snapshot_restore", in)
	require.Equal(t, answer["safetySnapshotId"], again["safetySnapshotId"])
	require.Equal(t, "before s s", labels(p.data(t, "snapshot_list", nil)))
	same := p.write(t, "snapshot_restore", args{"snapshotId": "s"})
	require.NotContains(t, same, "safetySnapshotId")
	require.Equal(t, answer["versionToken"], same["versionToken"])

	p.write(t, "snapshot_restore", args{"snapshotId": answer["safetySnapshotId"]})
	require.Equal(t, changed, p.tracked(t), "the restore is taken back")
}

// TestRestoreTrashesFilesOfFolders covers that the file of a folder that was created later goes to the trash with its notes.
func TestRestoreTrashesFilesOfFolders(t *testing.T) {
	p := open(t, map[string]string{"a/x.md": "x\n", "a/_folder.md": "---\ntitle: A\n---\n"})
	id := p.write(t, "snapshot_create", args{"label": "s"})["snapshotId"]
	p.put(t, map[string]string{"b/_folder.md": "---\ntitle: B\n---\n", "b/y.md": "y\n", "a/_folder.md": "---\ntitle: Other\n---\n"})
	p.write(t, "snapshot_restore", args{"snapshotId": id})
	require.Equal(t, map[string]string{"a/x.md": "x\n", "a/_folder.md": "---\ntitle: A\n---\n"}, p.tracked(t))
	require.Equal(t, map[string]bool{".trash/b/_folder.md": true, ".trash/b/y.md": true}, p.trash(t))
}

// tracked are the texts of all files of the vault but those in the trash.
func (p *place) tracked(t testing.TB) map[string]string {
	all := p.files(t)
	maps.DeleteFunc(all, func(path, _ string) bool { return vault.InTrash(path) })
	return all
}

// TestRestoreOfAFolder covers a snapshot of a subtree: what is elsewhere stays, and its references follow.
func TestRestoreOfAFolder(t *testing.T) {
	p := open(t, map[string]string{
		"a/_folder.md": "---\ntitle: A\n---\n", "a/x.md": "# X\n\n## One\n", "a/y.md": "y\n", "b/z.md": "See [[a/x#two]], [[c/y]].\n", "b/w.md": "w\n",
	})
	uids := p.allUIDs(t)
	p.write(t, "snapshot_create", args{"label": "a", "rootNodeId": "a/"})
	p.write(t, "snapshot_create", args{"label": "y", "rootNodeId": "a/y"})
	p.write(t, "update_payload_property", args{"nodeId": "a/x#one", "propertyName": "title", "newValue": "Two"})
	p.move(t, "a/y.md", "c/y.md")
	p.put(t, map[string]string{"b/w.md": "w2\n", "a/new.md": "n\n"})
	answer := p.write(t, "snapshot_restore", args{"snapshotId": "a"})
	require.Equal(t, args{"a/x#two": "a/x#one"}, answer["idMap"])
	require.Equal(t, map[string]string{
		"a/_folder.md": "---\ntitle: A\n---\n", "a/x.md": "# X\n\n## One\n", "a/y.md": "y\n", "b/z.md": "See [[a/x#one]], [[c/y]].\n",
		"b/w.md": "w2\n", "c/y.md": "y\n",
	}, p.tracked(t), "what was moved out of the folder stays")
	require.NotEqual(t, uids["a/y"], p.allUIDs(t)["a/y"])
	require.Equal(t, uids["a/y"], p.allUIDs(t)["c/y"])
	p.put(t, map[string]string{"a/y.md": "another\n"})
	answer = p.write(t, "snapshot_restore", args{"snapshotId": "y"})
	require.Equal(t, args{"c/y": "a/y"}, answer["idMap"])
	require.Equal(t, uids["a/y"], p.allUIDs(t)["a/y"])
	require.Contains(t, p.file(t, "b/z.md"), "[[a/y]]")
}

// TestRestoreIsRefused covers tokens, and what is larger than a commit.
func TestRestoreIsRefused(t *testing.T) {
	p := open(t, website)
	p.write(t, "snapshot_create", args{"label": "s"})
	token := p.token(t)
	p.as("Robot", "x").write(t, "tag_node", args{"nodeId": w(""), "tags": []string{"x"}})
	for _, old := range []string{"", token, "v99"} {
		f := p.refused(t, "snapshot_restore", args{"snapshotId": "s", "versionToken": old})
		require.Equal(t, "conflict", string(f.Status()))
		if old == token {
			require.Equal(t, "Robot", f.Details["lastChangedBy"])
		}
	}
	require.Equal(t, "not_found", string(p.refused(t, "snapshot_restore", p.with(t, args{"snapshotId": "none"})).Status()))

	many := map[string]string{}
	for i := range 5950 {
		many[fmt.Sprintf("many/n%d.md", i)] = "x\n"
	}
	p.put(t, many)
	f := p.refused(t, "snapshot_restore", p.with(t, args{"snapshotId": "s"}))
	require.Equal(t, "BATCH_TOO_LARGE", string(f.Code))
	require.Contains(t, fmt.Sprint(f.Fixes), "smaller subtree")
	require.NotContains(t, labels(p.data(t, "snapshot_list", nil)), "before", "no automatic one is left")
}

// changes are the structure of a difference, each as `op nodeId`, with where it was behind it.
func changes(diff args) []string {
	all := []string{}
	for _, c := range diff["structure"].([]any) {
		c := c.(args)
		text := fmt.Sprint(c["op"], " ", c["nodeId"])
		if from, ok := c["from"]; ok {
			text += fmt.Sprint(" from ", from)
		}
		all = append(all, text)
	}
	return all
}

// TestSnapshotDiffOfAnErasedNode covers that the refusal names the side whose node was erased.
func TestSnapshotDiffOfAnErasedNode(t *testing.T) {
	p := open(t, map[string]string{"a.md": "# A\n", "b.md": "# B\n"})
	p.write(t, "snapshot_create", args{"label": "a", "rootNodeId": "a"})
	p.write(t, "snapshot_create", args{"label": "all"})
	own, err := p.teams.Tenant(t.Context(), auth.LocalCaller().Tenant)
	require.NoError(t, err)
	_, err = own.EraseNote(t.Context(), eventlog.Call{Tool: "test"}, "v", "a.md")
	require.NoError(t, err)
	for arg, in := range map[string]args{"a": {"a": "a", "b": "all"}, "b": {"a": "all", "b": "a"}} {
		f := p.refused(t, "snapshot_diff", in)
		require.Equal(t, fault.NotFound, f.Code)
		require.Equal(t, arg, f.Details["argument"])
	}
}

// TestSnapshotDiff covers C8.5 and B8 64 of reference/tree.md: nodes match by identity, wherever they went.
func TestSnapshotDiff(t *testing.T) {
	p := open(t, map[string]string{
		"a/_folder.md": "---\norder: [one, two, three]\n---\n", "a/one.md": "# One\n\n## X\n\nx\n\n## Y\n\ny\n", "a/two.md": "---\ntags: [t]\nn: 1\n---\n# Two\n",
		"a/three.md": "# Three\n", "b/stay.md": "# Stay\n\n![[a/two]]\n", "gone.md": "# Gone\n\n## Part\n", "old.md": "old\n",
	})
	p.write(t, "snapshot_create", args{"label": "s"})
	p.write(t, "snapshot_create", args{"label": "a", "rootNodeId": "a/"})
	empty := args{
		"structure": []any{}, "payload": []any{}, "metadata": []any{},
		"summary": args{"added": 0.0, "removed": 0.0, "moved": 0.0, "reordered": 0.0, "renamed": 0.0, "payload": 0.0, "metadata": 0.0},
	}
	for _, in := range []args{{"a": "s"}, {"a": "s", "b": "s"}, {"a": "current", "b": "s"}, {"a": "a"}} {
		diff := p.data(t, "snapshot_diff", in)
		delete(diff, "versionToken")
		require.Equal(t, empty, diff, in)
	}
	p.move(t, "a/three.md", "b/three.md")
	p.move(t, "old.md", "young.md")
	p.move(t, "gone.md", "")
	p.put(t, map[string]string{
		"new.md": "new\n", "a/_folder.md": "---\norder: [two, one]\n---\n", "a/one.md": "# First\n\n## Y\n\ny\n\n## X\n\nchanged\n\n### New\n",
		"a/two.md": "---\ntags: [u]\nn: 2\n---\n# Two\n",
	})
	diff := p.data(t, "snapshot_diff", args{"a": "s", "includeBody": true})
	require.Equal(t, []string{
		"removed gone", "removed gone#part", "reordered a/two", "reordered a/one#y", "added a/one#new",
		"moved b/three from a/three", "added new", "renamed young from old",
	}, changes(diff))
	require.Equal(t, args{
		"added": 2.0, "removed": 2.0, "moved": 1.0, "reordered": 2.0, "renamed": 1.0, "payload": 4.0, "metadata": 1.0,
	}, diff["summary"])
	var properties []string
	for _, c := range diff["payload"].([]any) {
		c := c.(args)
		properties = append(properties, fmt.Sprint(c["nodeId"], " ", c["property"]))
	}
	require.Equal(t, []string{"a/two n", "a/one title", "a/one#x body", "young title"}, properties)
	require.Contains(t, diff["payload"].([]any)[2].(args)["diff"], "-x\n+changed\n")
	require.Equal(t, args{"nodeId": "a/two", "property": "tags", "before": []any{"t"}, "after": []any{"u"}}, diff["metadata"].([]any)[0])

	back := p.data(t, "snapshot_diff", args{"a": "current", "b": "s"})
	require.Contains(t, changes(back), "moved a/three from b/three")
	require.Contains(t, changes(p.data(t, "snapshot_diff", args{"a": "a"})), "removed a/three")
	require.Empty(t, changes(p.data(t, "snapshot_diff", args{"a": "s", "as_of": "v2"})))
	require.Equal(t, []string{"reordered a/two"},
		changes(p.data(t, "snapshot_diff", args{"a": "a", "maxDepth": 1, "includePayloads": false}))[1:])
	for arg, in := range map[string]args{"a": {"a": "none", "b": "s"}, "b": {"a": "s", "b": "none"}} {
		f := p.refused(t, "snapshot_diff", in)
		require.Equal(t, fault.NotFound, f.Code)
		require.Equal(t, arg, f.Details["argument"])
	}

	p.write(t, "snapshot_restore", args{"snapshotId": "s"})
	diff = p.data(t, "snapshot_diff", args{"a": "s", "b": "current"})
	delete(diff, "versionToken")
	require.Equal(t, empty, diff)
}

// TestLargeDiffs covers that a difference is as large as an answer at most, and that its summary counts all of it.
func TestLargeDiffs(t *testing.T) {
	p := open(t, map[string]string{"a.md": "a\n"})
	p.write(t, "snapshot_create", args{"label": "s"})
	files := map[string]string{}
	for i := range 300 {
		text := ""
		for j := range 100 {
			text += fmt.Sprintf("## A section of the note with a long heading %d\n\n", j)
		}
		files[fmt.Sprintf("folder/n%d.md", i)] = text
	}
	p.put(t, files)
	diff := p.data(t, "snapshot_diff", args{"a": "s"})
	require.Equal(t, true, diff["truncated"])
	require.Equal(t, 300.0*101+1, diff["summary"].(args)["added"])
	require.Less(t, len(diff["structure"].([]any)), 30000)
	p.write(t, "snapshot_restore", args{"snapshotId": "s"})
	require.Equal(t, map[string]string{"a.md": "a\n"}, p.tracked(t))
}
